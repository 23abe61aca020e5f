"""How recordings are opened: files, folders and archives become named streams of bytes, bounded and counted.

Knows nothing of what the bytes say. What a file is packed in is known by its content, never by its name, and nothing
is ever unpacked to the disk.
"""

from collectors.formats.stream.inputs import open_all
from collectors.formats.stream.limits import TOO_DEEP, Limits, Usage, too_long
from collectors.formats.stream.recording import HEAD_BYTES, Block, Line, NotARecording, Recording, Skipped

__all__ = [
    "HEAD_BYTES",
    "TOO_DEEP",
    "Block",
    "Limits",
    "Line",
    "NotARecording",
    "Recording",
    "Skipped",
    "Usage",
    "open_all",
    "too_long",
]

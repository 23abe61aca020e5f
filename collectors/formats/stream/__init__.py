"""Open recordings: files, folders and archives become named streams of bytes, bounded and counted.

It does not interpret the bytes. It recognises compression and archives by content, never by name, and never unpacks
anything to disk.
"""

from collectors.formats.stream.inputs import open_all
from collectors.formats.stream.limits import Usage, too_long
from collectors.formats.stream.recording import HEAD_BYTES, Block, Line, NotARecording, Recording, fewer
from collectors.gate import TOO_DEEP, Limits, Skipped

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
    "fewer",
    "open_all",
    "too_long",
]

"""Write a recording in Causeline's own format as it grows. A killed process loses the last second only."""

import threading
from pathlib import Path
from typing import BinaryIO

import zstandard

from collectors.formats import own
from timeline.core.entries import Observation
from timeline.history.codec import line_of

_LEVEL = 6  # of zstd


class RecordingFile:
    """Write a file, compressed if its name ends in .zst.

    It is thread-safe. Raise OSError if the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        """Create the file. Raise FileExistsError if it exists: a recording is never overwritten."""
        self.path = path
        self.size = 0  # bytes that were flushed
        self._open = True
        self._lock = threading.Lock()
        self._file: BinaryIO = path.open("xb")
        self._packed: zstandard.ZstdCompressionWriter | None = None
        if path.suffix == ".zst":
            self._packed = zstandard.ZstdCompressor(_LEVEL, write_checksum=True).stream_writer(
                self._file, closefd=False
            )
        self._put(b"".join(own.recording([])))
        self.flush()

    def write(self, observations: list[Observation]) -> None:
        """Append observations."""
        lines = b"".join([line_of(each) + b"\n" for each in observations])
        with self._lock:
            self._put(lines)

    def flush(self) -> None:
        """Write buffered data to the file, so that other processes can read it and it outlives this one."""
        with self._lock:
            if self._packed:
                self._packed.flush(zstandard.FLUSH_BLOCK)
            self._file.flush()
            self.size = self._file.tell()

    def close(self) -> None:
        """End the file; later writes are ignored."""
        with self._lock, self._file:
            self._open = False
            if self._packed:
                self._packed.flush(zstandard.FLUSH_FRAME)
            self.size = self._file.tell()

    def _put(self, data: bytes) -> None:
        if self._open:
            (self._packed or self._file).write(data)

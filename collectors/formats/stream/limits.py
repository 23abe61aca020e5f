"""This module counts what a reading has consumed, against the limits that protect memory and time from bad input."""

from typing import NamedTuple

TOO_DEEP = "it is nested deeper than CAUSELINE_DEPTH_LIMIT allows"
RATIO_FLOOR = 4 * 1024**3  # bytes; less than this comes out of any honest file sooner or later


class Limits(NamedTuple):
    """How much one reading may take. Each is raised by an environment variable of its own (docs/settings.md)."""

    line_bytes: int = 64 * 1024**2  # longer than the largest object the API accepts, by far
    content_bytes: int = 1024**4  # that come out of packed files, in all
    ratio: int = 250  # of what comes out to what was read, per input, beyond RATIO_FLOOR
    members: int = 100_000  # files, in folders and archives
    depth: int = 200  # of the JSON of objects that are kept; its writer allows 254
    objects: int = 5_000_000


def too_long(limit: int) -> str:
    """What is said of a line, or of one value, of more bytes than a limit."""
    return f"longer than {limit} bytes; CAUSELINE_LINE_LIMIT_BYTES raises the limit"


class Unreadable(Exception):
    """The stream cannot be read further. The message says why, as the end of a sentence."""


class Usage:
    """The counts of one reading. `bytes_read` of `bytes_total` are its progress; a pipe has no total."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.bytes_total = 0
        self.bytes_read = 0
        self._read_before = 0  # bytes_read when the present input began
        self._decompressed = 0
        self._decompressed_of_input = 0
        self._members = 0

    def begin_input(self) -> None:
        """The next input begins."""
        self._read_before = self.bytes_read
        self._decompressed_of_input = 0

    def add_member(self) -> None:
        """Another file comes out of a folder or an archive. Raises Lost when there are too many."""
        self._members += 1
        if self._members > self.limits.members:
            raise Unreadable(
                f"there are more than {self.limits.members} files; CAUSELINE_MEMBER_LIMIT raises the limit"
            )

    def add_decompressed(self, size: int) -> None:
        """Bytes came out of something packed. Raises Lost when it looks as if they had no end."""
        self._decompressed += size
        self._decompressed_of_input += size
        if self._decompressed > self.limits.content_bytes:
            limit = f"more than {self.limits.content_bytes} bytes come out of what is packed"
            raise Unreadable(f"{limit}; CAUSELINE_CONTENT_LIMIT_BYTES raises the limit")
        compressed = self.bytes_read - self._read_before
        if self._decompressed_of_input > max(RATIO_FLOOR, compressed * self.limits.ratio):
            limit = f"more than {self.limits.ratio} times as many bytes come out as went in"
            raise Unreadable(f"{limit}; CAUSELINE_RATIO_LIMIT raises the limit")

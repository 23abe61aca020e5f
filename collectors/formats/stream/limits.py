"""Count what a reading has consumed, against the limits that protect memory and time from bad input."""

from collectors.gate import Limits

RATIO_FLOOR = 256 * 1024**2  # bytes; below this size any ratio is accepted, since real logs can compress very well


def too_long(limit: int) -> str:
    """Return the reason for skipping a line or a value that has more bytes than the limit."""
    return f"longer than {limit} bytes; CAUSELINE_LINE_LIMIT_BYTES raises the limit"


class Unreadable(Exception):
    """A stream cannot be read further. The message says why, as the end of a sentence."""


class Usage:
    """Keep the counts of one reading.

    `bytes_read` of `bytes_total` is its progress; input from a pipe is not in the total. `bytes_decompressed` have come
    out of what is packed.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.bytes_total = 0
        self.bytes_read = 0
        self._read_before = 0  # bytes_read when the present input began
        self.bytes_decompressed = 0
        self._decompressed_of_input = 0
        self._members = 0

    def begin_input(self) -> None:
        """Note that the next input begins: the ratio counts for each input by itself."""
        self._read_before = self.bytes_read
        self._decompressed_of_input = 0

    def add_member(self) -> None:
        """Count another file of a folder or an archive. Raise Unreadable if there are too many."""
        self._members += 1
        if self._members > self.limits.members:
            raise Unreadable(
                f"there are more than {self.limits.members} files; CAUSELINE_MEMBER_LIMIT raises the limit"
            )

    def add_decompressed(self, size: int) -> None:
        """Count decompressed bytes. Raise Unreadable if there are more than the limits allow."""
        self.bytes_decompressed += size
        self._decompressed_of_input += size
        if self.bytes_decompressed > self.limits.content_bytes:
            limit = f"more than {self.limits.content_bytes} bytes come out of what is packed"
            raise Unreadable(f"{limit}; CAUSELINE_CONTENT_LIMIT_BYTES raises the limit")
        compressed = self.bytes_read - self._read_before
        if self._decompressed_of_input > max(RATIO_FLOOR, compressed * self.limits.ratio):
            limit = f"more than {self.limits.ratio} times as many bytes come out as went in"
            raise Unreadable(f"{limit}; CAUSELINE_RATIO_LIMIT raises the limit")

"""Read the body of a response in small steps, and limit its bytes both compressed and decompressed."""

import time
import zlib
from typing import TYPE_CHECKING

from collectors.watch.server.failures import TooLarge, Unreachable

if TYPE_CHECKING:
    import urllib3

LIST_BYTES = 32 << 20  # a page of 500 objects has 2 to 20 MiB; a longer one is asked for in parts
DISCOVERY_BYTES = 8 << 20
SMALL_BYTES = 1 << 16  # for versions, reviews and errors
_STEP = 1 << 16
_SECONDS = 120.0  # seconds in which a body has to end
_GZIP = 31  # zlib's wbits for the gzip format


def body_of(response: "urllib3.BaseHTTPResponse", most: int) -> bytes:
    """Return the whole body. Raise TooLarge, Unreachable, and what urllib3 raises."""
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding not in ("", "identity", "gzip"):
        raise Unreachable("The API server compressed its answer in an encoding that was not requested.")
    unpacking = zlib.decompressobj(_GZIP) if coding == "gzip" else None
    ends = time.monotonic() + _SECONDS
    body = bytearray()
    came = 0
    while piece := response.read1(_STEP, decode_content=False):
        came += len(piece)
        if unpacking:
            try:
                piece = unpacking.decompress(piece, most + 1 - len(body))
            except zlib.error:
                raise Unreachable("The API server's answer is damaged: it cannot be decompressed.") from None
        body += piece
        if max(came, len(body)) > most:
            raise TooLarge(f"An answer of the API server is larger than {size_of(most)}, so the rest was not read.")
        if time.monotonic() > ends:
            raise Unreachable(f"An answer of the API server did not end within {_SECONDS:.0f} s.")
    if unpacking and came and not unpacking.eof:
        raise Unreachable("An answer of the API server ended in the middle.")
    return bytes(body)


def size_of(most: int) -> str:
    """Return a number of bytes in whole MiB or KiB, as text."""
    return f"{most >> 20} MiB" if most >> 20 else f"{most >> 10} KiB"

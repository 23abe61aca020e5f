"""Read whole numbers from texts that come from outside, such as the parameters of an address."""

DIGITS = 18  # of the longest number that is read; each such number fits into a bigint of PostgreSQL


def whole_number(text: str, digits: int = DIGITS) -> int | None:
    """Return the whole number that a text says; None if it says none, or if the number has more digits than this.

    A whole number has ASCII digits alone: no sign, no space, and no digits of other scripts, which Python reads, too.
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else None

"""Times, numbers, proof and advice as pages and reports tell them. No queries, no HTML."""

import itertools
from collections.abc import Collection
from typing import NamedTuple

from dashboard.catalogue import Piece, words
from timeline.advice import steps
from timeline.documents import timestamp
from timeline.payloads import FindingPayload, ProofPayload


def folder(files: Collection[str]) -> str:
    """What all paths begin with, up to a slash; it is told once, among what was read."""
    least, most = min(files, default=""), max(files, default="")
    shared = next((at for at, pair in enumerate(zip(least, most, strict=False)) if len(set(pair)) > 1), len(least))
    return least[: least.rfind("/", 0, shared) + 1]


def span(first: int, last: int) -> str:
    start, end = (timestamp(time)[:-4].replace("T", " ") for time in (first, last))
    return f"{start} – {end[11:] if start[:10] == end[:10] else end}"


def count(number: int) -> str:
    return f"{number:,}"


def some(number: int) -> str:
    """The number; nothing where it is none."""
    return count(number) if number > 0 else ""


def plural(word: str, count: int) -> str:
    return word if count == 1 or word == "info" else f"{word}s"


def often(finding: FindingPayload) -> str:
    return f"{count(finding['count'])} in all, from {clock(finding['first_time'])} to {clock(finding['last_time'])}"


def proof(proof: ProofPayload, folder: str) -> dict[str, str]:
    earliest, latest = proof["earliest"], proof["latest"]
    file = (proof["file"] or "").removeprefix(folder)
    return {
        "role": proof["role"],
        "iso": proof["time"],
        "time": clock(proof["time"]),
        "interval": interval(earliest, latest) if earliest and latest else "",
        "since": clock(earliest) if earliest and not latest else "",
        "revision": proof["resource_version"] or "",
        "actor": proof["actor"] or "",
        "agent": proof["user_agent"] or "",
        "audit_id": proof["audit_id"] or "",
        "place": f"{file}:{proof['line']}" if proof["line"] else file,
    }


def interval(earliest: str, latest: str) -> str:
    """07:52:00.841106 – .849006: the second that both share is said once."""
    shared = len("2026-11-21T07:52:00") if earliest[:19] == latest[:19] else len("2026-11-21T")
    return f"{clock(earliest)} – {latest[shared:-1]}"


def clock(iso: str) -> str:
    return iso[11:-1]


class Step(NamedTuple):
    """What to do first, next or last, in lines of pieces; a command has a name on its page, and the others ""."""

    name: str
    lines: list[list[tuple[Piece, str]]]


def advice(lines: Collection[str]) -> list[Step]:
    """What to do, step by step."""
    numbers = itertools.count(1)

    def named(piece: Piece) -> tuple[Piece, str]:
        return piece, f"command-{next(numbers)}" if piece.code and piece.text.startswith(_PROGRAMS) else ""

    return [Step(step.name, [[named(piece) for piece in words(line)] for line in step.lines]) for step in steps(lines)]


_PROGRAMS = ("kubectl ", "vcctl ", "watch ", "echo ")


def clock_of(moment: int) -> str:
    """Of microseconds since 1970: the day is told, too, and the fraction as far as it is known."""
    day, _, time = timestamp(moment)[:-1].partition("T")
    return f"{day} {time.rstrip('0').rstrip('.') if time.endswith('000000') else time}"

"""This module turns a recording into what the watches of a live source would have observed."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from collectors.formats import read
from timeline.core.entries import Change, Entry, Mark, MarkType, Observation
from timeline.history.streams import PASSES
from timeline.kinds import qualified
from timeline.payloads.findings import FindingPayload, ObjectPayload

GroupKind = tuple[str, str]


def observations(folder: Path) -> list[Observation]:
    """Return the watch files of a folder as observations: each kind is compared, listed, watched, and complete at the
    end.

    The objects of the lists come first, then every change in commit order. A change arrives 0.3 s after its time, or 1
    ms after the change before it if that is later.
    """
    entries = [item for item in read([(folder, "watch")], bodies=True) if isinstance(item, Entry)]
    by_kind: dict[GroupKind, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_kind[entry.ref.group, entry.ref.kind].append(replace(entry, place=None))
    observed: list[Observation] = []
    start = min(entry.received for entry in entries if entry.change is not Change.OBSERVED)
    for kind in by_kind:
        together = MarkType.APART if kind[1] == "Event" else MarkType.TOGETHER
        observed += [Mark(kind[0], "v1", kind[1], together, start - 10 - n, other="Pod") for n in range(PASSES)]
    for kind, listed in by_kind.items():
        first = [replace(entry, arrived=start) for entry in listed if entry.change is Change.OBSERVED]
        revision = max((entry.resource_version or 0 for entry in first), default=1)
        observed += [*first, Mark(*kind_of(kind), MarkType.LISTED, start, revision)]
    changes = [entry for entry in entries if entry.change is not Change.OBSERVED]
    changes.sort(key=lambda entry: entry.resource_version or 0)
    now = start
    for entry in changes:
        now = max(now + 1_000, entry.received + 300_000)
        observed.append(replace(entry, place=None, arrived=now))
    last = max(entry.resource_version or 0 for entry in entries)
    return observed + [Mark(*kind_of(kind), MarkType.BOOKMARK, now, last) for kind in by_kind]


def kind_of(kind: GroupKind) -> tuple[str, str, str]:
    return kind[0], "v1", kind[1]


def batches(observed: Sequence[Observation], size: int) -> Iterable[Sequence[Observation]]:
    return (observed[at : at + size] for at in range(0, len(observed), size))


def verdicts(findings: Iterable[FindingPayload]) -> set[tuple[str, ...]]:
    """Return the parts of findings that are equal for two sources of the same history."""
    return {
        (each["rule"], _name(each["subject"]), _name(each["other"]), each["verdict"], each["status"])
        for each in findings
    }


def _name(ref: ObjectPayload | None) -> str:
    return f"{qualified(ref['group'], ref['kind'])} {ref['namespace']}/{ref['name']}" if ref else ""

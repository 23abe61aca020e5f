"""This module turns recordings into findings without a server: it reads them, puts changes in order, and judges."""

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from collectors.formats import Limits, NotARecording, Reading, Skipped, named, read
from timeline.core import masks
from timeline.core.entries import Entry, Observation
from timeline.history.codec import line_of
from timeline.history.world import World
from timeline.judge import judge, matters, rulebook
from timeline.judging.findings import Finding
from timeline.payloads import documents
from timeline.payloads.findings import DocumentPayload

Report = Callable[[Reading, int], None]  # told now and then: how far the reading is, and how many entries there were
_EVERY = 2_000  # entries between two reports
SKIPS_KEPT = 10_000  # skipped lines that are kept, of all that there may be


class Analysis(NamedTuple):
    """What the rules found in one recording."""

    name: str
    world: World
    findings: list[Finding]
    skipped: list[Skipped]  # the first ones, and whatever is not of one line
    skips: int  # all that was skipped
    entries: int
    nothing: str  # why there is nothing to judge; "" where there is
    mostly_skipped: tuple[str, ...] = ()  # of which files more than half was, a sentence each
    redacted: Counter[str] | None = None  # what would be redacted, by why; None where nobody asked

    @property
    def clocks(self) -> list[str]:
        """What was corrected in the times of whole files, in sentences."""
        return documents.clocks(self.world)

    def document(self) -> DocumentPayload:
        """The findings document `causeline.findings/v1`."""
        skipped: list[tuple[str, int, str]] = list(self.skipped)
        if more := self.skips - len(skipped):
            skipped.append(documents.untold(self.name, more))
        return documents.document(
            self.world,
            self.findings,
            name=self.name,
            entries=self.entries,
            skipped=skipped,
            rules=rulebook(),
        )


def group_by_reason(skipped: Iterable[Skipped]) -> list[list[Skipped]]:
    """What was skipped of one file for one reason together, in order of lines; first what is more than a line."""
    found: dict[tuple[str, str], list[Skipped]] = {}
    for each in sorted(skipped, key=lambda each: (each.line > 0, each)):
        found.setdefault((each.file, each.reason), []).append(each)
    return list(found.values())


def analyse(
    inputs: Sequence[tuple[Path, str]], limits: Limits, report: Report | None = None, *, counts: bool = False
) -> Analysis:
    """Judge what these paths record, taken together. Raises NotARecording where nothing of it can be understood.

    `counts`: also count what is redacted in it, for which the objects have to be read whole.
    """
    inputs = named(inputs)
    gc.disable()  # nothing that is read forms cycles, and the collector would walk all of it again and again
    try:
        reading = read(inputs, bodies=counts, limits=limits, processes=available_processors())
        world = World(matters)
        skipped, redacted = Skips(), Counter[str]()
        for _, new in world.learn(_entries(reading, skipped, report)):
            if counts:
                masks.count(line_of(new), redacted)
        name = ", ".join(name for _, name in inputs)
        if not world.seen and skipped.kept:
            raise NotARecording(f"{name}: no change of an object can be used. The first reason: {skipped.kept[0]}.")
        if conflict := world.two_clusters():
            raise NotARecording(two_clusters_message(*conflict))
        world.settle()
        findings = judge(world, world.tracks())
    finally:
        gc.enable()
    entries = sum(seen.changes for seen in world.seen.values())
    nothing = "" if world.seen else nothing_to_judge(name, reading)
    mostly_skipped = tuple(documents.mostly_skipped(skipped.mostly_skipped()))
    return Analysis(name, world, findings, skipped.kept, skipped.count, entries, nothing, mostly_skipped, redacted)


class Skips:
    """What was skipped, within bounds: every line of a file may be broken."""

    def __init__(self) -> None:
        self.kept: list[Skipped] = []
        self.count = 0
        self._skipped_lines: Counter[str] = Counter()  # lines that were skipped
        self._used_lines: Counter[str] = Counter()  # changes that were not
        self._last_line: dict[str, int] = {}  # the last line that told anything, or was skipped

    def add(self, skipped: Skipped) -> None:
        self.count += 1
        if skipped.line:
            self._skipped_lines[skipped.file] += 1
            self._last_line[skipped.file] = max(skipped.line, self._last_line.get(skipped.file, 0))
        if not skipped.line or len(self.kept) < SKIPS_KEPT:
            self.kept.append(skipped)

    def use(self, item: Observation) -> None:
        place = item.place if isinstance(item, Entry) else None
        if place:
            self._used_lines[place.file] += 1
            self._last_line[place.file] = max(place.line, self._last_line.get(place.file, 0))

    def mostly_skipped(self) -> dict[str, list[int]]:
        """The files of which more than half of the lines was skipped, as far as these are known: how many were, and
        how many lines there were."""
        return {
            file: [count, lines]
            for file, count in sorted(self._skipped_lines.items())
            if 2 * count > (lines := max(self._last_line[file], self._used_lines[file] + count))
        }


def available_processors() -> int:
    """How many of them this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def _entries(reading: Reading, skipped: Skips, report: Report | None) -> Iterator[Observation]:
    count = 0
    for item in reading:
        if isinstance(item, Skipped):
            skipped.add(item)
            continue
        count += 1
        skipped.use(item)
        if report and count % _EVERY == 0:
            report(reading, count)
        yield item


def choose(findings: list[Finding], rules: Sequence[str], namespaces: Sequence[str]) -> list[Finding]:
    """Those of certain rules and namespaces; all where none is named. Raises ValueError for a rule there is not."""
    known = [rule.id for rule in rulebook()]
    if unknown := sorted(set(rules) - set(known)):
        raise ValueError(f"There is no rule {', '.join(unknown)}. The rules are {', '.join(known)}.")
    return [
        finding
        for finding in findings
        if (not rules or finding.rule in rules) and (not namespaces or finding.subject.namespace in namespaces)
    ]


def nothing_to_judge(name: str, reading: Reading) -> str:
    """Why there is nothing to judge in what was read without an error."""
    wanted = ""
    if any("audit log" in format for format in reading.files.values()):
        wanted = " An audit policy should log create, update, patch and delete at level RequestResponse."
    return f"{name}: nothing in it changes an object, so there was nothing to judge.{wanted}"


def two_clusters_message(one: Entry, other: Entry) -> str:
    """Why two entries cannot be of one cluster."""
    places = " and ".join(f"{each.place.file} line {each.place.line}" for each in (one, other) if each.place)
    same_namespace = one.ref.kind == "Namespace" == other.ref.kind and one.ref.name == other.ref.name
    what_differs = (
        f"tell of two namespaces {one.ref.name}" if same_namespace else "tell of one revision with two contents"
    )
    return f"The input holds recordings of two clusters: {places} {what_differs}. Analyse each by itself."

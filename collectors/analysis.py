"""Recordings become findings, with no server: read, put in order, judged."""

import gc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from collectors.formats import Limits, NotARecording, Reading, Skipped, read
from timeline import documents
from timeline.entries import Entry
from timeline.judge import judge, matters, rulebook
from timeline.payloads import DocumentPayload
from timeline.rulebook import Finding
from timeline.world import World

Report = Callable[[Reading, int], None]  # told now and then: how far the reading is, and how many entries there were
_EVERY = 2_000  # entries between two reports


class Analysis(NamedTuple):
    """What the rules found in one recording."""

    name: str
    world: World
    findings: list[Finding]
    skipped: list[Skipped]
    entries: int

    def document(self) -> DocumentPayload:
        """The findings document `causeline.findings/v1`."""
        return documents.document(
            self.world,
            self.findings,
            name=self.name,
            entries=self.entries,
            skipped=[(each.file, each.line, each.reason) for each in self.skipped],
            rules=rulebook(),
        )


def analyse(inputs: Sequence[tuple[Path, str]], limits: Limits, report: Report | None = None) -> Analysis:
    """Judge what these paths record, taken together. Raises NotARecording where nothing of it can be understood."""
    gc.disable()  # nothing that is read forms cycles, and the collector would walk all of it again and again
    try:
        reading = read(inputs, bodies=False, limits=limits)
        world = World(matters)
        skipped: list[Skipped] = []
        for _ in world.learn(_entries(reading, skipped, report)):
            pass
        if not world.seen:
            raise NotARecording(_nothing(inputs, skipped))
        if mixed := world.mixed():
            raise NotARecording(_two_clusters(*mixed))
        world.settle()
        findings = judge(world, world.tracks())
    finally:
        gc.enable()
    entries = sum(seen.changes for seen in world.seen.values())
    return Analysis(", ".join(name for _, name in inputs), world, findings, skipped, entries)


def _entries(reading: Reading, skipped: list[Skipped], report: Report | None) -> Iterator[Entry]:
    count = 0
    for item in reading:
        if isinstance(item, Skipped):
            skipped.append(item)
            continue
        count += 1
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


def _nothing(inputs: Sequence[tuple[Path, str]], skipped: list[Skipped]) -> str:
    names = ", ".join(name for _, name in inputs)
    if skipped:
        return f"{names}: no change of an object can be used. The first reason: {skipped[0]}."
    return (
        f"{names}: nothing in it changes an object. "
        "An audit policy should log create, update, patch and delete at level RequestResponse."
    )


def _two_clusters(one: Entry, other: Entry) -> str:
    places = " and ".join(f"{each.place.file} line {each.place.line}" for each in (one, other) if each.place)
    return f"The input holds recordings of two clusters ({places} contradict each other). Analyse each by itself."

"""Turn recordings into findings without a server: read them, put changes in order, and judge."""

import gc
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from collectors.formats import AnyReading, Limits, NotARecording, Reading, Skipped, named, read
from collectors.judging import judge_all
from timeline.core import masks
from timeline.core.dating import AHEAD, of_recording
from timeline.core.entries import Entry, LogLine, Mark, Observation, Request
from timeline.core.machine.processors import available_processors
from timeline.history.codec import line_of
from timeline.history.ledger.left_out import LeftOut
from timeline.history.lifelines import name_of
from timeline.history.part import Part
from timeline.history.world.partial import PartialWorld, asked
from timeline.history.world.world import World
from timeline.judge import matters, rulebook
from timeline.judging.findings import Finding
from timeline.payloads import documents
from timeline.payloads.findings import DocumentPayload, SecondDocumentPayload
from timeline.payloads.incidents import symptoms
from timeline.payloads.incidents.making import Incident, Places, incidents_of, payload, places_of_findings

Report = Callable[[AnyReading, int], None]  # called with the reading and its number of entries so far
_EVERY = 2_000  # entries between two reports
_NOT_COUNTED = (Request, LogLine)
SKIPS_KEPT = 10_000  # skipped lines that are kept; more are only counted


class Analysis(NamedTuple):
    """What the rules found in one recording."""

    name: str
    world: World
    findings: list[Finding]
    places: Places  # the incidents of the occurrences of all findings, also of those left out of `findings`
    skipped: list[Skipped]  # the first SKIPS_KEPT, and as many more that are not single lines
    skips: int  # the number of all skips
    entries: int
    nothing: str  # why there is nothing to judge; "" if there is something
    mostly_skipped: tuple[str, ...] = ()  # a sentence for each file that was skipped by more than half
    redacted: Counter[str] | None = None  # reason -> number of redacted values; None if they were not counted
    reviews: int = 0  # reviews of writes; nothing shows whether these writes changed anything

    @property
    def clocks(self) -> list[str]:
        """Return sentences that say which files' clocks were corrected."""
        return documents.clocks(self.world)

    def incidents(self) -> list[Incident]:
        """Return the incidents of the findings, the gravest first."""
        return incidents_of(symptoms.parts_of(self.findings), rulebook(), self.places)

    def document(self) -> DocumentPayload:
        """Return the findings document `causeline.findings/v3`."""
        skipped = [each.place for each in self.skipped]
        if more := self.skips - len(skipped):
            skipped.append(documents.unlisted(self.name, more))
        return documents.document(
            self.world,
            self.findings,
            name=self.name,
            entries=self.entries,
            skipped=skipped,
            rules=rulebook(),
            incidents=[payload(each) for each in self.incidents()],
        )

    def second_document(self) -> SecondDocumentPayload:
        """Return the findings document `causeline.findings/v2`."""
        found = symptoms.symptoms_of(symptoms.parts_of(self.findings), rulebook())
        return documents.second_version(self.document(), [symptoms.payload(each) for each in found])


def group_by_reason(skipped: Iterable[Skipped]) -> list[list[Skipped]]:
    """Return the skips in groups of one file and one reason, in order of lines; first those of more than a line."""
    found: dict[tuple[str, str], list[Skipped]] = {}
    for each in sorted(skipped, key=lambda each: (each.line > 0, each)):
        found.setdefault((each.file, each.reason), []).append(each)
    return list(found.values())


def analyse(
    inputs: Sequence[tuple[Path, str]],
    limits: Limits,
    report: Report | None = None,
    *,
    counts: bool = False,
    intents: bool = False,
    observe: Callable[[Entry], None] | None = None,
    learned: Callable[[int, Observation], None] | None = None,
    only: Part | None = None,
) -> Analysis:
    """Judge what these paths record, taken together. Raise NotARecording if nothing in them can be understood.

    With `counts`, also count what redaction removes, for which objects are read whole. With `intents`, the world knows
    which changes somebody meant. `observe` is called with every entry and its object, and `learned` with every
    observation that adds information, and the number of its object (see `World.learn`). With `only`, only that part is
    judged, and hardly anything of the rest is decoded if the format allows that."""
    inputs = named(inputs)
    collects = gc.isenabled()
    gc.disable()  # entries form no cycles, and the garbage collector would scan all of them repeatedly
    try:
        bodies = counts or intents or observe is not None or learned is not None
        reading = read(inputs, bodies=bodies, limits=limits, processes=available_processors(), only=only)
        world = World(matters, intents=intents)
        if reading.only:
            world = PartialWorld(matters, reading.only, reading.left_out)
        skipped, redacted, reviews = Skips(), Counter[str](), 0
        latest = time.time_ns() // 1000 + AHEAD
        for number, new in world.learn(of_recording(_entries(reading, skipped, report, observe), latest)):
            reviews += isinstance(new, Request) and new.reviewed
            if learned:
                learned(number, new)
            if counts:
                masks.count(line_of(new), redacted)
        name = ", ".join(name for _, name in inputs)
        for left_out in reading.left_out:
            if left_out.lines:
                skipped.add(Skipped(left_out.file, 0, left_out_message(left_out)))
        if not world.seen and skipped.kept and not world.has_logs:
            raise NotARecording(f"{name}: no change of an object can be used. The first reason: {skipped.kept[0]}.")
        if conflict := world.two_clusters():
            raise NotARecording(two_clusters_message(*conflict))
        world.settle()
        tracks = asked(world, only) if only else list(world.tracks())
        findings = judge_all(world, tracks, available_processors())
        if only:
            keys = {track.key for track in tracks}
            findings = [each for each in findings if (name_of(each.subject), each.subject.uid) in keys]
    finally:
        if collects:
            gc.enable()
    entries = sum(map(world.changes, world.seen))
    nothing = "" if world.seen or findings else nothing_to_judge(name, reading)
    if only and not tracks:
        nothing = f"{name}: no object that --only {only} asks for was observed."
    mostly_skipped = tuple(documents.mostly_skipped(skipped.mostly_skipped()))
    return Analysis(
        name,
        world,
        findings,
        places_of_findings(findings),
        skipped.kept,
        skipped.count,
        entries,
        nothing,
        mostly_skipped,
        redacted,
        reviews,
    )


class Skips:
    """Count what was skipped and keep a bounded part of it: every line of a file may be broken."""

    def __init__(self) -> None:
        self.kept: list[Skipped] = []
        self._more: dict[str, Skipped] = {}  # file -> what was not kept of it, together
        self.count = 0
        self._skipped_lines: Counter[str] = Counter()  # file -> number of skipped lines
        self._used_lines: Counter[str] = Counter()  # file -> number of lines that were used
        self._last_line: dict[str, int] = {}  # file -> the last line that was used or skipped

    def add(self, skipped: Skipped) -> None:
        """Count a skip, and keep it if there is room. Half of the room is only for skips that name no line."""
        self.count += skipped.lines
        if skipped.line:
            self._skipped_lines[skipped.file] += skipped.lines
            self._last_line[skipped.file] = max(skipped.line, self._last_line.get(skipped.file, 0))
        if skipped.lines == 1 and len(self.kept) < (SKIPS_KEPT if skipped.line else 2 * SKIPS_KEPT):
            self.kept.append(skipped)
        elif (more := self._more.get(skipped.file)) or len(self._more) < SKIPS_KEPT:
            self._more[skipped.file] = skipped._replace(lines=skipped.lines + (more.lines if more else 0))

    def all(self) -> list[Skipped]:
        """Return what was kept, and one skip for the rest of each file, which counts its lines."""
        return [*self.kept, *self._more.values()]

    def use(self, item: Observation) -> None:
        """Count an observation that was used."""
        place = None if isinstance(item, Mark) else item.place
        if place:
            self.use_line(place.file, place.line)

    def use_line(self, file: str, line: int) -> None:
        """Count a line that was used."""
        self._used_lines[file] += 1
        if line > self._last_line.get(file, 0):
            self._last_line[file] = line

    def mostly_skipped(self) -> dict[str, list[int]]:
        """Return [skipped lines, all lines] for each file that had more than half of its known lines skipped."""
        return {
            file: [count, lines]
            for file, count in sorted(self._skipped_lines.items())
            if 2 * count > (lines := max(self._last_line[file], self._used_lines[file] + count))
        }


def _entries(
    reading: Reading, skipped: Skips, report: Report | None, observe: Callable[[Entry], None] | None
) -> Iterator[Observation]:
    count = 0
    for item in reading:
        if isinstance(item, Skipped):
            skipped.add(item)
            continue
        skipped.use(item)
        if observe and isinstance(item, Entry):
            observe(item)
        yield item
        if isinstance(item, _NOT_COUNTED):
            continue
        count += 1
        if report and count % _EVERY == 0:
            report(reading, count)


def choose(
    findings: list[Finding],
    rules: Sequence[str],
    namespaces: Sequence[str],
    since: int | None = None,
    until: int | None = None,
) -> list[Finding]:
    """Return the findings of these rules and namespaces that happened between two times; without a value, all.

    The times are microseconds since 1970, UTC. Raise ValueError for an unknown rule.
    """
    known = [rule.id for rule in rulebook()]
    if unknown := sorted(set(rules) - set(known)):
        raise ValueError(f"There is no rule {', '.join(unknown)}. The rules are {', '.join(known)}.")
    return [
        finding
        for finding in findings
        if (not rules or finding.rule in rules)
        and (not namespaces or finding.subject.namespace in namespaces)
        and any(
            (since is None or each.last >= since) and (until is None or each.first <= until)
            for each in finding.occurrences
        )
    ]


def nothing_to_judge(name: str, reading: AnyReading) -> str:
    """Return why there is nothing to judge in a recording that was read without an error."""
    wanted = ""
    if any("audit log" in format for format in reading.files.values()):
        wanted = " An audit policy should log create, update, patch and delete at level RequestResponse."
    if any(format.startswith("log of") for format in reading.files.values()):
        wanted += " Read the log of a program together with an audit log, a watch or a list of the same time."
    return f"{name}: nothing in it changes an object, so there was nothing to judge.{wanted}"


def left_out_message(left_out: LeftOut) -> str:
    """Return how much of a file was left out because a part of it was asked for, and what that means."""
    lines = "1 line" if left_out.lines == 1 else f"{left_out.lines} lines"
    return (
        f"{lines} about other namespaces were left out, as --only {left_out.part} asks; what depends on them was not"
        " judged"
    )


def two_clusters_message(one: Entry, other: Entry) -> str:
    """Return why two entries cannot come from one cluster."""
    places = " and ".join(f"{each.place.file} line {each.place.line}" for each in (one, other) if each.place)
    same_namespace = one.ref.kind == "Namespace" == other.ref.kind and one.ref.name == other.ref.name
    what_differs = (
        f"tell of two namespaces {one.ref.name}" if same_namespace else "tell of one revision with two contents"
    )
    return f"The input holds recordings of two clusters: {places} {what_differs}. Analyse each by itself."

"""Answer from recordings, without a server and a database. What is returned is redacted."""

import asyncio
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from collectors.analysis import Analysis
from collectors.formats import Limits
from dashboard.agents import bodies, objects
from dashboard.agents.reader import Parameters, Payload, QuestionRefused
from dashboard.presentation import catalogue
from dashboard.web.timestamps import parsed
from timeline.history.lifelines import Track
from timeline.judge import rulebook
from timeline.judging.findings import Finding
from timeline.judging.incidents import changes
from timeline.judging.incidents.changes import Known
from timeline.kinds import NOISE, kind_of
from timeline.layout import events, lists, outline
from timeline.layout.bodies import Work
from timeline.payloads import changes as changes_payloads
from timeline.payloads import documents
from timeline.payloads.findings import FindingGroupPayload, IncidentRowPayload
from timeline.payloads.incidents.making import Incident, InView
from timeline.queries.filters import IncidentFilter

SOURCE = 0  # the number of the recording
_SKIPPED = 200  # skipped lines that are listed
_ORDERS: dict[str, Callable[[IncidentRowPayload], Any]] = {
    "newest": lambda row: (-row["end"], row["id"]),
    "time": lambda row: (row["start"], row["id"]),
    "gravest": lambda _: 0,  # as they are
}


class Recordings:
    """Answer the questions of tools from one or several files, which are one recording."""

    address = ""

    def __init__(self, files: Sequence[tuple[Path, str]], limits: Limits, analysis: Analysis) -> None:
        self._files = files
        self._limits = limits
        self._analysis = analysis
        self._world = analysis.world

    async def sources(self) -> Payload:
        severities = [row["severity"] for row in self._rows]
        row = {
            "id": SOURCE,
            "name": self._analysis.name,
            "entries": self._analysis.entries,
            "skipped": self._analysis.skips,
            "first": self._world.first,
            "last": self._world.last,
            "errors": severities.count("error"),
            "warnings": severities.count("warning"),
            "infos": severities.count("info"),
        }
        return {"sources": [row], "next": None}

    async def incidents(self, source: int | None, asked: Parameters) -> Payload:
        _check(SOURCE if source is None else source)
        wanted = IncidentFilter.model_validate(
            {name: asked[name] for name in IncidentFilter.model_fields if name in asked}
        )
        matching = [row for row in self._incidents if wanted.matches(row)]
        matching.sort(key=_ORDERS[str(asked.get("order") or "time")])
        shown, following = _page(matching, asked)
        return {
            "incidents": shown,
            "next": following,
            "total": len(matching),
            "symptoms": sum(row["symptoms_total"] for row in matching),
            "findings": sum(row["findings"] for row in matching),
            "harmless": 0,
            "silenced": 0,
            "acknowledged": 0,
            "acknowledged_symptoms": 0,
            "acknowledged_findings": 0,
        }

    async def incident(self, source: int, identity: str) -> Payload:
        _check(source)
        wanted = self._named_incident(identity).id
        return dict(next(row for row in self._incidents if row["id"] == wanted))

    def _named_incident(self, name: str) -> Incident:
        """Return the incident with this id or name, or with such a symptom, which was an incident of its own before."""
        every = self._analysis.incidents()
        named = [each for each in every if each.id.startswith(name)]
        symptoms = {one.id: each for each in reversed(every) for one in each.symptoms if one.id.startswith(name)}
        named = named or list(symptoms.values())
        if len(named) != 1:
            raise QuestionRefused(f"{'Several incidents have' if named else 'No incident has'} this id or name.")
        return named[0]

    async def findings(self, source: int, asked: Parameters) -> Payload:
        _check(source)
        rows = next((each.rows for each in self._in_view if each.incident["id"] == asked["incident"]), [])
        shown, following = _page(rows, asked)
        return {"findings": shown, "next": following, "total": len(rows)}

    async def finding(self, source: int, identity: str) -> Payload:
        _check(source)
        if identity not in self._findings:
            raise QuestionRefused("No such finding. The recording has none with this id.")
        return {**documents.finding(self._findings[identity]), "source": SOURCE}

    async def events(self, source: int, asked: Parameters) -> Payload:
        _check(source)
        start, end = asked["start"], asked["end"]
        start = self._world.first if start is None else int(start)
        end = self._world.last if end is None else int(end)
        if start > end:
            raise QuestionRefused("start lies after end.")
        lives = (
            events.Life(self._world.number(track), track.ref, outline.lifeline(track))
            for track in self._world.tracks()
            if track.first.time <= end and track.last.time >= start and self._wanted(track, asked)
        )
        try:
            found = events.events(
                lives,
                start,
                end,
                every=bool(asked["every"]),
                after=str(asked["cursor"]),
                limit=int(asked["limit"] or 1),
                complete=True,
            )
        except ValueError:
            raise QuestionRefused("The cursor is not that of an answer.") from None
        return dict(found)

    def _wanted(self, track: Track, asked: Parameters) -> bool:
        ref, kind, root = track.ref, str(asked["kind"]), asked["scope"]
        shown = bool(asked["noise"]) or track.family not in NOISE
        return (
            (not asked["namespace"] or ref.namespace == asked["namespace"])
            and (not asked["name"] or ref.name == asked["name"])
            and (kind_of(ref.group, ref.kind).is_meant(kind) if kind else shown)
            and (root is None or self._world.number(self._world.root(track)) == root)
        )

    async def track(self, source: int, track: int) -> Payload:
        _check(source)
        return objects.payload(self._analysis, self._track(track))

    async def revisions(self, source: int, track: int, asked: Parameters) -> Payload:
        _check(source)
        shown, found = self._track(track), await self._bodies(track)
        try:
            since = int(str(asked["cursor"] or 0))
        except ValueError:
            raise QuestionRefused("The cursor is not that of an answer.") from None
        changed = bodies.changes(shown, found)
        work = Work()
        rows = [
            bodies.payload(shown, at, changed, work) for at in range(since, len(changed))[: int(asked["limit"] or 1)]
        ]
        following = since + len(rows)
        return {"revisions": rows, "next": str(following) if following < len(changed) else None, "total": len(changed)}

    async def _bodies(self, track: int) -> bodies.Bodies:
        """Read the files again for the objects of a track: the world does not keep them."""
        name = self._track(track).name
        return await asyncio.to_thread(bodies.read_again, self._files, self._limits, name)

    async def changes(self, source: int, asked: Parameters) -> Payload:
        _check(source)
        minutes, limit = int(asked["minutes"] or 1), int(asked["limit"] or 1)
        before = asked["before"]
        if sum((asked["about"] is not None, bool(asked["incident"]), bool(asked["finding"]))) > 1:
            raise QuestionRefused("Give one of incident, finding and track.")
        tracks, at = self._asked(asked)
        at = at if before is None else int(before)
        around = changes.surroundings(self._world, tracks) if tracks else None
        sets = changes.before(self._known_changes, at, minutes, around)
        return dict(changes_payloads.changes(sets, at, minutes, limit=limit))

    def _asked(self, asked: Parameters) -> tuple[list[Track], int]:
        """Return the objects that a question is about, and the time before which to look."""
        if (number := asked["about"]) is not None:
            track = self._track(int(number))
            return [track], track.until or self._world.last
        if identity := asked["incident"]:
            incident = self._named_incident(str(identity))
            about = [self._findings[each] for each in incident.findings]
            anchors = list(self._world.incarnations(incident.gravest.anchor))
            return [*anchors, *self._named(about)][: changes_payloads.OBJECTS], incident.first
        if identity := asked["finding"]:
            if identity not in self._findings:
                raise QuestionRefused("No such finding. The recording has none with this id.")
            found = self._findings[str(identity)]
            return self._named([found]), found.occurrences[0].first
        return [], self._world.last

    def _named(self, findings: Sequence[Finding]) -> list[Track]:
        return changes.tracks_of(self._world, (ref for each in findings for ref in (each.subject, each.other) if ref))

    async def coverage(self, source: int) -> Payload:
        _check(source)
        skipped = [(each.file, each.line, each.reason) for each in self._analysis.skipped]
        parts = documents.as_read(documents.source_document(self._world, rulebook()), skipped)
        return {
            **parts,
            "source": SOURCE,
            "name": self._analysis.name,
            "entries": self._analysis.entries,
            "first": documents.timestamp(self._world.first),
            "last": documents.timestamp(self._world.last),
            "skipped": [{"file": file, "line": line, "reason": reason} for file, line, reason in skipped[:_SKIPPED]],
            "skipped_total": self._analysis.skips,
        }

    async def search(self, source: int, words: str) -> Payload:
        _check(source)
        return objects.search(self._world, self._rows, words)

    async def resolve(self, asked: Parameters) -> Payload:
        try:
            at = parsed(str(asked["at"])) if asked.get("at") else None
        except ValueError as error:
            raise QuestionRefused(f"at: {error}") from None
        return objects.resolve(self._world, {name: str(text) for name, text in asked.items() if name != "at"}, at)

    async def rules(self) -> list[Payload]:
        return [{**catalogue.payload(rule), "url": ""} for rule in rulebook()]

    @cached_property
    def _rows(self) -> list[FindingGroupPayload]:
        return lists.rows(lists.stored(self._world, self._analysis.findings, self._world.number, self._analysis.places))

    @cached_property
    def _findings(self) -> dict[str, Finding]:
        return {each.id: each for each in self._analysis.findings}

    @cached_property
    def _incidents(self) -> list[IncidentRowPayload]:
        return [each.incident for each in self._in_view]

    @cached_property
    def _in_view(self) -> list[InView]:
        return lists.incidents(self._analysis.incidents(), self._rows)

    @cached_property
    def _known_changes(self) -> list[Known]:
        return changes.known_changes(self._world)

    @cached_property
    def _numbers(self) -> dict[int, Track]:
        return {self._world.number(track): track for track in self._world.tracks()}

    def _track(self, number: int) -> Track:
        if number not in self._numbers:
            raise QuestionRefused("No such object. The recording has no object with this number.")
        return self._numbers[number]


def _check(source: int) -> None:
    if source != SOURCE:
        raise QuestionRefused(f"There is one recording here, and its number is {SOURCE}.")


def _page(rows: Sequence[Any], asked: Parameters) -> tuple[list[Any], str | None]:
    """Return the rows of a page, and the cursor of the next one."""
    cursor = str(asked.get("cursor") or "0")
    if not cursor.isdecimal() or len(cursor) > 9:
        raise QuestionRefused("The cursor is not that of an answer.")
    end = int(cursor) + int(asked["limit"] or 1)
    return list(rows[int(cursor) : end]), str(end) if end < len(rows) else None

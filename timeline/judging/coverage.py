"""This pure module finds out how completely a source shows each kind, and what each rule can therefore judge."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from typing_extensions import TypedDict

from timeline.core.entries import Change, Level
from timeline.history.seen import Seen
from timeline.history.world import World
from timeline.judging.remedies import (
    IMPORT_AGAIN,
    LOGS,
    REQUESTS,
    WATCHES,
    policy_line,
    remedy,
    resource_of,
    watch_command,
)
from timeline.judging.rulebook import Rule
from timeline.kinds import qualified

Depth = Literal["RequestResponse", "Request", "Metadata", "watch", "list"]
Requests = Literal["kept", "lost", "part", "none"]
Judgement = Literal["exact", "bounded", "inconclusive", "not"]


class CoverageRow(NamedTuple):
    """This row says how completely a source shows one kind."""

    group: str
    kind: str
    resource: str  # as audit policies and kubectl name it
    level: Depth  # the audit level of most writes; "watch" or "list" if no audit log shows them
    complete: bool  # whether its changes were observed and none is known to be missing
    holes: int  # the number of writes that are missing, as other writes prove
    from_list: bool  # whether a list shows which objects existed at the beginning
    entries: int  # the number of observed changes
    bodies: bool  # whether the bodies of some objects were recorded, not only that the objects changed
    dated: bool  # whether the times of changes are known; in a watch, managedFields carry them
    requests: Requests = "kept"  # whether it is known who sent the writes; "none" without an audit log
    namespaces: tuple[str, ...] = ()  # the only namespaces that were watched; none if all of them were

    @property
    def name(self) -> str:
        """Return the resource with its group, in the form that kubectl accepts."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def followed(self) -> str:
        """Return text that says how completely its changes were observed."""
        followed = "one moment" if self.level == "list" else "complete" if self.complete else "with gaps"
        return f"{followed}, in {_and(self.namespaces)} only" if self.namespaces else followed


class RuleCoverage(NamedTuple):
    """This says what one rule can judge in a source."""

    rule: str
    verdict: Judgement  # the best verdict that its findings can have
    why: str
    remedy: str  # lines, each of them a line of an audit policy, a command or a sentence; "" if nothing is missing

    @property
    def words(self) -> str:
        """Return the text that shows the verdict."""
        return "cannot judge" if self.verdict == "not" else self.verdict


def coverage(world: World) -> list[CoverageRow]:
    """Return one row for each kind that was observed, sorted by group and kind."""
    completeness = world.completeness
    rows = []
    for (group, kind), seen in sorted(world.seen.items()):
        holes = sum(loss.kind == (group, kind) for loss in completeness.losses)
        # A watch shows nothing after its last line.
        followed_until = seen.streamed_until if seen.watched else world.last
        stream = world.streams.get((group, kind))
        limited = stream.namespaces if stream else []
        scopes: list[str | None] = [*limited] or [None]
        complete = all(world.complete(group, kind, world.first, followed_until, each) for each in scopes)
        bodies = seen.streamed or seen.listed or bool(seen.levels.keys() - {Level.METADATA})
        level = _level(seen)
        dated = level != "watch" or _dated(group, kind, world)
        rows.append(
            CoverageRow(
                group,
                kind,
                resource_of(kind),
                level,
                complete,
                holes,
                seen.listed,
                seen.changes,
                bodies,
                dated,
                _requests(seen),
                tuple(limited),
            )
        )
    return rows


def _dated(group: str, kind: str, world: World) -> bool:
    """Return whether a watch of this kind shows the times of changes."""
    changes = (each for track in world.of_kind(group, kind) for each in track.moments if each.change is Change.MODIFIED)
    first = next(changes, None)
    return first is None or first.user_agent != "" or any(each.user_agent for each in changes)


class Evidence(TypedDict):
    """This says what a source has besides the changes of objects; see `judgeable`."""

    logs: bool
    asked: bool
    watches: bool
    acts: bool
    owned: bool


def evidence(world: World) -> Evidence:
    """Return what a world has besides the changes of objects."""
    return {
        "logs": world.has_logs,
        "asked": world.has_requests,
        "watches": world.has_watches,
        "acts": world.has_acts,
        "owned": world.has_children,
    }


def judgeable(
    rows: Iterable[CoverageRow],
    rules: Iterable[Rule],
    *,
    logs: bool = False,
    live: bool = False,
    shown: bool = True,
    asked: bool = False,
    watches: bool = True,
    acts: bool = True,
    owned: bool = True,
) -> list[RuleCoverage]:
    """Return for each rule the best verdict that it can give, why, and what to record for a better one.

    `logs` says whether the source has lines of the logs of programs, and `live` whether a cluster feeds it.
    Without `shown`, findings about objects that only a log names are not kept. `asked` says whether it has requests
    that changed nothing, `watches` whether it has those of watches, and `acts` whether Events name the copies on which
    controllers acted, and `owned` whether objects name their owners.
    """
    by_kind = {qualified(row.group, row.kind): row for row in rows}
    watching = bool(by_kind) and all(row.level in ("watch", "list") for row in by_kind.values())
    requests = {row.requests for row in by_kind.values()} - {"none"}
    logged = [row for row in by_kind.values() if row.requests != "none"]
    bare = bool(logged) and all(row.level in ("Metadata", "watch", "list") for row in logged)
    watched = any(row.level == "watch" for row in by_kind.values())
    return [
        (_ONLY_RECORDINGS._replace(rule=rule.id) if rule.recordings and live else None)
        or (_without_logs(rule) if rule.logs and not logs else None)
        or (_without_objects(rule) if rule.logs and not shown and not by_kind else None)
        or (_without_requests(rule, requests, asked=asked) if rule.requests and requests != {"kept"} else None)
        or (_NO_WATCHES._replace(rule=rule.id) if rule.watches and not watches else None)
        or (
            _NO_ACTS._replace(rule=rule.id, remedy=remedy("Event", watching))
            if rule.acts and not acts and not (rule.owned and owned)
            else None
        )
        or (
            _without_bodies(rule, watched=watched) if rule.requests and bare and (rule.bare or not rule.whole) else None
        )
        or _judgeable(rule, _needed(rule, by_kind), watching)
        for rule in rules
    ]


def _needed(rule: Rule, by_kind: Mapping[str, CoverageRow]) -> list[tuple[str, CoverageRow | None]]:
    """Return the kinds that a rule needs, each with its row, or None if it was not observed; of a rule that judges all
    kinds, and of which none of the usual ones was observed, also the others."""
    found = [(kind, by_kind.get(kind)) for kind in rule.whole + rule.any_of]
    if rule.every and not any(row and row.bodies for _, row in found):
        found += [(kind, row) for kind, row in by_kind.items() if row.bodies and kind not in rule.any_of]
    return found


def _without_logs(rule: Rule) -> RuleCoverage:
    return RuleCoverage(rule.id, "not", "it needs the log of the program, and no log was read", LOGS)


def _without_objects(rule: Rule) -> RuleCoverage:
    why = "no object was read with which its findings could be shown; causeline analyze shows them"
    return RuleCoverage(rule.id, "not", why, "Import the log together with an audit log, a watch or a list.")


def _without_bodies(rule: Rule, *, watched: bool) -> RuleCoverage:
    """Return what a rule can judge that needs the requests of an audit log, if the log has no bodies."""
    if rule.bare:
        return RuleCoverage(rule.id, "exact", f"the audit log has no bodies: {rule.bare}", _BODIES)
    if watched:
        why = "the audit log has no bodies, so it is judged where a watch shows the content of what was written"
        return RuleCoverage(rule.id, "bounded", why, _BODIES)
    why = "the audit log has no bodies, in which stands what it looks at"
    return RuleCoverage(rule.id, "not", why, _BODIES)


_NO_WATCHES = RuleCoverage(
    "", "not", "no watch request was seen: there was none, or the audit policy leaves them out", WATCHES
)
_NO_ACTS = RuleCoverage("", "not", "no Event was seen in which a controller names the copy on which it acted", "")
_BODIES = "Log the writes of the objects that matter at level RequestResponse."
_ONLY_RECORDINGS = RuleCoverage(
    "", "not", "it judges recordings only", "Download everything observed, and upload it as a recording."
)


def _without_requests(rule: Rule, requests: set[Requests], *, asked: bool) -> RuleCoverage:
    """Return what a rule can judge that needs the requests of an audit log, if not all of them are known. `asked` says
    whether there are requests that changed nothing."""
    if not requests and asked:
        return RuleCoverage(
            rule.id, "not", "the audit log that was read has no writes that changed an object", REQUESTS
        )
    if not requests:
        why = "without an audit log, it is not known who sent which request, nor what was refused"
        return RuleCoverage(rule.id, "not", why, REQUESTS)
    if requests == {"lost"}:
        why = "who sent which request, and what was refused, was not kept when the audit log was imported"
        return RuleCoverage(rule.id, "not", why, IMPORT_AGAIN)
    why = "of a part of the audit log, it was not kept who sent which request, nor what was refused"
    return RuleCoverage(rule.id, "bounded", why, IMPORT_AGAIN)


def _judgeable(rule: Rule, needs: list[tuple[str, CoverageRow | None]], watching: bool) -> RuleCoverage:
    """Return what one rule can judge, from the kinds that it needs, each with its row, or None if it was not observed.

    `watching` says that the source has no audit log, so that the remedy is a watch.
    """
    if any(row and row.bodies for kind, row in needs if rule.every or kind in rule.any_of):
        # Rows without bodies do not help.
        needs = [(kind, row if kind not in rule.any_of or (row and row.bodies) else None) for kind, row in needs]
    unseen = [kind for kind, row in needs if row is None]
    known = {kind for kind, row in needs if row}
    dispensable = not set(unseen) - set(rule.any_of) and bool(known & set(rule.any_of) or (rule.every and known))
    listed = [row for _, row in needs if row and row.level == "list"]
    unordered = ("Metadata",) if rule.lists else ("Request", "Metadata")
    shallow = [row for _, row in needs if row and row.level in unordered]
    bare = [row for kind, row in needs if row and not row.bodies and kind in (rule.judges or rule.whole + rule.any_of)]
    broken = [row for _, row in needs if row and row.level != "list" and not row.complete]
    watched = [row for _, row in needs if row and row.level == "watch" and rule.times]
    best: Judgement = "bounded" if watched else "exact"
    if unseen:
        what = f"no change of {_and(unseen)} was seen: there was none, or the source does not tell of it"
        not_seen = RuleCoverage(rule.id, "not", what, "\n".join(remedy(kind, watching) for kind in unseen))
        if not dispensable:
            return not_seen
    if listed and not rule.lists:
        what = (
            f"{_and(row.resource for row in listed)} come from a list, which shows one moment and no order of changes"
        )
        return RuleCoverage(rule.id, "not", what, "\n".join(_watch_command(row) for row in listed))
    if bare and rule.bare:
        what = f"{_and(row.resource for row in bare)} were logged without bodies: {rule.bare}"
        return RuleCoverage(rule.id, best, what, "\n".join(policy_line(row.group, row.resource) for row in bare))
    if bare:
        what = f"{_and(row.resource for row in bare)} were logged without bodies, in which stands what it looks at"
        return RuleCoverage(rule.id, "not", what, "\n".join(policy_line(row.group, row.resource) for row in bare))
    if shallow:
        names = _and(row.resource for row in shallow)
        what = f"{names} were logged without revisions, so overlapping requests have no order"
        return RuleCoverage(
            rule.id, "inconclusive", what, "\n".join(policy_line(row.group, row.resource) for row in shallow)
        )
    if undated := [row for row in watched if not row.dated]:
        what = f"{_and(row.resource for row in undated)} come from a watch without managedFields, which tell the times"
        return RuleCoverage(rule.id, "inconclusive", what, "\n".join(_watch_command(row) for row in undated))
    if broken:
        names = _and(row.resource for row in broken)
        what = f"writes of {names} are missing, or may be: what rests on absence is not judged"
        remedies = [_watch_command(row) for row in broken if row.level == "watch"]
        if len(remedies) < len(broken):
            remedies.insert(0, "Add the other API servers' logs, or the rotated ones, to the same recording.")
        return RuleCoverage(rule.id, best, what, "\n".join(remedies))
    if limited := [row for _, row in needs if row and row.namespaces]:
        names = _and(dict.fromkeys(row.resource for row in limited))
        namespaces = _and(sorted({namespace for row in limited for namespace in row.namespaces}))
        what = f"{names} are watched in {namespaces} only: nothing is said of other namespaces"
        return RuleCoverage(rule.id, best, what, "")
    if watched:
        what = f"{_and(row.resource for row in watched)} come from a watch, whose times are whole seconds"
        return RuleCoverage(rule.id, best, what, "\n".join(policy_line(row.group, row.resource) for row in watched))
    if listed:
        what = f"{_and(row.resource for row in listed)} come from a list: what stood then is judged, and nothing before"
        return RuleCoverage(rule.id, "exact", what, "\n".join(_watch_command(row) for row in listed))
    if unseen:
        return not_seen._replace(verdict="exact")
    return RuleCoverage(rule.id, "exact", "everything it looks at was seen in full", "")


def partly_read(skipped: Iterable[tuple[str, int, str]]) -> bool:
    """Return whether any of the skipped (file, line, reason) was a part of a recording, which may have held writes."""
    return any(line > 0 or not reason.startswith(_NO_PART) for _, line, reason in skipped)


_NO_PART = (  # how the reason begins when a whole file was skipped because it is not a recording
    "is hidden",
    "is a link",
    "is not a re",
    "is a folder",
    "is an archive without",
    "is empty",
    "is a kubeconfig",
    "is a log",
    "is a recording of kwok",
)


def of_parts(rows: Iterable[CoverageRow]) -> list[CoverageRow]:
    """Return the rows for a recording of which a part could not be read, so that no kind is complete."""
    return [row._replace(complete=False) for row in rows]


def judged_in_part(rules: Iterable[RuleCoverage]) -> list[RuleCoverage]:
    """Return what each rule can judge in a recording of which a part could not be read.

    If a rule lacks something else already, its reason and remedy stay.
    """
    return [
        rule if rule.verdict == "not" or rule.remedy else rule._replace(why=_PARTLY, remedy=_WHOLE) for rule in rules
    ]


_PARTLY = "a part of the recording could not be read, in which writes may stand"
_WHOLE = "Add what was skipped, from a copy that is whole, to the same recording."


def _requests(seen: Seen) -> Requests:
    logged = seen.levels.total()
    if not seen.unattributed:
        return "kept" if logged else "none"
    return "lost" if seen.unattributed == logged else "part"


def _level(seen: Seen) -> Depth:
    if seen.levels and not seen.watched:
        level: Level = max(Level, key=lambda each: (seen.levels[each], each is Level.FULL))
        return level.value
    return "watch" if seen.streamed else "list"


def _watch_command(row: CoverageRow) -> str:
    return watch_command(row.group, row.resource)


def _and(words: Iterable[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last

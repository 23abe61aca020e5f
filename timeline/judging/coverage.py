"""Pure: what a source saw of each kind, how completely, and so what can be judged in it."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from timeline.core.entries import Change, Level
from timeline.history.seen import Seen
from timeline.history.world import World
from timeline.judging.rulebook import Rule
from timeline.kinds import qualified

Depth = Literal["RequestResponse", "Request", "Metadata", "watch", "list"]
Judgement = Literal["exact", "bounded", "inconclusive", "not"]


class CoverageRow(NamedTuple):
    """What was seen of one kind."""

    group: str
    kind: str
    resource: str  # as audit policies and kubectl name it
    level: Depth  # of most of its writes; "watch" or "list" where no audit log told them
    complete: bool  # its changes were followed, and no write of it is known to be missing
    holes: int  # writes that others prove to be missing
    from_list: bool  # what stood at the beginning is known
    entries: int
    bodies: bool  # of some objects more was told than that they changed
    dated: bool  # something tells when its objects were changed; a watch does so by their managedFields

    @property
    def name(self) -> str:
        """The resource with its group, as kubectl takes it."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def followed(self) -> str:
        """How well its changes were followed, in words."""
        return "one moment" if self.level == "list" else "complete" if self.complete else "with gaps"


class RuleCoverage(NamedTuple):
    """What one rule can say of the source."""

    rule: str
    verdict: Judgement  # at best
    why: str
    remedy: str  # one a line: a line of an audit policy, a command, a sentence; "" where nothing is lacking

    @property
    def told(self) -> str:
        """The verdict in words."""
        return "cannot judge" if self.verdict == "not" else self.verdict


def coverage(world: World) -> list[CoverageRow]:
    """One row a kind that was seen, in the order of groups and kinds."""
    completeness = world.completeness
    rows = []
    for (group, kind), seen in sorted(world.seen.items()):
        holes = sum(loss.kind == (group, kind) for loss in completeness.losses)
        followed_until = seen.streamed_until if seen.watched else world.last  # a watch tells until its last line
        complete = world.complete(group, kind, world.first, followed_until)
        bodies = seen.streamed or seen.listed or bool(seen.levels.keys() - {Level.METADATA})
        level = _level(seen)
        dated = level != "watch" or _dated(group, kind, world)
        rows.append(
            CoverageRow(group, kind, plural(kind), level, complete, holes, seen.listed, seen.changes, bodies, dated)
        )
    return rows


def _dated(group: str, kind: str, world: World) -> bool:
    changes = [each for track in world.of_kind(group, kind) for each in track.moments if each.change is Change.MODIFIED]
    return not changes or any(each.user_agent for each in changes)


def judgeable(rows: Iterable[CoverageRow], rules: Iterable[Rule]) -> list[RuleCoverage]:
    """For each rule, at what verdict it can judge, why, and what would fill the lack."""
    by_kind = {qualified(row.group, row.kind): row for row in rows}
    watching = bool(by_kind) and all(row.level in ("watch", "list") for row in by_kind.values())
    return [
        _judgeable(rule, [(kind, by_kind.get(kind)) for kind in rule.needs + rule.any_of], watching) for rule in rules
    ]


def _judgeable(rule: Rule, needs: list[tuple[str, CoverageRow | None]], watching: bool) -> RuleCoverage:
    """`watching`: no audit log is among the source, and so another watch is what it lacks."""
    if any(row and row.bodies for kind, row in needs if kind in rule.any_of):  # the others tell nothing that it reads
        needs = [(kind, row if kind not in rule.any_of or (row and row.bodies) else None) for kind, row in needs]
    unseen = [kind for kind, row in needs if row is None]
    spared = len(unseen) < len(needs) and not set(unseen) - set(rule.any_of)
    listed = [row for _, row in needs if row and row.level == "list"]
    unordered = ("Metadata",) if rule.lists else ("Request", "Metadata")
    shallow = [row for _, row in needs if row and row.level in unordered]
    bare = [row for kind, row in needs if row and not row.bodies and kind in (rule.judges or rule.needs + rule.any_of)]
    broken = [row for _, row in needs if row and row.level != "list" and not row.complete]
    watched = [row for _, row in needs if row and row.level == "watch" and rule.times]
    best: Judgement = "bounded" if watched else "exact"
    if unseen:
        what = f"no change of {_and(unseen)} was seen: there was none, or the source does not tell of it"
        unseen_told = RuleCoverage(rule.id, "not", what, "\n".join(_remedy(kind, watching) for kind in unseen))
        if not spared:
            return unseen_told
    if listed and not rule.lists:
        what = (
            f"{_and(row.resource for row in listed)} come from a list, which shows one moment and no order of changes"
        )
        return RuleCoverage(rule.id, "not", what, "\n".join(_watch(row) for row in listed))
    if bare:
        what = f"{_and(row.resource for row in bare)} were logged without bodies, in which stands what it looks at"
        return RuleCoverage(rule.id, "not", what, "\n".join(_policy(row.group, row.resource) for row in bare))
    if shallow:
        names = _and(row.resource for row in shallow)
        what = f"{names} were logged without revisions, so overlapping requests have no order"
        return RuleCoverage(
            rule.id, "inconclusive", what, "\n".join(_policy(row.group, row.resource) for row in shallow)
        )
    if undated := [row for row in watched if not row.dated]:
        what = f"{_and(row.resource for row in undated)} come from a watch without managedFields, which tell the times"
        return RuleCoverage(rule.id, "inconclusive", what, "\n".join(_watch(row) for row in undated))
    if broken:
        names = _and(row.resource for row in broken)
        what = f"writes of {names} are missing, or may be: what rests on absence is not judged"
        remedies = [_watch(row) for row in broken if row.level == "watch"]
        if len(remedies) < len(broken):
            remedies.insert(0, "Add the other API servers' logs, or the rotated ones, to the same recording.")
        return RuleCoverage(rule.id, best, what, "\n".join(remedies))
    if watched:
        what = f"{_and(row.resource for row in watched)} come from a watch, whose times are whole seconds"
        return RuleCoverage(rule.id, best, what, "\n".join(_policy(row.group, row.resource) for row in watched))
    if listed:
        what = f"{_and(row.resource for row in listed)} come from a list: what stood then is judged, and nothing before"
        return RuleCoverage(rule.id, "exact", what, "\n".join(_watch(row) for row in listed))
    if unseen:
        return unseen_told._replace(verdict="exact")
    return RuleCoverage(rule.id, "exact", "everything it looks at was seen in full", "")


def partly_read(skipped: Iterable[tuple[str, int, str]]) -> bool:
    """Whether any of (file, line, reason) was part of a recording: then writes may stand in what was skipped."""
    return any(line > 0 or not reason.startswith(_NO_PART) for _, line, reason in skipped)


_NO_PART = (
    "is hidden",
    "is a link",
    "is not a re",
    "is a folder",
    "is an archive without",
    "is empty",
    "is a kubeconfig",
)


def of_parts(rows: Iterable[CoverageRow]) -> list[CoverageRow]:
    """What was seen of each kind by a recording of which a part could not be read."""
    return [row._replace(complete=False) for row in rows]


def judged_in_part(rules: Iterable[RuleCoverage]) -> list[RuleCoverage]:
    """What each rule can say by such a recording; what they lack beside that goes first."""
    return [
        rule if rule.verdict == "not" or rule.remedy else rule._replace(why=_PARTLY, remedy=_WHOLE) for rule in rules
    ]


_PARTLY = "a part of the recording could not be read, in which writes may stand"
_WHOLE = "Add what was skipped, from a copy that is whole, to the same recording."


def plural(kind: str) -> str:
    """The resource of a kind, by the rule that Kubernetes itself follows."""
    name = kind.lower()
    if name == "endpoints":
        return name
    if name.endswith(("s", "x", "ch")):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") and name[-2:-1] not in "aeiou" else f"{name}s"


def _level(seen: Seen) -> Depth:
    if seen.levels and not seen.watched:
        level: Level = max(Level, key=lambda each: (seen.levels[each], each is Level.FULL))
        return level.value
    return "watch" if seen.streamed else "list"


def _remedy(kind: str, watching: bool) -> str:
    name, _, group = kind.partition(".")
    advise = _command if watching else _policy
    return advise(group or _GROUPS.get(name, ""), plural(name))


_GROUPS = {
    "Job": "batch",
    "Lease": "coordination.k8s.io",
    "EndpointSlice": "discovery.k8s.io",
    "Deployment": "apps",
    "StatefulSet": "apps",
    "DaemonSet": "apps",
    "ReplicaSet": "apps",
}


POLICY = "In the audit policy: "


def _policy(group: str, resource: str) -> str:
    resources = f'{{group: "{group}", resources: ["{resource}", "{resource}/*"]}}'
    verbs = "verbs: [create, update, patch, delete, deletecollection]"
    return f"{POLICY}- {{level: RequestResponse, {verbs}, resources: [{resources}]}}"


def _watch(row: CoverageRow) -> str:
    return _command(row.group, row.resource)


def _command(group: str, resource: str) -> str:
    name = f"{resource}.{group}" if group else resource
    return f"kubectl get {name} -A -w --output-watch-events --show-managed-fields -o json"


def _and(words: Iterable[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last

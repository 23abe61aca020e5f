"""Find out how completely a source shows each kind, and each line that a rule may need. It does no I/O."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from timeline.core.entries import Change, Level, LogLine
from timeline.history.seen import GroupKind, Seen
from timeline.history.shown import Depth, Verb
from timeline.history.world.world import World
from timeline.judging.coverage.lines import OF_OBJECTS, Line
from timeline.kinds import qualified, resource_of

Source = Literal["RequestResponse", "Request", "Metadata", "watch", "list"]
Requests = Literal["kept", "lost", "part", "none"]


class CoverageRow(NamedTuple):
    """How completely a source shows one kind."""

    group: str
    kind: str
    resource: str  # as audit policies and kubectl name it
    level: Source  # the audit level of most writes; "watch" or "list" if no audit log shows them
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
        return f"{followed}, in {enumerated(self.namespaces)} only" if self.namespaces else followed


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
                world.changes((group, kind)),
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


def _requests(seen: Seen) -> Requests:
    logged = seen.levels.total()
    if not seen.unattributed:
        return "kept" if logged else "none"
    return "lost" if seen.unattributed == logged else "part"


def _level(seen: Seen) -> Source:
    if seen.levels and not seen.watched:
        level: Level = max(Level, key=lambda each: (seen.levels[each], each is Level.FULL))
        return level.value
    return "watch" if seen.streamed else "list"


def of_parts(rows: Iterable[CoverageRow]) -> list[CoverageRow]:
    """Return the rows for a recording that could be read only in part, so that no kind is complete."""
    return [row._replace(complete=False) for row in rows]


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


def enumerated(words: Iterable[str], joint: str = "and") -> str:
    """Return text that names all of these."""
    *others, last = words
    return f"{', '.join(others)} {joint} {last}" if others else last


class Sight(NamedTuple):
    """How much of a line was seen: of each sort, the namespaces by kind."""

    enough: Mapping[GroupKind, set[str]]
    shallow: Mapping[GroupKind, set[str]]  # bodies, but no revisions
    bare: Mapping[GroupKind, set[str]]  # no bodies
    everywhere: bool = False  # whether it is watched live, in all namespaces
    direct: bool = False  # whether a log alone shows so much of any kind


class Sights:
    """Answer what a source shows of the lines that rules need."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rows = {(row.group, row.kind): row for row in coverage(world)}
        self.kinds = sorted({*world.shown.kinds(), *self.rows})
        self.logged = any(row.requests != "none" for row in self.rows.values())
        self.asked = bool(world.requested_names())
        self.watching = bool(self.rows) and not self.logged and not self.asked
        self.sights: dict[Line, Sight] = {}
        self.spaces: dict[tuple[GroupKind, Verb], set[str]] = {}

    def kinds_of(self, line: Line) -> list[GroupKind]:
        """Return the observed kinds that a line is about."""
        return [kind for kind in self.kinds if line.others or qualified(*kind) in line.kinds]

    def sight(self, line: Line) -> Sight:
        if line not in self.sights:
            self.sights[line] = self._sight(line)
        return self.sights[line]

    def _sight(self, line: Line) -> Sight:
        enough, shallow, bare = (defaultdict[GroupKind, set[str]](set) for _ in range(3))
        everywhere = direct = False
        if line.verbs == (Verb.LOG,):
            named = any(_is_of(line.by, name, lines) for name, lines in self.world.logs())
            return Sight({("", ""): {""}} if named else {}, {}, {})
        for kind in self.kinds_of(line):
            stream = self.world.streams.get(kind)
            followed = bool(stream and stream.since) and bool(set(line.verbs) & OF_OBJECTS)
            for depths, namespaces in (found for verb in line.verbs for found in self.world.shown.of(kind, verb)):
                if line.sent and not depths - {Depth.OBJECT}:
                    continue  # nothing says who sent the request
                if line.level is Level.METADATA or followed or depths & {Depth.FULL, Depth.OBJECT}:
                    enough[kind] |= namespaces
                    direct = direct or line.level is Level.METADATA or Depth.FULL in depths
                else:
                    enough[kind] |= namespaces & self.watched(kind)
                    (shallow if Depth.REQUEST in depths else bare)[kind] |= namespaces - self.watched(kind)
            if followed and stream and not line.sent:
                enough[kind] |= set(stream.namespaces)
                everywhere = everywhere or not stream.namespaces
        found = [{kind: spaces for kind, spaces in each.items() if spaces} for each in (enough, shallow, bare)]
        return Sight(found[0], found[1], found[2], everywhere, direct)

    def watched(self, kind: GroupKind) -> set[str]:
        """Return the namespaces in which a watch shows the objects of a kind, whatever it shows of them."""
        if kind not in self.world.seen or not self.world.seen[kind].streamed:
            return set()
        return set().union(
            *(spaces for depths, spaces in self.world.shown.of(kind, Verb.STATE) if Depth.OBJECT in depths)
        )

    def follows(self, kind: GroupKind) -> bool:
        """Return whether a watch of a kind, beside a log that misses writes, shows all of them as long as it lasts."""
        seen, world = self.world.seen[kind], self.world
        return seen.streamed and world.complete(*kind, world.first, seen.streamed_until)

    def present(self, kind: GroupKind, verb: Verb) -> set[str]:
        """Return the namespaces in which a verb of a kind was seen at all."""
        if (kind, verb) not in self.spaces:
            self.spaces[kind, verb] = set().union(*(spaces for _, spaces in self.world.shown.of(kind, verb)))
        return self.spaces[kind, verb]

    def implied(self, line: Line) -> set[str]:
        """Return the namespaces in which objects of other kinds show that there surely or mostly are objects of the
        kinds of a line."""
        found: set[str] = set()
        for kind in self.kinds:
            if qualified(*kind) in line.kinds:
                found |= self.present(kind, Verb.OWNED)
        for others in map(_TOGETHER.get, line.kinds):
            for kind in self.kinds:
                if others and qualified(*kind) in others:
                    spaces = self.present(kind, Verb.STATE)
                    # Of every cluster, the namespace "default" has a Service with which no Pods go.
                    found |= spaces - {"default"} if kind[1] in _OF_SERVICES else spaces
        return found


_OF_SERVICES = {"Service", "EndpointSlice"}
_TOGETHER = {  # kinds that mostly have objects in each namespace in which the other kinds have some
    "Pod": ("Job", "ReplicaSet", "StatefulSet", "DaemonSet", "Job.batch.volcano.sh", "Service", "EndpointSlice"),
    "Service": ("EndpointSlice", "StatefulSet"),
    "EndpointSlice": ("Service",),
}


def _is_of(programs: Sequence[str], log: str, lines: Iterable[LogLine]) -> bool:
    return not programs or any(each in log or any(each in line.text for line in lines) for each in programs)

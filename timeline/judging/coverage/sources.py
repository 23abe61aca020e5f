"""This pure module finds out how completely a source shows each kind, and what each rule can therefore judge."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace

from timeline.core.entries import Change, Level, LogLine
from timeline.history.seen import GroupKind, Seen
from timeline.history.shown import Depth, Verb
from timeline.history.world.world import World
from timeline.judging.coverage.lines import OF_OBJECTS, WORDS, Line, Need
from timeline.judging.coverage.remedies import (
    IMPORT_AGAIN,
    LOGS,
    WATCHES,
    WHOLE_POLICY,
    group_of,
    policy_line,
    remedy,
    watch_command,
)
from timeline.judging.leases.terms import OF_NODES
from timeline.judging.rulebook import Rule
from timeline.kinds import qualified, resource_of

Source = Literal["RequestResponse", "Request", "Metadata", "watch", "list"]
Requests = Literal["kept", "lost", "part", "none"]
Judgement = Literal["exact", "bounded", "inconclusive", "not"]
Answer = Literal["can", "part", "cannot"]
ANSWERS: dict[Answer, str] = {"can": "can judge", "part": "can judge in part", "cannot": "cannot judge"}


class CoverageRow(NamedTuple):
    """This row says how completely a source shows one kind."""

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
        return f"{followed}, in {_and(self.namespaces)} only" if self.namespaces else followed


class RuleCoverage(NamedTuple):
    """This says what one rule can judge in a source."""

    rule: str
    verdict: Judgement  # the best verdict that its findings can have; "exact" only if nothing that it needs is missing
    why: str
    remedy: str  # lines, each of them a line of an audit policy, a command or a sentence; "" if nothing is missing

    @property
    def answer(self) -> Answer:
        """Return whether it can judge the source, a part of it, or nothing."""
        if self.verdict == "not":
            return "cannot"
        return "part" if self.remedy else "can"

    @property
    def words(self) -> str:
        """Return the text that shows the answer."""
        return ANSWERS[self.answer] + (f", {self.verdict} at best" if self.verdict == "inconclusive" else "")


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


def judgeable(world: World, rules: Iterable[Rule], *, shown: bool = True) -> list[RuleCoverage]:
    """Return for each rule what it can judge in a source, why, and what to record so that it can judge more.

    Without `shown`, findings about objects that only a log names are not kept.
    """
    source = _Source(world)
    return [_judgeable(rule, source, shown=shown) for rule in rules]


class _Sight(NamedTuple):
    """This says how much of a line was seen: of each sort, the namespaces by kind."""

    enough: Mapping[GroupKind, set[str]]
    shallow: Mapping[GroupKind, set[str]]  # bodies, but no revisions
    bare: Mapping[GroupKind, set[str]]  # no bodies
    everywhere: bool = False  # whether it is watched live, in all namespaces
    direct: bool = False  # whether a log alone shows so much of any kind


class _Lack(NamedTuple):
    """This is something that a source does not show, or not everywhere."""

    what: str  # as a sentence without its stop
    remedies: tuple[str, ...]
    verdict: Judgement = "bounded"  # the best verdict that findings can have nevertheless
    unseen: tuple[Line, ...] = ()  # the lines that were not seen at all


class _Source:
    """This class answers what a source shows of the lines that rules need."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rows = {(row.group, row.kind): row for row in coverage(world)}
        self.kinds = sorted({*world.shown.kinds(), *self.rows})
        self.logged = any(row.requests != "none" for row in self.rows.values())
        self.asked = bool(world.requested_names())
        self.watching = bool(self.rows) and not self.logged and not self.asked
        self.sights: dict[Line, _Sight] = {}
        self.spaces: dict[tuple[GroupKind, Verb], set[str]] = {}

    def kinds_of(self, line: Line) -> list[GroupKind]:
        """Return the observed kinds that a line is about."""
        return [kind for kind in self.kinds if line.others or qualified(*kind) in line.kinds]

    def sight(self, line: Line) -> _Sight:
        if line not in self.sights:
            self.sights[line] = self._sight(line)
        return self.sights[line]

    def _sight(self, line: Line) -> _Sight:
        enough, shallow, bare = (defaultdict[GroupKind, set[str]](set) for _ in range(3))
        everywhere = direct = False
        if line.verbs == (Verb.LOG,):
            named = any(_is_of(line.by, name, lines) for name, lines in self.world.logs())
            return _Sight({("", ""): {""}} if named else {}, {}, {})
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
        return _Sight(found[0], found[1], found[2], everywhere, direct)

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
        """Return the namespaces in which there surely or mostly are objects of the kinds of a line, as others show."""
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
_ONLY_RECORDINGS = "it judges recordings only"
_BODIES = "in which stands what it looks at"
_WIDEN = "Give the account the right to list and watch {} in all namespaces, and connect the cluster for all of them."


def _is_of(programs: Sequence[str], log: str, lines: Iterable[LogLine]) -> bool:
    return not programs or any(each in log or any(each in line.text for line in lines) for each in programs)


def _judgeable(rule: Rule, source: _Source, *, shown: bool) -> RuleCoverage:
    """Return what one rule can judge in a source."""
    if rule.recordings and source.world.live:
        remedy = "Download everything observed, and upload it as a recording."
        return RuleCoverage(rule.id, "not", _ONLY_RECORDINGS, remedy)
    unattributed = _unattributed(rule, source)
    if any(each.verdict == "not" for each in unattributed):
        return _covered(rule, unattributed)
    missing = [lack for each in rule.needs if not each.misses and (lack := _missing(each, source))] + unattributed
    if cannot := [each for each in missing if each.verdict == "not"]:
        return _covered(rule, cannot)
    if any(Verb.LOG in line.verbs for each in rule.needs for line in each.lines) and not shown and not source.rows:
        why = "no object was read with which its findings could be shown; causeline analyze shows them"
        return RuleCoverage(rule.id, "not", why, "Import the log together with an audit log, a watch or a list.")
    return _covered(rule, [*missing, *_missed(rule, source), *_limits(rule, source), *_holes(rule, source)])


def _covered(rule: Rule, lacks: Sequence[_Lack]) -> RuleCoverage:
    """Return what a rule can judge if a source lacks all this."""
    if not lacks:
        return RuleCoverage(rule.id, "exact", "everything that it needs was seen", "")
    verdict = max((each.verdict for each in lacks), key=_WORSE.index)
    why = "; ".join(dict.fromkeys(each.what for each in lacks))
    return RuleCoverage(
        rule.id, verdict, why, "\n".join(dict.fromkeys(line for each in lacks for line in each.remedies))
    )


_WORSE: list[Judgement] = ["exact", "bounded", "inconclusive", "not"]


def _missing(needed: Need, source: _Source) -> _Lack | None:
    """Return what a source lacks of the lines that a rule needs; None if it shows any of them well enough."""
    sights = [(line, source.sight(line)) for line in needed.lines]
    if any(sight.enough or sight.everywhere for _, sight in sights):
        return None
    for line, sight in sights:
        if sight.shallow:
            what = f"{_resources(sight.shallow)} were logged without revisions, so overlapping requests have no order"
            return _Lack(what, _remedies(line, source, sight.shallow), "inconclusive")
    for line, sight in sights:
        if sight.bare:
            what = f"{_resources(sight.bare)} were logged without bodies, {_BODIES}"
            return _Lack(what, _remedies(line, source, sight.bare), "not")
    remedies = tuple(dict.fromkeys(each for line in needed.lines for each in _remedies(line, source)))
    if what := _unknown(needed.lines, source):
        return _Lack(what, remedies, "not")
    return _Lack(_not_seen(needed.lines), remedies, "not", needed.lines)


def _not_seen(lines: Iterable[Line]) -> str:
    return f"no {_things(lines)} was seen: there was none, or the source does not tell of it"


def _unknown(lines: Sequence[Line], source: _Source) -> str:
    """Return a sentence that says why a source of this sort cannot show lines; "" if it could."""
    line = lines[0]
    if Verb.LOG in line.verbs:
        return f"it needs the log of {_or(line.by)}, and no such log was read"
    sent = any(each.sent for each in lines)
    if sent and not source.logged and not source.asked:
        return "without an audit log, it is not known who sent which request, nor what was refused"
    if sent and not source.logged and not set(line.verbs) & {Verb.CONFLICT, Verb.VAIN, Verb.WATCH}:
        return "the audit log that was read has no writes that changed an object"
    listed = [kind for kind in source.kinds_of(line) if not line.others and kind in source.rows]
    if listed and all(source.rows[kind].level == "list" for kind in listed):
        return f"{_resources(listed)} come from a list, which shows one moment and no order of changes"
    return ""


def _things(lines: Iterable[Line]) -> str:
    """Return text that names what lines show, in the singular: "creation of Pod or Job, or deletion of Pod"."""
    kinds: dict[str, dict[str, None]] = defaultdict(dict)
    for line in lines:
        named = ["an object"] if line.others or not line.kinds else line.kinds
        kinds[_act(line)].update(dict.fromkeys(named if set(line.verbs) & OF_OBJECTS else ()))
    return ", or ".join(f"{act} of {_or(of_act)}" if of_act else act for act, of_act in kinds.items())


def _act(line: Line) -> str:
    verbs = [Verb.STATE] if {Verb.STATE, *line.verbs} >= OF_OBJECTS else line.verbs
    return _or(WORDS[each][0] for each in verbs)


def _missed(rule: Rule, source: _Source) -> Iterator[_Lack]:
    """Yield what a rule misses because a source lacks some of the lines that it needs."""
    by_cause: dict[str, list[_Lack]] = defaultdict(list)
    misses: dict[str, dict[str, None]] = defaultdict(dict)
    for needed in rule.needs:
        lack = _missing(needed, source) if needed.misses else None
        if lack:
            cause = "" if lack.unseen else lack.what.removesuffix(f", {_BODIES}")
            by_cause[cause].append(lack)
            misses[cause][needed.misses] = None
            continue
        for line in needed.lines:
            if line.others and (kinds := _usual_but_unseen(line, source)):
                remedies = tuple(remedy(kind, source.watching) for kind in kinds)
                by_cause[""].append(_Lack("", remedies, unseen=(replace(line, kinds=kinds, others=False),)))
    for cause, lacks in by_cause.items():
        what = cause or _not_seen(line for lack in lacks for line in lack.unseen)
        so = f"; so it misses {_and(misses[cause])}" if misses[cause] else ""
        yield _Lack(f"{what}{so}", tuple(line for lack in lacks for line in lack.remedies))


def _usual_but_unseen(line: Line, source: _Source) -> tuple[str, ...]:
    """Return the kinds that a line about all kinds names, and for which it was not seen at all."""
    sight = source.sight(line)
    seen = {qualified(*kind) for kind in (*sight.enough, *sight.bare, *sight.shallow)}
    return tuple(kind for kind in line.kinds if kind not in seen)


def _limits(rule: Rule, source: _Source) -> Iterator[_Lack]:
    """Yield the namespaces, the kinds and the requests for which a rule sees less than for others."""
    for needed, line in ((each, line) for each in rule.needs for line in each.lines):
        sight = source.sight(line)
        joined = line.sent and sight.enough and not sight.direct
        if joined and not any(source.sight(each).enough for each in needed.lines if each is not line):
            what = "the audit log has no bodies, so it is judged where a watch shows the content of what was written"
            yield _Lack(what, (WHOLE_POLICY,) if line.others else _remedies(line, source))
        if line.others and line.level is Level.FULL and not needed.misses and (low := _low(rule, sight)):
            what = f"{_resources(low)} were logged without bodies, so it does not judge them"
            yield _Lack(what, tuple(policy_line(group, resource_of(kind)) for group, kind in low))
    if any(line.others and Verb.STATE in line.verbs for each in rule.needs if not each.misses for line in each.lines):
        yield from _owners(source)
    yield from _namespaces(rule, source)
    rows = _rows(rule, source)
    if mixed := [row for row in rows if _is_mixed(row, source)]:
        what = f"some writes of {_resources(mixed)} were logged without bodies, {_BODIES}"
        yield _Lack(what, tuple(policy_line(row.group, row.resource) for row in mixed))
    watched = [row for row in rows if row.level == "watch" and rule.times]
    if undated := [row for row in watched if not row.dated]:
        what = f"{_resources(undated)} come from a watch without managedFields, which tell the times"
        yield _Lack(what, tuple(map(_watch_command, undated)), "inconclusive")
    elif watched:
        what = f"{_resources(watched)} come from a watch, whose times are whole seconds"
        yield _Lack(what, tuple(policy_line(row.group, row.resource) for row in watched))
    for line in (need.lines[0] for need in rule.needs if not need.misses):
        listed = [source.rows[kind] for kind in source.kinds_of(line) if kind in source.rows]
        if listed and all(row.level == "list" for row in listed):
            what = f"{_resources(listed)} come from a list: what stood then is judged, and nothing before"
            yield _Lack(what, tuple(map(_watch_command, listed)))


def _low(rule: Rule, sight: _Sight) -> list[GroupKind]:
    """Return the kinds of which a line about all kinds was seen, but never with bodies, without those that the rule
    names apart. If the log has no bodies at all, it adds to watches, and tells of no kind that could not be judged."""
    if not sight.direct:
        return []
    apart = {kind for each in rule.needs if each.misses for line in each.lines for kind in line.kinds}
    low = sorted({*sight.bare, *sight.shallow} - {*sight.enough})
    return [
        kind for kind in low if not {kind[1], qualified(*kind)} & (_NEVER_LOGGED | apart) and kind[0] not in _REVIEWS
    ]


def _owners(source: _Source) -> Iterator[_Lack]:
    """Yield which kinds other objects name as their owner, although a source shows no such object."""
    named = {kind: source.present(kind, Verb.OWNED) for kind in source.kinds}
    seen = {kind: source.present(kind, Verb.STATE) for kind in source.kinds}
    unseen = {kind: spaces - seen[kind] for kind, spaces in named.items() if "" not in seen[kind]}
    for kind, spaces in unseen.items():
        if spaces:
            what = f"no change of {qualified(*kind)} was seen in {_few(spaces)}, where others name one as their owner"
            yield _Lack(what, (remedy(qualified(*kind), source.watching),))


def _namespaces(rule: Rule, source: _Source) -> Iterator[_Lack]:
    """Yield in which namespaces a source does not show what it shows in others."""
    for line in dict.fromkeys(line for need in rule.needs for line in need.lines):
        sight, verbs = source.sight(line), set(line.verbs)
        where = set().union(*sight.enough.values())
        if line.others or sight.everywhere or not where or not verbs & OF_OBJECTS - {Verb.DELETE}:
            continue
        kinds = source.kinds_of(line)
        low = set().union(*sight.bare.values(), *sight.shallow.values()) - where - {OF_NODES}
        seen = set().union(*(source.present(kind, Verb.STATE) for kind in kinds))
        unseen = source.implied(line) - seen - {"", OF_NODES}
        if verbs == {Verb.STATUS}:
            written = {kind for kind in kinds if qualified(*kind) in _STATUS_FOLLOWS}
            made = set().union(*(source.present(kind, Verb.CREATE) - source.watched(kind) for kind in written))
            unseen |= made - where - low
        remedies = _remedies(line, source, kinds)
        if low:
            yield _Lack(f"in {_few(low)}, {_resources(kinds)} were logged without bodies, {_BODIES}", remedies)
        if unseen:
            what = f"no {_things([line])} was seen in {_few(unseen)}, where other objects mostly come with some"
            yield _Lack(what, remedies)
    if limited := [row for row in _rows(rule, source) if row.namespaces]:
        namespaces = _and(sorted({namespace for row in limited for namespace in row.namespaces}))
        what = f"{_resources(limited)} are watched in {namespaces} only: nothing is said of other namespaces"
        yield _Lack(what, (_WIDEN.format(_resources(limited)),))


def _unattributed(rule: Rule, source: _Source) -> list[_Lack]:
    """Return what a rule that needs to know who sent requests lacks if that was not kept of all of them."""
    requests = {row.requests for row in source.rows.values()} - {"none"}
    if requests <= {"kept"} or not any(line.sent for need in rule.needs for line in need.lines):
        return []
    if requests == {"lost"}:
        why = "who sent which request, and what was refused, was not kept when the audit log was imported"
        return [_Lack(why, (IMPORT_AGAIN,), "not")]
    why = "of a part of the audit log, it was not kept who sent which request, nor what was refused"
    return [_Lack(why, (IMPORT_AGAIN,))]


def _rows(rule: Rule, source: _Source) -> list[CoverageRow]:
    """Return the rows of the kinds that a rule names."""
    return [row for kind, row in source.rows.items() if qualified(*kind) in rule.kinds]


def _is_mixed(row: CoverageRow, source: _Source) -> bool:
    """Return whether some writes of a kind were logged with bodies, and others of the same sort without, and no watch
    shows them."""
    levels = source.world.seen[row.group, row.kind].levels
    if not levels[Level.METADATA] or len(+levels) < 2:
        return False
    shown = source.world.shown
    sorts = (found for verb in _LOGGED for found in shown.of((row.group, row.kind), verb))
    return any({Depth.METADATA, Depth.FULL} <= depths and Depth.OBJECT not in depths for depths, _ in sorts)


def _holes(rule: Rule, source: _Source) -> Iterator[_Lack]:
    """Yield what a rule lacks because other lines show that writes of kinds it needs are, or may be, missing."""
    lines = [line for each in rule.needs for line in each.lines]
    whole = {kind for kind, row in source.rows.items() if row.level == "list" or row.complete or source.follows(kind)}
    # Of several kinds any of which will do, those count that are followed best.
    lost = {kind for line in lines if not (of_line := {*source.kinds_of(line)}) & whole for kind in of_line}
    broken = [row for row in _rows(rule, source) if (row.group, row.kind) in lost]
    if broken:
        remedies = [_watch_command(row) for row in broken if row.level == "watch"]
        if len(remedies) < len(broken):
            remedies.insert(0, "Add the other API servers' logs, or the rotated ones, to the same recording.")
        what = f"writes of {_resources(broken)} are missing, or may be: what rests on absence is not judged"
        yield _Lack(what, tuple(remedies))


def _remedies(line: Line, source: _Source, kinds: Collection[GroupKind] = ()) -> tuple[str, ...]:
    """Return what to record so that a source shows a line of these kinds, or of those that the line names."""
    if Verb.LOG in line.verbs:
        return (LOGS,)
    if Verb.WATCH in line.verbs:
        return (WATCHES,)
    if line.others and not kinds:
        return (WHOLE_POLICY,)
    resources = [(group, resource_of(kind)) for group, kind in kinds]
    resources = resources or [(group_of(kind), resource_of(kind.partition(".")[0])) for kind in line.kinds]
    if source.watching and not line.sent:
        return tuple(watch_command(*each) for each in resources)
    if line.sent and not source.logged:
        return (WHOLE_POLICY,)
    return tuple(policy_line(*each, line.level) for each in resources)


def _resources(kinds: Iterable[GroupKind | CoverageRow]) -> str:
    """Return text that names resources, at most four of them."""
    names = [each.resource if isinstance(each, CoverageRow) else resource_of(each[1]) for each in kinds]
    return _few(names)


def _few(names: Iterable[str]) -> str:
    """Return text that names the first of these, and counts the others."""
    first = sorted(set(names))
    if len(first) <= _NAMED:
        return _and(first)
    return f"{', '.join(first[: _NAMED - 1])} and {len(first) - _NAMED + 1} others"


_NAMED = 4  # how many resources or namespaces a sentence names at most
_NEVER_LOGGED = {"Event", "Secret"}  # kinds whose bodies nobody should log for a rule
_REVIEWS = {"authentication.k8s.io", "authorization.k8s.io"}  # groups of questions, which are no objects
_STATUS_FOLLOWS = {"Pod", "Job"}  # kinds whose objects all get a status soon after their creation
_LOGGED = (Verb.CREATE, Verb.UPDATE, Verb.STATUS)


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
    """Return the rows for a recording that could be read only in part, so that no kind is complete."""
    return [row._replace(complete=False) for row in rows]


def judged_in_part(rules: Iterable[RuleCoverage]) -> list[RuleCoverage]:
    """Return what each rule can judge in a recording that could be read only in part.

    If a rule lacks something else already, its reason and remedy stay.
    """
    return [
        rule if rule.answer != "can" else rule._replace(verdict="bounded", why=_PARTLY, remedy=_WHOLE) for rule in rules
    ]


_PARTLY = "a part of the recording could not be read, in which writes may stand"
_WHOLE = "Add what was skipped, from a copy that is whole, to the same recording."


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


def _watch_command(row: CoverageRow) -> str:
    return watch_command(row.group, row.resource)


def _and(words: Iterable[str], joint: str = "and") -> str:
    *others, last = words
    return f"{', '.join(others)} {joint} {last}" if others else last


def _or(words: Iterable[str]) -> str:
    return _and(words, "or")

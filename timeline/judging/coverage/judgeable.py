"""Find out what each rule can judge in a source, why, and what to record to let it judge more. It does no I/O."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, Protocol

from msgspec.structs import replace

from timeline.core.entries import Level
from timeline.history.seen import GroupKind
from timeline.history.shown import Depth, Verb
from timeline.history.world.world import World
from timeline.judging.coverage.lines import OF_OBJECTS, WORDS, Line, Need
from timeline.judging.coverage.remedies import (
    IMPORT_AGAIN,
    LOGS,
    WATCHES,
    WHOLE_POLICY,
    policy_line,
    remedy,
    watch_command,
)
from timeline.judging.coverage.sources import CoverageRow, Sight, Sights, enumerated
from timeline.judging.leases.terms import OF_NODES
from timeline.kinds import group_of, qualified, resource_of

Judgement = Literal["exact", "bounded", "inconclusive", "not"]
Answer = Literal["can", "part", "cannot"]
ANSWERS: dict[Answer, str] = {"can": "can judge", "part": "can judge in part", "cannot": "cannot judge"}


class RuleCoverage(NamedTuple):
    """What one rule can judge in a source."""

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


class Needing(Protocol):
    """A rule, or a sort of links: what needs lines of a source. `Rule` describes the properties."""

    @property
    def id(self) -> str: ...
    @property
    def needs(self) -> tuple[Need, ...]: ...
    @property
    def kinds(self) -> tuple[str, ...]: ...
    @property
    def recordings(self) -> bool: ...
    @property
    def times(self) -> bool: ...


class _Lack(NamedTuple):
    """Something that a source does not show, or not everywhere."""

    what: str  # as a sentence without its stop
    remedies: tuple[str, ...]
    verdict: Judgement = "bounded"  # the best verdict that findings can have nevertheless
    unseen: tuple[Line, ...] = ()  # the lines that were not seen at all


def judgeable(world: World, rules: Iterable[Needing], *, shown: bool = True) -> list[RuleCoverage]:
    """Return for each rule what it can judge in a source, why, and what to record so that it can judge more.

    Without `shown`, findings about objects that only a log names are not kept.
    """
    source = Sights(world)
    return [_judgeable(rule, source, shown=shown) for rule in rules]


def _judgeable(rule: Needing, source: Sights, *, shown: bool) -> RuleCoverage:
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


def _covered(rule: Needing, lacks: Sequence[_Lack]) -> RuleCoverage:
    """Return what a rule can judge if a source lacks all this."""
    if not lacks:
        return RuleCoverage(rule.id, "exact", "everything that it needs was seen", "")
    verdict = max((each.verdict for each in lacks), key=_WORSE.index)
    why = "; ".join(dict.fromkeys(each.what for each in lacks))
    return RuleCoverage(
        rule.id, verdict, why, "\n".join(dict.fromkeys(line for each in lacks for line in each.remedies))
    )


_WORSE: list[Judgement] = ["exact", "bounded", "inconclusive", "not"]


def _missing(needed: Need, source: Sights) -> _Lack | None:
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


def _unknown(lines: Sequence[Line], source: Sights) -> str:
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


def _missed(rule: Needing, source: Sights) -> Iterator[_Lack]:
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
        so = f"; so it misses {enumerated(misses[cause])}" if misses[cause] else ""
        yield _Lack(f"{what}{so}", tuple(line for lack in lacks for line in lack.remedies))


def _usual_but_unseen(line: Line, source: Sights) -> tuple[str, ...]:
    """Return the kinds that a line about all kinds names, and for which it was not seen at all."""
    sight = source.sight(line)
    seen = {qualified(*kind) for kind in (*sight.enough, *sight.bare, *sight.shallow)}
    return tuple(kind for kind in line.kinds if kind not in seen)


def _limits(rule: Needing, source: Sights) -> Iterator[_Lack]:
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


def _low(rule: Needing, sight: Sight) -> list[GroupKind]:
    """Return the kinds that a line about all kinds saw, but never with bodies, without those that the rule names apart.
    If the log has no bodies at all, it only adds to watches, and no kind is returned."""
    if not sight.direct:
        return []
    apart = {kind for each in rule.needs if each.misses for line in each.lines for kind in line.kinds}
    low = sorted({*sight.bare, *sight.shallow} - {*sight.enough})
    return [
        kind for kind in low if not {kind[1], qualified(*kind)} & (_NEVER_LOGGED | apart) and kind[0] not in _REVIEWS
    ]


def _owners(source: Sights) -> Iterator[_Lack]:
    """Yield which kinds other objects name as their owner, although a source shows no such object."""
    named = {kind: source.present(kind, Verb.OWNED) for kind in source.kinds}
    seen = {kind: source.present(kind, Verb.STATE) for kind in source.kinds}
    unseen = {kind: spaces - seen[kind] for kind, spaces in named.items() if "" not in seen[kind]}
    for kind, spaces in unseen.items():
        if spaces:
            what = f"no change of {qualified(*kind)} was seen in {_few(spaces)}, where others name one as their owner"
            yield _Lack(what, (remedy(qualified(*kind), source.watching),))


def _namespaces(rule: Needing, source: Sights) -> Iterator[_Lack]:
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
        namespaces = enumerated(sorted({namespace for row in limited for namespace in row.namespaces}))
        what = f"{_resources(limited)} are watched in {namespaces} only: nothing is said of other namespaces"
        yield _Lack(what, (_WIDEN.format(_resources(limited)),))


def _unattributed(rule: Needing, source: Sights) -> list[_Lack]:
    """Return what a rule lacks that needs to know who sent requests, if the senders of some were not kept."""
    requests = {row.requests for row in source.rows.values()} - {"none"}
    if requests <= {"kept"} or not any(line.sent for need in rule.needs for line in need.lines):
        return []
    if requests == {"lost"}:
        why = "who sent which request, and what was refused, was not kept when the audit log was imported"
        return [_Lack(why, (IMPORT_AGAIN,), "not")]
    why = "of a part of the audit log, it was not kept who sent which request, nor what was refused"
    return [_Lack(why, (IMPORT_AGAIN,))]


def _rows(rule: Needing, source: Sights) -> list[CoverageRow]:
    """Return the rows of the kinds that a rule names."""
    return [row for kind, row in source.rows.items() if qualified(*kind) in rule.kinds]


def _is_mixed(row: CoverageRow, source: Sights) -> bool:
    """Return whether some writes of a kind were logged with bodies, and others of the same sort without, and no watch
    shows them."""
    levels = source.world.seen[row.group, row.kind].levels
    if not levels[Level.METADATA] or len(+levels) < 2:
        return False
    shown = source.world.shown
    sorts = (found for verb in _LOGGED for found in shown.of((row.group, row.kind), verb))
    return any({Depth.METADATA, Depth.FULL} <= depths and Depth.OBJECT not in depths for depths, _ in sorts)


def _holes(rule: Needing, source: Sights) -> Iterator[_Lack]:
    """Yield what a rule lacks because other lines show that writes of kinds it needs are, or may be, missing."""
    lines = [line for each in rule.needs for line in each.lines]
    whole = {kind for kind, row in source.rows.items() if row.level == "list" or row.complete or source.follows(kind)}
    # Where any of several kinds will do, those count that are followed best.
    lost = {kind for line in lines if not (of_line := {*source.kinds_of(line)}) & whole for kind in of_line}
    broken = [row for row in _rows(rule, source) if (row.group, row.kind) in lost]
    if broken:
        remedies = [_watch_command(row) for row in broken if row.level == "watch"]
        if len(remedies) < len(broken):
            remedies.insert(0, "Add the other API servers' logs, or the rotated ones, to the same recording.")
        what = f"writes of {_resources(broken)} are missing, or may be: what rests on absence is not judged"
        yield _Lack(what, tuple(remedies))


def _remedies(line: Line, source: Sights, kinds: Collection[GroupKind] = ()) -> tuple[str, ...]:
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


_NEVER_LOGGED = {"Event", "Secret"}  # kinds whose bodies nobody should log for a rule
_REVIEWS = {"authentication.k8s.io", "authorization.k8s.io"}  # groups of questions, which are no objects
_STATUS_FOLLOWS = {"Pod", "Job"}  # kinds whose objects all get a status soon after their creation
_LOGGED = (Verb.CREATE, Verb.UPDATE, Verb.STATUS)
_ONLY_RECORDINGS = "it judges recordings only"
_BODIES = "in which stands what it looks at"
_WIDEN = "Give the account the right to list and watch {} in all namespaces, and connect the cluster for all of them."


def judged_in_part(rules: Iterable[RuleCoverage]) -> list[RuleCoverage]:
    """Return what each rule can judge in a recording that could be read only in part.

    If a rule lacks something else already, its reason and remedy stay.
    """
    return [
        rule if rule.answer != "can" else rule._replace(verdict="bounded", why=_PARTLY, remedy=_WHOLE) for rule in rules
    ]


_PARTLY = "a part of the recording could not be read, in which writes may stand"
_WHOLE = "Add what was skipped, from a copy that is whole, to the same recording."


def _watch_command(row: CoverageRow) -> str:
    return watch_command(row.group, row.resource)


_NAMED = 4  # how many resources or namespaces a sentence names at most


def _few(names: Iterable[str]) -> str:
    """Return text that names the first of these, and counts the others."""
    first = sorted(set(names))
    if len(first) <= _NAMED:
        return enumerated(first)
    return f"{', '.join(first[: _NAMED - 1])} and {len(first) - _NAMED + 1} others"


def _or(words: Iterable[str]) -> str:
    return enumerated(words, "or")

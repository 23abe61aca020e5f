"""Run the rules: find the subjects that a change affects, and the findings of the rules about them.

It is pure. It is not in the wing `judging`, because it loads every rule.

A rule that raises on a subject says nothing of it; all other rules and subjects are judged. `World.failures` has what
failed, which the coverage shows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from traceback import extract_tb

from msgspec.structs import replace

from timeline import rules
from timeline.core.entries import FOREVER, Entry
from timeline.history.lifelines import Key, Track
from timeline.history.seen import GroupKind
from timeline.history.world.dependencies import ALL, Dependencies
from timeline.history.world.recording import RecordingWorld
from timeline.history.world.world import World
from timeline.judging.findings import Finding, Status
from timeline.judging.incidents import causes
from timeline.judging.incidents import subjects as incidents
from timeline.judging.rulebook import Rule, load
from timeline.kinds import qualified, registry, resource_of


def rulebook() -> tuple[Rule, ...]:
    """Return all rules, sorted by id."""
    return load(rules)


@cache
def _bits() -> dict[str, int]:
    """Return the bit of each rule, by rule id."""
    return {rule.id: 1 << number for number, rule in enumerate(rulebook())}


@cache
def _rules_for(group: str, kind: str) -> tuple[tuple[Rule, int], ...]:
    """Return the rules that judge this kind, each with its bit. A kind of the same name in another group has other
    facts, and is judged only by the rules that judge every kind."""
    name = qualified(group, kind) if (group, kind) in registry() else ""
    found = (rule for rule in rulebook() if not rule.judges or name in rule.judges)
    return tuple((rule, _bits()[rule.id]) for rule in found if name not in rule.spares)


def matters(entry: Entry) -> bool:
    """Return whether any rule may read an entry.

    Often a third of a log are Events, and the rules read only those with certain reasons.
    """
    return entry.ref.kind != "Event" or bool(getattr(entry.facts, "reason", ""))


def horizons(world: World) -> dict[str, int]:
    """Return the horizon of each rule in a live source, by rule id: the drawn time up to which the watches that the
    rule reads are complete, in microseconds since 1970. It is the same until the world learns more."""
    return world.once(horizons, lambda: _computed_horizons(world))


def _computed_horizons(world: World) -> dict[str, int]:
    reached: dict[str, int] = {}
    for kind, stream in world.streams.items():
        if stream.since:
            name = qualified(*kind)  # which kinds of two groups may share
            reached[name] = min(world.reached([kind]), reached.get(name, FOREVER))
    ends = world.reached(())
    return {
        rule.id: min((reached[kind] for kind in rule.kinds if kind in reached), default=ends) for rule in rulebook()
    }


def _horizons(world: World) -> dict[str, int]:
    """Return the horizon of each rule, by rule id, without the rules for which the source ends at `world.last`.

    If an audit log without states goes on after the watches have ended, then the horizon of rules that read only kinds
    whose states the watches show is the end of the watches.
    """
    if world.live:
        return horizons(world)
    watched = {qualified(*kind): seen.watched for kind, seen in world.seen.items()}
    until = world.watched_until()
    ends = {}
    for rule in rulebook() if until else ():
        known = [watched[kind] for kind in rule.states if kind in watched]
        if known and all(known):
            ends[rule.id] = until
    return ends


def touched(
    world: RecordingWorld, changed: Iterable[Track], horizons: Mapping[str, int] | None = None
) -> dict[Track, int]:
    """Return the changed tracks and all tracks whose judgement read something that has changed, each with the bits of
    the rules that have to judge it (see `judged_again`).

    `horizons` are those of `RecordingWorld.stale`.
    """
    found = {track.key: (track, ALL) for track in changed}
    for track, bits in world.stale(horizons):
        found.setdefault(track.key, (track, bits))
    return dict(found[key] for key in sorted(found))


def judge(world: World, subjects: Iterable[Track], *, untracked: bool = False) -> list[Finding]:
    """Judge these subjects; return the findings in the order of the findings document.

    With `untracked`, also return findings about objects that have no track, because only the log of a program names
    them.
    """
    findings = chain.from_iterable(found for _, found in _judged_each(world, subjects))
    return in_order(findings, judged_untracked(world) if untracked else ())


def in_order(*findings: Iterable[Finding]) -> list[Finding]:
    """Return all these findings in the order of the findings document."""
    return sorted(
        chain.from_iterable(findings), key=lambda finding: (finding.occurrences[0].first, finding.rule, finding.id)
    )


def judged_untracked(world: World) -> list[Finding]:
    """Return the findings about objects that have no track."""
    found: list[Finding] = []
    for rule in rulebook():
        if rule.untracked:
            world.beyond = False
            try:
                own = [each for each in rule.untracked(world) if _judgeable(each, world)]
                found += [] if world.beyond else own
            except Exception as error:
                _failed(rule, None, world, error)
    return found


def judged(world: World, subjects: Iterable[Track]) -> dict[Key, list[Finding]]:
    """Judge these subjects; return the findings of each, by the key of the subject.

    A `RecordingWorld` records what each judgement reads.
    """
    return dict(_judged_each(world, subjects))


def _judged_each(world: World, subjects: Iterable[Track]) -> Iterator[tuple[Key, list[Finding]]]:
    dependencies = world.dependencies if isinstance(world, RecordingWorld) else None
    ends = {rule: (rule, time) for rule, time in _horizons(world).items()}
    for track in subjects:
        if dependencies:
            dependencies.begin(track.key)
        found, _ = _found(track, world, ends, ALL, dependencies)
        world.horizon = None
        yield track.key, [settled(finding, world) for finding in found] if world.live else found
    if dependencies:
        dependencies.end()


def judged_again(
    world: RecordingWorld, subjects: Mapping[Track, int], known: Callable[[Key], Iterable[Finding]]
) -> dict[Key, list[Finding]]:
    """Judge subjects by those rules that read something that has changed, whose bits are given with each. Return the
    findings of all rules about each subject, by its key: those of the other rules are among the `known` ones."""
    found: dict[Key, list[Finding]] = {}
    ends = {rule: (rule, time) for rule, time in _horizons(world).items()}
    for track, bits in subjects.items():
        world.dependencies.begin(track.key, bits)
        now, judged_bits = _found(track, world, ends, bits, world.dependencies)
        if judged_bits != ALL:
            others = (each for each in known(track.key) if not _bits()[each.rule] & judged_bits)
            now += (each for each in others if _judgeable(each, world))
        found[track.key] = now
    world.horizon = None
    world.dependencies.end()
    return _settled(found, world)


def _found(
    track: Track,
    world: World,
    ends: Mapping[str, tuple[str, int]],
    bits: int,
    dependencies: Dependencies | None,
) -> tuple[list[Finding], int]:
    """Return the findings of the rules with these bits about a track, and the bits without those of the rules that
    failed. `ends` has the `World.horizon` of those rules that have one, by rule id."""
    found: list[Finding] = []
    for rule, bit in _rules_for(track.ref.group, track.ref.kind):
        if not bit & bits:
            continue
        if dependencies:
            dependencies.judging(bit)
        world.horizon = ends.get(rule.id)
        world.beyond = False
        try:
            own = [each for each in rule.judge(track, world) if _judgeable(each, world)]
            own = [] if world.beyond else own
            found += [incidents.anchored(causes.explained(each, world), track, world) for each in own]
        except Exception as error:
            _failed(rule, track, world, error)
            bits &= ~bit
        else:
            world.failures.pop((rule.id, track.key), None)
    return found, bits


def _failed(rule: Rule, track: Track | None, world: World, error: Exception) -> None:
    """Note that a rule failed on a track, or on what has no track. The message of the error may quote an object."""
    _, line, function, _ = extract_tb(error.__traceback__)[-1]
    world.failures[rule.id, track.key if track else None] = f"{type(error).__name__} in {function}, line {line}"


def _settled(found: dict[Key, list[Finding]], world: World) -> dict[Key, list[Finding]]:
    if not world.live:
        return found
    return {key: [settled(finding, world) for finding in findings] for key, findings in found.items()}


def _judgeable(finding: Finding, world: World) -> bool:
    """Return whether no occurrence of a finding goes on while a span of time was freed: what was deleted may explain
    it."""
    return not world.freed or not any(world.freed.overlaps(each.first, each.last) for each in finding.occurrences)


def settled(finding: Finding, world: World) -> Finding:
    """Return a finding of a live source with its status. It is confirmed if every watch that its rule reads is complete
    up to the last event of its proof, and else suspected, because changes that arrive later may explain it."""
    (rule,) = (rule for rule in rulebook() if rule.id == finding.rule)
    moments = [proof.moment for each in finding.occurrences for proof in each.proof]
    revision = max((moment.entry.resource_version or 0 for moment in moments if not moment.space), default=0)
    arrived = max(moment.entry.arrived or moment.entry.received for moment in moments)
    late = []
    for kind in _watched_kinds(rule, world):
        stream = world.streams[kind]
        if (stream.reached < revision) if stream.together else (stream.reached_at < arrived):
            late.append(resource_of(kind[1]))
    if not late:
        return replace(finding, status=Status.CONFIRMED, status_reason="")
    what = " and ".join(sorted(late))
    reason = f"Suspected: changes of {what} up to revision {revision} may still be on their way, and may explain it."
    return replace(finding, status=Status.SUSPECTED, status_reason=reason)


def _watched_kinds(rule: Rule, world: World) -> list[GroupKind]:
    """Return the watched kinds that a rule reads."""
    return [kind for kind in world.streams if qualified(*kind) in rule.kinds and world.streams[kind].since]

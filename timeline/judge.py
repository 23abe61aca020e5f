"""Pure: which subjects a change touches, and what the rules say of them."""

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain

from msgspec.structs import replace

from timeline import rules
from timeline.core.entries import Entry
from timeline.history.lifelines import Key, Track
from timeline.history.seen import GroupKind
from timeline.history.world import World
from timeline.judging.coverage import plural
from timeline.judging.findings import Finding, Status
from timeline.judging.rulebook import Rule, load
from timeline.kinds import qualified, registry


def rulebook() -> tuple[Rule, ...]:
    """All rules, by id."""
    return load(rules)


@cache
def _rules_for(group: str, kind: str) -> tuple[Rule, ...]:
    """Those of the kind, where it is that and not one of another group under its name: its facts are others."""
    known = qualified(group, kind) if (group, kind) in registry() else ""
    return tuple(rule for rule in rulebook() if not rule.judges or known in rule.judges)


def matters(entry: Entry) -> bool:
    """Whether a rule may look at it. Of Events, often a third of a log, none does but those that tell their reason."""
    return entry.ref.kind != "Event" or bool(getattr(entry.facts, "reason", ""))


def horizons(world: World) -> dict[str, int]:
    """Where a live source ends for each rule, by id: the drawn time up to which the streams that it looks at are
    complete."""
    return {rule.id: world.reached(_kinds(rule, world)) for rule in rulebook()}


def _ends(world: World) -> dict[str, int]:
    """Where the source ends for each rule, by id, where that is not where it ends for all: a log that goes on when the
    watches have ended, and tells no states, must not turn what they show into what nobody knows."""
    if world.live:
        return horizons(world)
    states = {qualified(*kind): seen.watched for kind, seen in world.seen.items()}
    until = world.watched_until()
    ends = {}
    for rule in rulebook() if until else ():
        known = [states[kind] for kind in {*rule.judges, *rule.needs, *rule.any_of} if kind in states]
        if known and all(known):
            ends[rule.id] = until
    return ends


def touched(world: World, changed: Iterable[Track], ends: Mapping[str, int] | None = None) -> list[Track]:
    """The changed tracks, and all whose judgement looked at something that is not as it was. With a workload goes the
    Lease that it elects on, and all others that do: what is found of two of them is found of the Lease."""
    if world.reads is None:
        return list(world.tracks())
    found = {track.key: track for track in (*changed, *world.stale(ends))}
    leases = {name for track in found.values() for name in (track.name, *track.references()) if name.kind == "Lease"}
    for lease in leases:
        found.update((track.key, track) for track in (*world.incarnations(lease), *world.referrers(lease)))
    return [found[key] for key in sorted(found, key=repr)]


def judge(world: World, subjects: Iterable[Track]) -> list[Finding]:
    """What holds of these subjects now; the findings in the order of the document."""
    found = chain.from_iterable(judged(world, subjects).values())
    return sorted(found, key=lambda finding: (finding.occurrences[0].first, finding.rule, finding.id))


def judged(world: World, subjects: Iterable[Track]) -> dict[Key, list[Finding]]:
    """What was found when each of these subjects was judged."""
    found: dict[Key, list[Finding]] = {}
    ends = _ends(world)
    for track in subjects:
        if world.reads:
            world.reads.begin(track.key)
        of_track = found[track.key] = []
        if world.doubled(track):
            continue
        for rule in _rules_for(track.ref.group, track.ref.kind):
            world.horizon = (rule.id, ends[rule.id]) if rule.id in ends else None
            of_track += rule.judge(track, world)
    world.horizon = None
    if world.reads:
        world.reads.end()
    if world.live:
        found = {key: [settled(finding, world) for finding in each] for key, each in found.items()}
    return found


def settled(finding: Finding, world: World) -> Finding:
    """The finding of a live source, confirmed if every stream that its rule looks at is complete up to its last event;
    else what arrives late may yet explain it."""
    (rule,) = (rule for rule in rulebook() if rule.id == finding.rule)
    moments = [proof.moment for each in finding.occurrences for proof in each.proof]
    revision = max((moment.entry.resource_version or 0 for moment in moments if not moment.space), default=0)
    arrived = max(moment.entry.arrived for moment in moments)
    late = []
    for kind in _kinds(rule, world):
        stream = world.streams[kind]
        if (stream.reached < revision) if stream.together else (stream.reached_at < arrived):
            late.append(plural(kind[1]))
    if not late:
        return replace(finding, status=Status.CONFIRMED, status_reason="")
    what = " and ".join(sorted(late))
    reason = f"Suspected: changes of {what} up to revision {revision} may still be on their way, and may explain it."
    return replace(finding, status=Status.SUSPECTED, status_reason=reason)


def _kinds(rule: Rule, world: World) -> list[GroupKind]:
    """Those that it looks at, of those that are watched."""
    wanted = {*rule.judges, *rule.needs, *rule.any_of}
    return [kind for kind in world.streams if qualified(*kind) in wanted and world.streams[kind].since]

"""Pure: which subjects a change touches, and what the rules say of them."""

from collections.abc import Iterable
from functools import cache

from timeline import rules
from timeline.entries import Entry
from timeline.kinds import qualified, registry
from timeline.lifelines import Track
from timeline.rulebook import Finding, Rule, load
from timeline.world import World


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


def touched(world: World, changed: Iterable[Track]) -> list[Track]:
    """The changed tracks, and all whose judgement looked at something that is not as it was. With a workload goes the
    Lease that it elects on, and all others that do: what is found of two of them is found of the Lease."""
    if world.reads is None:
        return list(world.tracks())
    found = {track.key: track for track in (*changed, *world.stale())}
    leases = {name for track in found.values() for name in (track.name, *track.references()) if name.kind == "Lease"}
    for lease in leases:
        found.update((track.key, track) for track in (*world.incarnations(lease), *world.referrers(lease)))
    return [found[key] for key in sorted(found, key=repr)]


def judge(world: World, subjects: Iterable[Track]) -> list[Finding]:
    """What holds of these subjects now; the findings in the order of the document."""
    found: list[Finding] = []
    for track in subjects:
        if world.reads:
            world.reads.begin(track.key)
        for rule in _rules_for(track.ref.group, track.ref.kind):
            found += rule.judge(track, world)
    if world.reads:
        world.reads.end()
    return sorted(found, key=lambda finding: (finding.occurrences[0].first, finding.rule, finding.id))

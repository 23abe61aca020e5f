"""Pure: which subjects a change touches, and what the rules say of them."""

from collections.abc import Iterable
from functools import cache

from timeline import rules
from timeline.entries import Entry
from timeline.kinds import qualified
from timeline.lifelines import Track
from timeline.rulebook import Finding, Rule, load
from timeline.world import World


def rulebook() -> tuple[Rule, ...]:
    """All rules, by id."""
    return load(rules)


@cache
def _rules_for(kind: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in rulebook() if not rule.judges or kind in rule.judges)


def matters(entry: Entry) -> bool:
    """Whether a rule may look at it. Of Events, often a third of a log, none does but those that tell their reason."""
    return entry.ref.kind != "Event" or bool(getattr(entry.facts, "reason", ""))


def touched(world: World, changed: Iterable[Track]) -> list[Track]:
    """The changed tracks, and all whose judgement may rest on them: those that refer to their names, their children,
    their owner, and of their siblings those that came after the change."""
    found: dict[object, Track] = {}
    owners: dict[object, tuple[Track, int]] = {}  # each with the first change of a child
    for track in changed:
        related = [track, *world.referrers(track.name), *world.children(track)]
        found.update((each.key, each) for each in related)
        if owner := world.owner_of(track):
            _, since = owners.get(owner.key, (owner, track.changed))
            owners[owner.key] = owner, min(since, track.changed)
    for owner, since in owners.values():
        found.update((each.key, each) for each in (owner, *world.children_since(owner, (since, 0))))
    return [found[key] for key in sorted(found, key=repr)]


def judge(world: World, subjects: Iterable[Track]) -> list[Finding]:
    """What holds of these subjects now; the findings in the order of the document."""
    found = [
        finding
        for track in subjects
        for rule in _rules_for(qualified(track.ref.group, track.ref.kind))
        for finding in rule.judge(track, world)
    ]
    return sorted(found, key=lambda finding: (finding.occurrences[0].first, finding.rule, finding.id))

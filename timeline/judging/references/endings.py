"""Find out whether an object still existed at a drawn time, or was about to be deleted. It does no I/O."""

from collections.abc import Iterator

from timeline.core.entries import Change
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.world import World


def surely_live(track: Track, time: int, world: World) -> bool:
    """Return whether surely no write is missing that finished or deleted the object, or requested its deletion, by a
    drawn time."""
    later = next((each for each in track.moments if each.time > time and each.entry.facts is not None), None)
    if later and not getattr(later.facts, "terminal", False):
        leaving = later.facts.deleting or later.change is Change.DELETED
        if not leaving or later.facts.asked > time:  # deletionTimestamp shows that the request came later
            return True
    return world.gapless(track, time, time + 1)


def namespace_ended(track: Track, since: Moment, until: int, world: World) -> bool:
    """Return whether the object's namespace was being deleted by the drawn time `until`, and so everything in it.

    `since` is a change of the object; if the namespace controller made it, that is the evidence.
    """
    if since.actor.endswith(":namespace-controller"):
        return True
    namespaces = world.incarnations(Name("", "Namespace", "", track.ref.namespace))
    asked = [each.asked_to_end for each in namespaces if each.until is None or each.until > track.first.time]
    return any(each is not None and each <= until for each in asked)


def owners(track: Track, world: World) -> Iterator[Track]:
    """Yield the object's owner, the owner of that owner, and so on."""
    seen = {track.key}
    while (owner := world.owner_of(track)) and owner.key not in seen:
        seen.add(owner.key)
        yield owner
        track = owner


def owner_ended(track: Track, until: int, world: World) -> bool:
    """Return whether, by a drawn time, an owner had finished, no longer wanted Pods, or was to be deleted together with
    what it owns."""
    for owner in owners(track, world):
        if any("orphan" in moment.facts.finalizers for moment in owner.moments):
            return False
        asked, facts = owner.asked_to_end, owner.facts_at(until)
        stopped = getattr(facts, "replicas", None) == 0 or getattr(facts, "suspend", False)
        if (asked is not None and asked <= until) or stopped or getattr(facts, "terminal", False):
            return True
    return False

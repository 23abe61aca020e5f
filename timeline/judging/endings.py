"""This pure module finds whether an object still existed, or was on its way out, at a drawn time."""

from collections.abc import Iterator

from timeline.core.entries import Change
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world import World


def surely_live(track: Track, time: int, world: World) -> bool:
    """Return whether no write can be missing that ended or finished the object, or asked it to end, by a drawn time."""
    later = next((each for each in track.moments if each.time > time and each.entry.facts is not None), None)
    if later and not getattr(later.facts, "terminal", False):
        leaving = later.facts.deleting or later.change is Change.DELETED
        if not leaving or later.facts.asked > time:  # the object itself tells that it was asked later
            return True
    return world.gapless(track, time, time + 1)


def namespace_ended(track: Track, since: Moment, until: int, world: World) -> bool:
    """Return whether the object's namespace was being deleted by a drawn time: everything in it is deleted then."""
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
    """Return whether, by a drawn time, an owner had finished, wanted no Pods any more, or was asked to end without
    leaving orphans."""
    for owner in owners(track, world):
        if any("orphan" in moment.facts.finalizers for moment in owner.moments):
            return False
        asked, facts = owner.asked_to_end, owner.facts_at(until)
        stopped = getattr(facts, "replicas", None) == 0 or getattr(facts, "suspend", False)
        if (asked is not None and asked <= until) or stopped or getattr(facts, "terminal", False):
            return True
    return False

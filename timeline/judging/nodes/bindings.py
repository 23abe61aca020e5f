"""Find out when a Pod was bound to a node, and which one. It does no I/O."""

from typing import NamedTuple

from timeline.core.entries import Change, ObjectRef
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.world import World


class Binding(NamedTuple):
    """The moment at which a Pod was bound to a node."""

    node: str
    moment: Moment


def binding_of(pod: Track) -> Binding | None:
    """Return when a Pod was bound to a node; None if that was not observed."""
    if not getattr(pod.last.facts, "node", ""):
        return None
    for moment in pod.moments:
        node = getattr(moment.facts, "node", "")
        if node:
            if moment.change is Change.OBSERVED:
                return None  # it was bound before the source began
            return Binding(node, moment)
    return None


def node_at(node: str, time: int, world: World, until: int | None = None) -> Track | None:
    """Return the Node of a name that stood at a drawn time; None if the source shows none. With `until`, the caller
    looks at nothing of it that happened after that time."""
    name = Name("", "Node", "", node)
    lives = world.incarnations(name, time) if until is None else world.begun_by(name, until)
    begun = [each for each in lives if each.first.time <= time]
    return begun[-1] if begun else None


def node_ref(bound: Binding, world: World) -> ObjectRef:
    """Return the Node to which a Pod was bound, or its name alone if no observation shows it."""
    track = node_at(bound.node, bound.moment.time, world)
    return track.ref if track else ObjectRef("", "v1", "Node", "", bound.node)

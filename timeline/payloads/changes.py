"""Declare the payload of "what changed before", and make it of ranked sets of changes. It does no I/O.

Times are ISO 8601 UTC.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12

from timeline.history.world.world import World
from timeline.judging.findings import Finding
from timeline.judging.incidents.changes import (
    MINUTES,
    ChangeSet,
    Distance,
    Known,
    Placed,
    before,
    surroundings,
    tracks_of,
)
from timeline.judging.incidents.intents import Detail, IntentChange, Verb
from timeline.kinds import qualified
from timeline.payloads.documents import object_payload, timestamp
from timeline.payloads.findings import ObjectPayload
from timeline.payloads.incidents.making import Incident

SETS = 20  # the most sets that are listed, unless another number is asked for
OBJECTS = 50  # the most objects of an incident that are asked about
WRITES = 20  # the most writes of a set that are listed
STEPS = 20  # the most steps of a set that are listed
_DETAILS = 6  # the most aspects that the sentence of a write names
_LONGEST = 60  # characters of a value in a sentence

DistanceName = Literal["object", "owner", "reference", "node", "namespace", "cluster", "any"]
VerbName = Literal["created", "changed", "deleted", "written", "step", "worsened"]


class DetailPayload(TypedDict):
    """This is one aspect that a change set. Long and private values are a hash, which begins with #."""

    aspect: str  # "image web", "replicas", "data", "condition Ready", …
    before: str | None  # null if it was not there
    after: str | None


class MeantWritePayload(TypedDict):
    """This is one change of one object that somebody meant."""

    object: ObjectPayload
    verb: VerbName
    text: str  # what changed, as a sentence without its time and author
    details: list[DetailPayload]
    distance: DistanceName
    time: str  # the drawn time
    earliest: str  # the bounds of the commit
    latest: str | None  # null if no clock bounds it
    resource_version: str | None
    actor: str | None
    user_agent: str | None
    certain: bool  # False if another write, which the recording does not show, may have made the change
    url: str  # the address of the difference; "" without a server


class ChangeSetPayload(TypedDict):
    """These are the changes that one person or program made together, such as one apply, or a rollout with its
    steps."""

    text: str  # what changed, as a sentence
    distance: DistanceName  # of the object that `text` names first, which is the nearest
    score: float  # from 0 to 1; only compares sets of one answer
    start: str
    end: str
    before: int  # how many microseconds before the time that is asked about was the write that `text` names first
    actor: str | None
    user_agent: str | None
    certain: bool
    writes: list[MeantWritePayload]  # the first of them, the nearest first
    writes_total: int
    steps: list[MeantWritePayload]  # the first steps of the rollouts that these writes began, in order of time
    steps_total: int


class ChangesPayload(TypedDict):
    """This is what changed before a time."""

    before: str
    minutes: int
    changes: list[ChangeSetPayload]  # the one that most likely matters first; it need not be the cause
    total: int  # the number of sets, listed or not
    complete: bool  # False if there were more changes than were ranked


def before_incident(
    world: World,
    known: Sequence[Known],
    incident: Incident,
    findings: Iterable[Finding],
    *,
    minutes: int = MINUTES,
    limit: int = SETS,
) -> ChangesPayload:
    """Return what changed before an incident of a world. `known` are its changes, and `findings` those of the
    incident."""
    refs = (ref for each in findings for ref in (each.subject, each.other) if ref)
    tracks = [*world.incarnations(incident.gravest.anchor), *tracks_of(world, refs)]
    around = surroundings(world, tracks[:OBJECTS])
    return changes(before(known, incident.first, minutes, around), incident.first, minutes, limit=limit)


Address = Callable[[Placed], str]


def no_address(placed: Placed) -> str:
    """Return the address of a change where no server shows it."""
    return ""


def changes(
    sets: Sequence[ChangeSet],
    at: int,
    minutes: int,
    *,
    limit: int = SETS,
    address: Address = no_address,
    complete: bool = True,
) -> ChangesPayload:
    """Return the payload of the changes in the minutes before a time, in microseconds since 1970."""
    return {
        "before": timestamp(at),
        "minutes": minutes,
        "changes": [_set(each, at, address) for each in sets[:limit]],
        "total": len(sets),
        "complete": complete,
    }


def _set(each: ChangeSet, at: int, address: Address) -> ChangeSetPayload:
    lead = each.all[0].change
    return {
        "text": sentence(each),
        "distance": _name(each.distance),
        "score": round(each.score, 4),
        "start": timestamp(each.first),
        "end": timestamp(each.last),
        "before": max(0, at - lead.time),
        "actor": lead.actor or None,
        "user_agent": lead.user_agent or None,
        "certain": lead.alone,
        "writes": [_write(one, address) for one in each.writes[:WRITES]],
        "writes_total": len(each.writes),
        "steps": [_write(one, address) for one in each.steps[:STEPS]],
        "steps_total": len(each.steps),
    }


def _write(placed: Placed, address: Address) -> MeantWritePayload:
    change = placed.change
    return {
        "object": object_payload(change.ref),
        "verb": change.verb.value,
        "text": write_sentence(change),
        "details": [{"aspect": each.aspect, "before": each.before, "after": each.after} for each in change.details],
        "distance": _name(placed.distance),
        "time": timestamp(change.time),
        "earliest": timestamp(change.earliest),
        "latest": None if change.latest is None else timestamp(change.latest),
        "resource_version": change.revision or None,
        "actor": change.actor or None,
        "user_agent": change.user_agent or None,
        "certain": change.alone,
        "url": address(placed),
    }


def _name(distance: Distance) -> DistanceName:
    return _DISTANCES[distance]


_DISTANCES: dict[Distance, DistanceName] = {
    Distance.OBJECT: "object",
    Distance.OWNER: "owner",
    Distance.REFERENCE: "reference",
    Distance.NODE: "node",
    Distance.NAMESPACE: "namespace",
    Distance.CLUSTER: "cluster",
    Distance.ANY: "any",
}


def sentence(each: ChangeSet) -> str:
    """Return what a set changed, in a sentence."""
    if not each.writes:
        owner = each.steps[0].change.owner
        named = f"{qualified(owner.group, owner.kind)} {owner.name}" if owner else "an object that was not observed"
        return f"Rollout of {named}, which began before"
    text = write_sentence(each.writes[0].change)
    others = len({one.change.ref for one in each.writes}) - 1
    return f"{text}, and {others} more {'object' if others == 1 else 'objects'}" if others else text


def write_sentence(change: IntentChange) -> str:
    """Return what one write changed, in a sentence without its time and author."""
    named = f"{qualified(change.ref.group, change.ref.kind)} {change.ref.name}"
    match change.verb:
        case Verb.CREATED:
            return f"{named} was created"
        case Verb.DELETED:
            return f"{named} was deleted"
        case Verb.WRITTEN:
            return f"{named} was written; what changed was not recorded"
        case Verb.STEP if change.details and change.details[0].before is None:
            return f"{named} was created, replicas {change.details[0].after}"
    details = [_detail(each, worse=change.verb is Verb.WORSENED) for each in change.details[:_DETAILS]]
    more = len(change.details) - len(details)
    parts = [*details, *([f"{more} more"] if more else [])]
    return f"{named}: {', '.join(parts)}" if parts else f"{named} was created"


def _detail(detail: Detail, *, worse: bool) -> str:
    name, _, rest = detail.aspect.partition(" ")
    named = (
        f"{_WORDS.get(name, name)} of {rest}" if rest and name in _OF else f"{_WORDS.get(name, name)} {rest}".strip()
    )
    if worse:
        return f"{named} became {detail.after}"
    if "#" in ((detail.before or "")[:1], (detail.after or "")[:1]):
        how = "added" if detail.before is None else "removed" if detail.after is None else "changed"
        return f"{named} {how}"
    if detail.before is None:
        return f"{named} {_cut(detail.after)} added"
    if detail.after is None:
        return f"{named} {_cut(detail.before)} removed"
    return f"{named} {_cut(detail.before)} → {_cut(detail.after)}"


_WORDS = {
    "template": "Pod template",
    "spec": "other fields of the spec",
    "field": "field",
    "restart": "restart requested at",
    "further": "further",
}
_OF = {"image", "command", "resources", "environment"}


def _cut(text: str | None) -> str:
    text = text or "nothing"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

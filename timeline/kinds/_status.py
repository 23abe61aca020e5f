"""Read what the status of an object tells people about how it is. Rules read facts instead.

It accepts every object: what is not as Kubernetes writes it is left out.
"""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec

from timeline.core import times
from timeline.core.values import decoded

_CONDITIONS = 20  # the most conditions that are read of an object
_CONTAINERS = 50
_TEXT = 2000  # characters that are kept of a message
_Item = TypeVar("_Item")
Number = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]  # as large as every JSON parser reads exactly
_REPLICAS = (
    ("wanted", "spec.replicas"),
    ("ready", "status.readyReplicas"),
    ("updated", "status.updatedReplicas"),
    ("available", "status.availableReplicas"),
    ("unavailable", "status.unavailableReplicas"),
)


class Telling(NamedTuple):
    """The parts of the status of a kind that say how an object is."""

    conditions: tuple[tuple[str, str], ...] = ()  # type and status of those that tell most, the most telling first
    numbers: tuple[tuple[str, str], ...] = _REPLICAS  # a word and the field with its number


class Condition(NamedTuple):
    """A condition of an object, or the state that its status names together with a reason or a message."""

    type: str
    status: str  # "True", "False" or "Unknown"; "" of a state
    reason: str
    message: str
    since: int  # when it last changed, in microseconds since 1970 by the clock of the writer; 0 if it does not say
    telling: bool  # whether it is one of those that tell how an object of its kind is


class Ending(NamedTuple):
    """How a container ended."""

    exit_code: int
    signal: int  # 0 for none
    reason: str
    message: str
    time: int  # in microseconds since 1970, by the clock of the node; 0 if it is not known


class Container(NamedTuple):
    name: str
    restarts: int
    waiting: str  # the reason why it waits, such as "CrashLoopBackOff"; "" if it does not wait
    waiting_message: str
    ended: Ending | None  # how it failed last, now or before it was started again, else how it ended


class Status(NamedTuple):
    conditions: tuple[Condition, ...] = ()  # the most telling first
    numbers: tuple[tuple[str, int], ...] = ()
    containers: tuple[Container, ...] = ()


class _Condition(msgspec.Struct):
    type: str
    status: str = ""
    reason: str | None = None
    message: str | None = None
    lastTransitionTime: str | None = None


class _Waiting(msgspec.Struct):
    reason: str | None = None
    message: str | None = None


class _Terminated(msgspec.Struct):
    exitCode: Number = 0
    signal: Number | None = None
    reason: str | None = None
    message: str | None = None
    finishedAt: str | None = None


class _State(msgspec.Struct):
    waiting: _Waiting | None = None
    terminated: _Terminated | None = None


class _Container(msgspec.Struct):
    name: str
    restartCount: Number = 0
    state: _State | None = None
    lastState: _State | None = None


class _Phase(msgspec.Struct):
    """The status itself, or the field `state` of Volcano's Jobs, as far as it names a state."""

    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    lastTransitionTime: str | None = None


def status_of(body: bytes, telling: Telling) -> Status:
    """Return what the status of an object, given as JSON, says."""
    whole = decoded(body)
    status = whole.get("status") if isinstance(whole, dict) else None
    if not isinstance(status, dict):
        return Status()
    return Status(
        tuple(_conditions(status, telling)),
        tuple((word, number) for word, path in telling.numbers if (number := _number(whole, path)) is not None),
        tuple(_containers(status)),
    )


def _conditions(status: dict[str, Any], telling: Telling) -> list[Condition]:
    rank = {each: at for at, each in enumerate(telling.conditions)}
    found = []
    for each in _items(status.get("conditions"), _Condition, _CONDITIONS):
        reason, message = each.reason or "", shortened(each.message)
        tells = (each.type, each.status) in rank if rank else bool(reason or message)
        found.append(Condition(each.type, each.status, reason, message, time_of(each.lastTransitionTime), tells))
    found.sort(key=lambda each: (not each.telling, rank.get((each.type, each.status), 0), -each.since, each.type))
    return [*_states(status), *found]


def _states(status: dict[str, Any]) -> Iterator[Condition]:
    """Yield the phase that a status holds, as a condition: status.phase, or status.state.phase in Jobs of Volcano."""
    for each in _items([status, status.get("state")], _Phase, 2):
        if each.phase:
            since = time_of(each.lastTransitionTime)
            yield Condition(each.phase, "", each.reason or "", shortened(each.message), since, True)


def _containers(status: dict[str, Any]) -> Iterator[Container]:
    for field in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        for each in _items(status.get(field), _Container, _CONTAINERS):
            now, before = each.state or _State(), each.lastState or _State()
            waiting, runs = now.waiting or _Waiting(), [each for each in (now.terminated, before.terminated) if each]
            last = next((run for run in runs if run.exitCode), runs[0] if runs else None)
            ended = _ending(last) if last else None
            yield Container(each.name, each.restartCount, waiting.reason or "", shortened(waiting.message), ended)


def _ending(ended: _Terminated) -> Ending:
    return Ending(
        ended.exitCode, ended.signal or 0, ended.reason or "", shortened(ended.message), time_of(ended.finishedAt)
    )


def _items(values: Any, type_of_item: type[_Item], most: int) -> Iterator[_Item]:
    """Yield the items of a list that have the form of a type."""
    for each in values[:most] if isinstance(values, list) else ():
        try:
            yield msgspec.convert(each, type_of_item)
        except msgspec.ValidationError:
            continue


def _number(whole: dict[str, Any], path: str) -> int | None:
    part, _, field = path.partition(".")
    of_it = whole.get(part)
    value = of_it.get(field) if isinstance(of_it, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53 else None


def shortened(message: str | None) -> str:
    """Return a message, or its beginning if it is long."""
    return message if message and len(message) <= _TEXT else f"{message[:_TEXT]}…" if message else ""


def time_of(text: str | None) -> int:
    """Return a time in microseconds since 1970; 0 if it is none."""
    try:
        return times.instant(text) if text else 0
    except times.NoTime:  # also a time without a zone
        return 0

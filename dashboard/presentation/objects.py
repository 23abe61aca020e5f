"""Describe the state of an object, and what is wrong with it and with what it owns. It makes no queries and no HTML."""

from typing import Any, NamedTuple

from dashboard.presentation import incidents, wording
from dashboard.presentation.symptoms import Symptoms, named, symptoms
from dashboard.presentation.wording import count, number_of
from timeline.payloads.objects import (
    ConditionPayload,
    ContainerPayload,
    ObjectIncidentPayload,
    ObjectIncidentsPayload,
    PhasePayload,
    PodsPayload,
    StatusPayload,
    WarningsPayload,
    WriterPayload,
)
from timeline.queries.objects.lives import FINDINGS
from timeline.queries.sources.extents import SourceRow

_CONDITIONS = 3  # that are shown at first where nobody knows which conditions of a kind matter
_UNKNOWN = "not known: neither an audit log nor the object’s managedFields say who made its last change"


class Time(NamedTuple):
    """A time as a page shows it."""

    text: str  # "07:52:13.514956", with its day if that is not the day on which the recording ends
    iso: str
    bounds: str  # "committed within 07:52:13.514956 – .521481"; "" if that adds nothing
    open: bool = False  # whether it may as well have been later: no clock gives an upper bound


class Wrong(NamedTuple):
    """The page of an object shows one row of this sort for each incident that names the object."""

    incident: ObjectIncidentPayload
    card: incidents.Card
    ongoing: bool  # it goes on, and does harm
    subjects: str  # "ring-0, ring-1 and 3 more"
    symptoms: Symptoms


def wrong(found: ObjectIncidentsPayload, source: SourceRow, now: int) -> dict[str, Any]:
    """Return the incidents of an object and of what it owns."""
    rows = found["incidents"]
    numbers = found["total"], found["symptoms"], found["findings"]
    ongoing = f"{count(found['ongoing'])} ongoing" if found["ongoing"] else ""
    return {
        "numbers": incidents.numbers_of_all(*numbers) if found["total"] else "",
        "ongoing": ongoing,
        "harmless": incidents.without_harm(found["harmless"], found["total"]),
        "silenced": found["silenced"],
        "more": found["total"] - len(rows),
        "total": count(found["total"]),
        "rows": [
            Wrong(
                each,
                incidents.card(each, source.last, now, live=source.is_live),
                each["state"] == "ongoing" and incidents.harms(each),
                named(each["names"], each["subjects"]),
                symptoms(each),
            )
            for each in rows
        ],
    }


def findings_of_it(number: int) -> str:
    """Return the heading of the list of findings that name one incarnation of an object. `number` is how many are
    listed."""
    first = "The first " if number == FINDINGS else ""
    return f"{first}{number_of(number, 'finding')} that name{'s' if number == 1 else ''} this incarnation"


def status(found: StatusPayload, kind: str, end: int | None, day: str, withheld: bool) -> dict[str, Any]:
    """Return how an object is, for its page.

    `kind` is its kind, `end` is not None if it is gone, `day` is the day that need not be said, such as 2026-11-21, and
    `withheld` says that the import stored no objects.
    """
    why = " Causeline redacted strictly (CAUSELINE_REDACT) when this was imported." if withheld else ""
    telling, others = _conditions(found)
    return {
        "phase": found["phase"] and _phase(found["phase"], end, day),
        "conditions": [_condition(each, day) for each in telling],
        "others": [_condition(each, day) for each in others],
        "numbers": " · ".join(f"{count(number)} {word}" for word, number in found["numbers"]),
        "pods": found["pods"] and _pods(found["pods"], day, why, itself=kind == "Pod"),
        "warnings": _warnings(found["warnings"], day, why),
        "written": _written(found["written"], day),
    }


def _time(time: str, earliest: str | None, latest: str | None, day: str) -> Time:
    shown = wording.instant(time, earliest, latest)
    bounds = f"committed within {wording.interval(earliest, latest)}" if earliest and latest else ""
    return Time(shown if time[:10] == day else f"{time[:10]} {shown}", time, bounds, not latest)


def _second(time: str | None, day: str) -> Time | None:
    """Return a time of a field of an object, which is in whole seconds."""
    return None if time is None else Time(time[11:19] if time[:10] == day else f"{time[:10]} {time[11:19]}", time, "")


def _phase(phase: PhasePayload, end: int | None, day: str) -> dict[str, Any]:
    return {
        "text": phase["text"],
        "before": ("from" if end else "since") if phase["observed"] else "already when it was first seen, at",
        "time": _time(phase["time"], phase["earliest"], phase["latest"], day),
        "after": "until it was gone" if end else "",
    }


def _conditions(found: StatusPayload) -> tuple[list[ConditionPayload], list[ConditionPayload]]:
    """Return the conditions that are shown at once, and the others.

    A condition that repeats reason and message of one before is left out, and so is a state without both that is the
    phase of a kind with phases.
    """
    seen: set[tuple[str, str]] = set()
    kept = []
    for each in found["conditions"]:
        words = each["reason"], each["message"]
        if not each["status"] and not any(words) and found["phase"]:
            continue
        if each["message"] and words in seen:
            continue
        seen.add(words)
        kept.append(each)
    telling = [each for each in kept if each["telling"]][:_CONDITIONS]
    return telling, [each for each in kept if each not in telling]


def _condition(each: ConditionPayload, day: str) -> dict[str, Any]:
    return {
        "name": f"{each['type']} is {each['status']}" if each["status"] else each["type"],
        "reason": each["reason"],
        "message": each["message"],
        "since": _second(each["since"], day),
    }


def _pods(pods: PodsPayload, day: str, why: str, *, itself: bool) -> dict[str, Any]:
    total, counted, troubled = pods["total"], pods["counted"], pods["troubled"]
    phases = " · ".join(f"{count(number)} {phase}" for phase, number in pods["phases"])
    restarts = number_of(pods["restarts"], "restart") if pods["restarts"] else ""
    where = f" in {number_of(pods['restarted'], 'Pod')}" if restarts and not itself else ""
    notes = [f"Counted in {count(counted)} of {count(total)} Pods."] if counted < total else []
    if troubled and not pods["read"]:
        notes.append(f"How containers ended is not known.{why or ' The recording does not include it.'}")
    elif troubled > pods["read"]:
        notes.append(
            f"How containers ended was read of {count(pods['read'])} of {count(troubled)} Pods that failed, were"
            " started again or are not ready, the worst first."
        )
    return {
        "heading": "Containers" if itself else "Pods",
        "total": "" if itself else number_of(total, "Pod"),
        "phases": "" if itself else phases,
        "restarts": f"{restarts}{where}",
        "rows": [_container(each, day, itself) for each in pods["containers"]],
        "notes": notes,
    }


def _container(each: ContainerPayload, day: str, itself: bool) -> dict[str, Any]:
    ended = each["exit_code"] is not None
    signal = f"signal {each['signal']}" if each["signal"] else ""
    what = [f"exit code {each['exit_code']}", signal, each["reason"]] if ended else [f"waits: {each['reason']}"]
    of = each["names_total"]
    often = f"{count(each['pods'])} incarnations" if each["pods"] > of else ""
    return {
        "what": " · ".join(filter(None, what)),
        "who": "" if itself else " · ".join(filter(None, [named(each["names"], of), often])),
        "container": each["container"],
        "stopped": "after the Pod was asked to end" if each["stopped"] else "",
        "time": _second(each["time"], day),
        "message": each["message"],
        "url": "" if itself else each["url"],
    }


def _warnings(found: WarningsPayload, day: str, why: str) -> dict[str, Any]:
    events, read = found["events"], found["read"]
    about = number_of(events, "Event")
    note = ""
    if events and not read:
        said = why or " The recording does not include it."
        note = f"What {about} named after these objects {'say' if events > 1 else 'says'} is not known.{said}"
    elif events > read:
        note = f"Among the last {count(read)} of {about} named after these objects."
    return {
        "rows": [
            {**each, "time": _second(each["time"], day), "others": count(each["objects"] - 1)}
            for each in found["warnings"]
        ],
        "none": f"none among {about}" if events and events == read and not found["warnings"] else "",
        "note": note,
    }


def _written(written: WriterPayload | None, day: str) -> dict[str, Any]:
    if written is None:
        return {"who": "", "unknown": _UNKNOWN}
    who = written["controller"] or written["actor"] or ""
    found = written["change"] == "observed"  # by a list, which shows who wrote last only in managedFields
    time = written["earliest"] if found else written["time"]
    beside = [written["actor"] or "", written["user_agent"] or ""]
    return {
        "who": who,
        "unknown": "" if who else _UNKNOWN,
        "change": "" if found else " ".join(filter(None, [written["change"], written["action"]])),
        "revision": "" if found else written["resource_version"] or "",
        "time": _second(time, day) if found else _time(time, written["earliest"], written["latest"], day),
        "beside": " · ".join(each for each in dict.fromkeys(beside) if each and each != who),
    }

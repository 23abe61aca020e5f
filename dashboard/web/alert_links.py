"""Read the link of an alert, and check each of its parameters. No other module does."""

from typing import NamedTuple

from django.http import QueryDict

from collectors.alerts.objects import LABELS, LENGTH, UID, UNPRINTABLE, host_of
from dashboard.presentation import wording
from dashboard.web import timestamps
from timeline.core.durations import duration, round_half_up
from timeline.core.entries import microseconds
from timeline.core.order import SECOND
from timeline.kinds import address
from timeline.models import Source, Track
from timeline.queries.alerts.lookup import LATE, Answer, LinkQuery, Match, Relation, is_live, place
from timeline.queries.objects.candidates import Candidate, Target

_EMPTY = {"<no value>", "[no value]"}  # what Go's templates print for a label that is not there
ASKED = ("source", "cluster", "namespace", "kind", "name", "uid", "ip", "instance", "at", "choose")


class Problem(Exception):
    """A parameter is not valid. The message names it and says how to write it."""


class ParsedLink(NamedTuple):
    """The parameters as they were given, and the query that they make; None if all of them are empty."""

    fields: dict[str, str]
    wanted: LinkQuery | None


def given(query: QueryDict) -> dict[str, str]:
    """Return the parameters that are not empty, as written, for the form; a label becomes a name and a kind."""
    fields = {name: text for name in ASKED if (text := _last(query, name))}
    label = next((label for label in LABELS if _last(query, label)), "")
    return {"kind": LABELS[label], "name": _last(query, label)} | fields if label else fields


def parse_link(query: QueryDict) -> ParsedLink:
    """Check the parameters. Raises Problem."""
    fields = {name: _checked(query, name) for name in (*ASKED, *LABELS)}
    fields = {name: text for name, text in fields.items() if text}
    if not fields:
        return ParsedLink(fields, None)
    targets = _targets(fields)
    if not targets:
        if "kind" in fields:
            raise Problem("The link names no object: kind= is given, but name= is missing or empty.")
        raise Problem(f"The link names no object: give name=, uid=, ip=, instance=, or one of {', '.join(LABELS)}.")
    try:
        at = timestamps.parsed(fields["at"]) if "at" in fields else None
    except ValueError as error:
        raise Problem(f"at: {error}") from None
    choose = fields.get("choose", "")
    if choose not in ("", "0", "1"):
        raise Problem(f"choose: {_short(choose)} is not 0 or 1.")
    wanted = LinkQuery(
        targets=targets,
        namespace=fields.get("namespace", ""),
        source=fields.get("source", ""),
        cluster=fields.get("cluster", ""),
        at=at,
        choose=choose == "1",
    )
    return ParsedLink(fields, wanted)


def _last(query: QueryDict, name: str) -> str:
    text = next((each.strip() for each in reversed(query.getlist(name)) if each.strip()), "")
    return "" if text in _EMPTY else text


def _checked(query: QueryDict, name: str) -> str:
    values = {text for each in query.getlist(name) if (text := each.strip()) and text not in _EMPTY}
    if len(values) > 1:
        raise Problem(f"{name}: the link gives it {len(values)} times, with different values. Give it once.")
    text = next(iter(values), "")
    if len(text) > LENGTH:
        raise Problem(f"{name}: it has {len(text)} characters. The longest name in Kubernetes has {LENGTH}.")
    if UNPRINTABLE.search(text):
        raise Problem(f"{name}: it contains a control character, which no name has.")
    return text


def _targets(fields: dict[str, str]) -> tuple[Target, ...]:
    """Return every way in which the link names an object, the most certain first."""
    found = []
    if uid := fields.get("uid"):
        if not UID.fullmatch(uid):
            raise Problem(f"uid: {_short(uid)} is not a UID, such as 1b4e28ba-2fa1-11d2-883f-0016d3cca427.")
        found.append(Target(uid=uid))
    if name := fields.get("name"):
        found.append(Target(name=name, kind=fields.get("kind", "")))
    found += [Target(name=fields[label], kind=kind) for label, kind in LABELS.items() if label in fields]
    if ip := fields.get("ip"):
        if not (known := address(host_of(ip))):
            raise Problem(f"ip: {_short(ip)} is not an IP address, such as 10.0.0.1 or fd00::1.")
        found.append(Target(address=known))
    if instance := fields.get("instance"):
        host = host_of(instance)
        found.append(Target(address=known) if (known := address(host)) else Target(name=host, kind="node"))
    return tuple(found)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"


def why_a_choice(wanted: LinkQuery, answer: Answer) -> str:
    """Return why the link opens none of the objects that fit, in sentences; "" if it asks for a choice."""
    choice = [answer.match] if answer.match else answer.choice
    target = choice[0].target
    others = [str(each) for each in wanted.targets[: wanted.targets.index(target)]]
    sentences = [f"No {' and no '.join(others)} was ever seen. The link also names {target}."] if others else []
    if answer.far:
        at = clock(wanted.at or 0)
        sentences.append(f"No known incarnation existed within {duration(LATE)} of the alert ({at}).")
    elif len(choice) > 1 and not wanted.choose:
        sentences.append("More than one object fits, and the link does not say which.")
    if answer.total > len(choice):
        sentences.append(f"These are the {len(choice)} nearest of {answer.total}.")
    return " ".join(sentences)


def banner(source: Source, row: Track, at: int | None, now: int) -> str:
    """Say in a sentence whether the opened incarnation existed before, at or after the time of the alert."""
    end = microseconds(row.life.upper) if row.life.upper else None
    candidate = Candidate(source, row, microseconds(row.life.lower), end)
    what = f"{row.kind} {row.name}"
    relation, apart = place(candidate, at, now)
    between = _between(apart, at)
    if at is None:
        if relation == "alive":
            return f"This is the current incarnation of {what}."
        return f"This is the last known incarnation of {what}. {_ago(candidate, relation, apart)}"
    alert = f"the alert ({clock(at)})"
    match relation:
        case "alive":
            return f"{what} existed at the time of {alert}."
        case "ended":
            return f"{what} ended {between} before {alert}."
        case "began":
            return f"{what} began {between} after {alert}. No earlier incarnation near it is known."
    if is_live(source):
        return f"{what} existed when the cluster was last observed, {between} before {alert}."
    return f"{what} existed when this recording ended, {between} before {alert}."


def age(match: Match, at: int | None) -> str:
    """Return in a few words what `banner` says in a sentence, for a list."""
    relation, apart = match.place
    if at is None:
        return _ago(match.candidate, relation, apart).rstrip(".")
    between = _between(apart, at)
    return {
        "alive": "existed at the time of the alert",
        "ended": f"ended {between} before the alert",
        "began": f"began {between} after the alert",
        "unseen": f"last seen {between} before the alert",
    }[relation]


def _between(apart: int, at: int | None) -> str:
    """Return the time between an incarnation and a moment, no finer than the moment was written."""
    if at is None or at % SECOND == 0:
        return duration(round_half_up(apart, SECOND)) if apart >= SECOND else "less than 1 s"
    return duration(apart)


def clock(moment: int) -> str:
    """Return the time of an alert with the precision that it was written with."""
    return f"{wording.clock_of(moment)} UTC"


def _ago(candidate: Candidate, relation: Relation, apart: int) -> str:
    if relation == "alive":
        return "It exists now." if is_live(candidate.source) else "It existed when the recording ended."
    words = "It ended" if relation == "ended" else "It was last seen"
    return f"{words} {_between(apart, None)} ago."

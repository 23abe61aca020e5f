"""Read the alerts that other programs have sent, and find the objects that they are about.

What an alert is about is decided here, each time it is shown, and not when it arrives: an alert may come before its
object is observed, sources come and go, and nothing has to be corrected afterwards. The labels were read when the alert
was stored, so an index finds the alerts that name an object. Times are microseconds since 1970, UTC.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from timeline.core.durations import duration
from timeline.core.entries import microseconds, moment
from timeline.kinds import kind_of
from timeline.layout.lanes import lane_key
from timeline.models import Alert, Duration, Finding, Incident, Source, Track
from timeline.payloads.alerts import AlertListPayload, AlertPayload, AlertsPayload, AlertState
from timeline.queries.alerts.landing import address
from timeline.queries.alerts.lookup import LATE, Answer, LinkQuery, Match, look_up_all
from timeline.queries.incidents.lists import current
from timeline.queries.objects.candidates import Target
from timeline.queries.objects.lives import page

PAGE = 50
DRAWN = 300  # the most alerts of one time that are looked at
SHOWN = 20  # the most alerts on the page of an object or of an incident
AFTER = 30 * 60 * 1_000_000  # µs after an incident in which an alert that begins may be about it: alerts come late
_FEW = 5  # the most clusters and recordings that a sentence names


class AlertFilter(NamedTuple):
    """What the list of alerts is narrowed to. Empty fields match all."""

    state: AlertState | None = None
    name: str = ""  # a part of it
    receiver: str = ""
    source: int | None = None


def alerts(wanted: AlertFilter, *, cursor: str = "", limit: int = PAGE) -> AlertListPayload:
    """Return a page of the alerts that match, the newest first; `cursor` is `next` of the page before it.

    Raises Source.DoesNotExist.
    """
    found = Alert.objects.all()
    if wanted.state:
        found = found.filter(ended__isnull=wanted.state == "firing")
    if wanted.name:
        found = found.filter(name__icontains=wanted.name)
    if wanted.receiver:
        found = found.filter(receiver=wanted.receiver)
    source = None
    if wanted.source is not None:
        source = _source(wanted.source)
        found = found.filter(_of(source) | _ANYWHERE)
    if cursor:
        time, identity, receiver = cursor.split(".", 2)
        at = moment(int(time))
        later = Q(identity__gt=identity) | Q(identity=identity, receiver__gt=receiver)
        found = found.filter(Q(started__lt=at) | Q(later, started=at), started__lte=at)
    rows = list(found.order_by("-started", "identity", "receiver")[: limit + 1])
    last = rows[limit - 1] if len(rows) > limit else None
    shown = _payloads(rows[:limit])
    if source is not None:
        shown = [
            each
            for row, each in zip(rows, shown, strict=False)
            if row.cluster or row.source or (each["object"] and each["object"]["source"] == source.pk)
        ]
    following = f"{microseconds(last.started)}.{last.identity}.{last.receiver}" if last else None
    return {"alerts": shown, "next": following}


def alerts_of(
    source_id: int, start: int, end: int, *, namespaces: Collection[str] = (), limit: int = DRAWN
) -> AlertsPayload:
    """Return the alerts of a source that fired between two times, the newest first.

    These are the alerts that name its cluster, and of those that name none the ones that are about an object of this
    source alone. With `namespaces`, others are left out. Raises Source.DoesNotExist.
    """
    source = _source(source_id)
    fired = _fired(start, end)
    if namespaces:
        fired = fired.filter(namespace__in={*namespaces, ""})
    rows = list(fired.filter(_of(source)).order_by("-started")[: limit + 1])
    more = len(rows) > limit
    found = _payloads(rows[:limit], source)
    others = list(fired.filter(_ANYWHERE).order_by("-started")[: limit + 1])
    found += [each for each in _payloads(others[:limit]) if each["object"] and each["object"]["source"] == source_id]
    found.sort(key=lambda each: (-each["start"], each["id"], each["receiver"]))
    return {"alerts": found[:limit], "more": more or len(others) > limit or len(found) > limit}


def alerts_about(source_id: int, track_id: int, *, limit: int = SHOWN) -> AlertsPayload:
    """Return the alerts about one incarnation of an object, the newest first.

    Raises Source.DoesNotExist and Track.DoesNotExist.
    """
    source = _source(source_id)
    row = Track.objects.defer("lifeline").get(source=source_id, id=track_id)
    start = microseconds(row.life.lower) - LATE
    end = microseconds(row.life.upper or source.last or row.life.lower) + LATE
    named = _fired(max(0, start), end).filter(_of(source) | _ANYWHERE, objects_named__overlap=_ways_to_name(row))
    if row.namespace:
        named = named.filter(namespace__in=(row.namespace, ""))
    rows = list(named.order_by("-started")[: DRAWN + 1])
    of_it = [each for each in rows[:DRAWN] if each.cluster or each.source]
    found = _payloads(of_it, source) + _payloads([each for each in rows[:DRAWN] if each not in of_it])
    found = [
        each
        for each in sorted(found, key=lambda each: -each["start"])
        if each["object"] and (each["object"]["source"], each["object"]["track"]) == (source_id, track_id)
    ]
    return {"alerts": found[:limit], "more": len(found) > limit or len(rows) > DRAWN}


def alerts_during(source_id: int, identity: str, *, limit: int = SHOWN) -> AlertsPayload:
    """Return the alerts that fired during an incident, or began soon after it, about its objects or what belongs to
    their root owners. Raises Source.DoesNotExist and Incident.DoesNotExist."""
    identity = current(source_id, identity)
    row = Incident.objects.get(source=source_id, identity=identity)
    around = alerts_of(
        source_id,
        microseconds(row.first),
        microseconds(row.last) + AFTER,
        namespaces=[each for each in row.anchored_in or [row.namespace] if each],
    )
    members = Finding.objects.filter(Finding.of_incidents([identity]), source=source_id, withdrawn=False)
    tracks = {track for named in members.values_list("tracks", flat=True)[:DRAWN] for track in named}
    about = {each["object"]["track"] for each in around["alerts"] if each["object"]}
    roots = Track.objects.filter(source=source_id, id__in=about, root__in=row.roots)
    wanted = tracks | set(roots.values_list("id", flat=True))
    found = [each for each in around["alerts"] if each["object"] and each["object"]["track"] in wanted]
    return {"alerts": found[:limit], "more": around["more"] or len(found) > limit}


_ANYWHERE = Q(source=None, cluster="")  # alerts that do not name their cluster


def _source(source_id: int) -> Source:
    return Source.objects.select_related("cluster").get(pk=source_id, ready=True)


def _names(source: Source) -> set[str]:
    """Return the names of clusters under which alerts of a source come (see `candidates.of_cluster`)."""
    names = {source.name}
    if source.cluster:
        names.add(source.cluster.name)
    elif source.sequence and source.inputs:
        names.add(str(source.inputs[0]).partition(", part ")[0])
    return names


def _of(source: Source) -> Q:
    return Q(source=source.pk) | Q(source=None, cluster__in=_names(source))


def _fired(start: int, end: int) -> QuerySet[Alert]:
    span = DateTimeTZRange(moment(start), moment(max(start, end)), "[]")
    return Alert.objects.alias(fired=Duration(F("started"), F("ended"))).filter(fired__overlap=span)


def _ways_to_name(row: Track) -> list[str]:
    """Return all ways in which the labels of an alert may name an object."""
    names = kind_of(row.group, row.kind).names
    kinds = names | {f"{each}.{row.group}" for each in names if row.group}
    return [f"uid/{row.uid}", *(f"{each}/{row.name}" for each in kinds), *(f"ip/{each}" for each in row.addresses)]


def _payloads(rows: Sequence[Alert], source: Source | None = None) -> list[AlertPayload]:
    """Return alerts with what they are about: in this source, or else wherever their labels lead."""
    now = microseconds(timezone.now())
    asked = [_query(row, source) for row in rows]
    return [
        _payload(row, wanted, answer) for row, wanted, answer in zip(rows, asked, look_up_all(asked, now), strict=True)
    ]


def _query(row: Alert, source: Source | None) -> LinkQuery:
    where: dict[str, Any] = {"cluster": row.cluster}
    if source is not None or row.source is not None:
        where = {"source": str(row.source if source is None else source.pk)}
    targets = tuple(map(_target, row.objects_named))
    return LinkQuery(targets, namespace=row.namespace, at=microseconds(row.started), **where)


def _target(text: str) -> Target:
    how, _, what = text.partition("/")
    return Target(uid=what) if how == "uid" else Target(address=what) if how == "ip" else Target(name=what, kind=how)


def _payload(row: Alert, wanted: LinkQuery, answer: Answer) -> AlertPayload:
    why = _why(row, wanted, answer)
    match = None if why else answer.match
    return {
        "id": row.identity,
        "receiver": row.receiver,
        "name": row.name,
        "state": "firing" if row.ended is None else "resolved",
        "start": microseconds(row.started),
        "end": None if row.ended is None else microseconds(row.ended),
        "seen": microseconds(row.seen),
        "cluster": row.cluster,
        "labels": row.labels,
        "annotations": row.annotations,
        "link": row.url,
        "object": None
        if match is None
        else {
            "source": match.candidate.source.pk,
            "source_name": match.candidate.source.name,
            "track": match.candidate.row.id,
            "kind": match.candidate.row.kind,
            "namespace": match.candidate.row.namespace,
            "name": match.candidate.row.name,
            "lane": _lane(match),
            "url": page(match.candidate.source.pk, match.candidate.row.id),
        },
        "why": why,
        "timeline": address(match, wanted.at, select=False) if match else "",
    }


def _lane(match: Match) -> str:
    row = match.candidate.row
    return lane_key(row.group, row.kind, row.namespace, row.name)


def _why(row: Alert, wanted: LinkQuery, answer: Answer) -> str:
    """Return why an alert is linked to no object, in a sentence; "" if it is linked."""
    if not wanted.targets:
        return "Its labels name no object."
    first = wanted.targets[0]
    near = f"within {duration(LATE)} of its beginning"
    where = f" in namespace {row.namespace}" if row.namespace and not first.uid else ""
    if answer.match is None and not answer.choice:
        cluster = f" of the cluster {row.cluster}" if row.cluster and not wanted.source else ""
        return f"No {first}{where}{cluster} was seen {near}."
    if answer.far:
        return f"No {first}{where} existed {near}."
    if answer.match is None:
        places = sorted({each.candidate.source.name for each in answer.choice})
        if len(places) > 1:
            more = f" and {len(places) - _FEW} more" if len(places) > _FEW else ""
            return f"It names no cluster, and {first} was seen in {', '.join(places[:_FEW])}{more}."
        return f"More than one {first} was seen{'' if row.namespace else ', and it names no namespace'}."
    if answer.match.target != first:
        return f"No {first}{where} was seen {near}. It also names {answer.match.target}, which is known."
    return ""

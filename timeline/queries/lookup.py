"""From what an alert knows of an object to the page that shows it."""

import difflib
from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import QuerySet

from timeline.coverage import plural
from timeline.entries import microseconds, moment
from timeline.kinds import NOISE, kind_of
from timeline.models import Finding, Source, Track
from timeline.object_payloads import LifePayload
from timeline.queries.objects import life, timeline
from timeline.queries.sources import extent

_AROUND = 30_000_000  # µs shown on both sides of a moment
_NEAR = 300_000_000  # µs within which a finding may be what an alert is about
_SOURCES = 20  # looked through where none is named, the newest first
_LIVES = 200  # offered
_ALIKE = 8
_NAMES = 20_000  # compared with one that is not known
_RANKS = ("error", "warning", "info")
_SHORT = {  # as kubectl shortens them
    "po": "Pod", "svc": "Service", "deploy": "Deployment", "ds": "DaemonSet", "sts": "StatefulSet", "rs": "ReplicaSet",
    "cm": "ConfigMap", "sa": "ServiceAccount", "pvc": "PersistentVolumeClaim", "pv": "PersistentVolume", "no": "Node",
    "ns": "Namespace", "ep": "Endpoints", "ev": "Event", "ing": "Ingress", "netpol": "NetworkPolicy", "cj": "CronJob",
    "pdb": "PodDisruptionBudget", "hpa": "HorizontalPodAutoscaler", "quota": "ResourceQuota", "sc": "StorageClass",
    "rc": "ReplicationController", "pc": "PriorityClass", "crd": "CustomResourceDefinition", "vj": "Job",
    "pg": "PodGroup",
}  # fmt: skip


class Wanted(NamedTuple):
    source: str = ""  # id or name; "" for the newest that knows the object
    namespace: str = ""
    kind: str = ""
    name: str = ""
    at: int | None = None


class Found(NamedTuple):
    """`address` to go to; or lives to choose from; or why there is nothing, and what is alike."""

    address: str = ""
    lives: Sequence[LifePayload] = ()
    unknown: str = ""
    alike: Sequence[LifePayload] = ()
    source: Source | None = None
    known: int = 0  # how much of the question is known there


def look_up(wanted: Wanted) -> Found:
    sources = _sources(wanted.source)
    if not sources:
        told = f"There is no recording {wanted.source}." if wanted.source else "There are no recordings yet."
        return Found(unknown=told)
    answers = []
    for source in sources:
        answer = _in(source, wanted)
        if answer.address or answer.lives:
            return answer
        answers.append(answer)
    return max(answers, key=lambda answer: answer.known)


def _sources(asked: str) -> list[Source]:
    ready = Source.objects.filter(ready=True).order_by("-created", "-id")
    if not asked:
        return list(ready[:_SOURCES])
    if asked.isdecimal() and len(asked) < 19 and (found := list(ready.filter(pk=int(asked)))):
        return found
    return list(ready.filter(name=asked)[:1])


def _in(source: Source, wanted: Wanted) -> Found:
    tracks = Track.objects.filter(source=source).defer("lifeline")
    lanes = _lanes(tracks, wanted)
    if not lanes:
        known, told = _why(source, wanted, tracks)
        return Found(unknown=told, alike=_alike(source, wanted, tracks), source=source, known=known)
    rows = tracks.filter(lane__in=lanes).order_by("life", "id")
    chosen = list((rows if wanted.at is None else rows.filter(life__contains=moment(wanted.at)))[:_LIVES])
    if len(chosen) == 1:
        return Found(address=_address(source, chosen[0], wanted.at), source=source)
    if not chosen:
        there = list(rows[:_LIVES])
        told = f"{there[0].kind} {wanted.name} was seen, but did not live at that time."
        return Found(unknown=told, alike=_offered(source, there), source=source, known=3)
    return Found(lives=_offered(source, chosen, wanted.at), source=source)


def _lanes(tracks: QuerySet[Track], wanted: Wanted) -> list[int]:
    """Those of that name; where no kind is asked for, what is no noise before what is."""
    named = tracks.filter(span__isnull=False, name=wanted.name)
    if wanted.namespace:
        named = named.filter(namespace=wanted.namespace)
    found = [row for row in named if not wanted.kind or _is_kind(row.group, row.kind, wanted.kind)]
    told = found if wanted.kind else [row for row in found if row.family not in NOISE] or found
    return [row.lane for row in told]


def _offered(source: Source, rows: Sequence[Track], at: int | None = None) -> list[LifePayload]:
    """With the address of the timeline around each."""
    return [{**life(row, source.pk), "url": _address(source, row, at)} for row in rows]


def _is_kind(group: str, kind: str, asked: str) -> bool:
    """Whether it is meant by Pod, pod, pods, po, Job.batch.volcano.sh or jobs.batch.volcano.sh."""
    name, _, within = asked.lower().partition(".")
    names = {kind.lower(), plural(kind), kind_of(group, kind).short}
    names |= {short for short, long in _SHORT.items() if long == kind}
    return name in names and (not within or within == group)


def _why(source: Source, wanted: Wanted, tracks: QuerySet[Track]) -> tuple[int, str]:
    """How much of the question is known, and what is not."""
    here = f"in recording {source.name}"
    if wanted.namespace and not tracks.filter(namespace=wanted.namespace).exists():
        return 0, f"Nothing of namespace {wanted.namespace} was seen {here}."
    kinds = tracks.values_list("group", "kind").distinct().order_by()
    if wanted.kind and not any(_is_kind(group, kind, wanted.kind) for group, kind in kinds):
        return 1, f"No object of kind {wanted.kind} was seen {here}."
    where = f" in namespace {wanted.namespace}" if wanted.namespace else ""
    what = f"{wanted.kind} {wanted.name}" if wanted.kind else wanted.name
    return 2, f"No {what} was ever seen{where} {here}."


def _alike(source: Source, wanted: Wanted, tracks: QuerySet[Track]) -> list[LifePayload]:
    """Objects of that name elsewhere, of names that begin with it, or that are nearly it."""
    same = list(tracks.filter(name=wanted.name).exclude(family__in=NOISE).order_by("life")[:_ALIKE])
    if same:
        return _offered(source, same)
    others = tracks.exclude(family__in=NOISE)
    if wanted.namespace and others.filter(namespace=wanted.namespace).exists():
        others = others.filter(namespace=wanted.namespace)
    names = list(others.values_list("name", flat=True).distinct().order_by()[:_NAMES])
    close = [name for name in names if wanted.name and name.startswith(wanted.name)][:_ALIKE]
    close = close or difflib.get_close_matches(wanted.name, names, _ALIKE, 0.6)
    found = list(others.filter(name__in=close).order_by("life")[:_ALIKE])
    return sorted(_offered(source, found), key=lambda each: close.index(each["object"]["name"]))


def _address(source: Source, row: Track, at: int | None) -> str:
    """The timeline with its root owner's group first, and the gravest finding of that group nearby."""
    first, last = extent(source)
    if at is None:
        start, end = microseconds(row.life.lower), microseconds(row.life.upper) if row.life.upper else last
    else:
        start, end = max(first, at - _AROUND), min(last, at + _AROUND)
    near = (start, end) if at is None else (at - _NEAR, at + _NEAR)
    if worst := _worst(source, row, near, start if at is None else at):
        key, begins, ends = worst
        start, end = min(start, begins), max(end, ends)
        return timeline(source, start, end, row.root, key)
    return timeline(source, start, end, row.root)


def _worst(source: Source, row: Track, near: tuple[int, int], at: int) -> tuple[str, int, int] | None:
    """The gravest occurrence in its group within a stretch of time, of these the nearest: key, first, last."""
    found = []
    for finding in Finding.objects.filter(source=source, root=row.root).only("severity", "occurrences", "tracks"):
        for each in finding.occurrences:
            if each["last"] >= near[0] and each["first"] <= near[1]:
                rank = _RANKS.index(finding.severity), row.id not in finding.tracks, abs(each["first"] - at)
                found.append((*rank, each["group"], each["first"], each["last"]))
    return min(found)[3:] if found else None

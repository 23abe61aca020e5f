"""Find objects, findings, actors and lines of logs of a source by words, over all of its time.

One scan of the tracks of a source finds objects by all that is searched at once. The number of words is limited, and so
is the number of hits of each sort.
"""

import re
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection
from django.db.models import Q

from timeline.core.entries import microseconds
from timeline.history.lifelines import ANONYMOUS
from timeline.kinds import address, kind_of
from timeline.layout.lanes import lane_key
from timeline.models import Finding, Occurrence, Source
from timeline.payloads.incidents.ranges import ranges
from timeline.payloads.windows import FoundActorPayload, FoundObjectPayload, SearchPayload
from timeline.queries.filters import LEAST
from timeline.queries.incidents.occurrences import payloads
from timeline.queries.logs import lines as logs
from timeline.queries.objects.candidates import kinds_of
from timeline.queries.sources.extents import extent
from timeline.queries.syntax import WrongTerm, read
from timeline.queries.window.view import like

FOUND = 20  # the most hits of each sort
_WORDS = 8  # the most words that are searched; the others are ignored
_LENGTH = 253  # the most characters of a word, as long as the longest name
_ROWS = 1000  # the most rows that are read, because several incarnations of a name are one hit
_SHOWN = 60_000_000  # µs of an object that a timeline shows, from its beginning on
_WHY = 160  # the most characters that say why an object was found
_NOTHING: SearchPayload = {
    "objects": [], "findings": [], "actors": [], "lines": [], "more": False, "filter": None, "wrong": "",
}  # fmt: skip
_identity = re.compile(rf"[0-9a-f]{{{LEAST},16}}", re.IGNORECASE)  # of an incident, or its beginning
_beginning = re.compile(r"[0-9a-f][0-9a-f-]{7,}", re.IGNORECASE)  # the beginning of a UID


def search(source_id: int, text: str) -> SearchPayload:
    """Return the objects, findings, actors and lines of logs of a source that match every word of a text; of a text
    with terms (see `queries.syntax`) only the filter that it means.

    A word matches a part of a name, of a namespace, of the node or an image of a Pod, or of an IP address; a whole kind
    or UID, or the first eight or more characters of a UID; of findings a part of the summary or of the rule's id, or
    the name of their incident; of actors a part of the name; of lines a part of the text. Raises Source.DoesNotExist.
    """
    source = Source.objects.only("actors", "first", "last", "cluster", "sequence").get(pk=source_id)
    try:
        asked = read(text)
    except WrongTerm as error:
        return {**_NOTHING, "wrong": str(error)}
    if asked.fields:
        return {**_NOTHING, "filter": asked.fields | ({"name": asked.words} if asked.words else {})}
    words = [word[:_LENGTH] for word in text.replace("/", " ").replace("\0", " ").split()[:_WORDS]]
    if not words:
        return _NOTHING
    objects = _objects(source_id, extent(source)[1], words)
    matching = Occurrence.objects.filter(source_id=source_id)
    for word in words:
        of_incident = Finding.objects.filter(source_id=source_id, incident__startswith=word.lower())
        matching = matching.filter(
            Q(words__contains=word.lower())
            | Q(namespace__icontains=word)
            | Q(rule__contains=word)
            | (Q(findings__overlap=ArraySubquery(of_incident.values("identity"))) if _identity.fullmatch(word) else Q())
        )
    return {
        "objects": objects[:FOUND],
        "findings": payloads(source_id, list(matching.order_by("rank", "first", "key")[:FOUND])),
        "actors": _actors(source.actors, text),
        "lines": logs.lines(source_id, words=text, limit=FOUND)["lines"],
        "more": len(objects) > FOUND,
        "filter": None,
        "wrong": "",
    }


def _actors(actors: list[tuple[str, int]], text: str) -> list[FoundActorPayload]:
    """Return the actors with all words of a text in their names, those with most changes first."""
    words = text.lower().split()[:_WORDS]
    matching = ((name, changes) for name, changes in actors if all(word in name.lower() for word in words))
    return [FoundActorPayload(name=name, changes=changes) for name, changes in matching if name][:FOUND]


def _objects(source_id: int, last: int, words: list[str]) -> list[FoundObjectPayload]:
    """Return the objects that match, those of that very name first. There are more than FOUND if more match."""
    values: dict[str, Any] = {"source": source_id, "most": _ROWS, "whole": words[-1].lower()}
    conditions, by_facts, exact = [], [], []
    for index, word in enumerate(words):
        values |= {
            f"like{index}": like(word),
            f"kinds{index}": kinds_of(word),
            f"uid{index}": _uid_pattern(word),
            f"address{index}": [address(word) or "none"],
            f"end{index}": like(f" {word}\n"),
        }
        by_name = (
            f"name ILIKE %(like{index})s OR namespace ILIKE %(like{index})s OR lower(kind) = ANY(%(kinds{index})s)"
        )
        by_fact = f"(uid LIKE %(uid{index})s OR clues ILIKE %(like{index})s OR addresses @> %(address{index})s::text[])"
        conditions.append(f"({by_name} OR {by_fact})")
        by_facts.append(by_fact)
        exact.append(f"uid LIKE %(uid{index})s OR coalesce(addresses @> %(address{index})s::text[], FALSE)")
        exact.append(f"clues || E'\\n' ILIKE %(end{index})s")
    # All incarnations of a lane have the same name, so only the first one is found by it.
    query = f"""
        SELECT lane, id, root, "group", kind, namespace, name, family, uid, clues, addresses, span, life
        FROM timeline_track
        WHERE source_id = %(source)s AND {" AND ".join(conditions)}
              AND (span IS NOT NULL OR {" OR ".join(by_facts)})
        ORDER BY lower(name) <> %(whole)s, NOT ({" OR ".join(exact)}), family IN ('Events', 'Cluster'),
                 length(name), place, number
        LIMIT %(most)s"""
    found: dict[int, FoundObjectPayload] = {}
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        for lane, *row in cursor:
            if lane not in found and len(found) <= FOUND:
                found[lane] = _found(source_id, last, words, *row)
    return list(found.values())


def _uid_pattern(word: str) -> str:
    """Return the pattern for the UIDs that a word means: this one, or those that begin with it if it is long enough."""
    if word.startswith(ANONYMOUS):  # such UIDs are made up
        return ""
    return like(word.lower())[1:] if _beginning.fullmatch(word) else like(word)[1:-1]


def _found(
    source_id: int,
    last: int,
    words: list[str],
    track: int,
    root: int,
    group: str,
    kind: str,
    namespace: str,
    name: str,
    family: str,
    uid: str,
    clues: str,
    addresses: list[str] | None,
    span: Any,
    life: Any,
) -> FoundObjectPayload:
    named = {word for word in words if _in(word, name) or _in(word, namespace) or kind.lower() in kinds_of(word)}
    why = _why([word for word in words if word not in named], uid, addresses or [], clues.split("\n"))
    when = life if why or span is None else span
    start, end = microseconds(when.lower), microseconds(when.upper) if when.upper else None
    return {
        "track": track,
        "root": root,
        "key": lane_key(group, kind, namespace, name),
        "short": kind_of(group, kind).short,
        "family": family,
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "why": why,
        "start": start,
        "end": end,
        "range": ranges(start, min(last if end is None else end, start + _SHOWN), ())["time"],
        "url": f"/sources/{source_id}/objects/{track}/",
    }


def _why(words: list[str], uid: str, addresses: list[str], clues: list[str]) -> str:
    """Return why an object was found by words that are not in its names: "on node-3"; "" without such words."""
    reasons: list[str] = []
    for word in words:
        if not any(_in(word, reason) for reason in reasons):
            best = max(clues, key=lambda clue: sum(_in(each, clue) for each in words) if _in(word, clue) else 0)
            known = address(word)
            if uid.lower().startswith(word.lower()):
                reasons.append(f"UID {uid}")
            elif known in addresses:
                reasons.append(f"address {known}")
            elif _in(word, best):
                reasons.append(best)
    return " · ".join(reasons)[:_WHY]


def _in(word: str, text: str) -> bool:
    return word.lower() in text.lower()

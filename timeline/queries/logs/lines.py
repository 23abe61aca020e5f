"""Read the lines of the logs of programs: which logs a source has, where their lines are in time, and the lines of a
log, about an object, or with certain words.

Times are microseconds since 1970, UTC.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from django.db.models import Count, Max, Min, QuerySet, Sum

from timeline.core.entries import LogLine, Place, Unknown, microseconds, moment
from timeline.history.codec import Known
from timeline.history.packing import unpack
from timeline.kinds import NOISE
from timeline.layout.lanes import lane_key
from timeline.models import Log, LogPage, Source, Track
from timeline.payloads.findings import ProofPayload
from timeline.payloads.logs import (
    LogLinePayload,
    LogLinesPayload,
    LogMarksPayload,
    LogPayload,
    LogsPayload,
    NamedObjectPayload,
    ShownLinePayload,
)
from timeline.queries.incidents.findings import findings
from timeline.storage.logs import GRAVE, LINES, decoded, raw_lines_of, times_of

LOGS = 500  # the most logs that are listed, those with the most lines
AT_ONCE = 20  # the most logs whose marks are read at once
MARKS = 1200  # about as many marks of a log as the widest screen has pixels
SCANNED = 2000  # the most pages that one search reads, about half a million lines
_PAGES = 50  # how many pages are read at a time
_TEXTS = 8  # the most pages of a log whose marks have texts, about 2000 lines
_BEGINNING = 300  # characters of such a text
_NAMED = 20  # the most objects that are linked from a line
_ROWS = 200  # the most incarnations of a name that are looked at


class Cursor(NamedTuple):
    """The place of a line among all lines of a source."""

    time: int
    log: int
    sequence: int

    @classmethod
    def of(cls, text: str) -> "Cursor":
        """Return the cursor that a text stands for: three numbers with dots between them; "" for the beginning."""
        return cls(*map(int, text.split("."))) if text else cls(0, 0, 0)

    def __str__(self) -> str:
        return ".".join(map(str, self))


class _Placed(NamedTuple):
    place: Cursor
    line: LogLine


def logs(source_id: int) -> LogsPayload:
    """Return the logs of a source with the most lines, by name. Raises Source.DoesNotExist."""
    Source.objects.only("pk").get(pk=source_id, ready=True)
    pages = LogPage.objects.filter(source=source_id).values("log")
    totals = pages.annotate(lines=Sum("count"), begins=Min("first"), ends=Max("last")).order_by("-lines", "log")
    rows = list(totals[: LOGS + 1])
    names = _names(source_id, [row["log"] for row in rows[:LOGS]])
    pods = _pods(source_id, set(names.values()))
    found = []
    for row in rows[:LOGS]:
        name = names[row["log"]]
        file = name.rpartition("/")[2]
        label, pod = pods.get(name, (file if "." in file else name, None))
        found.append(
            LogPayload(
                log=row["log"],
                name=name,
                label=label,
                lane=lane_key("", "Pod", pod.namespace, pod.name) if pod else "",
                track=pod.id if pod else None,
                lines=row["lines"],
                first=microseconds(row["begins"]),
                last=microseconds(row["ends"]),
            )
        )
    return {"logs": sorted(found, key=lambda log: (log["name"], log["log"])), "more": len(rows) > LOGS}


def marks(source_id: int, wanted: Sequence[int], start: int, end: int) -> list[LogMarksPayload]:
    """Return the marks of some logs between two times. Raises Source.DoesNotExist."""
    Source.objects.only("pk").get(pk=source_id, ready=True)
    chosen = list(dict.fromkeys(wanted))[:AT_ONCE]
    width = max(1, (end - start) // MARKS)
    found = {log: LogMarksPayload(log=log, time=[], count=[], level=[], text=[]) for log in chosen}
    pages = LogPage.objects.filter(source=source_id, log__in=chosen, first__lte=moment(end), last__gte=moment(start))
    sizes = dict(pages.values_list("log").annotate(Count("number")))
    few = [log for log, size in sizes.items() if size <= _TEXTS]
    known: Known = {}
    for page in pages.filter(log__in=few).order_by("log", "number"):
        for line in decoded(raw_lines_of(bytes(page.lines)), known):
            if start <= line.time <= end:
                _add(found[page.log], line.time, 1, GRAVE.get(line.level, 0), line.text[:_BEGINNING], width)
    rows = pages.exclude(log__in=few).order_by("log", "number")
    columns = "log", "first", "last", "count", "worst", "times"
    for log, first, last, count, worst, times in rows.values_list(*columns).iterator(chunk_size=200):
        begins, ends = microseconds(first), microseconds(last)
        if start <= begins and ends <= end and ends - begins < width:
            _add(found[log], begins, count, worst, "", width)
            continue
        for time, level in times_of(bytes(times), begins):
            if start <= time <= end:
                _add(found[log], time, 1, level, "", width)
    return list(found.values())


def _add(marks: LogMarksPayload, time: int, count: int, level: int, text: str, width: int) -> None:
    if marks["time"] and time - marks["time"][-1] < width:
        marks["count"][-1] += count
        marks["level"][-1] = max(marks["level"][-1], level)
        return
    marks["time"].append(time)
    marks["count"].append(count)
    marks["level"].append(level)
    marks["text"].append(text)


def lines(
    source_id: int,
    *,
    log: int | None = None,
    start: int | None = None,
    end: int | None = None,
    about: int | None = None,
    words: str = "",
    after: str = "",
    limit: int = 50,
) -> LogLinesPayload:
    """Return lines in the order of time: those of one log, between two times, that name an object (Track.id), or that
    contain all of some words. `after` is the cursor of the page before.

    Raises Source.DoesNotExist, and Track.DoesNotExist for an unknown object.
    """
    Source.objects.only("pk").get(pk=source_id, ready=True)
    pages = LogPage.objects.filter(source=source_id)
    if log is not None:
        pages = pages.filter(log=log)
    names: set[str] = set()
    if not pages.exists():
        return {"lines": [], "next": None, "scanned": None}
    if about is not None:
        names = _ways_to_name(source_id, Track.objects.defer("lifeline").get(source=source_id, id=about))
        pages = pages.filter(objects_named__overlap=sorted(names))
    since = Cursor.of(after)
    begin = max(since.time, start or 0)
    if begin:
        pages = pages.filter(last__gte=moment(begin))
    if end is not None:
        pages = pages.filter(first__lte=moment(end))
    found, scanned = _found(pages, names, words.lower().split(), since, (begin, end), limit + 1)
    known = _names(source_id, {each.place.log for each in found})
    following = str(found[limit - 1].place) if len(found) > limit else None
    payloads = [_payload(each.line, known[each.place.log], each.place) for each in found[:limit]]
    return {"lines": payloads, "next": following, "scanned": scanned}


def proving(source_id: int, finding: str) -> list[LogLinePayload]:
    """Return the lines that prove a row of the list of findings, in the order of its proof; none if other events prove
    it. `finding` is the key of the row. Raises Source.DoesNotExist."""
    Source.objects.only("pk").get(pk=source_id, ready=True)
    proofs = [proof for row in findings(source_id, key=finding)["findings"] for proof in row["proof"]]
    found = [placed for proof in proofs if _is_line(proof) if (placed := _read_at(source_id, proof))]
    known = _names(source_id, {each.place.log for each in found})
    return [_payload(each.line, known[each.place.log], each.place) for each in found]


def _is_line(proof: ProofPayload) -> bool:
    """Return whether an event may be a line of a log: it is neither a request nor a revision of an object."""
    return bool(proof["file"] and proof["earliest"]) and proof["resource_version"] is None and proof["audit_id"] is None


def _read_at(source_id: int, proof: ProofPayload) -> _Placed | None:
    """Return the line that was read where an event was; None if no line was."""
    at = datetime.fromisoformat(proof["earliest"] or "")
    pages = LogPage.objects.filter(source=source_id, first__lte=at, last__gte=at).order_by("log", "number")
    placed = (each for page in pages.iterator(chunk_size=_PAGES) for each in _in_page(page, [], {}))
    here = Place(proof["file"] or "", proof["line"] or 0)
    return next((each for each in placed if each.line.place == here), None)


def line(source_id: int, log: int, *, sequence: int | None = None, at: int = 0) -> ShownLinePayload | None:
    """Return one line of a log with all that it names: that with a sequence, or else the first one from a time on.
    Return None if there is none. Raises Source.DoesNotExist."""
    Source.objects.only("pk").get(pk=source_id, ready=True)
    pages = LogPage.objects.filter(source=source_id, log=log)
    if sequence is not None:
        page = pages.filter(number=sequence // LINES).first()
    else:
        page = pages.filter(last__gte=moment(at)).order_by("number").first() or pages.order_by("number").last()
    if page is None:
        return None
    held = list(decoded(raw_lines_of(bytes(page.lines)), {}))
    if sequence is None:
        offset = next((i for i, each in enumerate(held) if each.time >= at), len(held) - 1)
    elif (offset := sequence % LINES) >= len(held):
        return None
    before = pages.filter(number__lt=page.number)
    earlier: int | None = page.number * LINES + offset - 1
    if not offset:
        last = before.order_by("number").last()
        earlier = last.number * LINES + last.count - 1 if last else None
    later: int | None = page.number * LINES + offset + 1
    if offset == len(held) - 1:
        following = pages.filter(number__gt=page.number).order_by("number").first()
        later = following.number * LINES if following else None
    name = _names(source_id, [log])[log]
    _, pod = _pods(source_id, {name}).get(name, (name, None))
    shown = held[offset]
    return {
        **_payload(shown, name, Cursor(shown.time, log, page.number * LINES + offset)),
        "number": (before.aggregate(total=Sum("count"))["total"] or 0) + offset + 1,
        "total": pages.aggregate(total=Sum("count"))["total"],
        "lane": lane_key("", "Pod", pod.namespace, pod.name) if pod else "",
        "objects": _objects(source_id, shown.objects),
        "earlier": earlier,
        "later": later,
    }


def _found(
    pages: QuerySet[LogPage],
    names: set[str],
    words: list[str],
    since: Cursor,
    between: tuple[int, int | None],
    most: int,
) -> tuple[list[_Placed], int | None]:
    """Return at most `most` lines after a cursor, in order, and how many lines were read if not all were.

    Pages are read in the order of their first lines, so that no later page has a line before those that are returned.
    """
    found: list[_Placed] = []
    known: Known = {}
    read = 0
    wanted = pages.defer("times", "objects_named").order_by("first", "log", "number")
    for number, page in enumerate(wanted.iterator(chunk_size=_PAGES)):
        if len(found) >= most:
            found.sort(key=lambda each: each.place)
            del found[most:]
            if microseconds(page.first) > found[-1].place.time:
                return found, None
        if number == SCANNED:
            return sorted(found, key=lambda each: each.place)[:most], read
        read += page.count
        found += [
            each
            for each in _in_page(page, words, known)
            if each.place > since
            and between[0] <= each.place.time
            and (between[1] is None or each.place.time <= between[1])
            and (not names or not names.isdisjoint(each.line.objects))
        ]
    return sorted(found, key=lambda each: each.place)[:most], None


def _in_page(page: LogPage, words: list[str], known: Known) -> Iterator[_Placed]:
    """Yield the lines of a page that contain all words. Most lines are recognised before they are decoded."""
    content = unpack(bytes(page.lines))
    parts = [msgspec.json.encode(word)[1:-1].decode().lower() for word in words]
    if parts and not _has(content, parts):
        return
    raw = content.split(b"\n")
    numbers = [number for number, each in enumerate(raw) if _has(each, parts)]
    for number, line in zip(numbers, decoded((raw[number] for number in numbers), known), strict=True):
        if not words or all(word in line.text.lower() for word in words):
            yield _Placed(Cursor(line.time, page.log, page.number * LINES + number), line)


def _has(content: bytes, parts: list[str]) -> bool:
    lowered = content.decode().lower() if parts else ""
    return all(part in lowered for part in parts)


def _payload(line: LogLine, name: str, place: Cursor) -> LogLinePayload:
    return {
        "log": place.log,
        "name": name,
        "sequence": place.sequence,
        "time": line.time,
        "year_known": line.unknown not in (Unknown.YEAR, Unknown.DATE),
        "date_known": line.unknown is not Unknown.DATE,
        "zone_known": line.unknown in (Unknown.NOTHING, Unknown.AGE),
        "latest": line.unknown is Unknown.AGE,
        "level": line.level,  # type: ignore[typeddict-item]  # only these levels are read
        "text": line.text,
        "file": line.place.file if line.place else "",
        "line": line.place.line if line.place else 0,
    }


def _names(source_id: int, logs: Collection[int]) -> dict[int, str]:
    rows = Log.objects.filter(source=source_id, number__in=set(logs))
    return dict(rows.values_list("number", "name"))


def _pods(source_id: int, names: set[str]) -> dict[str, tuple[str, Track]]:
    """Return the container and the Pod of each log whose name says a Pod that the source shows.

    `kubectl logs --prefix` names no namespace, so there only one Pod may have the name.
    """
    parts: dict[str, tuple[str, str, str]] = {}  # namespace or "", Pod, container
    for name in names:
        namespace, _, rest = name.rpartition(" ")[2].rpartition("/")[0].rpartition("/")
        container = name.rpartition("/")[2]
        if " " in name or name.count("/") == 2:
            parts[name] = (namespace if " " not in name else "", rest, container)
    rows = Track.objects.filter(
        source=source_id, group="", kind="Pod", name__in={pod for _, pod, _ in parts.values()}
    ).defer("lifeline")
    by_name: dict[str, dict[str, Track]] = defaultdict(dict)  # by name and by namespace, the last incarnation
    for row in rows.order_by("number"):
        by_name[row.name][row.namespace] = row
    found = {}
    for name, (namespace, pod, container) in parts.items():
        known = by_name.get(pod, {})
        if namespace in known or (not namespace and len(known) == 1):
            found[name] = container or name, known[namespace] if namespace else next(iter(known.values()))
    return found


def _ways_to_name(source_id: int, row: Track) -> set[str]:
    """Return the ways in which lines surely name an object: without its namespace only if no other object of its kind
    has its name."""
    name = f"{row.namespace}/{row.name}"
    ways = {name, f"{row.kind.lower()}/{name}"}
    others = Track.objects.filter(source=source_id, group=row.group, kind=row.kind, name=row.name)
    if not others.exclude(namespace=row.namespace).exists():
        ways |= {f"*/{row.name}", f"{row.kind.lower()}/*/{row.name}"}
    return ways


def _objects(source_id: int, named: Sequence[str]) -> list[NamedObjectPayload]:
    """Return the objects that a line names, as far as the source shows them."""
    found: dict[tuple[str, str, str, str], Track] = {}
    for each in named:
        *kind, namespace, name = each.split("/")
        rows = Track.objects.filter(source=source_id, name=name).exclude(family__in=NOISE).defer("lifeline")
        if kind:
            rows = rows.filter(kind__iexact=kind[0])
        if namespace != "*":
            rows = rows.filter(namespace=namespace)
        of_kinds: dict[tuple[str, str], dict[str, Track]] = defaultdict(dict)
        for row in rows.order_by("number")[:_ROWS]:
            of_kinds[row.group, row.kind][row.namespace] = row
        for (group, of_kind), in_namespaces in of_kinds.items():
            if namespace != "*" or len(in_namespaces) == 1:
                found |= {(group, of_kind, row.namespace, row.name): row for row in in_namespaces.values()}
    return [
        {
            "kind": row.kind,
            "namespace": row.namespace,
            "name": row.name,
            "track": row.id,
            "url": f"/sources/{source_id}/objects/{row.id}/",
        }
        for row in list(found.values())[:_NAMED]
    ]

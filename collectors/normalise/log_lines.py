"""This pure module reads lines of the logs of programs: klog, logfmt and slog, JSON, and plain lines with a time.

They may stand in the wrapping of a container runtime (CRI, Docker) or of `kubectl logs --timestamps --prefix`. The time
of the wrapping is preferred, because it always has a year and a zone.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from timeline.core.entries import Unknown, microseconds

LONGEST = 16 * 1024  # characters of a line that are looked at; container runtimes cut lines at this length
_FIELDS = 40  # fields of a line of JSON that are kept
_NAMED = 8  # objects that a line names at most
_YEARS = range(2000, 2200)
_KLOG_YEAR = 1972  # klog writes no year; this one has a 29th of February


class LogText(NamedTuple):
    """This tuple is what one line of a log says."""

    time: int  # µs since 1970
    unknown: Unknown
    level: str
    text: str  # it may hold line breaks
    sure: bool  # whether only programs that write logs write such lines: more than a time stands before the text
    origin: str = ""  # "pod/container", if the line says it
    stream: str = ""  # "stdout" or "stderr", if the line says it
    partial: bool = False  # whether the next line of the stream goes on with this one


_TIME = r"(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s?(Z|UTC|[+-]\d\d:?\d\d)?"
_WHOLE_TIME = re.compile(_TIME)
_OUTER = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)) ")
_PREFIX = re.compile(r"\[pod/([a-z0-9.-]{1,253})/([a-z0-9-]{1,63})\] ")
_CRI = re.compile(r"(stdout|stderr) ([FP]) ")
_KLOG = re.compile(r"([IWEF])(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{6})\s+\d+ [\w./-]+:\d+\] ")
_LOGFMT = re.compile(r'(?:time|ts|timestamp|t)=("[^"]{1,64}"|\S{1,64}) ')
_PAIR = re.compile(r'\b(level|lvl|severity|msg|message)=("(?:[^"\\]|\\.)*"|\S*)')
_PLAIN = re.compile(r"\[?" + _TIME + r"\]?(?:\s+-)?(?=\s|:)[\s:]*")
_LEVEL = re.compile(
    r"[\[<(]?(trace|debug|dbg|info|information|notice|warn|warning|error|err|fatal|critical|panic)\b[\]>):]*\s*(?:-\s+)?",
    re.IGNORECASE,
)
_LEVELS = {
    "t": "trace",
    "d": "debug",
    "i": "info",
    "n": "info",
    "w": "warning",
    "e": "error",
    "c": "fatal",
    "f": "fatal",
    "p": "fatal",
}
_NUMBERS = {10: "trace", 20: "debug", 30: "info", 40: "warning", 50: "error", 60: "fatal"}  # as Bunyan writes them
_TIME_KEYS = ("time", "ts", "timestamp", "@timestamp", "asctime")
_LEVEL_KEYS = ("level", "severity", "lvl", "log.level")
_TEXT_KEYS = ("msg", "message")


def log_text(line: str) -> LogText | None:
    """Return what a line of a log says; None for a line without a time, such as one of a stack trace."""
    line = line[:LONGEST]
    origin, outer, sure, stream, partial = "", None, False, "", False
    if line.startswith("[pod/") and (prefix := _PREFIX.match(line)):
        origin, line, sure = f"{prefix[1]}/{prefix[2]}", line[prefix.end() :], True
    if line.startswith('{"log":') and (unpacked := _of_docker(line)):
        outer, stream, line = unpacked
        sure, partial, line = True, not line.endswith("\n"), line.rstrip("\n")
    elif (wrapped := _OUTER.match(line)) and (at := _time(wrapped[1])):
        rest = line[wrapped.end() :]
        if cri := _CRI.match(rest):
            sure, stream, partial, rest = True, cri[1], cri[2] == "P", rest[cri.end() :]
        inner = _inner(rest)
        if inner and not inner.sure:
            inner = None
        if sure or inner:
            outer, line = at, rest
    inner = _inner(line)
    if outer is None:
        return inner._replace(origin=origin, sure=sure or inner.sure) if inner else None
    time, unknown = outer
    if inner is None:
        return LogText(time, unknown, "", line.rstrip(), sure, origin, stream, partial)
    return LogText(time, unknown, inner.level, inner.text, True, origin, stream, partial)


def _inner(line: str) -> LogText | None:
    """Return what a line says as the program wrote it."""
    if line[:1] == "{":
        return _of_json(line)
    if found := _KLOG.match(line):
        month, day, hour, minute, second = (int(each) for each in found.groups()[1:6])
        at = _moment(_KLOG_YEAR, month, day, hour, minute, second, found[7], "Z")
        return LogText(at[0], Unknown.YEAR, level_of(found[1]), line[found.end() :].rstrip(), True) if at else None
    if found := _LOGFMT.match(line):
        pairs = dict(_PAIR.findall(line))
        at = _time(found[1].strip('"'))
        level, text = (next((pairs[key] for key in keys if key in pairs), "") for keys in (_LEVEL_KEYS, _TEXT_KEYS))
        if at and level and text:
            rest = _PAIR.sub("", line[found.end() :]).strip()
            return LogText(*at, level_of(level.strip('"')), f"{_unquoted(text)} {rest}".strip(), True)
    if (found := _PLAIN.match(line)) and (at := _time_of(found)):
        text = line[found.end() :].rstrip()
        level = _LEVEL.match(text)
        text = text[level.end() :] if level else text
        if any(map(str.isalpha, text)):
            return LogText(*at, level_of(level[1]) if level else "", text, level is not None)
    return None


def _of_docker(line: str) -> tuple[tuple[int, Unknown], str, str] | None:
    """Return the time, the stream and the line in a line of Docker's json-file log; None if it is not one."""
    fields = _decoded(line)
    log, stream, time = fields.get("log"), fields.get("stream"), fields.get("time")
    if not isinstance(log, str) or stream not in ("stdout", "stderr") or not isinstance(time, str):
        return None
    at = _time(time)
    return (at, stream, log) if at else None


def _of_json(line: str) -> LogText | None:
    """Return what a line of JSON says, as zap, slog, logrus and Bunyan write it: it has a time, a level and a text."""
    fields = _decoded(line)
    time, level, text = (
        next((fields.pop(key) for key in keys if key in fields), None) for keys in (_TIME_KEYS, _LEVEL_KEYS, _TEXT_KEYS)
    )
    at = _time(time) if isinstance(time, str) else _since_1970(time)
    if at is None or not isinstance(text, str):
        return None
    if isinstance(level, int) and not isinstance(level, bool):
        level = _NUMBERS.get(level, "info")
    if not isinstance(level, str):
        return None
    rest = (f"{key}={orjson.dumps(value).decode()}" for key, value in list(_pairs(fields))[:_FIELDS])
    return LogText(*at, level_of(level), " ".join([text, *rest]), True)


def _decoded(line: str) -> dict[str, Any]:
    try:
        fields = orjson.loads(line)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _pairs(fields: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields beside the text. Of objects in them, only a name and a namespace are read."""
    for key, value in fields.items():
        if isinstance(value, dict):
            name, namespace = value.get("name"), value.get("namespace")
            if isinstance(name, str):
                yield key, f"{namespace}/{name}" if isinstance(namespace, str) and namespace else name
        elif not isinstance(value, list) and value is not None:
            yield key, value


def _unquoted(value: str) -> str:
    if value[:1] != '"':
        return value
    try:
        return str(orjson.loads(value))
    except ValueError:
        return value[1:-1]


def level_of(text: str) -> str:
    """Return the level that a word such as WARN stands for; "" if it stands for none."""
    return _LEVELS.get(text[:1].lower(), "")


def _time(text: str) -> tuple[int, Unknown] | None:
    found = _WHOLE_TIME.fullmatch(text)
    if found:
        return _time_of(found)
    try:
        return _since_1970(float(text)) if len(text) < 40 else None  # as logfmt may have it
    except ValueError:
        return None


def _time_of(found: re.Match[str]) -> tuple[int, Unknown] | None:
    year, month, day, hour, minute, second = (int(each) for each in found.groups()[:6])
    return _moment(year, month, day, hour, minute, second, found[7] or "", found[8] or "")


def _moment(
    year: int, month: int, day: int, hour: int, minute: int, second: int, fraction: str, zone: str
) -> tuple[int, Unknown] | None:
    """Return a time in µs since 1970, and what it leaves open; None if there is no such time."""
    if year not in _YEARS and year != _KLOG_YEAR:
        return None
    try:
        whole = _seconds(year, month, day, hour, minute, second, zone)
    except ValueError:
        return None
    return whole + int(f"{fraction[:6]:<06}" if fraction else 0), Unknown.NOTHING if zone else Unknown.ZONE


@lru_cache(1024)
def _seconds(year: int, month: int, day: int, hour: int, minute: int, second: int, zone: str) -> int:
    ahead = timedelta()
    if zone and zone[0] in "+-":
        ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:])) * (-1 if zone[0] == "-" else 1)
    return microseconds(datetime(year, month, day, hour, minute, second, tzinfo=timezone(ahead)))


def _since_1970(number: object) -> tuple[int, Unknown] | None:
    """Return a time that a program gives as a number of seconds, milliseconds, microseconds or nanoseconds."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    for unit in (1e6, 1e3, 1, 1e-3):
        time = number * unit
        if 946_684_800e6 <= time < 7_258_118_400e6:  # the years 2000 to 2200
            return round(time), Unknown.NOTHING
    return None


_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_OBJECT = r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?"
_QUALIFIED = re.compile(rf"(?<![\w./:@-])({_LABEL})/({_OBJECT})(?![\w/-])")
_IN_NAMESPACE = re.compile(rf"\[({_OBJECT})\],? (?:in )?namespace:? \[({_LABEL})\]")
_NAMESPACE = re.compile(rf'(?i:\bnamespace)[=:]\s?"?({_LABEL})(?![\w.])')
_KEYS = "name|service|pod|job|lease|endpoints|endpointslice|deployment"
_OF_KIND = re.compile(rf'(?i:\b({_KEYS}))="?({_LABEL}/{_OBJECT})(?![\w/-])')
_NAME = re.compile(rf'(?i:\b({_KEYS}))[=:]\s?"?({_OBJECT})(?![\w/])')
_ALONE = re.compile(rf'\[({_OBJECT})\]|(?i:\b({_KEYS}))="?({_OBJECT})(?![\w/])')


def objects_in(text: str) -> tuple[str, ...]:
    """Return the objects that a text names, each as "namespace/name", or "*/name" without a namespace.

    If the text says of which kind the object is, as klog does in `pod="shop/web"`, the kind is before it in lower case.

    What merely looks like one is returned as well: that does no harm, because nobody asks for an object that does not
    exist.
    """
    found = dict.fromkeys(f"{_kind(each[1])}{each[2]}" for each in _OF_KIND.finditer(text))
    known = {each[2] for each in _OF_KIND.finditer(text)}
    found |= dict.fromkeys(name for each in _QUALIFIED.finditer(text) if (name := f"{each[1]}/{each[2]}") not in known)
    found |= dict.fromkeys(f"{each[2]}/{each[1]}" for each in _IN_NAMESPACE.finditer(text))
    if namespace := _NAMESPACE.search(text):
        found |= dict.fromkeys(f"{_kind(each[1])}{namespace[1]}/{each[2]}" for each in _NAME.finditer(text))
    named = {each.rpartition("/")[2] for each in found}
    alone = ((_kind(each[2]), each[1] or each[3]) for each in _ALONE.finditer(text))
    found |= dict.fromkeys(
        f"{kind}*/{name}" for kind, name in alone if name not in named and any(map(str.isalpha, name))
    )
    return tuple(found)[:_NAMED]


def _kind(key: str | None) -> str:
    """Return what stands before a name of which a line says the kind, with a slash; "" if it says none."""
    return f"{key.lower()}/" if key and key.lower() != "name" else ""

"""Read lines of the logs of programs: a table of shapes, each with a time in any notation. It does no I/O.

`collectors.normalise.log_times` has the notations. A line may stand in the wrapping of a container runtime (CRI,
Docker), a log shipper, a journal, or `kubectl logs --timestamps --prefix`. The time of the wrapping is preferred,
unless it leaves more open than that of the program.
"""

import re
from itertools import islice
from typing import NamedTuple

import orjson

from collectors.normalise.log_fields import Fields, decoded, pairs_of, text_in
from collectors.normalise.log_levels import DECORATION, LEVELS, PRIORITIES, level_in, level_of, levelled
from collectors.normalise.log_times import Written, written, written_at, written_by_klog
from timeline.core.entries import Unknown

LONGEST = 16 * 1024  # characters of a line that are looked at; container runtimes cut lines at this length
_FIELDS = 40  # fields of a line of JSON that are kept
_PAIRS = 100  # pairs of a line of logfmt that are looked at
_WRAPPINGS = 5  # around one another, with the line inside
_SAME = 2_000_000  # µs by which two times of one line may differ, one of them in whole seconds


class LogText(NamedTuple):
    """What one line of a log says."""

    time: int  # µs since 1970; of times that leave something open, see `Unknown`
    unknown: Unknown
    level: str
    text: str  # it may hold line breaks
    sure: bool  # whether only programs that write logs write such lines: more than a time stands before the text
    # Who wrote the line, if it says so: "pod/container", "namespace/pod/container", or "host/program" in a journal.
    origin: str = ""
    stream: str = ""  # "stdout" or "stderr", if the line says it
    partial: bool = False  # whether the next line of the stream goes on with this one


class _Said(NamedTuple):
    """What a line says that may have no time, as programs write lines into a wrapping."""

    at: Written | None
    level: str
    text: str
    sure: bool
    origin: str = ""
    stream: str = ""
    partial: bool = False


_TIME_KEYS = (
    *("time", "ts", "timestamp", "@timestamp", "asctime", "t", "@t", "date", "datetime", "timemillis", "instant"),
    *("_source_realtime_timestamp", "__realtime_timestamp", "start_time", "time_local", "time_iso8601", "log_time"),
    *("timestampseconds", "eventtime", "timegenerated"),
)
_LEVEL_KEYS = (
    *("level", "severity", "lvl", "log.level", "levelname", "loglevel", "log_level", "severitytext", "severity_text"),
    *("@l", "l", "s", "jsonpayload.level"),
)
_TEXT_KEYS = (
    *("msg", "message", "short_message", "textpayload", "jsonpayload.message", "jsonpayload.msg", "text", "@m", "@mt"),
    *("messagetemplate", "m", "event", "log", "line", "body", "@message", "properties.log", "log_s"),
)
_OTHER_KEYS = {"caller", "logger", "component", "method", "path", "status", "err", "error", "source"}  # without a text
_WRAPPING_KEYS = {"stream", "kubernetes", "_hostname", "__realtime_timestamp", "labels", "resource", "containername"}
_OF_DOCKER = {"log", "stream", "time", "attrs"}

_COLOUR = re.compile(r"\x1b\[[\d;]{0,16}m")
_PREFIX = re.compile(r"\[pod/([a-z0-9.-]{1,253})/([a-z0-9-]{1,63})\] ")
_CRI = re.compile(r" (stdout|stderr) ([FP])(?: |$)")
_KLOG = re.compile(r"(?:\s{1,10}\d{1,10})?(?:\s[\w./@-]{1,200}:\d{1,7}\])?(?:\s|$)")
_LABELS = re.compile(r' \{\w{1,64}="[^{}]{0,2000}\} ')  # of Loki, as logcli prints them
# In a journal and in syslog.
_PROGRAM = re.compile(r" ([\w.-]{1,253}) ([A-Za-z(][\w./@()-]{0,63})(?:\[(\d{1,10})\])?:(?: |$)")
_RFC_5424 = re.compile(r" ([!-~]{1,255}) ([!-~]{1,48}) [!-~]{1,128} [!-~]{1,32} (?:-|(?:\[[^\]]{0,500}\]){1,8})(?: |$)")
_PAIR_OF_LOKI = re.compile(r'\[\s{0,80}"\d{19}",')
_RECORD = re.compile(r"[\[({<]?\d|\{|[A-Z]\d{4}|[A-Za-z_@][\w.@/-]{0,63}=")  # how a wrapped line may begin
_KEY = re.compile(r"[A-Za-z_@][\w.@/-]{0,63}=")
_PAIR = re.compile(r'(?<!\S)([A-Za-z_@][\w.@/-]{0,63})=("(?:[^"\\]|\\.)*+"?|[^\s"]*+)')
_LEADS = tuple(
    re.compile(rf"\A{each}")
    for each in (
        r"<(?P<priority>\d{1,3})>(?P<version>1 )?",  # syslog
        r"(?P<level>[DIWEFAU]), \[",  # Ruby
        r"[\[<(]?(?P<level>[A-Za-z]{3,13})[\]>):]{0,2}[\s|-]{0,8}(?P<text>(?:\[(?!\d\d)[^\[\]]{1,80}\]\s{1,3}){0,2})[\[(]?",
        r"\[?\d{1,7}(?::[A-Z])?\]?:?\s{1,3}[\[(]?",  # the number of the process, with which Redis and NATS begin
        r"(?P<text>(?:[^\s\[]{1,255} ){1,4}+)\[(?=\d\d?/[A-Z])",  # access logs
    )
)
_BESIDE = tuple(  # what stern and docker compose write before each line
    re.compile(rf"\A{each}")
    for each in (
        r"(?P<pod>[a-z][a-z0-9.-]{0,252}) (?:› )?(?P<container>[a-z][a-z0-9-]{0,62}) (?:│ )?(?=[^a-z])",
        r"(?P<namespace>[a-z][a-z0-9-]{0,62}) (?P<pod>[a-z][a-z0-9.-]{0,252}) (?:› )?"
        r"(?P<container>[a-z][a-z0-9-]{0,62}) (?:│ )?(?=[^a-z])",
        r"[\w.-]{1,80}\s{1,40}\| ",
    )
)
_OPEN = {Unknown.NOTHING: 0, Unknown.ZONE: 1, Unknown.YEAR: 2, Unknown.DATE: 3}  # how much a time leaves open


def log_text(line: str) -> LogText | None:
    """Return what a line of a log says; None for a line without a time, such as one of a stack trace."""
    said = _said(plain(line), _WRAPPINGS)
    if said is None or said.at is None:
        return None
    return LogText(*said.at, said.level, said.text.rstrip(), said.sure, said.origin, said.stream, said.partial)


def plain(line: str) -> str:
    """Return the part of a line that is looked at, without colours and what ends it."""
    line = line[:LONGEST].rstrip("\r\n")
    if "\x1b" in line:
        line = _COLOUR.sub("", line)
    return line.lstrip("\x1e") if line[:1] == "\x1e" else line  # `journalctl -o json-seq` writes it before each line


def without_prefix(line: str) -> tuple[str, str]:
    """Return "pod/container" as `kubectl logs --prefix` writes it before a line, or "", and the rest of the line."""
    if line.startswith("[pod/") and (prefix := _PREFIX.match(line)):
        return f"{prefix[1]}/{prefix[2]}", line[prefix.end() :]
    return "", line


def is_timeless(line: str) -> bool:
    """Return whether a line is surely one of a log and says no time, as a program writes it into a wrapping."""
    line = plain(without_prefix(line)[1])
    said = _said(line, _WRAPPINGS)
    return said.at is None and said.sure if said else bool(levelled(line)[0])


def has_a_line(names: set[str]) -> bool:
    """Return whether an object of JSON with fields of these names, in lower case, is a line of a log."""
    texts = {*_TEXT_KEYS, *_LEVEL_KEYS, "jsonpayload"}
    return not names.isdisjoint(_TIME_KEYS) and not names.isdisjoint(texts) and not {"kind", "apiversion"} <= names


def _said(line: str, wrappings: int) -> _Said | None:
    """Return what a line, or the rest of one, says; None if it has none of the known shapes."""
    if not wrappings:
        return None
    first = line[:1]
    if first == "{":
        return _of_json(line, wrappings)
    if first == "[" and _PAIR_OF_LOKI.match(line) and (stored := _of_loki(line, wrappings)):
        return stored
    if first == "[" and line.startswith("[pod/"):
        origin, rest = without_prefix(line)
        said = _said(rest, wrappings - 1) if origin else None
        return said._replace(origin=origin, sure=True) if said else None
    if first in "IWEFDCTN" and line[1:5].isdigit() and (at := written_by_klog(line, 1)):
        found = _KLOG.match(line, at[1])
        return _Said(at[0], level_of(first), line[found.end() :].lstrip(), True) if found else None
    opened = first in ("[", "(")
    if at := written_at(line, opened):
        return _after_time(at[0], _behind(line, at[1], first if opened else ""), wrappings)
    if _KEY.match(line) and (said := _of_logfmt(line)):
        return said
    return _after_lead(line, wrappings) or _beside(line, wrappings)


def _behind(line: str, end: int, before: str) -> str:
    """Return what is behind a time, without the bracket that closes the one before it."""
    rest = line[end:]
    if before not in ("[", "("):
        return rest
    closes = "]" if before == "[" else ")"
    if rest[:1] == closes:
        return rest[1:]
    return rest.replace(closes, ":", 1)  # as in "[2026-11-22T12:00:00Z INFO program] text"


def _after_time(at: Written, rest: str, wrappings: int, *, version: bool = False) -> _Said | None:
    """Return what the rest of a line after its time says. `version` says that it is syslog of RFC 5424."""
    if cri := _CRI.match(rest):
        return _unwrapped(_Said(at, "", rest[cri.end() :], True, "", cri[1], cri[2] == "P"), wrappings)
    if version and (found := _RFC_5424.match(rest)):
        origin = f"{found[1]}/{found[2]}"
        return _unwrapped(_Said(at, "", rest[found.end() :].lstrip("\ufeff"), True, origin), wrappings)
    program = _PROGRAM.match(rest)
    if program and (program[3] or at.unknown is Unknown.YEAR) and program[1].lower() not in LEVELS:
        origin = f"{program[1]}/{program[2]}"
        return _unwrapped(_Said(at, "", rest[program.end() :], bool(program[3]), origin), wrappings)
    if labels := _LABELS.match(rest):
        return _unwrapped(_Said(at, "", rest[labels.end() :], True), wrappings)
    begin = DECORATION.match(rest)
    body = rest[begin.end() :] if begin else rest
    if _RECORD.match(body) and (inner := _said(body, wrappings - 1)) and (inner.sure or inner.at):
        return _inside(_Said(at, "", body, inner.at is not None), inner)
    level, text = levelled(rest)
    if not level and (at.unknown is Unknown.DATE or not any(map(str.isalpha, text))):
        return None
    return _Said(at, level, text, level != "")


def _after_lead(line: str, wrappings: int) -> _Said | None:
    """Return what a line says that has a level, a number or names before its time."""
    for lead in _LEADS:
        found = lead.match(line)
        at = written_at(line, found.end()) if found else None
        if not (found and at) or at[0].unknown is Unknown.DATE:
            continue
        parts = found.groupdict("")
        level = level_of(parts.get("level", ""))
        if parts.get("level") and not level:
            continue
        if priority := parts.get("priority"):
            level = PRIORITIES[int(priority) & 7]
        rest = _behind(line, at[1], line[found.end() - 1 : found.end()])
        said = _after_time(at[0], rest, wrappings, version=bool(parts.get("version")))
        if said:
            sure = said.sure or bool(level or parts.get("text"))
            text = f"{parts.get('text', '')}{said.text}"
            return said._replace(level=level or said.level, text=text, sure=sure)
    return None


def _beside(line: str, wrappings: int) -> _Said | None:
    """Return what a line says after the name of its writer, which stern and docker compose put before it."""
    for names in _BESIDE:
        if (found := names.match(line)) and (said := _said(line[found.end() :], wrappings - 1)) and said.at:
            origin = "/".join(each for each in found.groupdict("").values() if each)
            return said._replace(origin=origin) if not said.origin else said
    return None


def _unwrapped(outer: _Said, wrappings: int) -> _Said:
    """Return what a line says, or, if its text is a line as a program wrote it, what both say together."""
    inner = _said(outer.text, wrappings - 1)
    if inner and (inner.sure or inner.at):
        return _inside(outer, inner)
    level, text = levelled(outer.text)
    return outer._replace(level=level, text=text)


def _inside(outer: _Said, inner: _Said) -> _Said:
    """Return what a line and the line in its text, as a program wrote it, say together."""
    at, own = outer.at, inner.at
    if own and (at is None or _OPEN[own.unknown] < _OPEN[at.unknown] or _is_finer(own, at)):
        at = own
    names = outer.origin or inner.origin, outer.stream or inner.stream, outer.partial or inner.partial
    return _Said(at, outer.level or inner.level, inner.text, outer.sure or inner.sure, *names)


def _is_finer(own: Written, at: Written) -> bool:
    """Return whether the time of a program is that of the wrapping with more digits, and leaves the same open."""
    same = own.unknown is at.unknown is not Unknown.NOTHING and abs(own.time - at.time) < _SAME
    return same and not at.time % 1_000_000


def _of_logfmt(line: str) -> _Said | None:
    """Return what a line of logfmt says, or of slog as text: its keys may have any order."""
    pairs = list(islice(_PAIR.finditer(line), _PAIRS))
    known = {pair[1].lower(): pair for pair in reversed(pairs)}
    at, level, text = None, "", ""
    gone: list[re.Match[str]] = []
    for key in _TIME_KEYS:
        if key in known and (at := written(_unquoted(known[key][2]))):
            gone.append(known[key])
            break
    for key in _LEVEL_KEYS:
        if key in known and (level := level_of(_unquoted(known[key][2]))):
            gone.append(known[key])
            break
    for key in _TEXT_KEYS[:2]:
        if key in known:
            text = _unquoted(known[key][2])
            gone.append(known[key])
            break
    if not (at or (level and text)) or len(pairs) == 1:
        return None
    rest, end = [text], 0
    for pair in sorted(gone, key=lambda pair: pair.start()):
        rest.append(line[end : pair.start()].strip())
        end = pair.end()
    rest.append(line[end:].strip())
    sure = bool(level or text or not _OTHER_KEYS.isdisjoint(known))
    return _Said(at, level, " ".join(filter(None, rest)), sure)


def _of_json(line: str, wrappings: int) -> _Said | None:
    """Return what a line of JSON says, as libraries for logs, log shippers, journals and clouds write it."""
    fields = Fields(decoded(line))
    if "kind" in fields and "apiversion" in fields:
        return None
    at = fields.first(_TIME_KEYS, written)
    if at and (nanos := fields.first(("timestampnanos",), lambda value: value if isinstance(value, int) else None)):
        at = at._replace(time=at.time + min(max(0, nanos), 999_999_999) // 1_000)
    counted = "short_message" in fields  # GELF counts levels as syslog does
    level = fields.first(_LEVEL_KEYS, lambda value: level_in(value, priority=counted))
    level = level or fields.first(("priority",), lambda value: level_in(value, priority=True)) or ""
    text = fields.first(_TEXT_KEYS, text_in)
    if text is None and not level and not any(key in fields for key in _OTHER_KEYS):
        return None
    said = _Said(at, level, (text or "").rstrip("\n"), bool(text or level))
    wrapping = any(key in fields for key in _WRAPPING_KEYS)
    if wrapping:
        stream = fields.first(("stream",), lambda value: value if value in ("stdout", "stderr") else None) or ""
        whole = text is None or text.endswith("\n") or not fields.only(_OF_DOCKER)
        partial = not whole or fields.first(("logtag",), text_in) == "P"
        said = said._replace(origin=fields.origin(), stream=stream, partial=partial)
    if wrapping or not level or _RECORD.match(said.text):
        inner = _said(said.text, wrappings - 1)
        if inner and (inner.sure or inner.at):
            return _inside(said, inner)
    if not level:
        level, text = levelled(said.text)
        said = said._replace(level=level, text=text)
    if wrapping:
        return said
    pairs = (f"{key}={orjson.dumps(value).decode()}" for key, value in islice(pairs_of(fields.rest()), _FIELDS))
    return said._replace(text=" ".join((said.text, *pairs)).lstrip())


def _of_loki(line: str, wrappings: int) -> _Said | None:
    """Return what a pair of a time and a line says, as the API of Loki returns lines."""
    try:
        pair = orjson.loads(line)
    except (ValueError, RecursionError):
        return None
    if len(pair) < 2 or not isinstance(pair[1], str) or not (at := written(pair[0])):
        return None
    return _unwrapped(_Said(at, "", pair[1].rstrip("\n"), True), wrappings)


def _unquoted(value: str) -> str:
    if value[:1] != '"':
        return value
    try:
        return str(orjson.loads(value))
    except ValueError:
        return value.strip('"')

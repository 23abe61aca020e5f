"""Read the logs of programs, such as controllers, as `kubectl logs` prints them and as nodes keep them.

A support bundle, a must-gather and a folder of a node say in the path of a file which container wrote it. A line of a
stack trace belongs to the line before it. Any other line without a time is left out and counted.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from collectors.formats import Format, is_of_rank_below
from collectors.formats.stream import Recording, Skipped
from collectors.formats.waiting import Waiting
from collectors.gate import LINE_KEPT
from collectors.normalise.log_levels import level_of
from collectors.normalise.log_lines import LONGEST, LogText, log_text, plain, without_prefix
from collectors.normalise.log_times import written_at
from timeline.core.entries import LogLine, Observation, Place, Unknown
from timeline.history.logs import DAY, shifted, without_year

LINES = 200_000  # lines of one log that are kept
LONGEST_BYTES = 4 * LONGEST  # bytes of a line that are looked at
_READ = 2 * LINE_KEPT  # characters of the text of a line that are read, for credentials and objects in them
_DAYS = 3650  # of a log without dates that are counted
_SNIFFED = 60  # lines that show whether a file is a log
_WEAK = 3  # lines that are needed if they have no more than a time before the text
_NAME = r"[a-z0-9][a-z0-9.-]{0,252}"
_LABEL = r"[a-z0-9][a-z0-9-]{0,62}"
_PATHS = tuple(
    re.compile(rf"(?:\A|/){each}\Z")
    for each in (
        rf"namespaces/({_LABEL})/pods/({_NAME})/containers/({_LABEL})/logs/[^/]{{1,255}}\.log",  # Insights
        rf"namespaces/({_LABEL})/pods/({_NAME})/({_LABEL})/(?:{_LABEL}/)?logs/[^/]{{1,80}}\.log(?:\.\w{{1,40}}){{0,4}}",
        rf"pods/({_LABEL})_({_NAME})_[\w-]{{1,80}}/({_LABEL})/\d{{1,10}}\.log[^/]{{0,80}}",  # /var/log/pods of a node
        rf"pods/logs/({_LABEL})/({_NAME})/({_LABEL}?)(?:-previous)?\.log(?:\.\w{{1,40}}){{0,4}}",  # a support bundle
        rf"podlogs/({_LABEL})/({_NAME})/logs/({_LABEL})\.txt(?:\.\w{{1,40}}){{0,4}}",  # sonobuoy
        rf"config/pod/({_LABEL})/logs/({_NAME})/({_LABEL})_(?:current|previous)\.log",  # Insights
        rf"supportbundle_[^/]{{0,80}}/(?:[^/]{{1,80}}/)?logs/({_LABEL})/({_NAME})/({_LABEL})\.log(?:\.1)?",  # Rancher
        rf"cluster-info/({_LABEL})/podlogs/({_NAME})/[^/]{{0,300}}_logs_\2_-c_({_LABEL})",  # sos, plugin kubernetes
        rf"namespaces/({_LABEL})/pods/podlogs/oc_logs_--namespace_\1_({_NAME}?)(?:_-p)?()",  # sos, plugin openshift
    )
)
# How a line begins that is a part of the line before it, as in a stack trace.
_CONTINUES = re.compile(
    r"\s|goroutine \d|panic:|created by |Caused by:|Suppressed:|Traceback \(|\}|\.\.\. \d+ more|-- |[+-] \S{1,253} › "
    r"|[\w.$]{1,200}+(?<=(?:rror|tion))\b|[\w./$*-]{1,200}+(?:\(\*\w{1,80}\)[\w.]{0,80})?\([^()]{0,200}\)"
    r"|(?:SEVERE|WARNING|INFO|CONFIG|FINE|FINER|FINEST): "
)
_LEVEL = re.compile("(?:SEVERE|WARNING|INFO|CONFIG|FINE|FINER|FINEST): ")  # in the second line of java.util.logging
_AROUND = re.compile(r"-- |[+-] \S{1,253} › ")  # what journalctl and stern write around lines
_JOURNAL = re.compile(r"-- (?:Logs begin|Journal begins) at [^,;]{1,64}[,;] ends? at ")
_PACKED = re.compile(r"(?:\.(?:gz|zst|bz2|xz)){1,6}+\Z")
_CONTAINERS = re.compile(rf"(?:\A|/)({_NAME})_({_LABEL})_({_LABEL}?)-[0-9a-f]{{64}}\.log[^/]{{0,80}}\Z")  # of a node


def sniff(head: bytes) -> bool:
    """Return whether a head is surely of a log, and of no other format."""
    if not is_log(head):
        return False
    return not is_of_rank_below(FORMAT.rank, head)


def is_log(head: bytes) -> bool:
    """Return whether the first lines are mostly lines of a log, whatever else they may be."""
    if b'"auditID"' in head or b'\\"auditID' in head or b"\0" in head:
        return False
    lines = head.decode("utf-8", "replace").split("\n")
    lines = [line for line in (lines if len(lines) == 1 else lines[:-1]) if line.strip()][:_SNIFFED]
    said = list(map(log_text, lines))
    own = sum(bool(each) or not _goes_on(line) for each, line in zip(said, lines, strict=True))
    read = list(filter(None, said))
    levels = any(each and _LEVEL.match(line) for each, line in zip(said, lines[1:], strict=False))
    if levels or any(each.sure for each in read):
        return 2 * len(read) > own
    return len(read) >= _WEAK and 5 * len(read) > 4 * own


def _goes_on(line: str) -> bool:
    return _CONTINUES.match(without_prefix(line)[1]) is not None


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the lines of a log, and say how many were left out."""
    reader = _Reader(recording)
    waiting = Waiting[LogLine](lambda line: line.place.line if line.place else 0)  # lines without a date
    last = 0  # the latest time of these
    for item in reader.items():
        if isinstance(item, LogLine) and item.unknown is Unknown.DATE and recording.written:
            waiting.add(item)
            last = max(last, item.time)
        else:
            yield item
    for line in waiting:
        yield replace(line, time=line.time + shifted(last, recording.written))


class _Reader:
    """Read the lines of one log in their order."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._log = log_of_path(recording.name)
        self._beside = recording.written  # a time of the file, into whose year lines are placed that have none; or 0
        self._unfinished: set[str] = set()  # the streams whose next line continues the one before
        self._begun: tuple[LogText, Place] | None = None  # the line that lines of a stack trace may follow
        self._days = self._clock = 0  # of lines without a date: days that have passed, and the last time of day

    def items(self) -> Iterator[LogLine | Skipped]:
        """Yield the lines, and say how many were left out. Lines without a date are on days that are counted."""
        left_out = count = 0
        for line in self._recording.lines():
            if isinstance(line, Skipped):
                yield line
                continue
            text = plain(line.data[:LONGEST_BYTES].decode("utf-8", "replace"))
            said = log_text(text)
            if said is None:
                left_out += not self._belongs(text)
                continue
            yield from self._end()
            goes_on = said.stream in self._unfinished  # alone, it could hold the end of a credential
            (self._unfinished.add if said.partial else self._unfinished.discard)(said.stream)
            if goes_on:
                continue
            if count == LINES:
                reason = f"is a log of which only the first {LINES} lines with a time were read"
                yield Skipped(self._recording.name, 0, reason)
                break
            count += 1
            self._begun = self._dated(said), Place(line.file, line.number)
        yield from self._end()
        if left_out:
            have = (
                "line has no time of its own and was" if left_out == 1 else "lines have no time of their own and were"
            )
            yield Skipped(self._recording.name, 0, f"is a log of which {left_out} {have} left out")

    def _end(self) -> Iterator[LogLine]:
        if self._begun:
            said, place = self._begun
            yield line_of_text(said, self._log, place)
            self._begun = None

    def _belongs(self, text: str) -> bool:
        """Return whether a line without a time belongs to the line before it, which it then does from now on, or says
        something about the whole log."""
        if _AROUND.match(text):  # as journalctl says where a boot begins, or from when until when the journal is
            ends = _JOURNAL.match(text)
            if ends and (until := written_at(text, ends.end())):
                self._beside = until[0].time
            return True
        origin, text = without_prefix(text)
        if not (self._begun and _CONTINUES.match(text)):
            return False
        said, place = self._begun
        if said.partial or (origin and origin != said.origin):
            return False
        if len(said.text) < _READ:
            level = said.level or (level_of(text) if _LEVEL.match(text) else "")
            self._begun = said._replace(text=f"{said.text}\n{text}", level=level), place
        return True

    def _dated(self, said: LogText) -> LogText:
        """Return a line as far as the file says when it was written, if the line leaves its date open."""
        if said.unknown is Unknown.YEAR and self._beside:
            return said._replace(time=without_year(said.time, self._beside + DAY, latest=True))
        if said.unknown is Unknown.DATE:
            if said.time < self._clock - DAY // 2 and self._days < _DAYS:  # midnight has passed
                self._days += 1
            self._clock = said.time
            return said._replace(time=said.time + self._days * DAY)
        return said


def log_line(data: bytes, log: str, place: Place) -> LogLine | None:
    """Return a line of a log as it is; None if it has no time. `log` is the name of the log."""
    said = _said(data)
    return line_of_text(said, log, place) if said else None


def _said(data: bytes) -> LogText | None:
    return log_text(data[:LONGEST_BYTES].decode("utf-8", "replace"))


def line_of_text(said: LogText, log: str, place: Place) -> LogLine:
    """Return a line of a log as it is. The gate shortens it, and finds the objects that it names."""
    text = said.text
    if len(text) > _READ or said.partial:  # what is cut off may be the end of a credential
        text = text[:_READ].rpartition(" ")[0]
    name = _at_prefix(log, said.origin) if said.origin else log
    return LogLine(name, said.time, text, said.level, said.unknown, place=place)


def log_of_path(path: str) -> str:
    """Return "namespace/pod/container" if the path of a file names them; else the path."""
    unpacked = _PACKED.sub("", path)
    for pattern in _PATHS:
        if found := pattern.search(unpacked):
            return "/".join(filter(None, found.groups()))
    if found := _CONTAINERS.search(path):
        return f"{found[2]}/{found[1]}/{found[3]}"
    return path


def _at_prefix(log: str, origin: str) -> str:
    """Return the name of the log of what a line names as its writer: with its namespace, it needs no other name."""
    if origin.count("/") == 2:
        return origin
    return log if log.endswith(f"/{origin}") else f"{log} {origin}"


FORMAT = Format("log of a program", sniff, read, rank=3)

"""This module reads the logs of programs, such as controllers, as `kubectl logs` prints them and as nodes keep them.

A support bundle, a must-gather and a folder of a node say in the path of a file which container wrote it. A line
without a time, such as one of a stack trace, is left out and counted.
"""

import re
from collections.abc import Iterator

from collectors import formats
from collectors.formats import Format
from collectors.formats.stream import Recording, Skipped
from collectors.normalise.log_lines import LONGEST, LogText, log_text, objects_in
from collectors.redaction.objects import clean_text
from timeline.core.entries import LogLine, Observation, Place

LINES = 200_000  # lines of one log that are kept
LONGEST_BYTES = 4 * LONGEST  # bytes of a line that are looked at
KEPT = 1000  # characters of the text of a line that are kept
_CLEANED = 2 * KEPT  # characters of it that are searched for credentials and objects
_SNIFFED = 60  # lines that show whether a file is a log
_WEAK = 3  # lines that are needed if they have no more than a time before the text
_NAME = r"[a-z0-9][a-z0-9.-]*"
_LABEL = r"[a-z0-9][a-z0-9-]*"
_PATHS = tuple(
    re.compile(rf"(?:.*/)?{each}")
    for each in (
        rf"namespaces/({_LABEL})/pods/({_NAME})/containers/({_LABEL})/logs/[^/]+\.log",  # Insights
        rf"namespaces/({_LABEL})/pods/({_NAME})/({_LABEL})/(?:{_LABEL}/)?logs/[^/]+\.log(?:\.\w+)*",  # must-gather
        rf"pods/({_LABEL})_({_NAME})_[\w-]+/({_LABEL})/\d+\.log[^/]*",  # /var/log/pods of a node
        rf"pods/logs/({_LABEL})/({_NAME})/({_LABEL}?)(?:-previous)?\.log(?:\.\w+)*",  # a support bundle
        rf"podlogs/({_LABEL})/({_NAME})/logs/({_LABEL})\.txt(?:\.\w+)*",  # sonobuoy
        rf"config/pod/({_LABEL})/logs/({_NAME})/({_LABEL})_(?:current|previous)\.log",  # Insights
        rf"supportbundle_[^/]*/(?:[^/]+/)?logs/({_LABEL})/({_NAME})/({_LABEL})\.log(?:\.1)?",  # Rancher, Longhorn
        rf"cluster-info/({_LABEL})/podlogs/({_NAME})/[^/]*_logs_\2_-c_({_LABEL})",  # sos, plugin kubernetes
        rf"namespaces/({_LABEL})/pods/podlogs/oc_logs_--namespace_\1_({_NAME}?)(?:_-p)?()",  # sos, plugin openshift
    )
)
_PACKED = re.compile(r"(?:\.(?:gz|zst|bz2|xz))+$")
_CONTAINERS = re.compile(rf"(?:.*/)?({_NAME})_({_LABEL})_({_LABEL}?)-[0-9a-f]{{64}}\.log[^/]*")  # /var/log/containers


def sniff(head: bytes) -> bool:
    """Return whether a head is surely of a log, and of no other format."""
    if not _is_log(head):
        return False
    return not any(each.sniff(head) for each in formats.formats() if each is not FORMAT)


def _is_log(head: bytes) -> bool:
    if b'"auditID"' in head or b'\\"auditID' in head or b"\0" in head:
        return False
    lines = head.decode("utf-8", "replace").split("\n")
    lines = [line for line in (lines if len(lines) == 1 else lines[:-1]) if line.strip()][:_SNIFFED]
    read = [each for each in map(log_text, lines) if each]
    own = sum(not _continues(line) for line in lines)
    if any(each.sure for each in read):
        return 2 * len(read) > own
    return len(read) >= _WEAK and 5 * len(read) > 4 * own


def _continues(line: str) -> bool:
    """Return whether a line looks like a part of the line before it, as in a stack trace."""
    return line[0].isspace() or line.startswith(("goroutine ", "panic:", "Caused by:", "created by ", "}"))


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the lines of a log, and say how many were left out."""
    log, left_out, count = log_of_path(recording.name), 0, 0
    unfinished: set[str] = set()  # the streams of which the next line goes on with the line before it
    for line in recording.lines():
        if isinstance(line, Skipped):
            yield line
            continue
        said = _said(line.data)
        if said is None:
            left_out += 1
            continue
        goes_on = said.stream in unfinished  # alone, it could hold the end of a credential
        (unfinished.add if said.partial else unfinished.discard)(said.stream)
        if goes_on:
            continue
        if count == LINES:
            yield Skipped(recording.name, 0, f"is a log of which only the first {LINES} lines with a time were read")
            break
        count += 1
        yield line_of_text(said, log, Place(line.file, line.number))
    if left_out:
        lines = "line has no time of its own and was" if left_out == 1 else "lines have no time of their own and were"
        yield Skipped(recording.name, 0, f"is a log of which {left_out} {lines} left out")


def log_line(data: bytes, log: str, place: Place) -> LogLine | None:
    """Return a line of a log, without credentials; None if it has no time. `log` is the name of the log."""
    said = _said(data)
    return line_of_text(said, log, place) if said else None


def _said(data: bytes) -> LogText | None:
    return log_text(data[:LONGEST_BYTES].decode("utf-8", "replace"))


def line_of_text(said: LogText, log: str, place: Place) -> LogLine:
    """Return a line of a log without credentials, and with the objects that it names."""
    text = said.text
    if len(text) > _CLEANED or said.partial:  # what is cut off may be the end of a credential
        text = text[:_CLEANED].rpartition(" ")[0]
    text = " ".join(clean_text(text.replace("\0", "\N{REPLACEMENT CHARACTER}")).splitlines())
    name = _at_prefix(log, said.origin) if said.origin else log
    return LogLine(name, said.time, text[:KEPT], said.level, said.unknown, objects_in(text), place)


def log_of_path(path: str) -> str:
    """Return "namespace/pod/container" if the path of a file names them; else the path."""
    unpacked = _PACKED.sub("", path)
    for pattern in _PATHS:
        if found := pattern.fullmatch(unpacked):
            return "/".join(filter(None, found.groups()))
    if found := _CONTAINERS.fullmatch(path):
        return f"{found[2]}/{found[1]}/{found[3]}"
    return path


def _at_prefix(log: str, origin: str) -> str:
    """Return the name of the log of the container that `kubectl logs --prefix` names; it says no namespace."""
    return log if log.endswith(f"/{origin}") else f"{log} {origin}"


FORMAT = Format("log of a program", sniff, read)

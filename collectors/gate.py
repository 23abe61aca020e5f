"""Admit what comes from outside: the one place where it is checked, and where credentials are taken out of it.

Readers of recordings, watches, webhooks, collectors and alerts hand over what they have read as it is: `admit` checks
the size and the depth of objects, redacts all of an observation, and returns what may be stored, judged and shown.
`admit_text` and `admit_fields` do the same for texts that belong to no observation, such as the labels of an alert.
Nothing else imports `collectors.redaction`, and nothing else makes an `Admitted`. It does no I/O.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from collectors.normalise.log_objects import MOST, objects_in
from collectors.redaction import redact_json
from collectors.redaction.entries import clean_name, without_credentials
from collectors.redaction.intents import wanted_of
from collectors.redaction.objects import clean_text
from collectors.redaction.screening import have_no_credentials
from timeline.core.bounds import FAULTS
from timeline.core.entries import Annotations, Entry, LogLine, Mark, Observation, Request
from timeline.core.masks import BY_NAME
from timeline.core.secret_names import Grade, grade
from timeline.core.values import check_object

TOO_DEEP = "it is nested deeper than CAUSELINE_DEPTH_LIMIT allows"
LINE_KEPT = 1000  # characters of a line of a log that are kept
MESSAGE_KEPT = 500  # characters of the message of a refusal that are kept
ANNOTATIONS_KEPT = 10  # annotations of an audit event that are kept
ANNOTATION_KEPT = 300  # characters of each of them
NAME_KEPT = 100  # characters of the name of each of them
_TOGETHER = 500  # observations whose names are searched for credentials at once
_FEW = 8  # observations that are searched one by one
_ESCAPED = re.compile(rb"\\.")
_OTHERS = bytes(set(range(256)) - set(b'{}[]"'))
_ALIKE = bytes.maketrans(b"[]", b"{}")
T = TypeVar("T")


class Limits(NamedTuple):
    """How much one reading may take. An environment variable raises each limit (docs/settings.md)."""

    line_bytes: int = 64 * 1024**2  # far longer than the largest object that the API accepts
    content_bytes: int = 1024**4  # bytes that decompression may produce in all
    ratio: int = 250  # of decompressed bytes to bytes read, per input, once they exceed RATIO_FLOOR
    members: int = 100_000  # files in folders and archives
    depth: int = 200  # of the JSON of objects; orjson, which writes them, allows 254
    objects: int = 5_000_000  # different objects


class Skipped(NamedTuple):
    """A piece of a recording that could not be used."""

    file: str
    line: int  # 0 if it is not a single line
    reason: str
    lines: int = 1  # that it stands for; if there are more, `line` is the last of them

    @property
    def place(self) -> tuple[str, int, str]:
        """Return all but the number of lines, as it is stored and written."""
        return self[:3]

    def __str__(self) -> str:
        if self.lines > 1:
            return f"{self.file}: {self.lines} more up to line {self.line}: {self.reason}"
        return f"{self.file} line {self.line}: {self.reason}" if self.line else f"{self.file}: {self.reason}"


class Admitted(list[T]):
    """Checked observations without credentials. Only `admit` makes one."""

    def used(self, refuse: Callable[[str], None]) -> "Admitted[Observation]":
        """Return the observations in it; call `refuse` with the reason of each that was skipped."""
        kept = Admitted[Observation]()
        for each in self:
            if isinstance(each, Skipped):
                refuse(each.reason)
            else:
                kept.append(each)  # type: ignore[arg-type]
        return kept


def admit(
    observations: Iterable[Observation | Skipped], limits: Limits, *, bodies: bool = True
) -> Admitted[Observation | Skipped]:
    """Return observations from outside without credentials, and a Skipped with the reason for each that cannot be used.

    Without `bodies`, of each object only what somebody wants of it is kept (`Entry.intent`). What was skipped before
    stays as it is.
    """
    checked = [each if isinstance(each, Skipped) else _checked(each, limits, bodies) for each in observations]
    batches = (checked[at : at + _TOGETHER] for at in range(0, len(checked), _TOGETHER))
    return Admitted(each for batch in batches for each in _without_credentials(batch))


def admit_text(text: str) -> str:
    """Return a text from outside without credentials."""
    return clean_text(text)


def admit_fields(fields: dict[str, str]) -> dict[str, str]:
    """Return texts from outside, by name, without credentials. A name can say that its text is a credential."""
    return {
        name: BY_NAME if value and grade(name) is Grade.WHOLE else clean_text(value) for name, value in fields.items()
    }


def _checked(each: Observation, limits: Limits, bodies: bool) -> Observation | Skipped:
    """Return an observation without credentials, except for the names and facts of an Entry or a Request."""
    try:
        if isinstance(each, LogLine):
            return _line(each)
        if isinstance(each, Mark):
            return without_credentials(each)
        if each.annotations:
            each = replace(each, annotations=_kept(each.annotations))
        if isinstance(each, Request) and len(each.message) > MESSAGE_KEPT:
            return replace(each, message=clean_text(each.message)[:MESSAGE_KEPT])
        return _with_object(each, limits, bodies) if isinstance(each, Entry) and each.body else each
    except FAULTS as error:
        return _skipped(each, error)


def _without_credentials(batch: list[Observation | Skipped]) -> list[Observation | Skipped]:
    """Return these observations without credentials in their names and facts. Most have none, which is quicker to find
    out for many at once."""
    if len(batch) <= _FEW:
        return [_cleaned(each) if isinstance(each, Entry | Request) else each for each in batch]
    try:
        if have_no_credentials([each for each in batch if isinstance(each, Entry | Request)]):
            return batch
    except FAULTS:  # one of them is found below
        pass
    middle = len(batch) // 2
    return _without_credentials(batch[:middle]) + _without_credentials(batch[middle:])


def _cleaned(each: Observation) -> Observation | Skipped:
    try:
        return without_credentials(each)
    except FAULTS as error:
        return _skipped(each, error)


def _kept(annotations: Annotations) -> Annotations:
    return tuple((name[:NAME_KEPT], _cut(said)) for name, said in annotations[:ANNOTATIONS_KEPT])


def _cut(text: str) -> str:
    return text if len(text) <= ANNOTATION_KEPT else clean_text(text)[:ANNOTATION_KEPT]


def _skipped(each: Observation, error: Exception) -> Skipped:
    place = None if isinstance(each, Mark) else each.place
    return Skipped(place.file if place else "", place.line if place else 0, reason_of(error))


def _with_object(entry: Entry, limits: Limits, bodies: bool) -> Entry:
    """Return the entry with its object redacted, or with what that says somebody wants. Raise ValueError if it is too
    large, or if it is kept and nested too deeply."""
    check_object(entry.body)
    if not bodies:
        return replace(entry, body=b"", intent=wanted_of(entry.ref.group, entry.ref.kind, entry.body))
    if is_deeper(entry.body, limits.depth):
        raise ValueError(TOO_DEEP)
    return replace(entry, body=redact_json(entry.body, entry.ref.kind))


def _line(line: LogLine) -> LogLine:
    """Return the line of a log without credentials, and with the objects that its text names."""
    text = " ".join(clean_text(line.text.replace("\0", "\N{REPLACEMENT CHARACTER}")).splitlines())
    objects = tuple(map(clean_name, line.objects))
    if len(objects) < MOST:  # a line that was read from a recording of Causeline may have all of them
        objects = tuple(dict.fromkeys((*objects, *objects_in(text))))
    return replace(line, log=clean_name(line.log), text=text[:LINE_KEPT], level=clean_name(line.level), objects=objects)


def is_deeper(text: bytes, limit: int) -> bool:
    """Return whether valid JSON has more objects and arrays inside each other than the limit."""
    if text.count(b"{") + text.count(b"[") <= limit:
        return False
    if b"\\" in text:
        text = _ESCAPED.sub(b"", text)
    # Two quotes with nothing between them do not change what is between an even number of quotes and the next one.
    brackets = text.translate(_ALIKE, _OTHERS).replace(b'""', b"")
    if b'"' in brackets:
        brackets = b"".join(brackets.split(b'"')[::2])  # every other part is between two strings
    for _ in range(limit):
        if not brackets:
            return False
        brackets = brackets.replace(b"{}", b"")  # what is innermost
    return bool(brackets)


def reason_of(error: Exception) -> str:
    """Return why a line, a record or a document cannot be used, from the exception that reading it raised."""
    match error:
        case RecursionError():
            return TOO_DEEP
        case UnicodeDecodeError():
            return f"it is not UTF-8: {error}"
        case msgspec.ValidationError():
            return f"a field is not as Kubernetes writes it: {error}"
        case msgspec.DecodeError():
            return f"not JSON: {error}"
        case ValueError():
            return str(error)
    return f"it cannot be read ({type(error).__name__})"

"""Predict how much an audit policy logs, from a sample of a cluster's audit log. It does no I/O.

It decides about each event of the sample by the lines of the policy. What the policy leaves out of an event is counted
exactly. Bodies that the policy logs and the sample lacks are estimated from other bodies in it, or not at all.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from collectors.analysis import Skips
from collectors.formats import Line, Skipped
from collectors.gate import reason_of
from collectors.normalise import is_present
from collectors.normalise.audit_event import ObjectReference, instant
from timeline.core.bounds import FAULTS
from timeline.core.entries import WRITES
from timeline.judging.coverage.audit_policy import Attributes, Policy

_LEVELS = ("None", "Metadata", "Request", "RequestResponse")
_ASKED = 10_000  # kinds of requests that are distinguished; of more, no bodies are estimated
_BODIES = {"requestObject": "Request", "responseObject": "RequestResponse"}  # body -> the lowest level that logs it
_ALIKE = frozenset({"create", "update", "patch"})  # whose bodies are those of the object
_HEAD = 200  # bytes of an event that show whether it has white space
_LONGEST = 1000  # characters of a verb, a group, a resource and a subresource
_FIELD = len(',"":')  # what a field takes beside its name and its value


class _User(msgspec.Struct, gc=False):
    username: str = ""
    groups: list[str] | None = None


class _Outcome(msgspec.Struct, gc=False):
    code: int | None = None


class Event(msgspec.Struct, gc=False):
    """The fields of an audit event by which a policy decides, and its bodies."""

    auditID: str
    level: str = ""
    stage: str = ""
    verb: str = ""
    requestURI: str = ""
    user: _User = msgspec.field(default_factory=_User)
    objectRef: ObjectReference | None = None
    responseStatus: _Outcome | None = None
    requestObject: msgspec.Raw = msgspec.Raw()
    responseObject: msgspec.Raw = msgspec.Raw()
    stageTimestamp: str = ""


class _Metadata(msgspec.Struct, gc=False):
    managedFields: msgspec.Raw = msgspec.Raw()


class _Object(msgspec.Struct, gc=False):
    metadata: _Metadata | None = None


class _Body(msgspec.Struct, gc=False):
    metadata: _Metadata | None = None
    items: list[_Object] | None = None


_event = msgspec.json.Decoder(Event)
_body = msgspec.json.Decoder(_Body)


class Asked(NamedTuple):
    """A kind of request. Bodies of one kind have similar sizes."""

    group: str
    resource: str
    subresource: str
    verb: str
    refused: bool


class Size(msgspec.Struct):
    """Add up entries of a log.

    `size` is in bytes, of JSON without white space, as the API server writes it. `estimated` is the part of it that
    stands for bodies that the sample does not have. `bare` counts the entries that would have bodies, but nothing in
    the sample shows how large; these are not in `size`.
    """

    entries: int = 0
    size: float = 0
    estimated: float = 0
    bare: int = 0


class Prediction(NamedTuple):
    """What a policy would have logged of the requests in a sample."""

    sample: Size  # the sample as it is
    lines: list[Size]  # one for each line of the policy
    seen: list[set[tuple[str, str]]]  # of each line, the (API group, resource) of the requests about which it decides
    stretches: list[tuple[int, int]]  # of time that the files show, in µs since 1970, in order and apart
    skips: Skips

    @property
    def length(self) -> int:
        """Return how much time the sample shows, in µs; 0 if it cannot be known, as of a single event."""
        return sum(end - start for start, end in self.stretches)

    @property
    def total(self) -> Size:
        """Return the sum of all lines."""
        return Size(*(sum(part) for part in zip(*map(msgspec.structs.astuple, self.lines), strict=True)))


def attributes(event: Event) -> Attributes:
    """Return the properties of an event by which a policy decides about its request.

    The API server decides before it reads the body, and so does not know the name of what is created.
    """
    ref, user = event.objectRef, event.user
    path = event.requestURI.partition("?")[0]
    if ref is None or not ref.resource:
        return Attributes(event.verb, user=user.username, groups=tuple(user.groups or ()), path=path)
    named = ref.name if event.verb != "create" or ref.subresource else ""
    return Attributes(
        event.verb,
        ref.apiGroup or ref.apiVersion.rpartition("/")[0],  # v1alpha1 has both in one
        ref.resource,
        ref.subresource,
        ref.namespace,
        named,
        user.username,
        tuple(user.groups or ()),
        path,
    )


def predict(policy: Policy, events: Iterable[Line | Skipped]) -> Prediction:
    """Return what a policy would have logged of the audit events of a sample, one event a line."""
    sampling = _Sampling(policy)
    for line in events:
        if isinstance(line, Skipped):
            sampling.skips.add(line)
            continue
        try:
            sampling.add(line.file, line.data)
        except FAULTS as error:
            sampling.skips.add(Skipped(line.file, line.number, reason_of(error)))
        else:
            sampling.skips.use_line(line.file, line.number)
    return sampling.prediction()


class _Lengths:
    """Give the mean length in bytes of the bodies of one kind of request, as far as a sample has any."""

    def __init__(self) -> None:
        # (body, kind of request) -> the number of bodies, their length, and the length of their managedFields
        self._known: dict[tuple[str, Asked], list[int]] = {}

    def add(self, body: str, asked: Asked, length: int, managed: int) -> None:
        """Learn the length of a body, 0 if the request has none, and of the managedFields in it."""
        kinds = [asked, asked._replace(verb="")] if asked.verb in _ALIKE else [asked]
        for kind in kinds:
            if (body, kind) in self._known or len(self._known) < _ASKED:
                known = self._known.setdefault((body, kind), [0, 0, 0])
                known[0] += 1
                known[1] += length
                known[2] += managed

    def mean(self, body: str, asked: Asked, *, managed: bool) -> float | None:
        """Return the mean of this kind of request, else that of other writes of the same resource; None if there are
        none. `managed` says whether managedFields count."""
        known = self._known.get((body, asked)) or self._known.get((body, asked._replace(verb="")))
        return (known[1] - (0 if managed else known[2])) / known[0] if known else None


class _Sampling:
    def __init__(self, policy: Policy) -> None:
        self.skips = Skips()
        self._policy = policy
        self._sample = Size()
        self._lines = [Size() for _ in policy.rules]
        self._seen: list[set[tuple[str, str]]] = [set() for _ in policy.rules]
        self._lengths = _Lengths()
        # (line, kind of request, bodies that the sample does not have) -> number of entries
        self._lacking: defaultdict[tuple[int, Asked, tuple[str, ...]], int] = defaultdict(int)
        self._times: dict[str, tuple[int, int]] = {}  # file -> its first and its last event

    def add(self, file: str, data: bytes) -> None:
        """Add an event of a file. Raise ValueError if it is none."""
        if b"\n" in data or b'": ' in data[:_HEAD]:
            data = msgspec.json.format(data, indent=-1)
        event = _event.decode(data)
        if event.level not in _LEVELS or not event.verb:
            raise ValueError("it is not an audit event: it has no level or no verb")
        asked = attributes(event)
        if max(map(len, asked[:4])) > _LONGEST:
            raise ValueError(f"it names a verb or a resource of more than {_LONGEST} characters")
        if event.stageTimestamp:
            time = instant(event.stageTimestamp)
            first, last = self._times.get(file, (time, time))
            self._times[file] = min(first, time), max(last, time)
        size = len(data) + 1  # and the line break
        self._sample.entries += 1
        self._sample.size += size
        number = self._policy.deciding(asked)
        if number is None or self._policy.omits(self._policy.rules[number], event.stage):
            return
        if len(self._seen[number]) < _ASKED:
            self._seen[number].add((asked.group, asked.resource))
        if self._policy.rules[number].level != "None":
            self._log(event, size, asked, number)

    def _log(self, event: Event, size: int, asked: Attributes, number: int) -> None:
        """Add an event to the line of the policy that logs it."""
        line = self._policy.rules[number]
        code = (event.responseStatus.code if event.responseStatus else None) or 0
        kind = Asked(asked.group, asked.resource, asked.subresource, asked.verb, code >= 400)
        size += len(line.level) - len(event.level)
        lacking = []
        for body, least in _BODIES.items():
            present: msgspec.Raw = getattr(event, body)
            length = len(body) + _FIELD + len(present) if is_present(present) else 0
            size -= length
            if _LEVELS.index(line.level) < _LEVELS.index(least) or (body == "responseObject" and _begins(event)):
                continue
            if _LEVELS.index(event.level) < _LEVELS.index(least) or (not length and _is_answered(event, body, code)):
                lacking.append(body)
                continue
            # A patch is logged as it was sent.
            managed = _managed(present) if length and not (body == "requestObject" and event.verb == "patch") else 0
            self._lengths.add(body, kind, length, managed)
            size += length - (managed if self._policy.omits_managed_fields(line) else 0)
        self._lines[number].entries += 1
        self._lines[number].size += size
        if lacking and (len(self._lacking) < _ASKED or (number, kind, tuple(lacking)) in self._lacking):
            self._lacking[number, kind, tuple(lacking)] += 1
        elif lacking:
            self._lines[number].bare += 1

    def prediction(self) -> Prediction:
        """Return what was added up, now that all events were read."""
        for (number, kind, lacking), count in self._lacking.items():
            line = self._lines[number]
            managed = not self._policy.omits_managed_fields(self._policy.rules[number])
            means = [self._lengths.mean(body, kind, managed=managed) for body in lacking]
            known = count * sum(mean for mean in means if mean is not None)
            line.size += known
            line.estimated += known
            line.bare += count if None in means else 0
        return Prediction(self._sample, self._lines, self._seen, _joined(self._times.values()), self.skips)


def _joined(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return stretches of time in order, those that overlap as one: several API servers log at the same time."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(stretches):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def _begins(event: Event) -> bool:
    """Return whether an event is of a stage before the answer is complete."""
    return event.stage in ("RequestReceived", "ResponseStarted")


def _is_answered(event: Event, body: str, code: int) -> bool:
    """Return whether the request surely had this body, so that somebody removed it from the log if it is not there."""
    return body == "responseObject" and event.verb in WRITES and 200 <= code < 300


def _managed(body: msgspec.Raw) -> int:
    """Return the length of the managedFields in a body, which may be a list of objects."""
    if b'"managedFields"' not in bytes(body):
        return 0
    try:
        decoded = _body.decode(body)
    except FAULTS:
        return 0  # a patch, for example, may be a list
    objects = [decoded, *(decoded.items or ())]
    fields = [each.metadata.managedFields for each in objects if each.metadata and each.metadata.managedFields]
    return sum(len("managedFields") + _FIELD + len(each) for each in fields)

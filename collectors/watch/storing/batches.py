"""Write what the streams of a cluster deliver as a batch of lines, and read it back and check it.

A line is an observation, as in Causeline's own recordings (`timeline.history.codec`), or the state of a stream.
"""

from collections.abc import Iterable, Iterator, Sequence
from io import BufferedReader

import msgspec
import zstandard
from msgspec.structs import replace

from collectors.gate import Limits, Skipped, admit, admit_text
from collectors.watch.streams.resources import Resource, Target
from collectors.watch.streams.threads import StreamStatus
from timeline.core.bounds import FAULTS
from timeline.core.entries import Entry, Mark, MarkType, ObjectRef, Observation, Owner, revision
from timeline.history.codec import Known, line_of, observation_of

_STREAM = b'{"stream":'
_STATES = {"waiting", "listing", "watching", "failing", "forbidden", "missing"}
_TEXT = 2000  # the most characters of an error
_LEVEL = 3  # of zstd
LINES = 50_000  # of one batch; a collector ends a batch with the line that goes beyond 2 MiB
_WINDOW = 8 * 1024**2  # bytes that decompression may look back at most


Item = Observation | StreamStatus


class Malformed(Exception):
    """A batch is not one. The message says why."""


class _StreamFields(msgspec.Struct, omit_defaults=True):
    group: str
    version: str
    kind: str
    resource: str
    namespaced: bool
    state: str
    namespace: str = ""
    error: str = ""


class _StreamLine(msgspec.Struct):
    stream: _StreamFields


class KnownObject(msgspec.Struct, omit_defaults=True):
    """An object that is believed to exist, in the form in which a collector learns of it when it begins."""

    ref: ObjectRef
    resourceVersion: str
    owner: Owner | None = None

    @property
    def revision(self) -> int:
        """Return the resourceVersion of its last known change."""
        return revision(self.resourceVersion) or 0


class KnownStream(msgspec.Struct, omit_defaults=True):
    """Up to where a watch is complete, and which objects it believes to exist."""

    group: str
    version: str
    kind: str
    resource: str
    namespaced: bool
    namespace: str
    resourceVersion: str  # "0" if nothing is known
    at: int  # µs since 1970
    objects: list[KnownObject] = []

    @property
    def target(self) -> Target:
        """Return what the watch shows."""
        return Target(Resource(self.group, self.version, self.kind, self.resource, self.namespaced), self.namespace)


_encode = msgspec.json.Encoder().encode
_stream = msgspec.json.Decoder(_StreamLine)
_known_stream = msgspec.json.Decoder(KnownStream)


def written(items: Iterable[Item]) -> bytes:
    """Return a batch, compressed."""
    return packed(map(line, items))


def line(item: Item) -> bytes:
    """Return the line of JSON that stands for an observation or for the status of a watch in a batch."""
    return _status_line(item) if isinstance(item, StreamStatus) else line_of(item)


def packed(lines: Iterable[bytes]) -> bytes:
    """Return a batch of these lines, compressed."""
    return zstandard.ZstdCompressor(_LEVEL, write_checksum=True).compress(b"\n".join(lines))


def read(packed: bytes, most: int) -> Iterator[Item]:
    """Yield what is in a batch of at most `most` bytes. Raise Malformed, which may be after some of it."""
    known: Known = {}
    for number, line in enumerate(_lines(packed, most), 1):
        if number > LINES:
            raise Malformed(f"The batch has more than {LINES} lines.")
        try:
            yield _status(line) if line.startswith(_STREAM) else observation_of(line, known)
        except FAULTS as error:
            raise Malformed(f"Line {number} is not as a collector writes it ({type(error).__name__}).") from None


def checked(pieces: Iterator[bytes], most: int, limits: Limits) -> bytes:
    """Return a batch that came from outside, in pieces, as far as the gate admits it. Raise Malformed."""
    return written(_checked(read(b"".join(pieces), most), limits))


def _checked(items: Iterable[Item], limits: Limits) -> Iterator[Item]:
    for each in items:
        if isinstance(each, Entry):
            yield _admitted(replace(each, place=None), limits)
        elif isinstance(each, Mark):
            if each.what is MarkType.FREED:
                raise Malformed("A collector cannot say that changes were deleted.")
            if "\0" in "".join((each.group, each.version, each.kind, each.namespace, each.reason, each.other)):
                raise Malformed("A NUL character stands in a mark of a watch.")
            yield _admitted(replace(each, reason=each.reason[:_TEXT]), limits)
        elif isinstance(each, StreamStatus):
            yield each._replace(error=admit_text(each.error))
        else:
            raise Malformed("A collector sends changes of objects and marks of watches, and nothing else.")


def _admitted(each: Observation, limits: Limits) -> Observation:
    (admitted,) = admit([each], limits)
    if isinstance(admitted, Skipped):
        raise Malformed(f"An object cannot be kept: {admitted.reason}.")
    return admitted


def _lines(packed: bytes, most: int) -> Iterator[bytes]:
    """Yield the lines of a batch, which is never unpacked as a whole."""
    try:
        size = zstandard.frame_content_size(packed)
        if size > most:
            raise Malformed(f"The batch has {size} bytes, and may have {most}.")
        if size < 0:
            raise Malformed("The batch does not say how many bytes it has without compression.")
        with zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(packed) as unpacked:
            for line in BufferedReader(unpacked):
                yield line.removesuffix(b"\n")
    except zstandard.ZstdError:
        raise Malformed("The batch is not compressed with zstd, or is damaged.") from None


def _status_line(status: StreamStatus) -> bytes:
    (group, version, kind, resource, namespaced), namespace = status.target
    fields = _StreamFields(
        group, version, kind, resource, namespaced, str(status.state), namespace, status.error[:_TEXT]
    )
    return _encode(_StreamLine(fields))


def _status(line: bytes) -> StreamStatus:
    read = _stream.decode(line).stream
    if read.state not in _STATES or "\0" in "".join(
        (read.group, read.version, read.kind, read.resource, read.namespace, read.error)
    ):
        raise ValueError("this is no state of a stream")
    target = Target(Resource(read.group, read.version, read.kind, read.resource, read.namespaced), read.namespace)
    return StreamStatus(target, read.state, read.error[:_TEXT])


def known_written(streams: Iterable[KnownStream]) -> bytes:
    """Return what a collector has to know when it begins, compressed."""
    return zstandard.ZstdCompressor(_LEVEL, write_checksum=True).compress(b"\n".join(map(_encode, streams)))


def known_read(packed: bytes, most: int) -> Sequence[KnownStream]:
    """Return the same. Raise Malformed."""
    try:
        return [_known_stream.decode(line) for line in _lines(packed, most)]
    except ValueError as error:
        raise Malformed(f"The state of the cluster is not as a server writes it ({type(error).__name__}).") from None

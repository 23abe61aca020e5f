"""Read what `kubectl get -o yaml` prints, with -w or without: documents between lines of `---`.

kubectl indents the dashes of all items of a list alike, so the text is cut at these dashes before it is parsed. A list
may therefore have any size, and damage in one item affects no other.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from collectors.formats import Format
from collectors.formats.documents import Header, Listing, Piece, entries_of, header_of
from collectors.formats.rejections import is_other_config
from collectors.formats.stream import TOO_DEEP, Line, Recording, Skipped, too_long
from timeline.core.entries import Observation
from timeline.core.values import VALUES

_BLANK_LINES = 1_000  # blank lines in a row that are kept
_APART = re.compile(rb"(?:---|\.\.\.)(?:$|[ \t])")
_ITEMS = re.compile(rb"""["']?items["']?:[ \t]*(?:#.*)?$""")
_DASH = re.compile(rb"( *)-(?=$|[ \t])")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# The support bundles of Rancher, Harvester and Longhorn hold the text "null" for every null and every empty text.
_RANCHER = re.compile(r"\bsupportbundle_[^/]{0,255}+/(?:[^/]{1,255}+/)?yamls/")
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}


class _Text:
    """Collect the lines of one document, or of one item of a list."""

    def __init__(self, limit: int) -> None:
        self.line = 0  # number of its first line
        self.last = 0  # number of its last line
        self.fault = ""  # why it cannot be used
        self._limit = limit
        self._size = 0
        self._lines: list[bytes] = []

    def add(self, number: int, data: bytes) -> None:
        if not self.line:
            self.line = self.last = number
        self._lines += [b""] * min(number - self.last - 1, _BLANK_LINES)  # blank lines may belong to a block scalar
        self._lines.append(data)
        self.last = number
        self._size += len(data)
        if self._size > self._limit:
            self.fault = too_long(self._limit)
            self._lines.clear()

    @property
    def content(self) -> bytes:
        return b"".join(line + b"\n" for line in self._lines)


class _Cut:
    """Cut the lines of a recording into documents and the items of lists."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._nulls = bool(_RANCHER.search(recording.name))
        self._begin()

    def _begin(self) -> None:
        self._document = self._text()  # of a list: the lines around its items
        self._item: _Text | None = None
        self._listing: Listing | None = None
        self._margin: bytes | None = None  # white space before the dashes of the items; None before the first item
        self._inside = False  # whether the current line is among the items

    def pieces(self) -> Iterator[Piece | Skipped]:
        for line in self._recording.lines():
            if isinstance(line, Skipped):
                (self._item or self._document).fault = "a line of it could not be used"
                yield line
            elif _APART.match(line.data):
                yield from self._end()
                self._begin()
                if rest := line.data[3:].strip():
                    self._document.add(line.number, rest)
            elif self._inside:
                yield from self._line_of_list(line)
            elif _ITEMS.match(line.data.rstrip(b"\r")):
                self._listing = Listing(self._recording.name, self._header(), self._recording.limits.line_bytes)
                self._inside = True
            else:
                self._document.add(line.number, line.data)
        yield from self._end()

    def _line_of_list(self, line: Line) -> Iterator[Piece | Skipped]:
        dash = _DASH.match(line.data.rstrip(b"\r"))
        if dash and self._margin in (None, dash[1]):
            yield from self._end_item()
            self._margin = dash[1]
            self._item = self._text()
            self._item.add(line.number, dash[1] + b" " + line.data[dash.end() :])
        elif line.data[:1] in (b" ", b"\t", b"#"):
            if self._item:
                self._item.add(line.number, line.data)
        else:
            yield from self._end_item()
            self._inside = False
            self._document.add(line.number, line.data)

    def _end_item(self) -> Iterator[Piece | Skipped]:
        item, self._item = self._item, None
        if item and self._listing:
            piece = self._parsed(item)
            yield from (piece,) if isinstance(piece, Skipped) else self._listing.item(piece)

    def _end(self) -> Iterator[Piece | Skipped]:
        yield from self._end_item()
        if self._listing:
            around = self._parsed(self._document)
            if isinstance(around, Skipped):
                yield around
            yield from self._listing.end(self._header())
        elif self._document.content.strip() or self._document.fault:
            piece = self._parsed(self._document)
            if isinstance(piece, Skipped) or piece.data != b"null":  # a document of comments alone is null
                yield piece

    def _header(self) -> Header:
        piece = self._parsed(self._document)
        return Header() if isinstance(piece, Skipped) else header_of(piece.data)

    def _parsed(self, text: _Text) -> Piece | Skipped:
        line, reason = text.line, text.fault
        try:
            if not reason:
                return Piece(line, msgspec.json.encode(value(text.content, self._recording.limits.depth, self._nulls)))
        except yaml.MarkedYAMLError as error:
            line = min(line + (error.problem_mark.line if error.problem_mark else 0), text.last)
            reason = f"not YAML: {error.problem}"
        except (yaml.YAMLError, ValueError) as error:
            reason = str(error).partition("\n")[0]
        return Skipped(self._recording.name, line, reason)

    def _text(self) -> _Text:
        return _Text(self._recording.limits.line_bytes)


def value(text: bytes, depth: int, nulls: bool = False) -> Any:
    """Return one YAML document as the values that JSON has; timestamps stay text. With `nulls`, "null" is null, too.

    Raise yaml.YAMLError if it is not YAML, and ValueError if it has an alias, a key that is not text, too many values
    or too deep a nesting.
    """
    root: Any = None
    values = 0
    around: list[tuple[Any, list[str]]] = []  # the open collections; for a mapping also the key whose value comes next
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionEndEvent):
            around.pop()
            continue
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("it has an alias, behind which any amount of text may stand; kubectl writes none")
        if not isinstance(event, yaml.NodeEvent):
            continue
        values += 1
        if values > VALUES:
            raise ValueError(f"it holds more than {VALUES} values, more than any object")
        value = _scalar(event) if isinstance(event, yaml.ScalarEvent) else _collection(event)
        if nulls and value == "null":
            value = None
        if not around:
            root = value
        elif isinstance(around[-1][0], list):
            around[-1][0].append(value)
        elif key := around[-1][1]:
            around[-1][0][key.pop()] = value
        elif isinstance(event, yaml.ScalarEvent):
            key.append(event.value)
            continue
        else:
            raise ValueError("a key in it is no text")
        if not isinstance(event, yaml.ScalarEvent):
            around.append((value, []))
            if len(around) > depth:
                raise ValueError(TOO_DEEP)
    return root


def _collection(event: yaml.Event) -> list[Any] | dict[str, Any]:
    return [] if isinstance(event, yaml.SequenceStartEvent) else {}


def _scalar(event: yaml.ScalarEvent) -> Any:
    text = event.value
    if not event.implicit[0]:
        return text  # in quotes, or with a tag
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


_KUBECONFIG = re.compile(rb"""^["']?kind["']?:[ \t]*["']?Config\b""", re.MULTILINE)
_VERSION = re.compile(rb"""^apiVersion:[ \t]*["']?(?:[a-z0-9.-]+/)?v[0-9][a-z0-9]*["']?[ \t]*\r?$""", re.MULTILINE)
_KIND = re.compile(rb"^kind:", re.MULTILINE)
# The last two only to say why not.
_OBJECT = re.compile(rb"^(?:metadata:|items:|kind: (?:Table|Status)\b)", re.MULTILINE)
_AUDIT = re.compile(rb"^auditID:", re.MULTILINE)
_KWOK = re.compile(rb"\$\(time-offset-nanosecond -?\d")
_EVENT = re.compile(rb"^object:[ \t]*\r?\n {1,8}apiVersion:", re.MULTILINE)


def is_yaml(head: bytes) -> bool:
    """Return whether a head may be YAML and does not begin a kubeconfig."""
    if b"\0" in head or head.lstrip().startswith((b"{", b"[")):
        return False
    return not _KUBECONFIG.search(head) or is_other_config(head)


def sniff(head: bytes) -> bool:
    """Return whether an object, a list or a watch event begins without indentation."""
    if not is_yaml(head) or _AUDIT.search(head) or _KWOK.search(head):
        return False
    if _EVENT.search(head):
        return True
    whole = _OBJECT.search(head) or not _KIND.search(head)  # the head may end before its kind
    return bool(whole and _VERSION.search(head))


def pieces(recording: Recording) -> Iterator[Piece | Skipped]:
    """Yield the documents, and the items of those that are lists, as JSON."""
    return _Cut(recording).pieces()


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the entries of the documents, and what was skipped."""
    return entries_of(pieces(recording), recording.name, bodies)


FORMAT = Format("Kubernetes objects in YAML", sniff, read)

"""Declare what a log store is: its fields, its pages of records, and the errors that it raises."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple, Protocol

from collectors.extras import advice
from collectors.hosts import plain

Cursor = dict[str, Any]  # where a page begins; it can be written as JSON
MOST = 20_000  # the most characters in one field
_PASSWORD = re.compile(r"\w++://[^/@:]*+:[^/@]*+@")  # in an address


class StoreRefused(Exception):
    """A pull cannot go on, however often it is tried. The message says why, and has no secrets."""


class Transient(Exception):
    """The service could not answer now. `after` is how many seconds it asked to wait, or 0."""

    def __init__(self, words: str, after: float = 0) -> None:
        super().__init__(words)
        self.after = after


class Window(NamedTuple):
    """A range of time: `since` belongs to it, `until` does not. Both are microseconds since 1970, UTC."""

    since: int
    until: int


class RecordPage(NamedTuple):
    """One page of records. Its records may be produced while they are iterated, which may raise."""

    records: Iterable[bytes]  # documents of JSON without line breaks, in a form that `collectors.formats` reads
    cursor: Cursor | None  # where the next page begins; None after the last one
    reached: int  # microseconds since 1970 up to which the window was read; 0 if the store is not read in order of time
    scanned: int = 0  # bytes of the store that the page stands for, counted as in `Cost.scanned`; 0 if not known
    skipped: Sequence[str] = ()  # what could not be read, as sentences; complete once the records were iterated


@dataclass(frozen=True)
class Cost:
    """What a store says of a window before it is pulled; None for what it does not say."""

    scanned: int | None = None  # bytes that the service reads for it
    records: int | None = None
    note: str = ""  # a sentence about where the numbers come from, or what is charged


class Store(Protocol):
    """An open log store. Each method raises Transient and Refused."""

    def cost(self, window: Window) -> Cost: ...

    def page(self, window: Window, cursor: Cursor | None) -> RecordPage:
        """Return the page that begins at a cursor; the first one without a cursor. The same call can be repeated."""
        ...

    def close(self) -> None: ...


class Field(NamedTuple):
    """Something that has to be configured for a store."""

    name: str
    label: str
    help: str = ""
    default: str = ""  # `{cluster}` stands for the name of the cluster
    required: bool = False
    secret: bool = False
    url: bool = False  # a person chooses with it which host is connected to
    variable: str = ""  # the environment variable that is used if the field is empty
    choices: tuple[str, ...] = ()


class Kind(NamedTuple):
    """One kind of log store."""

    name: str
    label: str
    extra: str  # of pyproject.toml; "" if nothing has to be installed
    fields: tuple[Field, ...]
    open: Callable[[Mapping[str, str]], Store]  # imports the client of the service
    late: str = ""  # the name of the field that says how many minutes late records may be found

    def field(self, name: str) -> Field | None:
        return next((each for each in self.fields if each.name == name), None)

    def overlap(self, given: Mapping[str, str], least: timedelta) -> timedelta:
        """Return how far windows that follow each other overlap: at least so far, and as far as records may be late."""
        field = self.field(self.late)
        if field is None:
            return least
        try:
            return max(least, timedelta(minutes=float(given.get(field.name) or field.default)))
        except (ValueError, OverflowError):  # the store refuses such a value when it is opened
            return least


def configured(
    kind: Kind, given: Mapping[str, str], cluster: str, environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the value of each field of a store, from what was given, the environment and the defaults.

    Raise Refused if a field is not known, missing, or cannot have its value.
    """
    if unknown := sorted(set(given) - {each.name for each in kind.fields}):
        names = ", ".join(each.name for each in kind.fields)
        raise StoreRefused(f"{kind.label} has no field {unknown[0]!r}. Its fields are {names}.")
    values = {}
    for field in kind.fields:
        value = given.get(field.name, "").strip() or environment.get(field.variable, "").strip()
        value = value or field.default.replace("{cluster}", cluster)
        if field.required and not value:
            beside = f", or set {field.variable}" if field.variable else ""
            raise StoreRefused(f"{kind.label} needs the field {field.name} ({field.label}){beside}.")
        if len(value) > MOST or "\0" in value or (not field.secret and not value.isprintable()):
            raise StoreRefused(
                f"{field.label} is longer than {MOST} characters, or has characters that cannot be printed."
            )
        if value and field.choices and value not in field.choices:
            raise StoreRefused(f"{field.label} is one of {', '.join(field.choices)}, not {value!r}.")
        if not field.secret and _PASSWORD.match(value):
            raise StoreRefused(f"{field.label} has a password in it, and it is shown. Use the fields for secrets.")
        if field.url and value:
            try:
                value = plain(value)
            except ValueError as error:
                raise StoreRefused(str(error)) from None
        values[field.name] = value
    return values


def open_store(kind: Kind, values: Mapping[str, str]) -> Store:
    """Open a store with configured values. Raise Transient, and Refused, also if its client is not installed."""
    try:
        return kind.open(values)
    except ImportError:
        raise StoreRefused(advice(kind.label, kind.extra)) from None


def first_line(error: BaseException, most: int = 300) -> str:
    """Return the first line of a message, without characters that cannot be printed."""
    line = str(error).strip().partition("\n")[0]
    return "".join(each if each.isprintable() else "\ufffd" for each in line)[:most] or type(error).__name__

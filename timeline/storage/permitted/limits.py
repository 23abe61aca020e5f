"""Hold what the present reader may see: everything, whole sources, or some namespaces of a source.

What a limited reader may not see is left out by the database: its queries find the views of `storage.permitted.views`
in place of the tables. Views and settings hold for one transaction, so that a pooler may stand before PostgreSQL.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256

import orjson
from django.db import DatabaseError, connection, transaction

SCHEMA = "causeline_seen"  # of the views
# As the views read them, after "causeline.".
_SETTINGS = ("sources", "namespaces", "whole", "partly", "clusters", "reader")


@dataclass(frozen=True)
class Permitted:
    """What a reader may see: everything, or these sources as a whole and these namespaces of other sources."""

    everything: bool = False
    whole: frozenset[int] = frozenset()  # Source.id
    namespaces: Mapping[int, frozenset[str]] = field(default_factory=dict)  # by Source.id
    clusters: frozenset[int] = frozenset()  # Cluster.id, of clusters whose sources may all be seen, also later ones

    def sees_whole(self, source: int) -> bool:
        """Return whether everything of a source may be seen."""
        return self.everything or source in self.whole

    def within(self, source: int) -> "Permitted":
        """Return what of this may be seen of one source. Readers who may see the same of it get the same value."""
        if self.sees_whole(source):
            return EVERYTHING
        return Permitted(namespaces={source: self.namespaces.get(source, frozenset())})

    @property
    def fingerprint(self) -> str:
        """Return a text that is the same for readers who may see the same."""
        return sha256(repr((self.everything, *_settings(self, None))).encode()).hexdigest()


EVERYTHING = Permitted(everything=True)
_present: ContextVar[Permitted] = ContextVar("what the present reader may see", default=EVERYTHING)
_answered: ContextVar[Permitted | None] = ContextVar(
    "what the present reader may answer, if not all seen", default=None
)
_unlimited_path: ContextVar[str] = ContextVar("where tables are found without a limit", default="public")


def present() -> Permitted:
    """Return what the present reader may see. Commands, tasks and collectors see everything."""
    return _present.get()


def answered() -> Permitted:
    """Return what the present reader may answer, which is to acknowledge and to silence: all that is seen, unless
    `answering` says otherwise."""
    return _answered.get() or present()


@contextmanager
def answering(answers: Permitted) -> Iterator[None]:
    """Say what the present reader may answer, which can be less than what is seen."""
    token = _answered.set(answers)
    try:
        yield
    finally:
        _answered.reset(token)


@contextmanager
def seeing(seen: Permitted, reader: int | None = None) -> Iterator[None]:
    """Limit what is read, and written, to what a reader may see. `reader` is the id of the account, which sees its own
    uploads. For a limited reader, everything in the context is one transaction."""
    if seen.everything:
        token = _present.set(seen)
        try:
            yield
        finally:
            _present.reset(token)
        return
    outermost = not connection.in_atomic_block
    with transaction.atomic():
        values = dict(zip(_SETTINGS, _settings(seen, reader), strict=True))
        before = _set({"search_path": SCHEMA, **{f"causeline.{name}": value for name, value in values.items()}})
        unlimited_path = _unlimited_path.get() if before == SCHEMA else before
        with _found_in(SCHEMA, None if outermost else before):  # the settings end with the transaction
            tokens = _present.set(seen), _unlimited_path.set(unlimited_path)
            try:
                yield
            finally:
                _present.reset(tokens[0])
                _unlimited_path.reset(tokens[1])


@contextmanager
def unlimited() -> Iterator[None]:
    """Read and write everything for some time, such as to count a sign-in, whatever the present reader may see."""
    if present().everything:
        yield
        return
    path = _unlimited_path.get()
    _set({"search_path": path})
    with _found_in(path, SCHEMA):
        token = _present.set(EVERYTHING)
        try:
            yield
        finally:
            _present.reset(token)


@contextmanager
def _found_in(path: str, before: str | None) -> Iterator[None]:
    """Note that queries find tables in the schemas of this path, and set the one before when the context ends. None
    leaves that to the end of the transaction."""
    grouped = connection.features.allows_group_by_selected_pks
    # PostgreSQL does not know that the columns of a view depend on one that has the primary key of a table.
    connection.features.allows_group_by_selected_pks = path != SCHEMA
    try:
        yield
    finally:
        connection.features.allows_group_by_selected_pks = grouped
    # after an error, the transaction or its savepoint is rolled back, and the settings with it
    if before is not None and not connection.needs_rollback:
        try:
            _set({"search_path": before})
        except DatabaseError:  # the transaction has failed, and somebody has caught the error
            connection.set_rollback(True)


def _set(values: Mapping[str, str]) -> str:
    """Set these for the transaction; return the search path before."""
    parts = ", ".join(["set_config(%s, %s, true)"] * len(values))
    before = "WITH before AS MATERIALIZED (SELECT current_setting('search_path') AS path)"
    with connection.cursor() as cursor:
        cursor.execute(f"{before} SELECT path, {parts} FROM before", [text for pair in values.items() for text in pair])
        path: str = cursor.fetchone()[0]
        return path


def _settings(seen: Permitted, reader: int | None) -> tuple[str, ...]:
    """Return the values of `_SETTINGS`: two objects of JSON, whose keys alone count, and arrays of numbers."""
    whole = [f"whole {source}" for source in sorted(seen.whole)]
    partly = sorted(source for source, names in seen.namespaces.items() if names)
    some = [f"some {source}" for source in sorted(seen.whole.union(partly))]
    namespaces = [f"{source}/{name}" for source in partly for name in sorted(seen.namespaces[source])]
    return (
        _keys(whole + some),
        _keys(namespaces),
        _array(sorted(seen.whole)),
        _array(partly),
        _array(sorted(seen.clusters)),
        "" if reader is None else str(reader),
    )


def _keys(keys: Iterable[str]) -> str:
    return orjson.dumps(dict.fromkeys(keys, 0)).decode()


def _array(numbers: Iterable[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"

"""Write tables as Parquet files, a group of rows at a time, so that memory does not grow with them."""

import secrets
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from collectors.analysis import Analysis, analyse
from collectors.extras import advice
from collectors.formats import Limits
from dashboard import __version__
from dashboard.tables import rows
from dashboard.tables.schema import NAME, TABLES
from timeline.core.entries import Entry, Observation

_ROWS = 10_000  # the most rows of a group
_BYTES = 8 * 1024**2  # the most bytes of the texts of a group, unless one row alone has more
_FACT_BYTES = 300  # what a row without a long text is taken for
Report = Callable[[Any, int], None]


class Unwritable(Exception):
    """The tables cannot be written. The message says why and what to do."""


class Missing(Exception):
    """The libraries for tables are not installed. The message says how to install them."""


def libraries() -> None:
    """Raise Missing unless pyarrow and DuckDB are installed."""
    try:
        import duckdb  # noqa: F401
        import pyarrow.parquet
    except ImportError:
        raise Missing(advice("Tables", "tables")) from None
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())  # its own pool keeps what was freed


class Tables:
    """Write the tables of one recording into a folder: entries as they are read, and then all others."""

    def __init__(self, folder: Path, recording: str, *, entries: bool = True) -> None:
        self._folder = folder
        self._recording = recording
        self._entries = _File(self._path("entries"), "entries", recording) if entries else None
        self._read = 0

    def learned(self, key: int, each: Observation) -> None:
        """Add an observation, if it is a change of an object."""
        if self._entries and isinstance(each, Entry):
            self._read += 1
            self._entries.add(rows.entry(self._read, key, each), len(each.body))

    def finish(self, analysis: Analysis) -> None:
        """Write all other tables, and end the files."""
        world = analysis.world
        (self._entries or _File(self._path("entries"), "entries", self._recording)).close()
        for name, found in (
            ("tracks", rows.tracks(world)),
            ("moments", rows.moments(world)),
            ("findings", rows.findings(analysis)),
            ("incidents", rows.incidents_of(analysis)),
            ("symptoms", rows.symptoms_of(analysis)),
            ("actors", rows.actors(analysis)),
        ):
            self._write(name, found)

    def _write(self, name: str, found: Iterable[rows.Row]) -> None:
        file = _File(self._path(name), name, self._recording)
        for row in found:
            file.add(row)
        file.close()

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.parquet"


class _File:
    """One Parquet file that is being written."""

    def __init__(self, path: Path, table: str, recording: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._schema = arrow_schema(table, recording)
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd", use_dictionary=True)
        self._batch = pa.RecordBatch
        self._array = pa.array
        self._rows: list[rows.Row] = []
        self._bytes = 0

    def add(self, row: rows.Row, size: int = 0) -> None:
        self._rows.append(row)
        self._bytes += size + _FACT_BYTES
        if len(self._rows) >= _ROWS or self._bytes >= _BYTES:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if not self._rows:
            return
        columns = zip(*self._rows, strict=True)
        arrays = [self._array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
        self._rows, self._bytes = [], 0
        self._writer.write_batch(self._batch.from_arrays(arrays, schema=self._schema))


def arrow_schema(table: str, recording: str) -> Any:
    """Return the schema of a table as pyarrow has it, with what the footer of its file says."""
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "json": pa.string(),
        "whole": pa.int64(),
        "time": pa.timestamp("us"),
        "length": pa.duration("us"),
        "truth": pa.bool_(),
        "texts": pa.list_(pa.string()),
    }
    fields = [pa.field(each.name, types[each.type], metadata={"meaning": each.meaning}) for each in TABLES[table][1]]
    about = {"schema": NAME, "table": table, "version": __version__, "recording": recording, "timezone": "UTC"}
    return pa.schema(fields, {f"causeline.{name}": text for name, text in about.items()})


def write(
    inputs: Sequence[tuple[Path, str]],
    limits: Limits,
    folder: Path,
    report: Report | None = None,
    *,
    entries: bool = True,
    name: str = "",
) -> Analysis:
    """Write the tables of recordings into an existing folder. Without `entries`, that table stays empty.

    `name` is that of the recording, by default those of its files. Raises NotARecording and OSError.
    """
    tables = Tables(folder, name or ", ".join(name for _, name in inputs), entries=entries)
    analysis = analyse(inputs, limits, report, learned=tables.learned if entries else None)
    tables.finish(analysis)
    return analysis


def free(folder: Path) -> None:
    """Raise Unwritable if there is something of that name, unless it is an empty folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Unwritable(f"{folder} exists, and is not an empty folder. Name a new one.")
    if not folder.absolute().parent.is_dir():
        raise Unwritable(f"{folder} cannot be written: there is no folder {folder.absolute().parent}.")


def into(folder: Path, work: Callable[[Path], None]) -> None:
    """Let `work` write files into a new folder, which appears under its name only when all of them are whole.

    Raises Unwritable if there is something of that name, or it cannot be written.
    """
    target = folder.absolute()
    free(folder)
    try:
        beside = target.parent / f".{target.name}.{secrets.token_hex(4)}"
        beside.mkdir(mode=0o777)
        try:
            work(beside)
            with suppress(FileNotFoundError):
                target.rmdir()
            beside.replace(target)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
    except OSError as error:
        raise Unwritable(f"{folder} cannot be written: {error.strerror or error}.") from None

"""Print the rows that a query answered: as a table, as CSV or as JSON."""

from __future__ import annotations

import csv
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from timeline.core.printable import cell, escaped, plain

if TYPE_CHECKING:
    from dashboard.tables.query import Result

_WIDTH = 80  # characters of a value in a table
_INT = 2**63


def show(result: Result, output: str, limit: int) -> None:
    """Print the rows. A table shows at most `limit` of them, and says if there are more."""
    if output == "csv":
        _csv(result)
    elif output == "json":
        _json(result)
    else:
        _table(result, limit)


def _csv(result: Result) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(map(cell, result.columns))
    for row in result.rows:
        writer.writerow(["" if value is None else cell(_text(value)) for value in row])


def _json(result: Result) -> None:
    names = _distinct(result.columns)
    before = "["
    for row in result.rows:
        values = dict(zip(names, map(_value, row), strict=True))
        print(f"{before}\n{escaped(orjson.dumps(values).decode())}", end="")
        before = ","
    print("[]" if before == "[" else "\n]")


def _table(result: Result, limit: int) -> None:
    values = list(islice(result.rows, limit + 1))
    rows = [["null" if value is None else _short(plain(_text(value))) for value in row] for row in values[:limit]]
    names = [plain(name) for name in result.columns]
    numbers = [
        any(value is not None for value in column) and all(value is None or _is_number(value) for value in column)
        for column in (zip(*values, strict=True) if values else [()] * len(names))
    ]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    for row in (names, ["-" * width for width in widths], *rows):
        cells = zip(row, widths, numbers, strict=True)
        print("  ".join(f"{text:>{width}}" if right else f"{text:<{width}}" for text, width, right in cells).rstrip())
    more = f", and more; --limit shows more than {limit}" if len(values) > limit else ""
    print(f"({len(rows)} row{'' if len(rows) == 1 else 's'}{more})")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal | timedelta) and not isinstance(value, bool)


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _text(value: Any) -> str:
    """Return a value for a table or CSV: times in UTC, and lengths of time in seconds."""
    shown = _value(value)
    if isinstance(shown, bool):
        return "true" if shown else "false"
    if isinstance(value, timedelta):
        return f"{Decimal(value // timedelta(microseconds=1)) / 1_000_000:f}"
    return orjson.dumps(shown).decode() if isinstance(shown, list | dict) else str(shown)


def _value(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    match value:
        case datetime():
            return f"{value.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes():
            return value.hex()
        case list() | tuple():
            return [_value(each) for each in value]
        case dict():
            return {str(name): _value(each) for name, each in value.items()}
        case int() if not -_INT <= value < 2 * _INT:
            return str(value)
        case None | bool() | int() | float() | str():
            return value
    return str(value)


def _distinct(names: list[str]) -> list[str]:
    """Return the names of columns, each only once: the second `name` becomes `name_2`."""
    found: list[str] = []
    for name in names:
        number = 2
        shown = name
        while shown in found:
            shown, number = f"{name}_{number}", number + 1
        found.append(shown)
    return found

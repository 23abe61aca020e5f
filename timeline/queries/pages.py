"""This module has the orders of the lists of findings and incidents, and cursors that walk through them."""

from datetime import datetime
from typing import Protocol

from django.db.models import Q

from timeline.core.entries import microseconds, moment
from timeline.payloads.findings import FindingOrder

_ORDERS: dict[FindingOrder, tuple[str, ...]] = {
    "newest": ("-last", "rank"),
    "time": ("first", "rank"),
    "gravest": ("rank", "first"),
}


class WrongOrder(ValueError):
    """This is raised for a cursor that belongs to a list in another order; its message says so."""


class Row(Protocol):
    """This is a row of such a list."""

    first: datetime
    last: datetime
    rank: int


def ordering(order: FindingOrder, key: str) -> tuple[str, ...]:
    """Return the columns of an order; `key` is the column that identifies a row."""
    return (*_ORDERS[order], key)


def cursor_of(row: Row, order: FindingOrder, key: str) -> str:
    """Return the cursor behind a row with this key. It names the order, so that its use with another one is noticed."""
    time = row.last if order == "newest" else row.first
    return f"{order}.{microseconds(time)}.{row.rank}.{key}"


def after(cursor: str, order: FindingOrder, column: str) -> Q:
    """Return the condition for rows behind the one that a cursor names; `column` identifies a row.

    Raises WrongOrder.
    """
    of_order, at, rank, key = cursor.split(".")
    if of_order != order:
        raise WrongOrder(f"This cursor is of a list in the order {of_order}, and not {order}.")
    values = {"last": moment(int(at)), "first": moment(int(at)), "rank": int(rank), column: key}
    behind, same = Q(), Q()
    for each in ordering(order, column):
        name = each.removeprefix("-")
        behind |= same & Q(**{f"{name}__{'lt' if each != name else 'gt'}": values[name]})
        same &= Q(**{name: values[name]})
    return behind

"""Define the orders of the lists of findings and incidents, and cursors that walk through them."""

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
    """A cursor belongs to a list in another order; the message says so."""


class Listed(Protocol):
    """A row of such a list."""

    first: datetime
    last: datetime
    rank: int


def ordering(order: FindingOrder, *key: str) -> tuple[str, ...]:
    """Return the columns of an order; `key` has the columns that identify a row."""
    return (*_ORDERS[order], *key)


def cursor_of(row: Listed, order: FindingOrder, *key: str | int) -> str:
    """Return the cursor behind a row with this key. It names the order, so that its use with another one is noticed."""
    time = row.last if order == "newest" else row.first
    return ".".join(map(str, (order, microseconds(time), row.rank, *key)))


def after(cursor: str, order: FindingOrder, *columns: str) -> Q:
    """Return the condition for rows behind the one that a cursor names; `columns` identify a row.

    Raises WrongOrder.
    """
    of_order, at, rank, *key = cursor.split(".")
    if of_order != order:
        raise WrongOrder(f"This cursor is of a list in the order {of_order}, and not {order}.")
    if len(key) != len(columns):
        raise WrongOrder("This cursor is of another list.")
    values = {
        "last": moment(int(at)),
        "first": moment(int(at)),
        "rank": int(rank),
        **dict(zip(columns, key, strict=True)),
    }
    behind, same = Q(), Q()
    for each in ordering(order, *columns):
        name = each.removeprefix("-")
        behind |= same & Q(**{f"{name}__{'lt' if each != name else 'gt'}": values[name]})
        same &= Q(**{name: values[name]})
    first = _ORDERS[order][0]
    name = first.removeprefix("-")
    return Q(**{f"{name}__{'lte' if first != name else 'gte'}": values[name]}) & behind  # where an index begins

"""Define the orders of the lists of findings and incidents, and cursors that walk through them."""

from typing import NamedTuple

from django.db.models import Model, Q

from timeline.core.entries import microseconds, moment
from timeline.payloads.findings import FindingOrder

_TIMES = ("first", "last")


class WrongOrder(ValueError):
    """A cursor belongs to a list in another order; the message says so."""


class Pages(NamedTuple):
    """The orders of one list. A column by which an order descends has a minus before its name."""

    gravest: tuple[str, ...]  # the columns of the order "gravest"
    key: tuple[str, ...]  # the columns that identify a row

    def ordering(self, order: FindingOrder) -> tuple[str, ...]:
        """Return the columns of an order."""
        orders: dict[FindingOrder, tuple[str, ...]] = {
            "newest": ("-last", "rank"),
            "time": ("first", "rank"),
            "gravest": self.gravest,
        }
        return *orders[order], *self.key

    def cursor_of(self, row: Model, order: FindingOrder) -> str:
        """Return the cursor behind a row. It names the order, so that its use with another one is noticed."""
        values = ((name, getattr(row, name)) for name in self._columns(order))
        return ".".join([order, *(str(microseconds(value) if name in _TIMES else value) for name, value in values)])

    def after(self, cursor: str, order: FindingOrder) -> Q:
        """Return the condition for rows behind the one that a cursor names. Raises WrongOrder."""
        of_order, *given = cursor.split(".")
        if of_order != order:
            raise WrongOrder(f"This cursor is of a list in the order {of_order}, and not {order}.")
        names = self._columns(order)
        if len(given) != len(names):
            raise WrongOrder("This cursor is of another list.")
        pairs = zip(names, given, strict=True)
        values = {name: moment(int(text)) if name in _TIMES else text for name, text in pairs}
        behind, same = Q(), Q()
        for each in self.ordering(order):
            name = each.removeprefix("-")
            behind |= same & Q(**{f"{name}__{'lt' if each != name else 'gt'}": values[name]})
            same &= Q(**{name: values[name]})
        first = self.ordering(order)[0]
        name = first.removeprefix("-")
        return Q(**{f"{name}__{'lte' if first != name else 'gte'}": values[name]}) & behind  # where an index begins

    def _columns(self, order: FindingOrder) -> list[str]:
        """Return the columns whose values a cursor has: the time comes first."""
        names = [name.removeprefix("-") for name in self.ordering(order)]
        return sorted(names, key=lambda name: name not in _TIMES)

"""Declare the types of columns, and the manager that leaves out what somebody has deleted."""

from typing import Any, TypeVar

import orjson
from django.contrib.postgres.fields import ArrayField
from django.db import models

from timeline.history.packing import unpack


class Packed(models.BinaryField):  # type: ignore[type-arg]  # it takes no parameter at run time
    """A column with JSON that is packed with zstd (see `timeline.history.packing`)."""

    def from_db_value(self, value: bytes | None, *_: object) -> Any:
        return None if value is None else unpacked(value)


class Sparse(ArrayField):  # type: ignore[type-arg]  # it takes no parameter at run time
    """A column with null for an empty array, because that takes no space. Conditions treat both alike."""

    def from_db_value(self, value: list[Any] | None, *_: object) -> list[Any]:
        return value or []


def unpacked(value: bytes) -> Any:
    """Return the JSON that a packed column holds."""
    return orjson.loads(unpack(bytes(value)))


_Row = TypeVar("_Row", bound=models.Model)


class NotDeleted(models.Manager[_Row]):
    """Leave out the rows that somebody has deleted and that can still be restored (see
    `timeline.storage.keeping.deletion`)."""

    def get_queryset(self) -> models.QuerySet[_Row]:
        return super().get_queryset().filter(delete_after=None)

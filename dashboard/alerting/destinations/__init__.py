"""Send messages. Each module in this package that has a `NAME` is one kind of destination, found by pkgutil.

A module has

- `NAME`, which is stored in the database, and `label`, which is shown to people;
- `FIELDS`, the values that a destination needs;
- `check(config)`, which raises Refused if the values cannot work;
- `send(config, messages, key=…)`, which returns in one line, without secrets, what the other side answered. It raises
  Refused if sending the same again would change nothing, and Unreachable if it may work later. `key` stays the same
  when the same is sent again;
- `KEEPS`, which is true if the other side keeps an incident until it is sent as over. It also gets, silently, that an
  incident is part of another one now;
- `REFRESH`, if the other side forgets what is not sent again: an ongoing incident is sent to it after each such time.
"""

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Protocol, cast

from dashboard.alerting.messages import Field, Message


class Kind(Protocol):
    """What a module of this package has."""

    NAME: str
    label: str
    FIELDS: Sequence[Field]

    def check(self, config: Mapping[str, str]) -> None:
        """Raise Refused if a destination with these values could not work. Nothing is sent, and no name is resolved."""

    def send(self, config: Mapping[str, str], messages: Sequence[Message], *, key: str) -> str:
        """Send messages, and return in one line what was answered. Raise Refused or Unreachable."""


@cache
def kinds() -> dict[str, Kind]:
    """Return the kinds of destinations by their names, in the order of their modules' names."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return {module.NAME: cast("Kind", module) for module in modules if hasattr(module, "NAME")}


def keeps(kind: Kind) -> bool:
    """Return whether the other side may keep an incident until it is sent as over."""
    return getattr(kind, "KEEPS", False)


def refresh(kind: Kind) -> timedelta | None:
    """Return after how long an ongoing incident is sent again, or None if it is sent once."""
    return getattr(kind, "REFRESH", None)

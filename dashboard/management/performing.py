"""Do what a command of `causeline` does, in a process that has Django."""

from importlib import import_module
from typing import Any

from django.db import OperationalError
from psycopg import errors

from dashboard.cli.terminal import give_up

_IN_USE = (errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected)


def perform(function: str, options: dict[str, Any]) -> int:
    """Call a function of this package, such as "accounts.activate", with the options of its command, and return 0.

    Exits with 2 if the function refuses (see REFUSALS of its module), and with 1 if others keep what it needs.
    """
    name, _, attribute = function.partition(".")
    module = import_module(f"dashboard.management.{name}")
    try:
        getattr(module, attribute)(**options)
    except getattr(module, "REFUSALS", ()) as error:
        give_up(str(error))
    except OperationalError as error:
        if not isinstance(error.__cause__, _IN_USE):
            raise
        give_up("the data is still in use; try again in a moment", 1)
    return 0

"""Start a PostgreSQL of its own for a bench, with the tables of Causeline."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
from django.core.management import call_command

from dashboard.cli.terminal import say
from dashboard.services import Supervisor
from dashboard.services.launcher import served


@contextmanager
def prepared_database(data_dir: Path | None, **settings: str) -> Iterator[Path]:
    """Start PostgreSQL and Valkey, set up Django with these environment variables, and migrate.

    Yield a folder for files, which is deleted at the end. So are the data, unless a data directory is given.
    """
    with tempfile.TemporaryDirectory() as folder, Supervisor(say) as supervisor:
        place = data_dir or Path(folder, "data")
        with served(place.absolute(), supervisor, join=True) as variables:
            os.environ.update(variables, **settings)
            django.setup()
            call_command("migrate", verbosity=0)
            yield Path(folder)

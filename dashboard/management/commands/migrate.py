"""Bring the tables up to date, but refuse a database that is too old for the migrations that this version has."""

from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

OLDEST = "7b0d36963cf425e5cc5f82bc3ffb9200bd2242b3"  # a commit that has all migrations that were replaced


class Command(migrate.Command):
    """Django's command. It would do nothing, or fail in an unclear way, where only some migrations that another one
    replaces were applied and their files are gone."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate. Raise CommandError, before anything is changed, if the database is too old."""
        connection = connections[options["database"]]
        loader = MigrationLoader(connection, load=False)
        loader.load_disk()
        applied = MigrationRecorder(connection).applied_migrations().keys()
        for migration in loader.disk_migrations.values():
            gone = set(migration.replaces) - loader.disk_migrations.keys()
            if missing := sorted(gone - applied if gone & applied else ()):
                raise CommandError(
                    f"This database is too old for this version: {'.'.join(missing[0])} was never applied to it. "
                    f"Nothing was changed. Migrate it with commit {OLDEST[:12]} first, and then with this version."
                )
        super().handle(*args, **options)

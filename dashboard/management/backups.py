"""Write the database to one file and restore it, with the PostgreSQL programs that Causeline installs.

Uploads are left out, because their files are in the data directory, and so are sessions, because whoever reads them
could act as the signed-in users.
"""

import os
import subprocess
from pathlib import Path

from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.db.backends.postgresql.client import DatabaseClient

from dashboard.access import limits
from dashboard.access.trail import change_log
from dashboard.cli.terminal import give_up
from dashboard.services.binaries import client
from timeline.models import Source
from timeline.storage.permitted import views as seen_views
from timeline.storage.permitted.limits import SCHEMA

# The names of Causeline's tables and sequences begin like this; the last four are those of django-allauth.
OWN = (
    "auth_",
    "dashboard_",
    "django_",
    "timeline_",
    "account_emailaddress",
    "account_emailconfirmation",
    "mfa_authenticator",
    "socialaccount_",
)
LEFT_OUT = ("timeline_upload", "timeline_uploadfile", "django_session", "dashboard_signin", "dashboard_failedsignins")


class Unusable(Exception):
    """A backup could not be written or restored. The message says why, and what state the database or file is in."""


def back_up(*, file: str) -> None:
    """Write the database to a file, or to standard output."""
    try:
        write(None if file == "-" else Path(file))
    except Unusable as error:
        give_up(str(error), 1)


def restore(*, file: str) -> None:
    """Fill an empty database from a backup, and migrate it if it is of an older version."""
    try:
        read(None if file == "-" else Path(file))
    except Unusable as error:
        give_up(str(error), 1)
    call_command("migrate", verbosity=0)
    change_log.note_command("restore", file=file)


def write(path: Path | None) -> None:
    """Write a dump in PostgreSQL's custom format to standard output, or to a file that only its owner can read.

    The file appears complete or not at all. Recordings that are being imported are not in it.
    """
    options = [
        "--format=custom",
        "--no-owner",
        "--no-privileges",
        f"--exclude-schema={SCHEMA}",  # the views of limited readers are made again
        *(f"--exclude-table-data={each}" for each in LEFT_OUT),
    ]
    if path is None:
        _run("pg_dump", options)
        return
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    before = os.umask(0o077)
    try:
        _run("pg_dump", [*options, f"--file={new}"])
        new.replace(path)
    except OSError as error:
        raise Unusable(f"{path} cannot be written: {error.strerror}.") from None
    finally:
        os.umask(before)
        new.unlink(missing_ok=True)


def read(path: Path | None) -> None:
    """Fill the database with the dump in the file, or on standard input.

    Nothing is overwritten: a database that has recordings or users is refused.
    """
    if path is not None and not path.is_file():
        raise Unusable(f"{path} is not a file.")
    tables = connection.introspection.table_names()
    for model in (Source, User):
        if model._meta.db_table in tables and model.objects.exists():
            raise Unusable(
                "The database has recordings or users, and a back-up is read into an empty one only. "
                "Choose another data directory, or another database."
            )
    with connection.cursor() as cursor:
        for table in tables:
            if table.startswith(OWN):  # the other tables are not Causeline's
                cursor.execute(f"DROP TABLE IF EXISTS {connection.ops.quote_name(table)} CASCADE")
        cursor.execute("DROP FUNCTION IF EXISTS dashboard_auditrecord_stays")  # the trigger went with its table
        cursor.execute("SELECT sequencename FROM pg_sequences WHERE schemaname = current_schema()")
        for (sequence,) in cursor.fetchall():
            if sequence.startswith(OWN):
                cursor.execute(f"DROP SEQUENCE {connection.ops.quote_name(sequence)}")
    seen_views.drop()
    connection.close()
    options = ["--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error"]
    try:
        _run("pg_restore", [*options, *([] if path is None else [str(path)])])
    except Unusable as error:
        raise Unusable(f"{error} The database is empty now.") from None
    limits.make_views()


def _run(program: str, options: list[str]) -> None:
    """Run the program on Django's database. The password is in its environment, where other users do not see it."""
    (_, *where, name), environment = DatabaseClient.settings_to_cmd_args_env(connection.settings_dict, [])
    command = [str(client(program)), *where, f"--dbname={name}", *options]
    done = subprocess.run(command, env=os.environ | (environment or {}), check=False)
    if done.returncode:
        raise Unusable(f"{program} ended with {done.returncode}; the reason stands above.")

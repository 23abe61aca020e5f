from pathlib import Path

from django.core.management.base import CommandError, CommandParser

from dashboard.access.trail import change_log
from dashboard.management import backups
from dashboard.management.base import BaseCommand


class Command(BaseCommand):
    help = "Fill an empty database from a file that back_up wrote."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the file to read, or - for standard input")

    def handle(self, *, file: str, **options: object) -> None:
        try:
            backups.read(None if file == "-" else Path(file))
            change_log.note_command("restore", file=file)
        except backups.Unusable as error:
            raise CommandError(str(error)) from None

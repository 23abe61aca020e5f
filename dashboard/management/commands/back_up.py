from pathlib import Path

from django.core.management.base import CommandError, CommandParser

from dashboard.management import backups
from dashboard.management.base import BaseCommand


class Command(BaseCommand):
    help = "Write the database to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the file to write, or - for standard output")

    def handle(self, *, file: str, **options: object) -> None:
        try:
            backups.write(None if file == "-" else Path(file))
        except backups.Unusable as error:
            raise CommandError(str(error)) from None

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard.management import backups


class Command(BaseCommand):
    help = "Write the database to a file."
    requires_system_checks = ()  # they import all pages, which takes a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the file to write, or - for standard output")

    def handle(self, *, file: str, **options: object) -> None:
        try:
            backups.write(None if file == "-" else Path(file))
        except backups.Unusable as error:
            raise CommandError(str(error)) from None

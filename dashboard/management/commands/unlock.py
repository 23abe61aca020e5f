"""Do the work of `causeline unlock`: let people sign in again who failed too often."""

from django.core.management.base import CommandParser
from django.db import transaction

from dashboard.access.signing_in import attempts
from dashboard.access.trail import change_log
from dashboard.management.base import BaseCommand


class Command(BaseCommand):
    help = "Forget failures to sign in."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", default="")
        parser.add_argument("--address", default="")

    def handle(self, *, name: str, address: str, **options: object) -> None:
        with transaction.atomic():
            count = attempts.unlock(name, address)
            change_log.note_command("unlock", name=name, address=address)
        self.stdout.write(f"{count} count{'' if count == 1 else 's'} of failures forgotten.")

"""Do the work of `causeline activate`: let somebody sign in again who was deactivated."""

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from dashboard.access.trail import change_log
from dashboard.management.base import BaseCommand


class Command(BaseCommand):
    help = "Let somebody sign in again who was deactivated, and accept the access tokens that the person made."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")

    def handle(self, *, name: str, **options: object) -> None:
        with transaction.atomic():
            if not User.objects.filter(username=name).update(is_active=True):
                raise CommandError(f"Nobody has the name {name}.")
            change_log.note_command("activate", user=name)
        self.stdout.write(f"{name} can sign in again.")

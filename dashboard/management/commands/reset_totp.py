"""Do the work of `causeline reset-totp`: remove the second factor of somebody who has lost it."""

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from dashboard.access.signing_in import attempts, second_factor, sessions
from dashboard.access.trail import change_log
from dashboard.management.base import BaseCommand


class Command(BaseCommand):
    help = "Remove the second factor and the recovery codes of somebody, and end the sessions."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")

    def handle(self, *, name: str, **options: object) -> None:
        user = User.objects.filter(username=name).first()
        if user is None:
            raise CommandError(f"Nobody has the name {name}.")
        with transaction.atomic():
            removed = second_factor.remove(user)
            sessions.end(user)
            attempts.unlock(name)
            change_log.note_command("reset-totp", user=name)
        self.stdout.write(f"{name} {'has no second factor any more' if removed else 'had no second factor'}.")

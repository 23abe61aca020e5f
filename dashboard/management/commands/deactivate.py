"""This command does the work of `causeline deactivate`: it lets somebody not sign in any more."""

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from dashboard.access import change_log, sessions
from dashboard.management.base import BaseCommand


class Command(BaseCommand):
    help = "End the sessions of somebody, who may not sign in any more. What the person has done stays."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")

    def handle(self, *, name: str, **options: object) -> None:
        if not User.objects.filter(username=name).update(is_active=False):
            raise CommandError(f"Nobody has the name {name}.")
        ended = sessions.end(User.objects.get(username=name))
        change_log.note_command("deactivate", user=name, sessions_ended=ended)
        self.stdout.write(f"{name} cannot sign in any more. {ended} session{'' if ended == 1 else 's'} ended.")

"""Do the work of `causeline deactivate`: keep somebody from signing in."""

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from dashboard.access.roles import giving
from dashboard.access.signing_in import sessions
from dashboard.access.tokens import tokens
from dashboard.access.trail import change_log
from dashboard.management.base import BaseCommand


class Command(BaseCommand):
    help = (
        "End the sessions of somebody, who may not sign in any more, and refuse the access tokens that the person "
        "made. What the person has done stays."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")

    def handle(self, *, name: str, **options: object) -> None:
        try:
            with transaction.atomic():
                ended, refused = _deactivate(name)
        except giving.GrantRefused as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{name} cannot sign in any more. {ended} session{'' if ended == 1 else 's'} ended.")
        if refused:
            self.stdout.write(
                f"Access tokens that {name} made are refused from now on: {', '.join(refused)}. "
                "Make new ones for programs that go on."
            )


def _deactivate(name: str) -> tuple[int, list[str]]:
    """Return how many sessions ended, and the names of the tokens that are refused from now on."""
    with giving.one_administrator_stays():
        if not User.objects.filter(username=name).update(is_active=False):
            raise CommandError(f"Nobody has the name {name}.")
    ended = sessions.end(User.objects.get(username=name))
    refused = list(tokens.made_by_deactivated().filter(created_by=name).order_by("name").values_list("name", flat=True))
    change_log.note_command("deactivate", user=name, sessions_ended=ended, tokens_refused=len(refused))
    return ended, refused

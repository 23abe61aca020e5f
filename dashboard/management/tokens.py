"""List, make and revoke access tokens."""

import sys
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from dashboard.access.tokens import tokens
from dashboard.access.trail import change_log
from dashboard.cli.terminal import Terminal, confirmed, give_up, say
from dashboard.management import clusters, recordings
from dashboard.models import AccessToken
from dashboard.presentation.people.tokens import rows
from timeline.core.numbers import whole_number
from timeline.core.printable import plain

REFUSALS = (tokens.TokenRefused,)


def show() -> None:
    """Print the tokens, and when each was used."""
    terminal = Terminal(sys.stdout)
    if not (found := rows(timezone.now())):
        say("There are no access tokens. `causeline tokens create NAME --scope read` makes one.")
    for each in found:
        terminal.line(plain(f"{each.number} {each.name} ({each.prefix}…): {each.scopes}; {each.limit}"))
        terminal.wrapped(plain(f"{each.made}; {each.used}; {each.expires}"), "  ", "  ")


def create(
    *, name: str, scope: Sequence[str], days: int, cluster: str | None = None, source: str | None = None
) -> None:
    """Make a token, and print its text, which is shown only once."""
    with transaction.atomic():
        text, row = tokens.issue(
            name,
            scope,
            expires=timezone.now() + timedelta(days=days),
            cluster=clusters.named(cluster) if cluster else None,
            source=recordings.named(source) if source else None,
            by=change_log.who_commands(),
        )
        change_log.note_command("create token", **tokens.described(row))
    say(plain(f"{row.name} is made, and expires at {row.expires:%Y-%m-%d %H:%M} UTC. Its text is shown only now:"))
    print(text)


def revoke(*, token: str, yes: bool = False) -> None:
    """End a token now, which is given by its name or number."""
    found = list(AccessToken.objects.filter(name=token)[:2])
    if not found and (number := whole_number(token)) is not None:
        found = list(AccessToken.objects.filter(pk=number))
    if not found:
        give_up(f"There is no token {token}. `causeline tokens list` lists them.")
    if len(found) > 1:
        give_up(f"Several tokens have the name {token}. Give the number of one; `causeline tokens list` shows it.")
    if not yes and not confirmed([f"Programs that send {found[0].name} ({found[0].prefix}…) will be refused."]):
        give_up(f"{found[0].name} is kept.")
    with transaction.atomic():
        if (row := tokens.revoke(found[0].pk)) is None:
            give_up(f"{found[0].name} was revoked meanwhile.")
        change_log.note_command("revoke token", **tokens.described(row))
    say(plain(f"{row.name} is revoked."))

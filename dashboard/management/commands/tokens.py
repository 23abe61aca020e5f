"""Do the work of `causeline tokens`: list, make and revoke access tokens."""

import argparse
import sys
from datetime import timedelta
from typing import Any, NoReturn

from django.core.management.base import CommandParser
from django.db import transaction
from django.utils import timezone

from dashboard.access.tokens import tokens
from dashboard.access.trail import change_log
from dashboard.cli.servers.tokens import add_arguments
from dashboard.cli.terminal import Terminal, confirmed, say
from dashboard.management.base import BaseCommand
from dashboard.management.sources import named
from dashboard.models import AccessToken
from dashboard.presentation.people.tokens import rows
from timeline.core.numbers import whole_number
from timeline.core.printable import plain
from timeline.models import Cluster


class Command(BaseCommand):
    help = "List, make and revoke access tokens."

    def add_arguments(self, parser: CommandParser) -> None:
        add_arguments(parser.add_subparsers(dest="act", required=True, parser_class=argparse.ArgumentParser))

    def handle(self, *, act: str, **options: Any) -> None:
        match act:
            case "list":
                _list()
            case "create":
                _create(options)
            case _:
                _revoke(options["token"], yes=options["yes"])


def _list() -> None:
    terminal = Terminal(sys.stdout)
    if not (found := rows(timezone.now())):
        say("There are no access tokens. `causeline tokens create NAME --scope read` makes one.")
    for each in found:
        terminal.line(plain(f"{each.number} {each.name} ({each.prefix}…): {each.scopes}; {each.limit}"))
        terminal.wrapped(plain(f"{each.made}; {each.used}; {each.expires}"), "  ", "  ")


def _create(options: dict[str, Any]) -> None:
    try:
        with transaction.atomic():
            text, row = tokens.issue(
                options["name"],
                options["scope"],
                expires=timezone.now() + timedelta(days=options["days"]),
                cluster=_cluster(options["cluster"]) if options["cluster"] else None,
                source=named(options["source"]) if options["source"] else None,
                by=change_log.who_commands(),
            )
            change_log.note_command("create token", **tokens.described(row))
    except tokens.TokenRefused as error:
        _give_up(str(error))
    say(plain(f"{row.name} is made, and expires at {row.expires:%Y-%m-%d %H:%M} UTC. Its text is shown only now:"))
    print(text)


def _revoke(given: str, *, yes: bool) -> None:
    found = list(AccessToken.objects.filter(name=given)[:2])
    if not found and (number := whole_number(given)) is not None:
        found = list(AccessToken.objects.filter(pk=number))
    if not found:
        _give_up(f"There is no token {given}. `causeline tokens list` lists them.")
    if len(found) > 1:
        _give_up(f"Several tokens have the name {given}. Give the number of one; `causeline tokens list` shows it.")
    if not yes and not confirmed([f"Programs that send {found[0].name} ({found[0].prefix}…) will be refused."]):
        _give_up(f"{found[0].name} is kept.")
    with transaction.atomic():
        if (row := tokens.revoke(found[0].pk)) is None:
            _give_up(f"{found[0].name} was revoked meanwhile.")
        change_log.note_command("revoke token", **tokens.described(row))
    say(plain(f"{row.name} is revoked."))


def _cluster(name: str) -> Cluster:
    if (found := Cluster.objects.filter(name=name).first()) is None:
        names = ", ".join(Cluster.objects.values_list("name", flat=True).order_by("name")[:20]) or "none"
        _give_up(f"No cluster {name} is connected. There are: {names}.")
    return found


def _give_up(words: str) -> NoReturn:
    say(plain(words))
    sys.exit(2)

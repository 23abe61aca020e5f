"""Do the work of `causeline grant`, `causeline revoke` and `causeline rights`."""

import argparse
import json
import sys
from typing import Any, NoReturn

from django.contrib.auth.models import Group, User
from django.core.management.base import CommandParser
from django.db import transaction

from dashboard.access.roles import giving
from dashboard.access.trail import change_log
from dashboard.cli.servers.grants import add_arguments
from dashboard.cli.terminal import Terminal, confirmed, say
from dashboard.management.base import BaseCommand
from dashboard.presentation.people import grants as words
from timeline.core.numbers import whole_number
from timeline.core.printable import escaped, plain
from timeline.models import Cluster, Source


class Command(BaseCommand):
    help = "Give roles, take them away, and say who has which."

    def add_arguments(self, parser: CommandParser) -> None:
        add_arguments(parser.add_subparsers(dest="act", required=True, parser_class=argparse.ArgumentParser))

    def handle(self, *, act: str, name: str, group: bool, **options: Any) -> None:
        try:
            match act:
                case "grant":
                    _grant(name, options, group=group)
                case "revoke":
                    _revoke(giving.holder(name, group=group), options)
                case _:
                    _show(giving.holder(name, group=group), as_json=options["output"] == "json")
        except giving.GrantRefused as error:
            _give_up(str(error))


@transaction.atomic  # so that no group is made for a role that is refused
def _grant(name: str, options: dict[str, Any], *, group: bool) -> None:
    to = giving.group_to_be(name) if group else giving.holder(name)
    grant = giving.give(
        to,
        options["role"],
        change_log.who_commands(),
        on=_thing(options["on"]),
        namespaces=options["namespace"],
    )
    change_log.note_command("grant", **giving.described(grant))
    say(plain(f"{giving.name_of(to)} is {words.in_words(grant)}."))


def _revoke(of: User | Group, options: dict[str, Any]) -> None:
    on, namespaces = _thing(options["on"]), sorted(set(options["namespace"]))
    found = [each for each in giving.given_on(of, on) if not namespaces or each.namespaces == namespaces]
    name = giving.name_of(of)
    if not found:
        _give_up(f"{name} was given no such role. `causeline rights` says which roles there are, and why.")
    if not options["yes"] and not confirmed([f"{name} will not be {words.in_words(each)} any more." for each in found]):
        _give_up("Nothing was taken away.")
    for each in found:
        with transaction.atomic():
            if taken := giving.take(each.pk):
                change_log.note_command("revoke", **giving.described(taken))
        if taken:
            say(plain(f"{name} is not {words.in_words(taken)} any more."))


def _show(of: User | Group, *, as_json: bool) -> None:
    held = words.groups([of])[0] if isinstance(of, Group) else words.people([of])[0]
    if as_json:
        print(escaped(json.dumps(words.document(held), ensure_ascii=False, indent=2)))
        return
    terminal = Terminal(sys.stdout)
    state = "" if held.active else ", who is deactivated and cannot sign in,"
    if held.is_group:
        state = f", a group with {held.members} member{'' if held.members == 1 else 's'} who may sign in,"
    terminal.line(plain(f"{held.name}{state} {'has these roles:' if held.reasons else 'has no role.'}"))
    for each in held.reasons:
        where = f" in {', '.join(each.namespaces)}" if each.namespaces else ""
        terminal.wrapped(plain(f"{each.role} of {each.on}{where}: {each.why}"), "  ", "  ")


def _thing(text: str) -> Cluster | Source | None:
    """Return the cluster or the recording that is meant; None for everything. Raises Refused."""
    if not text:
        return None
    sort, slash, name = text.partition("/")
    clusters, recordings = Cluster.objects.order_by("name"), Source.objects.filter(ready=True, cluster=None)
    if not slash or sort not in {"cluster", "recording"}:
        sort, name = "", text
    found: list[Cluster | Source] = [] if sort == "recording" else list(clusters.filter(name=name))
    if sort != "cluster":
        found += recordings.filter(name=name)[:2]
        if not found and (number := whole_number(name)) is not None:
            found += recordings.filter(pk=number)
    if len(found) > 1:
        raise giving.GrantRefused(
            f"Several things have the name {name}. Write cluster/{name}, or recording/ and the number of the recording."
        )
    if not found:
        names = [*clusters.values_list("name", flat=True)[:20], *recordings.values_list("name", flat=True)[:20]]
        raise giving.GrantRefused(
            f"There is no cluster and no recording {text}. There are: {', '.join(names) or 'none'}."
        )
    return found[0]


def _give_up(sentence: str) -> NoReturn:
    say(plain(sentence))
    sys.exit(2)

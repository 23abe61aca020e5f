"""Give roles, take them away, and say who has which and why."""

import json
import sys
from collections.abc import Sequence

from django.contrib.auth.models import Group
from django.db import transaction

from dashboard.access.roles import giving
from dashboard.access.trail import change_log
from dashboard.cli.terminal import Terminal, confirmed, give_up, say
from dashboard.presentation.people import grants as words
from timeline.core.numbers import whole_number
from timeline.core.printable import escaped, plain
from timeline.models import Cluster, Source

REFUSALS = (giving.GrantRefused,)


@transaction.atomic  # so that no group is made for a role that is refused
def grant(*, name: str, role: str, on: str = "", namespace: Sequence[str] = (), group: bool = False) -> None:
    """Give a role to a person or a group, in place of the one given on the same thing before."""
    to = giving.group_to_be(name) if group else giving.holder(name)
    given = giving.give(to, role, change_log.who_commands(), on=_thing(on), namespaces=namespace)
    change_log.note_command("grant", **giving.described(given))
    say(plain(f"{giving.name_of(to)} is {words.in_words(given)}."))


def revoke(*, name: str, on: str = "", namespace: Sequence[str] = (), group: bool = False, yes: bool = False) -> None:
    """Take a role away from a person or a group."""
    of, namespaces = giving.holder(name, group=group), sorted(set(namespace))
    found = [each for each in giving.given_on(of, _thing(on)) if not namespaces or each.namespaces == namespaces]
    name = giving.name_of(of)
    if not found:
        give_up(f"{name} was given no such role. `causeline rights` says which roles there are, and why.")
    if not yes and not confirmed([f"{name} will not be {words.in_words(each)} any more." for each in found]):
        give_up("Nothing was taken away.")
    for each in found:
        with transaction.atomic():
            if taken := giving.take(each.pk):
                change_log.note_command("revoke", **giving.described(taken))
        if taken:
            say(plain(f"{name} is not {words.in_words(taken)} any more."))


def rights(*, name: str, group: bool = False, output: str = "table") -> None:
    """Print which roles a person or a group has, and why."""
    of = giving.holder(name, group=group)
    held = words.groups([of])[0] if isinstance(of, Group) else words.people([of])[0]
    if output == "json":
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
    """Return the cluster or the recording that is meant; None for everything. Raises GrantRefused."""
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

"""This command does the work of `causeline hold` and `unhold`, with servers that already run."""

import argparse
import sys
from typing import Any, NoReturn

from django.core.management.base import CommandParser
from django.db import OperationalError

from dashboard.access import change_log
from dashboard.cli.terminal import plain, say
from dashboard.management.base import BaseCommand
from dashboard.management.sources import named
from timeline.models import Cluster
from timeline.storage import holds


class Command(BaseCommand):
    help = "Place and lift legal holds."

    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True, parser_class=argparse.ArgumentParser)
        act = acts.add_parser("hold")
        act.add_argument("name")
        act.add_argument("--reason", required=True)
        act = acts.add_parser("unhold")
        act.add_argument("name")

    def handle(self, *, act: str, **options: Any) -> None:
        try:
            if act == "hold":
                _hold(options["name"], options["reason"])
            else:
                _unhold(options["name"])
        except OperationalError:
            _give_up("the data is still in use; try again in a moment", 1)


def _hold(name: str, reason: str) -> None:
    kept = _kept(name)
    try:
        hold = holds.place(reason, change_log.user_of_machine(), **kept)
    except ValueError as error:
        _give_up(str(error), 2)
    change_log.note_command("hold", **kept, name=name, reason=hold.reason)
    say(plain(f"{name} is under a legal hold. Nothing of it is deleted before `causeline unhold` lifts it."))


def _unhold(name: str) -> None:
    kept = _kept(name)
    hold = holds.lift(**kept)
    if hold is None:
        source = kept.get("source")
        other = holds.of_source(source) if source is not None else None
        _give_up(f"{name} is kept by the hold of its cluster." if other else f"{name} is under no legal hold.", 2)
    change_log.note_command("unhold", **kept, name=name, reason=hold.reason)
    say(plain(f"The legal hold of {name} is lifted. It was: {hold.reason}"))


def _kept(name: str) -> dict[str, int]:
    """Return the cluster with a name, or else the recording with a name or number, as arguments of `holds.place`."""
    cluster = Cluster.objects.filter(name=name).first()
    return {"cluster": cluster.pk} if cluster else {"source": named(name).pk}


def _give_up(words: str, status: int) -> NoReturn:
    say(plain(words))
    sys.exit(status)

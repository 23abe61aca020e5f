"""Do the work of `causeline delete` and `causeline undo`, with servers that already run."""

import argparse
import sys
from typing import Any, NoReturn

from django.core.management.base import CommandParser
from django.db import OperationalError, transaction

from collectors.watch.server import connections
from collectors.watch.server.connections import ClusterRefused
from dashboard.access.trail import change_log
from dashboard.cli.terminal import confirmed, say
from dashboard.management.base import BaseCommand
from dashboard.management.sources import named
from dashboard.presentation import deletions
from timeline.core.printable import plain
from timeline.models import Cluster, Source
from timeline.queries.sources import deletions as deletions_queries
from timeline.storage.keeping import deletion
from timeline.storage.keeping.holds import Held


class Command(BaseCommand):
    help = "Delete a recording, or restore what was deleted less than a minute ago."

    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True, parser_class=argparse.ArgumentParser)
        act = acts.add_parser("delete")
        act.add_argument("name")
        act.add_argument("--yes", action="store_true")
        act = acts.add_parser("undo")
        act.add_argument("name", nargs="?", default="")

    def handle(self, *, act: str, name: str, **options: Any) -> None:
        try:
            if act == "delete":
                _delete(named(name), yes=options["yes"])
            else:
                _undo(name)
        except OperationalError:
            _give_up("the data is still in use; try again in a moment", 1)
        except (ClusterRefused, Held) as error:
            _give_up(str(error), 2)


def _delete(source: Source, *, yes: bool) -> None:
    if Cluster.objects.filter(source=source).exists():
        _give_up(f"A cluster feeds {source.name}. `causeline disconnect NAME --delete` disconnects it first.", 2)
    gone = ", ".join(deletions.gone(deletions_queries.contents([source.pk])))
    if not yes and not confirmed([f"Recording {source.pk}, {source.name}, will be deleted: {gone}."]):
        _give_up(f"{source.name} is kept.", 2)
    with transaction.atomic():
        deletion.delete_source(source.pk)
        change_log.note_command("delete", source=source.pk, name=source.name)
    say(plain(f"{source.name} is deleted. `causeline undo` restores it within a minute."))


def _undo(name: str) -> None:
    found = [each for each in deletions_queries.undoable() if name in ("", each.name)]
    if not found:
        _give_up("Nothing was deleted in the last minute." if not name else f"{name} cannot be restored any more.", 2)
    latest = found[0]
    restore = connections.undo if latest.sort == "cluster" else deletion.restore_source
    with transaction.atomic():
        if not restore(latest.id):
            _give_up(f"{latest.name} cannot be restored any more.", 2)
        change_log.note_command("undo", **{latest.sort: latest.id}, name=latest.name)
    say(plain(f"{latest.name} is {'connected again' if latest.sort == 'cluster' else 'restored'}."))


def _give_up(words: str, status: int) -> NoReturn:
    say(plain(words))
    sys.exit(status)

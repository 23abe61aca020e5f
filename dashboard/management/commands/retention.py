"""Do the work of `causeline usage`, `retention`, `hold` and `unhold`, with servers that already run."""

import argparse
import sys
from datetime import datetime, timedelta
from typing import Any, NoReturn

from django.core.management.base import CommandParser
from django.db import OperationalError, transaction
from django.utils import timezone

from collectors.tasks import keep
from collectors.watch.server import connections
from collectors.watch.server.connections import ClusterRefused
from dashboard.access.trail import change_log
from dashboard.cli.servers.retention import DEFAULT, KEPT, number
from dashboard.cli.terminal import say
from dashboard.management.base import BaseCommand
from dashboard.management.sources import named
from dashboard.presentation.clusters import storage
from timeline.core.printable import plain
from timeline.models import Cluster
from timeline.queries.sources import usage as usage_queries
from timeline.storage.keeping import holds, retention, usage
from timeline.storage.keeping import periods as keeping


class Command(BaseCommand):
    help = "Show what sources take, run retention, and place and lift legal holds."

    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True, parser_class=argparse.ArgumentParser)
        acts.add_parser("usage")
        acts.add_parser("run")
        act = acts.add_parser("foresee")
        act.add_argument("--within", type=int, default=0)
        act = acts.add_parser("keep")
        for name in KEPT:
            act.add_argument(f"--{name.replace('_', '-')}", type=number)
        act.add_argument("name")
        act = acts.add_parser("hold")
        act.add_argument("name")
        act.add_argument("--reason", required=True)
        act = acts.add_parser("unhold")
        act.add_argument("name")

    def handle(self, *, act: str, **options: Any) -> None:
        try:
            if act == "usage":
                _usage()
            elif act == "run":
                change_log.note_command("retention")  # first, because it deletes in many transactions
                keep()
            elif act == "foresee":
                _foresee(timezone.now() + timedelta(days=options["within"]))
            elif act == "keep":
                given = {name: options[name] for name in KEPT if options[name] is not None}
                _keep(options["name"], {name: None if text == DEFAULT else int(text) for name, text in given.items()})
            elif act == "hold":
                _hold(options["name"], options["reason"])
            else:
                _unhold(options["name"])
        except OperationalError:
            _give_up("the data is still in use; try again in a moment", 1)


def _usage() -> None:
    """Measure all sources, and print what each takes, the largest first."""
    usage.record(timezone.now())
    page = 1
    while rows := usage_queries.usage(page)[: usage_queries.PAGE]:
        for row in rows:
            print(plain(f"{row.source:>6}  {row.name}: {storage.taken(row)}"))
        page += 1


def _foresee(at: datetime) -> None:
    """Print what retention will have deleted at a time of what is stored now."""
    for cluster in Cluster.objects.order_by("name"):
        for each in retention.foresee(cluster, at):
            words = "kept by a legal hold" if each.held else storage.freed(each)
            print(plain(f"{each.source:>6}  {cluster.name}: {words}"))
    for source in keeping.expired(at).defer("document", "skips", "histogram"):
        print(plain(f"{source.pk:>6}  {source.name}: the whole recording, {source.entries:,} entries"))


def _keep(name: str, given: dict[str, int | None]) -> None:
    """Change how long a cluster or a recording is kept: what is given, and nothing else."""
    if not given:
        _give_up("Say what to change, such as --keep-days 30.", 2)
    cluster = Cluster.objects.filter(name=name).first()
    try:
        if cluster:
            with transaction.atomic():
                connections.keep(cluster, given)
                change_log.note_command("keep", cluster=cluster.pk, name=name, **_noted(given))
        else:
            source = named(name)
            if given.keys() != {"keep_days"}:
                _give_up("Of a recording, only --keep-days can be changed.", 2)
            with transaction.atomic():
                keeping.change_days(source, given["keep_days"])
                change_log.note_command("keep", source=source.pk, name=name, **_noted(given))
    except (ClusterRefused, ValueError) as error:
        _give_up(str(error), 2)
    say(plain(f"How long {name} is kept is changed. `causeline retention --dry-run` shows what will be deleted."))


def _noted(given: dict[str, int | None]) -> dict[str, str]:
    return {name: DEFAULT if value is None else str(value) for name, value in given.items()}


def _hold(name: str, reason: str) -> None:
    kept = _kept(name)
    try:
        with transaction.atomic():
            hold = holds.place(reason, change_log.user_of_machine(), **kept)
            change_log.note_command("hold", **kept, name=name, reason=hold.reason)
    except ValueError as error:
        _give_up(str(error), 2)
    say(plain(f"{name} is under a legal hold. Nothing of it is deleted before `causeline unhold` lifts it."))


@transaction.atomic
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

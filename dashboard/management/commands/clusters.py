"""Do the work of `causeline connect`, `clusters`, `disconnect`, `pause` and `resume`.

It needs servers that already run.
"""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from django.core.management.base import CommandParser
from django.db import OperationalError, transaction

from collectors.watch.access import AccessReport, check
from collectors.watch.server import connections, credentials
from collectors.watch.server.connections import ClusterRefused, Connection, WatchOptions
from collectors.watch.server.kubeconfig import default_paths
from dashboard.access import encryption
from dashboard.access.signing_in import second_factor
from dashboard.access.trail import change_log
from dashboard.alerting import editing
from dashboard.cli.servers.clusters import add_arguments
from dashboard.cli.terminal import Terminal, confirmed, say
from dashboard.management.base import BaseCommand
from dashboard.presentation import deletions
from dashboard.presentation.clusters import access_checks
from dashboard.presentation.clusters import states as clusters
from timeline.core.printable import plain
from timeline.models import Cluster, LogStore
from timeline.queries.sources import clusters as cluster_queries
from timeline.queries.sources import deletions as deletions_queries
from timeline.storage.keeping.holds import Held

if TYPE_CHECKING:
    from collections.abc import Callable


class Command(BaseCommand):
    help = "Connect, list, pause, resume and disconnect clusters."

    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True, parser_class=argparse.ArgumentParser)
        act = acts.add_parser("connect")
        act.add_argument("--name", required=True)
        add_arguments(act)
        acts.add_parser("list")
        acts.add_parser("renew-secrets")
        for name in ("disconnect", "pause", "resume"):
            act = acts.add_parser(name)
            act.add_argument("cluster")
            if name == "disconnect":
                act.add_argument("--delete", action="store_true")
                act.add_argument("--yes", action="store_true")

    def handle(self, *, act: str, **options: Any) -> None:
        try:
            if act == "connect":
                _connect(options)
            elif act == "list":
                _list()
            elif act == "renew-secrets":
                with transaction.atomic():
                    count = sum(
                        renew()
                        for renew in (
                            connections.reencrypt_secrets,
                            editing.reencrypt,
                            partial(credentials.renew, LogStore.objects.all()),
                            second_factor.reencrypt,
                        )
                    )
                    change_log.note_command("renew-secrets")
                say(f"{count} encrypted again, with the first key.")
            else:
                _act(act, options["cluster"], delete=options.get("delete", False), yes=options.get("yes", False))
        except (ClusterRefused, Held, credentials.Unusable, encryption.Unreadable) as error:
            _give_up(str(error), 2)
        except OperationalError:
            _give_up("the data is still in use; try again in a moment", 1)


def _connect(options: dict[str, Any]) -> None:
    wanted = WatchOptions(
        connections.resources(options["include"]),
        connections.resources(options["exclude"]),
        options["keep_days"],
        options["keep_bytes"],
        options["write_events"],
        connections.namespaces(options["namespace"]),
        options["keep_incident_days"],
        options["keep_incident_minutes"],
    )
    way = _way(options)
    if not (options["unchecked"] or options["collector"]):
        api = credentials.api_to(options["name"].strip(), way.reference, way.secret)
        checked = check(api, wanted.include, wanted.exclude, wanted.namespaces, events=wanted.write_events)
        _show(checked, way)
        if checked.problem:
            _give_up("Not connected. With `--unchecked` it is, for workers that reach it from elsewhere.", 1)
    with transaction.atomic():
        cluster = connections.connect(options["name"], way, wanted)
        change_log.note_command("connect", cluster=cluster.pk, name=cluster.name)
    if options["collector"]:
        say(plain(f"{cluster.name} is number {cluster.pk}, and waits for a collector. Its page shows how to run one."))
        return
    say(plain(f"{cluster.name} is connected, and a worker will watch it. `causeline clusters` shows its state."))


def _way(options: dict[str, Any]) -> Connection:
    if options["collector"]:
        return connections.by_collector()
    if options["in_cluster"]:
        return connections.in_cluster()
    paths = [Path(options["kubeconfig"]).expanduser().absolute()] if options["kubeconfig"] else default_paths()
    if options["by_path"]:
        if len(paths) > 1:
            raise ClusterRefused(
                "KUBECONFIG names several files: name the one to connect by its path with --kubeconfig."
            )
        return connections.with_kubeconfig_path(paths[0], options["context"], programs_for=options["name"].strip())
    kubeconfig, read = credentials.own_kubeconfig(paths)
    return connections.with_kubeconfig(kubeconfig, options["context"], read)


def _show(checked: AccessReport, way: Connection) -> None:
    terminal = Terminal(sys.stderr)
    context = way.reference["context"]
    terminal.wrapped(plain(f"{way.reference['server']}{f', context {context}' if context else ''}"), "")
    for line in access_checks.sentences(checked, way.reference):
        terminal.wrapped(plain(line), "  ", "  ")


def _list() -> None:
    terminal = Terminal(sys.stdout)
    connected = cluster_queries.clusters()
    if not connected:
        say("No cluster is connected. `causeline connect --name N` connects one.")
    for each in connected:
        card = clusters.card(each)
        terminal.line(plain(f"{card.name}: {card.word}; {', '.join(card.vitals) or 'nothing seen yet'}"))
        for line in (*card.notes, *(f"{row.name}: {row.word}. {row.error}" for row in card.streams if row.error)):
            terminal.wrapped(plain(line), "  ", "  ")


def _act(act: str, name: str, *, delete: bool, yes: bool) -> None:
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        names = ", ".join(Cluster.objects.values_list("name", flat=True).order_by("name")[:20]) or "none"
        _give_up(f"No cluster {name} is connected. There are: {names}.", 2)
    if act == "disconnect" and not yes and not confirmed(_consequences(cluster, delete=delete)):
        _give_up(f"{name} stays connected.", 2)
    kept = "and what was seen of it is deleted" if delete else "and what was seen of it stays as a recording"
    ways: dict[str, tuple[Callable[[Cluster], None], str]] = {
        "pause": (connections.pause, "paused. Changes until it is resumed will be shown as a gap."),
        "resume": (connections.resume, "resumed."),
        "disconnect": (
            partial(connections.disconnect, delete=delete),
            f"disconnected, {kept}. `causeline undo` connects it again within a minute.",
        ),
    }
    change, words = ways[act]
    with transaction.atomic():
        change_log.note_command(act, cluster=cluster.pk, name=name, deleted="yes" if delete else "")
        change(cluster)
    say(plain(f"{name} is {words}"))


def _consequences(cluster: Cluster, *, delete: bool) -> list[str]:
    """Return what a person should know before the cluster is disconnected."""
    first = f"Causeline stops watching {cluster.name}, and deletes its credentials and its silences."
    if not delete:
        return [f"{first} What was observed stays as a recording."]
    gone = deletions.gone(deletions_queries.contents(deletions_queries.sources_of(cluster.pk), cluster.pk))
    return [first, f"Also gone: {', '.join(gone) or 'nothing, since nothing was observed'}."]


def _give_up(words: str, status: int) -> NoReturn:
    say(plain(words))
    sys.exit(status)

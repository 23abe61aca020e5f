"""Connect, list, pause, resume and disconnect clusters."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from django.db import transaction

from collectors.watch.access import AccessReport, check
from collectors.watch.server import connections, credentials
from collectors.watch.server.connections import ClusterRefused, Connection, WatchOptions
from collectors.watch.server.kubeconfig import default_paths
from dashboard.access import encryption
from dashboard.access.signing_in import second_factor
from dashboard.access.trail import change_log
from dashboard.alerting import editing
from dashboard.cli.terminal import Terminal, confirmed, give_up, say
from dashboard.presentation import deletions
from dashboard.presentation.clusters import access_checks
from dashboard.presentation.clusters import states as clusters
from timeline.core.printable import plain
from timeline.models import Cluster, LogStore
from timeline.queries.sources import clusters as cluster_queries
from timeline.queries.sources import deletions as deletions_queries
from timeline.storage.keeping.holds import Held

REFUSALS = (ClusterRefused, Held, credentials.Unusable, encryption.Unreadable)


def connect(
    *,
    name: str,
    kubeconfig: str | None = None,
    context: str = "",
    in_cluster: bool = False,
    collector: bool = False,
    by_path: bool = False,
    unchecked: bool = False,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    namespace: Sequence[str] = (),
    write_events: bool = False,
    keep_days: int | None = None,
    keep_bytes: int | None = None,
    keep_incident_days: int | None = None,
    keep_incident_minutes: int | None = None,
) -> None:
    """Connect a cluster, once it is checked that it can be watched."""
    wanted = WatchOptions(
        connections.resources(include),
        connections.resources(exclude),
        keep_days,
        keep_bytes,
        write_events,
        connections.namespaces(namespace),
        keep_incident_days,
        keep_incident_minutes,
    )
    if collector:
        way = connections.by_collector()
    elif in_cluster:
        way = connections.in_cluster()
    else:
        paths = [Path(kubeconfig).expanduser().absolute()] if kubeconfig else default_paths()
        way = _with_kubeconfig(paths, context, name.strip(), by_path=by_path)
    if not (unchecked or collector):
        api = credentials.api_to(name.strip(), way.reference, way.secret)
        checked = check(api, wanted.include, wanted.exclude, wanted.namespaces, events=wanted.write_events)
        _show(checked, way)
        if checked.problem:
            give_up("Not connected. With `--unchecked` it is, for workers that reach it from elsewhere.", 1)
    with transaction.atomic():
        cluster = connections.connect(name, way, wanted)
        change_log.note_command("connect", cluster=cluster.pk, name=cluster.name)
    if collector:
        say(plain(f"{cluster.name} is number {cluster.pk}, and waits for a collector. Its page shows how to run one."))
        return
    say(plain(f"{cluster.name} is connected, and a worker will watch it. `causeline clusters` shows its state."))


def _with_kubeconfig(paths: Sequence[Path], context: str, name: str, *, by_path: bool) -> Connection:
    if not by_path:
        kubeconfig, read = credentials.own_kubeconfig(paths)
        return connections.with_kubeconfig(kubeconfig, context, read)
    if len(paths) > 1:
        raise ClusterRefused("KUBECONFIG names several files: name the one to connect by its path with --kubeconfig.")
    return connections.with_kubeconfig_path(paths[0], context, programs_for=name)


def _show(checked: AccessReport, way: Connection) -> None:
    terminal = Terminal(sys.stderr)
    context = way.reference["context"]
    terminal.wrapped(plain(f"{way.reference['server']}{f', context {context}' if context else ''}"), "")
    for line in access_checks.sentences(checked, way.reference):
        terminal.wrapped(plain(line), "  ", "  ")


def show(*, renew_secrets: bool = False) -> None:
    """Print the connected clusters and their state; or encrypt what is stored encrypted again, with the first key."""
    if renew_secrets:
        _renew_secrets()
        return
    terminal = Terminal(sys.stdout)
    connected = cluster_queries.clusters()
    if not connected:
        say("No cluster is connected. `causeline connect --name N` connects one.")
    for each in connected:
        card = clusters.card(each)
        terminal.line(plain(f"{card.name}: {card.word}; {', '.join(card.vitals) or 'nothing seen yet'}"))
        for line in (*card.notes, *(f"{row.name}: {row.word}. {row.error}" for row in card.streams if row.error)):
            terminal.wrapped(plain(line), "  ", "  ")


@transaction.atomic
def _renew_secrets() -> None:
    count = connections.reencrypt_secrets() + editing.reencrypt() + second_factor.reencrypt()
    count += credentials.renew(LogStore.objects.all())
    change_log.note_command("renew-secrets")
    say(f"{count} encrypted again, with the first key.")


def named(name: str) -> Cluster:
    """Return the cluster with this name, or give up."""
    if (found := Cluster.objects.filter(name=name).first()) is None:
        names = ", ".join(Cluster.objects.values_list("name", flat=True).order_by("name")[:20]) or "none"
        give_up(f"No cluster {name} is connected. There are: {names}.")
    return found


def pause(*, cluster: str) -> None:
    """Stop watching a cluster until it is resumed."""
    _change("pause", named(cluster), connections.pause)
    say(plain(f"{cluster} is paused. Changes until it is resumed will be shown as a gap."))


def resume(*, cluster: str) -> None:
    """Watch a paused cluster again."""
    _change("resume", named(cluster), connections.resume)
    say(plain(f"{cluster} is resumed."))


def disconnect(*, cluster: str, delete: bool = False, yes: bool = False) -> None:
    """Stop watching a cluster, and delete its credentials; with `delete`, also what was observed of it."""
    found = named(cluster)
    if not yes and not confirmed(_consequences(found, delete=delete)):
        give_up(f"{cluster} stays connected.")
    _change("disconnect", found, partial(connections.disconnect, delete=delete), deleted="yes" if delete else "")
    kept = "and what was seen of it is deleted" if delete else "and what was seen of it stays as a recording"
    say(plain(f"{cluster} is disconnected, {kept}. `causeline undo` connects it again within a minute."))


def _change(act: str, cluster: Cluster, change: Callable[[Cluster], None], **about: str) -> None:
    with transaction.atomic():
        change_log.note_command(act, cluster=cluster.pk, name=cluster.name, **about)
        change(cluster)


def _consequences(cluster: Cluster, *, delete: bool) -> list[str]:
    """Return what a person should know before the cluster is disconnected."""
    first = f"Causeline stops watching {cluster.name}, and deletes its credentials and its silences."
    if not delete:
        return [f"{first} What was observed stays as a recording."]
    gone = deletions.gone(deletions_queries.contents(deletions_queries.sources_of(cluster.pk), cluster.pk))
    return [first, f"Also gone: {', '.join(gone) or 'nothing, since nothing was observed'}."]

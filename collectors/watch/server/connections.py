"""Connect, change, pause and disconnect clusters. Workers read the row, and are notified of changes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from django.db import transaction

from collectors.watch.server import credentials, exec_permissions
from timeline.models import INCIDENT_MINUTES_AT_MOST, KEEP_BYTES_AT_MOST, KEEP_DAYS_AT_MOST, Cluster
from timeline.storage import notify
from timeline.storage.keeping import deletion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from collectors.watch.server.kubeconfig import Context, Kubeconfig, Read

NAME_LENGTH = 100  # characters; the cluster's sources have this name and a number
_RESOURCE = re.compile(r"(\*\.|[a-z][a-z0-9-]*(\.|$))([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?")
_NEVER = {"secrets"}
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
MOST_NAMESPACES = 20  # that are watched one by one: each of them takes a connection for each resource


class ClusterRefused(Exception):
    """A request about a cluster is refused. The message says what to do."""


@dataclass(frozen=True)
class Connection:
    """How a cluster is reached, as the columns of `Cluster` store it."""

    reference: dict[str, Any]
    secret: bytes | None = None


@dataclass(frozen=True)
class WatchOptions:
    """Which resources are watched and how much is kept (None: the default of the settings), and whether Events about
    incidents may be written into the cluster."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    keep_days: int | None = None
    keep_bytes: int | None = None
    write_events: bool = False
    namespaces: tuple[str, ...] = ()  # the only ones that are watched; none for all of them
    keep_incident_days: int | None = None
    keep_incident_minutes: int | None = None

    def __post_init__(self) -> None:
        days, minutes = self.keep_incident_days, self.keep_incident_minutes
        if days is not None and not 0 <= days <= KEEP_DAYS_AT_MOST:
            raise ClusterRefused(f"What is near incidents is kept for 0 to {KEEP_DAYS_AT_MOST} days, not {days}.")
        if minutes is not None and not 1 <= minutes <= INCIDENT_MINUTES_AT_MOST:
            raise ClusterRefused(f"Near an incident are 1 to {INCIDENT_MINUTES_AT_MOST} minutes, not {minutes}.")
        if self.keep_days is not None and not 1 <= self.keep_days <= KEEP_DAYS_AT_MOST:
            raise ClusterRefused(
                f"A cluster keeps at least 1 and at most {KEEP_DAYS_AT_MOST} days, not {self.keep_days}."
            )
        if self.keep_bytes is not None and not 1 <= self.keep_bytes <= KEEP_BYTES_AT_MOST:
            raise ClusterRefused(
                f"A cluster keeps at least 1 and at most {KEEP_BYTES_AT_MOST} bytes, not {self.keep_bytes}."
            )


def with_kubeconfig(kubeconfig: Kubeconfig, context: str = "", read: Read | None = None) -> Connection:
    """Return a connection by one context of a kubeconfig, encrypted. `read` reads the files that it names.

    Raise credentials.Unusable.
    """
    reduced = kubeconfig.reduced(context, read)
    chosen = kubeconfig.context(context)
    return Connection(_reference(credentials.STORED, chosen), credentials.seal(orjson.dumps(reduced)))


def with_kubeconfig_path(path: Path, context: str = "", *, programs_for: str = "") -> Connection:
    """Return a connection by a kubeconfig that stays in its file, on all machines with workers.

    Exec plugins in it may run there for the cluster named `programs_for`. Only the command line connects like this.
    Raise credentials.Unusable.
    """
    kubeconfig = credentials.kubeconfig_at(path)
    chosen = kubeconfig.context(context)
    # Check that it can be used now.
    kubeconfig.reduced(chosen.name, credentials.by_path().read, programs=bool(programs_for))
    reference = _reference(credentials.BY_PATH, chosen, str(path))
    if programs_for:
        reference["programs"] = exec_permissions.permission(programs_for, reference)
    return Connection(reference)


def _reference(how: str, chosen: Context, path: str = "") -> dict[str, Any]:
    reference = {"how": how, "path": path, "context": chosen.name, "server": chosen.server}
    return {**reference, "insecure": True} if chosen.insecure else reference


def in_cluster() -> Connection:
    """Return a connection to the cluster that the workers run in, by their ServiceAccount."""
    server = "https://kubernetes.default.svc"
    return Connection({"how": credentials.IN_CLUSTER, "path": "", "context": "", "server": server})


def by_collector() -> Connection:
    """Return a connection to a cluster that a collector inside it watches, so that nothing here connects to it."""
    return Connection({"how": credentials.BY_COLLECTOR, "path": "", "context": "", "server": ""})


def resources(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of resources as kubectl takes them, once each. Raise Refused for invalid names and Secrets."""
    found = tuple(dict.fromkeys(each.strip().lower() for each in names if each.strip()))
    for each in found:
        if not _RESOURCE.fullmatch(each):
            raise ClusterRefused(
                f"{each} is not a resource name; write its plural and its group, such as jobs.batch.volcano.sh."
            )
        if each in _NEVER:
            raise ClusterRefused("Secrets are never watched.")
    return found


def namespaces(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of namespaces, sorted and once each. Raise Refused for invalid names, and for too many."""
    found = tuple(sorted({each.strip() for each in names if each.strip()}))
    for each in found:
        if not _NAMESPACE.fullmatch(each):
            raise ClusterRefused(
                f"{each[:70]} is not the name of a namespace: write it in small letters, digits and hyphens."
            )
    if len(found) > MOST_NAMESPACES:
        raise ClusterRefused(
            f"At most {MOST_NAMESPACES} namespaces can be watched one by one, not {len(found)}. For more, watch all of"
            " them: that needs rights in the whole cluster."
        )
    return found


def connect(name: str, way: Connection, wanted: WatchOptions) -> Cluster:
    """Store a cluster, which a worker then starts to watch. Raise Refused if the name is taken, or if Events are to be
    written into a cluster that nothing connects to.

    If a cluster of this name is connected by the same path, only its permission to run exec plugins is renewed.
    """
    name = name.strip()
    if not name or len(name) > NAME_LENGTH or not name.isprintable():
        raise ClusterRefused(f"Give the cluster a name of at most {NAME_LENGTH} characters.")
    _refuse_events(way.reference, wanted)
    with transaction.atomic():
        cluster, new = Cluster.objects.get_or_create(
            name=name, defaults={"reference": way.reference, "secret": way.secret, **_option_columns(wanted)}
        )
        if not new and _same_path(cluster.reference, way.reference):
            cluster.reference = way.reference
            cluster.save(update_fields=["reference"])
        elif not new:
            raise ClusterRefused(
                f"A cluster named {name} is already connected. Choose another name, or disconnect that one first."
            )
        notify.notify(cluster=cluster.pk)
    return cluster


def _same_path(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two references are the same context of the same kubeconfig by its path."""
    return one.get("how") == credentials.BY_PATH and all(
        one.get(field) == other.get(field) for field in ("how", "path", "context")
    )


def keep(cluster: Cluster, given: Mapping[str, int | None]) -> None:
    """Change how much of a cluster is kept: the fields of `WatchOptions` that are given, None for the default of the
    settings, and nothing else. Raise Refused."""
    WatchOptions(**given)  # type: ignore[arg-type]
    _write(cluster, **given)


def change(cluster: Cluster, wanted: WatchOptions) -> None:
    """Change what is watched of a cluster and how much is kept; its worker is notified. What a collector watches is for
    the collector to say. Raise Refused if Events are to be written into a cluster that nothing connects to."""
    _refuse_events(cluster.reference, wanted)
    columns = _option_columns(wanted)
    if cluster.reference.get("how") == credentials.BY_COLLECTOR:
        columns = {name: value for name, value in columns.items() if name not in ("include", "exclude", "namespaces")}
    _write(cluster, **columns)


def _refuse_events(reference: dict[str, Any], wanted: WatchOptions) -> None:
    if wanted.write_events and reference.get("how") == credentials.BY_COLLECTOR:
        raise ClusterRefused(
            "Causeline does not connect to a cluster that a collector watches, so it can write no Events there."
        )


def set_connection(cluster: Cluster, way: Connection) -> None:
    """Store new credentials, or another address of the same cluster."""
    _write(cluster, reference=way.reference, secret=way.secret)


def pause(cluster: Cluster) -> None:
    """Stop watching a cluster until it is resumed; the time between is shown as a gap."""
    _write(cluster, paused=True)


def resume(cluster: Cluster) -> None:
    """Watch a paused cluster again."""
    _write(cluster, paused=False)


def disconnect(cluster: Cluster, *, delete: bool = False) -> None:
    """Stop watching a cluster and forget it in a minute, until which `undo` connects it again. Its recordings stay,
    unless `delete` is set. Raise OperationalError if its worker still writes."""
    deletion.delete_cluster(cluster.pk, sources=delete)


def undo(cluster_id: int) -> bool:
    """Connect a cluster again that was disconnected less than a minute ago; return False if that is too late.

    Raise Refused if another cluster has its name now.
    """
    try:
        return deletion.restore_cluster(cluster_id)
    except deletion.NameTaken as error:
        raise ClusterRefused(str(error)) from None


def reencrypt_secrets() -> int:
    """Encrypt stored credentials and sign permissions with the first key; return how many credentials there were.

    Raise credentials.Unusable.
    """
    with transaction.atomic():
        for cluster in Cluster.objects.select_for_update().filter(secret=None):
            if exec_permissions.allowed(cluster.name, cluster.reference):
                cluster.reference["programs"] = exec_permissions.permission(cluster.name, cluster.reference)
                cluster.save(update_fields=["reference"])
        return credentials.renew(Cluster.objects.all())


def _option_columns(wanted: WatchOptions) -> dict[str, Any]:
    return {
        "include": list(resources(wanted.include)),
        "exclude": list(resources(wanted.exclude)),
        "keep_days": wanted.keep_days,
        "keep_bytes": wanted.keep_bytes,
        "write_events": wanted.write_events,
        "namespaces": list(namespaces(wanted.namespaces)),
        "keep_incident_days": wanted.keep_incident_days,
        "keep_incident_minutes": wanted.keep_incident_minutes,
    }


def _write(cluster: Cluster, **columns: Any) -> None:
    with transaction.atomic():
        if not Cluster.objects.filter(pk=cluster.pk).update(**columns):
            raise ClusterRefused(f"{cluster.name} is not connected any more.")
        notify.notify(cluster=cluster.pk)
    cluster.refresh_from_db()

"""This module connects, changes, pauses and disconnects clusters. Workers read the row, and are notified of changes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson
from django.db import transaction

from collectors.watch import credentials, exec_permissions
from timeline.models import KEEP_BYTES_AT_MOST, KEEP_DAYS_AT_MOST, Cluster, Source
from timeline.storage import notify, store

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from collectors.watch.kubeconfig import Context, Kubeconfig, Read

NAME_LENGTH = 100  # its sources are called so, with a number
_RESOURCE = re.compile(r"(\*\.|[a-z][a-z0-9-]*(\.|$))([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?")
_NEVER = {"secrets"}
_PATIENCE = 10  # seconds for whoever still reads or writes what is deleted


class Refused(Exception):
    """It cannot be done so; the message says what to do."""


@dataclass(frozen=True)
class Connection:
    """How a cluster is reached, as `Cluster` keeps it."""

    reference: dict[str, Any]
    secret: bytes | None = None


@dataclass(frozen=True)
class WatchOptions:
    """What of a cluster is watched besides or not, and how much of it is kept; None: as the settings say."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    keep_days: int | None = None
    keep_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.keep_days is not None and not 1 <= self.keep_days <= KEEP_DAYS_AT_MOST:
            raise Refused(f"A cluster keeps at least 1 and at most {KEEP_DAYS_AT_MOST} days, not {self.keep_days}.")
        if self.keep_bytes is not None and not 1 <= self.keep_bytes <= KEEP_BYTES_AT_MOST:
            raise Refused(f"A cluster keeps at least 1 and at most {KEEP_BYTES_AT_MOST} bytes, not {self.keep_bytes}.")


def with_kubeconfig(kubeconfig: Kubeconfig, context: str = "", read: Read | None = None) -> Connection:
    """One context of a kubeconfig, encrypted. `read` reads the files that it names. Raises credentials.Unusable."""
    reduced = kubeconfig.reduced(context, read)
    chosen = kubeconfig.context(context)
    return Connection(_reference(credentials.STORED, chosen), credentials.seal(orjson.dumps(reduced)))


def with_kubeconfig_path(path: Path, context: str = "", *, programs_for: str = "") -> Connection:
    """A kubeconfig that stays where it is, on all machines with workers. Programs that it names may run there for the
    cluster of the name `programs_for`.

    Only the command line connects so. Raises credentials.Unusable.
    """
    kubeconfig = credentials.kubeconfig_at(path)
    chosen = kubeconfig.context(context)
    kubeconfig.reduced(chosen.name, credentials.by_path().read, programs=bool(programs_for))  # it can be used now
    reference = _reference(credentials.BY_PATH, chosen, str(path))
    if programs_for:
        reference["programs"] = exec_permissions.permission(programs_for, reference)
    return Connection(reference)


def _reference(how: str, chosen: Context, path: str = "") -> dict[str, Any]:
    reference = {"how": how, "path": path, "context": chosen.name, "server": chosen.server}
    return {**reference, "insecure": True} if chosen.insecure else reference


def in_cluster() -> Connection:
    """The cluster that the workers run in, by their ServiceAccount."""
    server = "https://kubernetes.default.svc"
    return Connection({"how": credentials.IN_CLUSTER, "path": "", "context": "", "server": server})


def resources(names: Iterable[str]) -> tuple[str, ...]:
    """Names of resources as kubectl takes them, each once. Raises Refused."""
    found = tuple(dict.fromkeys(each.strip().lower() for each in names if each.strip()))
    for each in found:
        if not _RESOURCE.fullmatch(each):
            raise Refused(f"{each} is no resource; write its plural and its group, such as jobs.batch.volcano.sh.")
        if each in _NEVER:
            raise Refused("Secrets are never watched.")
    return found


def connect(name: str, way: Connection, wanted: WatchOptions) -> Cluster:
    """A worker takes it up by itself. Raises Refused where the name is taken.

    A cluster that is connected by the same path already gets the permission to run programs anew, and nothing else
    of it changes.
    """
    name = name.strip()
    if not name or len(name) > NAME_LENGTH or not name.isprintable():
        raise Refused(f"Give the cluster a name of at most {NAME_LENGTH} characters.")
    with transaction.atomic():
        cluster, new = Cluster.objects.get_or_create(
            name=name, defaults={"reference": way.reference, "secret": way.secret, **_option_columns(wanted)}
        )
        if not new and _same_path(cluster.reference, way.reference):
            cluster.reference = way.reference
            cluster.save(update_fields=["reference"])
        elif not new:
            raise Refused(f"A cluster {name} is connected already. Choose another name, or disconnect that one first.")
        notify.notify(cluster=cluster.pk)
    return cluster


def _same_path(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.get("how") == credentials.BY_PATH and all(
        one.get(field) == other.get(field) for field in ("how", "path", "context")
    )


def change(cluster: Cluster, wanted: WatchOptions) -> None:
    """What is watched of it and kept; its worker notices."""
    _write(cluster, **_option_columns(wanted))


def set_connection(cluster: Cluster, way: Connection) -> None:
    """New credentials, or another address of the same cluster."""
    _write(cluster, reference=way.reference, secret=way.secret)


def pause(cluster: Cluster) -> None:
    """Nothing is watched until it is resumed; what was missed is a gap then."""
    _write(cluster, paused=True)


def resume(cluster: Cluster) -> None:
    _write(cluster, paused=False)


def disconnect(cluster: Cluster, *, delete: bool = False) -> None:
    """No longer watched. What was seen of it stays as recordings, unless that is deleted, too.

    Its worker finds no lease to renew, and so writes nothing more.
    """
    sources = _delete_cluster(cluster)
    for source in sources:
        if delete or not source.ready:
            store.discard_source(source, patience=_PATIENCE)
            notify.notify(source=source.pk)


def reencrypt_secrets() -> int:
    """Encrypt what is stored with the first key, and sign permissions with it; how many credentials were encrypted.

    Raises credentials.Unusable.
    """
    with transaction.atomic():
        for cluster in Cluster.objects.select_for_update().filter(secret=None):
            if exec_permissions.allowed(cluster.name, cluster.reference):
                cluster.reference["programs"] = exec_permissions.permission(cluster.name, cluster.reference)
                cluster.save(update_fields=["reference"])
        kept = list(Cluster.objects.select_for_update().exclude(secret=None))
        for cluster in kept:
            assert cluster.secret is not None
            cluster.secret = credentials.renewed(bytes(cluster.secret))
            cluster.save(update_fields=["secret"])
    return len(kept)


def _delete_cluster(cluster: Cluster) -> list[Source]:
    """Locks are taken in the order in which its worker takes them when it commits."""
    with transaction.atomic():
        Cluster.objects.select_for_update().filter(pk=cluster.pk).first()
        sources = list(Source.objects.select_for_update().filter(cluster=cluster.pk).order_by("pk"))
        when = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        Source.objects.filter(cluster=cluster.pk, ended="").update(ended=f"The cluster was disconnected on {when}.")
        Cluster.objects.filter(pk=cluster.pk).delete()
        notify.notify(cluster=cluster.pk)
        for source in sources:
            notify.notify(source=source.pk)
    return sources


def _option_columns(wanted: WatchOptions) -> dict[str, Any]:
    return {
        "include": list(resources(wanted.include)),
        "exclude": list(resources(wanted.exclude)),
        "keep_days": wanted.keep_days,
        "keep_bytes": wanted.keep_bytes,
    }


def _write(cluster: Cluster, **columns: Any) -> None:
    with transaction.atomic():
        if not Cluster.objects.filter(pk=cluster.pk).update(**columns):
            raise Refused(f"{cluster.name} is not connected any more.")
        notify.notify(cluster=cluster.pk)
    cluster.refresh_from_db()

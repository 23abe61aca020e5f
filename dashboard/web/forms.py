"""Read the forms of the cluster pages. Credentials never return to the browser unencrypted."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import orjson
from django.core.files.uploadedfile import UploadedFile

from collectors.watch.server import connections, credentials
from collectors.watch.server.connections import ClusterRefused, Connection, WatchOptions
from collectors.watch.server.files import MOST_BYTES
from collectors.watch.server.kubeconfig import Context, Kubeconfig

if TYPE_CHECKING:
    from django.http import HttpRequest

    from timeline.payloads.clusters import ClusterPayload

_VALID = 3600  # seconds, for what was sealed between two pages
UNITS = {"MB": 1000**2, "GB": 1000**3, "TB": 1000**4}


@dataclass(frozen=True)
class ClusterForm:
    """The fields as they were filled in. `sealed` is a whole kubeconfig, encrypted, that the browser sends back."""

    name: str = ""
    how: str = credentials.STORED
    kubeconfig: bytes = b""
    sealed: str = ""
    context: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    keep_days: str = ""
    keep_size: str = ""
    keep_unit: str = "GB"
    incident_days: str = ""
    incident_minutes: str = ""
    write_events: bool = False
    contexts: tuple[Context, ...] = ()

    @classmethod
    def of(cls, request: HttpRequest) -> ClusterForm:
        form = request.POST
        file = request.FILES.get("file")
        given = form.get("kubeconfig", "").strip().encode()
        if isinstance(file, UploadedFile):
            given = file.read(MOST_BYTES + 1)
        return cls(
            name=form.get("name", "").strip(),
            how=form.get("how", credentials.STORED),
            kubeconfig=given,
            sealed="" if given else form.get("sealed", ""),
            context=form.get("context", "").strip(),
            include=_words(form.get("include", "")),
            exclude=_words(form.get("exclude", "")),
            namespaces=_words(form.get("namespaces", "")),
            keep_days=form.get("keep_days", "").strip(),
            keep_size=form.get("keep_size", "").strip(),
            keep_unit=form.get("keep_unit", "GB"),
            incident_days=form.get("incident_days", "").strip(),
            incident_minutes=form.get("incident_minutes", "").strip(),
            write_events="write_events" in form,
        )

    @classmethod
    def of_cluster(cls, cluster: ClusterPayload) -> ClusterForm:
        size = cluster["keep_bytes"]
        fitting = [name for name, each in UNITS.items() if size and size % each == 0]
        unit = fitting[-1] if fitting else "MB" if size else "GB"
        return cls(
            name=cluster["name"],
            how=cluster["how"],
            context=cluster["context"],
            include=tuple(cluster["include"]),
            exclude=tuple(cluster["exclude"]),
            namespaces=tuple(cluster["namespaces"]),
            keep_days=str(cluster["keep_days"] or ""),
            keep_size=f"{size / UNITS[unit]:.15g}" if size else "",
            keep_unit=unit,
            incident_days=_text(cluster["keep_incident_days"]),
            incident_minutes=_text(cluster["keep_incident_minutes"]),
            write_events=cluster["write_events"],
        )

    @property
    def gives_credentials(self) -> bool:
        return bool(self.kubeconfig or self.sealed)

    def connection(self) -> Connection:
        """Return how the cluster is reached. Raises Refused, and credentials.Unusable."""
        match self.how:
            case credentials.IN_CLUSTER:
                return connections.in_cluster()
            case credentials.BY_COLLECTOR:
                return connections.by_collector()
            case credentials.BY_PATH:
                raise ClusterRefused(
                    "Only the command line connects a kubeconfig by its path: `causeline connect --by-path`."
                )
            case credentials.STORED:
                return connections.with_kubeconfig(Kubeconfig(self._content()), self.context)
        raise ClusterRefused("Choose how the cluster is reached.")

    def watch_options(self) -> WatchOptions:
        """Return what to watch and how long to keep it. Raises Refused."""
        days = _number(self.keep_days, "days")
        size = _number(self.keep_size, self.keep_unit)
        unit = UNITS.get(self.keep_unit, 1)
        longer, near = _number(self.incident_days, "days"), _number(self.incident_minutes, "minutes")
        return WatchOptions(
            connections.resources(self.include),
            connections.resources(self.exclude),
            int(days) if days is not None else None,
            round(size * unit) if size is not None else None,
            self.write_events,
            connections.namespaces(self.namespaces),
            keep_incident_days=None if longer is None else int(longer),
            keep_incident_minutes=None if near is None else int(near),
        )

    def with_sealed(self, way: Connection) -> ClusterForm:
        """Return the form for the next page, with the contexts to choose from and the encrypted kubeconfig."""
        chosen = replace(self, context=way.reference["context"], kubeconfig=b"")
        if self.how == credentials.STORED:
            content = self._content()
            sealed = credentials.seal(orjson.dumps(content.decode(errors="replace"))).decode()
            return replace(chosen, sealed=sealed, contexts=tuple(Kubeconfig(content).contexts()))
        return chosen

    def include_or_none(self) -> tuple[str, ...]:
        return _sound(self.include)

    def exclude_or_none(self) -> tuple[str, ...]:
        return _sound(self.exclude)

    def namespaces_or_none(self) -> tuple[str, ...]:
        """Return nothing if one of the names is not valid."""
        try:
            return connections.namespaces(self.namespaces)
        except ClusterRefused:
            return ()

    def _content(self) -> bytes:
        if self.kubeconfig:
            return self.kubeconfig
        if self.sealed:
            kubeconfig: str = orjson.loads(credentials.unseal(self.sealed.encode(errors="replace"), _VALID))
            return kubeconfig.encode()
        raise ClusterRefused("Paste a kubeconfig, or choose its file.")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())


def _sound(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return nothing if one of the names is not a valid resource."""
    try:
        return connections.resources(names)
    except ClusterRefused:
        return ()


def _text(number: int | None) -> str:
    return "" if number is None else str(number)


def _number(text: str, unit: str) -> float | None:
    if not text:
        return None
    try:
        if math.isfinite(number := float(text)):
            return number
    except ValueError:
        pass
    raise ClusterRefused(f"{text[:20]} is not a number of {unit}.")

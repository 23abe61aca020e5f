"""Live incidents, routes and destinations in the database, for tests of what is sent on."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from dashboard.access import encryption
from dashboard.models import Delivery, Destination, Route
from tests.rows.fleet import USUAL
from timeline.models import Cluster, Incident, NoticedIncident, Source, Symptom

SECRET = "a-secret-of-the-tests-0123456789"


def live_source(name: str = "prod") -> Source:
    """Return a source that a cluster feeds."""
    cluster = Cluster.objects.create(name=name)
    source = Source.objects.create(name=name, ready=True, cluster=cluster, last=timezone.now())
    cluster.source = source
    cluster.save()
    return source


def incident(source: Source, identity: str = "a" * 16, at: datetime | None = None, **values: Any) -> Incident:
    """Store an incident as it is now, and have the routes asked about it."""
    at = at or timezone.now()
    given = USUAL | {"first": at, "last": at, "worst": identity}
    Incident.objects.update_or_create(source=source, identity=identity, defaults=given | values)
    NoticedIncident.objects.update_or_create(source=source, identity=identity, defaults={"at": at})
    return Incident.objects.get(source=source, identity=identity)


def symptom(source: Source, identity: str, of: str, **values: Any) -> Symptom:
    """Store a symptom of an incident."""
    row = Incident.objects.get(source=source, identity=identity)
    fields = {field.name for field in Symptom._meta.concrete_fields if field.column} - {"source"}
    own = {name: value for name, value in vars(row).items() if name in fields}
    given = own | {"incident": identity, "identity": of, "count": 1, "place": 0, **values}
    return Symptom.objects.create(source=source, **given)


def over(source: Source, identity: str = "a" * 16) -> None:
    """Let the last occurrence of an incident be so long ago that it is over."""
    then = timezone.now() - timedelta(minutes=6)
    Incident.objects.filter(source=source, identity=identity).update(last=then, first=then, open=False)


def destination(url: str, kind: str = "webhook", name: str = "") -> Destination:
    config = {"url": url, "secret": SECRET} if kind == "webhook" else {"url": url}
    return Destination.objects.create(name=name or kind, kind=kind, sealed=encryption.encrypted(config))


def route(*destinations: Destination, name: str = "all", **values: Any) -> Route:
    given: dict[str, Any] = {
        "place": 1,
        "since": timezone.now() - timedelta(hours=1),
        "rank": 2,
        "changes": ["began", "worse", "over"],
        "grouping": ["source", "rule", "namespace"],
        "wait_seconds": 0,
    }
    made = Route.objects.create(name=name, **given | values)
    made.destinations.set(destinations)
    return made


def sent(state: str = "sent") -> list[str]:
    """Return what was reported by the deliveries in this state, in order."""
    rows = Delivery.objects.filter(state=state).order_by("pk")
    return [f"{each['change']}{' again' if each['again'] else ''}" for row in rows for each in row.messages]

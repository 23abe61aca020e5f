"""This module reads lists of incidents, from pages and the API, and lets incidents go on or be silent, for tests."""

import re
from typing import Any

from django.test import Client

from tests.clients.markup import without_times
from tests.database.storage.sources import asked
from timeline.models import Finding, Incident, Source
from timeline.storage.judged import incidents

TITLE = re.compile(r'<th scope="row"><a href="([^"]+)">.*?</span>([^<]+)</a>', re.DOTALL)
GAP = "Service ring was away under 3 Pods, 2 times, and 1 more symptom of the same cause"


def page(client: Client, address: str, **query: Any) -> str:
    answer = client.get(address, query)
    assert answer.status_code == 200, answer.content
    return without_times(answer.content.decode())


def titles(client: Client, address: str, **query: Any) -> list[str]:
    return [title for _, title in TITLE.findall(page(client, address, **query))]


def of(source: Source) -> str:
    return f"/sources/{source.pk}/incidents/"


def gap_of(source: Source) -> Incident:
    return Incident.objects.get(source=source, rule="service-gap")


def listed(client: Client, source: Source, **query: Any) -> Any:
    return asked(client, source, "incidents", **query)


def rules(client: Client, source: Source, **query: Any) -> list[str]:
    return sorted(rule for row in listed(client, source, **query)["incidents"] for rule in row["rules"])


def silence(client: Client, status: int = 201, **matchers: Any) -> Any:
    """Ask the API for a silence with these matchers."""
    answer = client.post("/api/silences", {"reason": "known", **matchers}, content_type="application/json")
    assert answer.status_code == status, answer.content
    return answer.json()


def worsen(incident: Incident) -> None:
    """Let the worst finding of an incident be an error."""
    graver = Finding.objects.get(source=incident.source, identity=incident.worst)
    graver.document["severity"] = "error"
    graver.save()
    incidents.write(incident.source, [incident.identity])


def happen(incident: Incident, *times: int) -> None:
    """Let an incident occur again at these times."""
    again = Finding.objects.get(source=incident.source, identity=incident.worst)
    last = again.occurrences[-1]
    again.occurrences += [{**last, "group": f"at {time}", "first": time, "last": time + 1} for time in times]
    again.save()
    incidents.write(incident.source, [incident.identity])

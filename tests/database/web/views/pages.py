"""These functions read pages and answers about the objects of the sample."""

import json
from typing import Any

from django.test import Client

from tests.clients.markup import without_times
from timeline.models import Source, Track


def track_of(source: Source, kind: str, name: str, life: int = 0) -> Track:
    return Track.objects.filter(source=source, kind=kind, name=name, namespace="vol-restart").order_by("life")[life]


def page_text(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, answer.content
    return without_times(answer.content.decode())


def asked(client: Client, source: Source, path: str, status: int = 200) -> Any:
    answer = client.get(f"/api/sources/{source.pk}/{path}")
    assert answer.status_code == status, answer.content
    return json.loads(answer.content)

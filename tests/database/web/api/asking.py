"""These functions ask the API as a program does, and read its refusals."""

import json
from typing import Any

from django.conf import settings
from django.test import Client

from timeline.models import Upload

OCTETS = "application/octet-stream"


def problem(answer: Any, status: int) -> str:
    """Return title and detail of a problem document with this status."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    payload = json.loads(answer.content)
    assert payload["status"] == status
    return f"{payload['title']}: {payload['detail']}"


def post(client: Client, content: bytes, name: str = "audit.zst", **options: Any) -> Any:
    query = {"name": name}
    return client.generic("POST", "/api/uploads", content, OCTETS, query_params=query, **options)


def nothing_was_kept() -> bool:
    return not Upload.objects.exists() and not any(settings.UPLOAD_DIR.glob("*"))

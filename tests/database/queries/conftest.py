"""These fixtures are for tests of several folders here."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client


@pytest.fixture
def silence(client: Client) -> Callable[..., Any]:
    """Return a function that asks the API for a silence with these matchers, and returns its answer."""

    def make(status: int = 201, **matchers: Any) -> Any:
        answer = client.post("/api/silences", {"reason": "known", **matchers}, content_type="application/json")
        assert answer.status_code == status, answer.content
        return answer.json()

    return make

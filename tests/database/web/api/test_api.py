"""These tests check whom the HTTP API refuses, and that it refuses what it does not know."""

import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from django.test import Client
from pytest_django import Settings

from dashboard.web.api import api
from tests.database.web.api.asking import OCTETS, nothing_was_kept, post, problem
from tests.inputs.recordings import SAMPLE
from tests.rows.people import member
from timeline.models import Silence, Source

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_uploads")]
CONTENT = SAMPLE.read_bytes()


def token(client: Client) -> dict[str, str]:
    """Return the header with the CSRF token, as a page sends it."""
    client.get("/")
    return {"X-CSRFToken": client.cookies["causeline_csrf"].value}


def test_only_our_own_pages_may_change_something(sample: Source) -> None:
    strict, where = Client(enforce_csrf_checks=True), f"/api/sources/{sample.pk}"
    assert "does not come from a page of Causeline" in problem(post(strict, CONTENT), 403)
    own = token(strict)
    wrong, elsewhere = own | {"X-CSRFToken": "x" * 32}, own | {"Origin": "https://evil.example"}
    for answer in (
        post(strict, CONTENT, headers=wrong),
        post(strict, CONTENT, headers=elsewhere),
        strict.delete(where),
        strict.patch(where, "{}", "application/json"),
        strict.post("/api/uploads/1/cancel", content_type=OCTETS),
    ):
        assert problem(answer, 403)
    assert nothing_was_kept()
    assert strict.get(f"{where}/overview").status_code == 200
    assert post(strict, CONTENT, headers=own).status_code == 201


def test_another_host_name_is_refused(client: Client, sample: Source) -> None:
    answer = client.get(f"/api/sources/{sample.pk}/overview", headers={"Host": "rebound.example"})
    assert answer.status_code == 400


def test_where_people_sign_in_the_api_answers_strangers_itself(settings: Settings, sample: Source) -> None:
    settings.LOGIN_REQUIRED = True
    place = settings.MIDDLEWARE.index("django.contrib.auth.middleware.AuthenticationMiddleware") + 1
    required = "django.contrib.auth.middleware.LoginRequiredMiddleware"
    settings.MIDDLEWARE = [*settings.MIDDLEWARE[:place], required, *settings.MIDDLEWARE[place:]]
    client, where = Client(), f"/api/sources/{sample.pk}"
    for answer in (
        client.get(f"{where}/window"),
        client.patch(where, "{}", "application/json"),
        client.delete(where),
        post(client, CONTENT),
        client.get("/api/uploads/1"),
    ):
        assert problem(answer, 401).startswith("You are signed out")
    assert client.get("/api/openapi.json")["Location"].startswith("/login/?next=/api/")
    assert nothing_was_kept() and Source.objects.filter(pk=sample.pk).exists()


def test_who_signed_in_may_do_all_from_our_own_pages(settings: Settings, sample: Source) -> None:
    settings.LOGIN_REQUIRED = True
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(member("responder", name="sre"))
    assert strict.get(f"/api/sources/{sample.pk}/overview").status_code == 200
    assert problem(post(strict, CONTENT), 403)
    assert post(strict, CONTENT, headers=token(strict)).status_code == 201


def _bodies(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return a body that has only what a schema requires."""
    schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if "anyOf" in schema:
        return _bodies(schema["anyOf"][0], definitions)
    match schema.get("type"):
        case "object":
            return {name: _bodies(schema["properties"][name], definitions) for name in schema.get("required", ())}
        case "array":
            return [_bodies(schema["items"], definitions)] * schema.get("minItems", 0)
        case "string":
            return "x"
    return schema.get("minimum", 1)


def _each_operation(source: Source) -> Iterator[tuple[str, str, Any]]:
    """Yield method, address and body of each operation but those that receive alerts. It has what is required."""
    schema = api.get_openapi_schema()
    definitions = schema["components"]["schemas"]
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            if path.startswith("/api/receivers/"):  # forms of other programs, which add fields
                continue
            address = path.replace("{source_id}", str(source.pk)).replace("{identity}", "0" * 16)
            address = re.sub(r"{\w+}", "1", address)
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            found = content["schema"] if content else None
            all_of_them = {**definitions, **(found or {}).get("$defs", {})}
            yield method.upper(), address, None if found is None else _bodies(found, all_of_them)


def test_each_operation_refuses_what_it_does_not_know(client: Client, sample: Source) -> None:
    Silence.objects.all().delete()
    asked = 0
    for method, address, body in _each_operation(sample):
        if address == "/api/resolve":  # its parameters are the labels of an alert
            continue
        sent = [(f"{address}?namespce=a", b"", "namespce")]
        if method != "GET" and body is not None:
            sent.append((address, orjson.dumps({**body, "cluster_id": 1}), "cluster_id"))
        elif method != "GET" and "/files/" not in address:
            sent.append((address, b'{"namespace": "a"}', "takes no body"))
        for where, content, words in sent:
            found = client.generic(method, where, content, "application/json")
            assert found.status_code == 422 and words in found.json()["detail"], (method, where, found.content)
        asked += 1
    assert asked > 60 and not Silence.objects.exists()
    assert client.get("/api/sources?namespce=a", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200


@pytest.mark.parametrize(
    ("path", "method", "field"),
    [
        ("/api/sources/{source_id}/acknowledgements", "post", "acknowledged"),
        ("/api/sources/{source_id}/baseline", "put", "incidents"),
    ],
)
def test_answers_that_count_are_documented_each_with_its_own_field(path: str, method: str, field: str) -> None:
    schema = api.get_openapi_schema()
    answer = schema["paths"][path][method]["responses"][200]["content"]["application/json"]["schema"]
    name = answer["$ref"].rpartition("/")[2]
    assert list(schema["components"]["schemas"][name]["properties"]) == [field]


def test_a_silence_with_a_field_that_is_not_meant_silences_nothing(client: Client) -> None:
    usual = {"reason": "x", "rule": "x"}
    for name, value in (
        *(("cluster", 1), ("Rule", "x"), ("source", True), ("source", "1"), ("rule", 1), ("rule", ["x"])),
        *(("hours", "2"), ("hours", True), ("reason", None)),
    ):
        found = client.post("/api/silences", {**usual, name: value}, "application/json")
        assert found.status_code == 422 and not Silence.objects.exists(), (name, value)

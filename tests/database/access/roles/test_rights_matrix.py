"""These tests ask each page and each operation of the API as people with different roles, about a source that they see
and about one that they do not, and compare the answers with what the table of needs says. The addresses are made from
the table of URLs, so that a new route without a need fails here."""

import argparse
import contextlib
import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.management import get_commands
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, resolve
from pytest_django import DjangoDbBlocker

from dashboard import urls
from dashboard.access.roles import grants, needs, policy
from dashboard.agents.api import Api, Caller
from dashboard.agents.reader import QuestionRefused
from dashboard.asgi import websocket
from dashboard.cli.__main__ import _parser
from dashboard.push.consumers import IncidentsConsumer, SourceConsumer, UploadsConsumer
from dashboard.web.api import api
from tests.database.access.asking import bearer, issued, signed_in
from tests.properties import sampled
from tests.rows.people import grant, member
from timeline.history.world.world import World
from timeline.models import Cluster, Source
from timeline.pipeline import ingest
from timeline.storage import store

pytestmark = pytest.mark.django_db
_PARTS = {"identity": "a0", "rule_id": "none", "log": "1", "track_id": "9", "sequence": "1", "number": "9"}
_JSON: dict[str, Any] = {"data": "{}", "content_type": "application/json"}
REFUSED = "This needs the role"
NO_ROLE = "You have no role yet"  # what the first page says to whoever has none


def routes(patterns: Any, before: str = "") -> Iterator[str]:
    """Return each route."""
    for each in patterns:
        if isinstance(each, URLResolver):
            yield from routes(each.url_patterns, before + str(each.pattern))
        elif isinstance(each, URLPattern):
            yield before + str(each.pattern)


ROUTES = set(routes(urls.urlpatterns))
OPERATIONS = {
    path[1:].replace("{", "<").replace("}", ">"): [method for method in methods if method != "parameters"]
    for path, methods in api.get_openapi_schema()["paths"].items()
}


class Things(NamedTuple):
    """These are two sources of a cluster each. The first one is seen, where somebody sees only one."""

    seen: Source
    hidden: Source


@pytest.fixture(scope="module")
def things(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Things]:
    made = []
    with django_db_blocker.unblock():
        for name in ("seen", "hidden"):
            source = store.open_source(name)
            ingest(source, World(), [])
            store.show_source(source)
            Source.objects.filter(pk=source.pk).update(cluster=Cluster.objects.create(name=name))
            made.append(Source.objects.get(pk=source.pk))
    yield Things(*made)
    with django_db_blocker.unblock():
        for each in made:
            store.discard_source(each)
        Cluster.objects.filter(name__in=Things._fields).delete()


class Person(NamedTuple):
    """This is the role of somebody on everything, on all of one source, and on a part of it."""

    everywhere: str = ""
    whole: str = ""
    part: str = ""

    def on(self, on: str, *, about_one: bool, seen: bool) -> str:
        """Return the role on what is needed; `about_one` says that the path names a source or a cluster."""
        here = self if seen or not about_one else Person(self.everywhere)
        if about_one:
            return grants.highest(here.everywhere, here.whole, here.part if on == needs.PART else "")
        return grants.highest(*self) if on == needs.ANYTHING else self.everywhere

    def client(self, things: Things) -> Client:
        """Return the browser of this person."""
        user = member(self.everywhere)
        if self.whole or self.part:
            grant(user, self.whole or self.part, on=things.seen.cluster, namespaces=["a"] if self.part else [])
        return signed_in(user, raise_request_exception=False)


PEOPLE = [
    *(Person(role) for role in ("", *grants.ROLES)),
    Person(whole="viewer"),
    Person(whole="responder"),
    Person(whole="editor"),
    Person(part="viewer"),
    Person(part="responder"),
    Person(everywhere="viewer", whole="responder"),
    Person(everywhere="viewer", part="responder"),
]


def asked(route: str, thing: Source) -> str:
    """Return an address of a route about a source or its cluster."""
    values = _PARTS | {"source_id": str(thing.pk), "cluster_id": str(thing.cluster_id), "upload_id": "9"}
    for name, value in values.items():
        for kind in ("", "int:", "slug:"):
            route = route.replace(f"<{kind}{name}>", value)
    assert "<" not in route
    return f"/{route}"


def methods_of(route: str) -> list[str]:
    return OPERATIONS.get(route, ["get", "post"])


def test_each_route_has_a_need_and_each_need_a_route() -> None:
    assert set(needs.NEEDS) == ROUTES


@pytest.mark.parametrize(
    "person", sampled(PEOPLE, 6), ids=lambda each: "-".join(filter(None, each)) + str(each.index(max(each)))
)
def test_each_role_is_let_in_where_the_table_says(person: Person, things: Things) -> None:
    client = person.client(things)
    wrong = []
    for route, rule in needs.NEEDS.items():
        about_one = "source_id" in route or "cluster_id" in route
        for thing in things if about_one else things[:1]:
            for method in methods_of(route):
                need = rule.read if method.upper() in policy.SAFE else rule.change
                if not need.role:
                    continue
                seen = thing == things.seen
                wanted = 200
                if not any(person):
                    wanted = 403
                elif about_one and not person.on(needs.PART, about_one=True, seen=seen):
                    wanted = 404
                elif not grants.reaches(person.on(need.on, about_one=about_one, seen=seen), need.role):
                    wanted = 403
                with transaction.atomic():
                    answer = client.generic(method.upper(), asked(route, thing), **_JSON)
                    transaction.set_rollback(True)
                text = "" if answer.streaming else answer.content.decode()
                refused = answer.status_code == 403 and (REFUSED in text or (route == "" and NO_ROLE in text))
                as_wanted = {
                    200: not refused and answer.status_code < 500,
                    403: refused,
                    404: answer.status_code == 404,
                }
                if not as_wanted[wanted]:
                    wrong.append((method, route, seen, wanted, answer.status_code, text[:80]))
    assert not wrong, "\n".join(map(str, wrong))


def test_nobody_is_let_in_without_signing_in(things: Things) -> None:
    client = Client(raise_request_exception=False)
    for route, rule in needs.NEEDS.items():
        for method in methods_of(route):
            if (rule.read if method.upper() in policy.SAFE else rule.change).role:
                answer = client.generic(method.upper(), asked(route, things.seen), **_JSON)
                assert answer.status_code in (302, 401), (method, route)


def test_a_route_without_a_need_is_refused(things: Things, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Person("admin").client(things)
    for route in ("alerts/", "api/alerts"):
        assert client.get(f"/{route}").status_code == 200
        monkeypatch.delitem(needs.NEEDS, route)
        assert client.get(f"/{route}").status_code == 403


def test_a_refusal_names_the_role_that_is_needed_and_who_gives_it(things: Things) -> None:
    def says(person: Person, path: str) -> str:
        return person.client(things).get(path).content.decode()

    text = says(Person("viewer"), "/routes/new")
    assert "This needs the role editor on everything; your role is viewer." in text and "Administrators" in text
    assert "This needs the role viewer; you have no role yet." in says(Person(), "/clusters/")
    assert NO_ROLE in says(Person(), "/")
    path = f"/sources/{things.seen.pk}/delete/"
    assert "needs the role editor on this recording or cluster; your role is viewer." in says(Person("viewer"), path)
    part = says(Person(part="responder"), path)
    assert "needs the role editor on all of this recording or cluster; you have no role on all of" in part


@pytest.mark.parametrize("limited", [False, True])
def test_a_token_reads_what_the_table_lets_a_viewer_read(limited: bool, things: Things) -> None:
    text = issued("read", source=things.seen if limited else None)
    client = Client(headers=bearer(text), raise_request_exception=False)
    wrong = []
    for route, methods in OPERATIONS.items():
        rule = needs.NEEDS[route]
        for thing in things if "source_id" in route else things[:1]:
            for method in methods:
                reads = method.upper() in policy.SAFE
                if not (rule.read if reads else rule.change).role:
                    continue
                answer = client.generic(method.upper(), asked(route, thing), **_JSON)
                reaches = reads and grants.reaches("viewer", rule.read.role) and not (limited and thing != things.seen)
                if answer.status_code >= 500 or (answer.status_code == 403) == reaches:
                    listed = limited and "source_id" not in route and answer.status_code == 403
                    if not listed:  # a limited token reads no lists over all sources
                        wrong.append((method, route, thing.name, answer.status_code))
    assert not wrong


def test_sockets_have_needs_and_open_for_whoever_has_a_role(things: Things) -> None:
    """A socket about a source that is not seen opens, and tells that there is none (see `test_leaks`)."""
    for person in PEOPLE:
        user = User.objects.get(pk=person.client(things).session["_auth_user_id"])
        for consumer in (UploadsConsumer, IncidentsConsumer, SourceConsumer):
            for thing in things:
                assert policy.may_listen(user, consumer.route, thing.pk) == any(person), (person, consumer)
    routes_of_sockets = {str(getattr(each, "pattern", each)) for each in websocket.routes}
    assert set(needs.SOCKETS) == routes_of_sockets


def test_tools_for_models_ask_only_for_what_viewers_read() -> None:
    asked_for = set()

    def answer(request: httpx.Request) -> httpx.Response:
        asked_for.add(resolve(request.url.path).route)
        return httpx.Response(404, json={"detail": "none"})

    reader = Api(lambda: Caller("http://testserver", "Bearer none"), httpx.MockTransport(answer))
    given: dict[str, Any] = {"source": 1, "identity": "a" * 16, "track": 1, "words": "a", "asked": {}}

    async def ask_all() -> None:
        for name, method in inspect.getmembers(reader, inspect.iscoroutinefunction):
            if not name.startswith("_"):
                with contextlib.suppress(QuestionRefused):
                    await method(**{each: given[each] for each in inspect.signature(method).parameters})

    async_to_sync(ask_all)()
    assert len(asked_for) > 10
    assert {needs.NEEDS[route].read.role for route in asked_for} <= {"", "viewer"}


def test_each_command_is_said_to_need_the_server_or_not() -> None:
    (commands,) = [each for each in _parser()._actions if isinstance(each, argparse._SubParsersAction)]
    assert set(commands.choices) == needs.ON_THE_SERVER | needs.ELSEWHERE
    assert not needs.ON_THE_SERVER & needs.ELSEWHERE
    assert {name for name, app in get_commands().items() if app == "dashboard"} == needs.MANAGEMENT

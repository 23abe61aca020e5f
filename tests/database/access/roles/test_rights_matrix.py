"""These tests ask each page and each operation of the API as people with different roles, about a source that they see
and about one that they do not, and compare the answers with what its view declares. The addresses are made from the
table of URLs, so that a view that declares nothing fails here."""

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
from django.urls import ResolverMatch, resolve
from pytest_django import DjangoDbBlocker

from dashboard.access.roles import grants, needs, policy
from dashboard.agents.api import Api, Caller
from dashboard.agents.reader import QuestionRefused
from dashboard.asgi import websocket
from dashboard.cli.__main__ import _parser
from dashboard.push.consumers import IncidentsConsumer, SourceConsumer, UploadsConsumer
from dashboard.web.api import api
from tests.database.access.asking import bearer, declared, issued, signed_in
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


DECLARED = declared()
NO_ROLES = ("anybody", "signed in")
OPERATIONS = {
    path[1:].replace("{", "<").replace("}", ">"): [method.upper() for method in methods if method != "parameters"]
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
        if about_one and on != "everything":
            return grants.highest(here.everywhere, here.whole, here.part if on == "part" else "")
        return grants.highest(*self) if on == "part" else self.everywhere

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


def asking() -> Iterator[tuple[str, str, needs.Need]]:
    """Yield each method and route with what it needs."""
    for route, methods in DECLARED.items():
        yield from ((method, route, need) for method, need in methods.items() if method != "HEAD")


def test_each_page_and_each_operation_declares_what_it_needs() -> None:
    assert not [route for route, methods in DECLARED.items() if not methods]
    methods = [(method, route) for route, methods in OPERATIONS.items() for method in methods]
    assert len(methods) > 60 and not [each for each in methods if each[0] not in DECLARED[each[1]]]


@pytest.mark.parametrize(
    "person", sampled(PEOPLE, 6), ids=lambda each: "-".join(filter(None, each)) + str(each.index(max(each)))
)
def test_each_role_is_let_in_where_the_table_says(person: Person, things: Things) -> None:
    client = person.client(things)
    wrong = []
    for method, route, need in asking():
        if need.role in NO_ROLES:
            continue
        about_one = "source_id" in route or "cluster_id" in route
        for thing in things if about_one else things[:1]:
            seen = thing == things.seen
            wanted = 200
            if not any(person):
                wanted = 403
            elif about_one and not person.on("part", about_one=True, seen=seen):
                wanted = 404
            elif not grants.reaches(person.on(need.on, about_one=about_one, seen=seen), need.role):
                wanted = 403
            with transaction.atomic():
                answer = client.generic(method, asked(route, thing), **_JSON)
                transaction.set_rollback(True)
            text = "" if answer.streaming else answer.content.decode()
            refused = answer.status_code == 403 and (REFUSED in text or (route == "" and NO_ROLE in text))
            as_wanted = {
                200: not refused and answer.status_code not in (405, *range(500, 600)),
                403: refused,
                404: answer.status_code == 404,
            }
            if not as_wanted[wanted]:
                wrong.append((method, route, seen, wanted, answer.status_code, text[:80]))
    assert not wrong, "\n".join(map(str, wrong))


def test_nobody_is_let_in_without_signing_in(things: Things) -> None:
    client = Client(raise_request_exception=False)
    for method, route, need in asking():
        if need.role != "anybody":
            answer = client.generic(method, asked(route, things.seen), **_JSON)
            assert answer.status_code in (302, 401), (method, route)


def test_what_declares_nothing_is_refused(things: Things, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Person("admin").client(things)
    for route in ("alerts/", "api/alerts"):
        assert client.get(f"/{route}").status_code == 200
        monkeypatch.setitem(resolve(f"/{route}").func.__dict__, needs._DECLARED, {})
        assert client.get(f"/{route}").status_code == 403
    assert not policy.may_listen(User.objects.get(pk=client.session["_auth_user_id"]), None)


def test_a_method_that_is_not_declared_is_not_answered(things: Things) -> None:
    client = Person("admin").client(things)
    for route, methods in DECLARED.items():
        for method in {"GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"} - methods.keys():
            assert client.generic(method, asked(route, things.seen)).status_code == 405, (method, route)


def test_an_operation_that_changes_something_has_to_declare_that() -> None:
    def read(request: object) -> None: ...

    def address(request: object) -> None: ...

    needs.gather(address, dict.fromkeys(("GET", "PUT"), needs.to_read("viewer", action=None)(read)))
    assert list(needs.declared(ResolverMatch(address, (), {}))) == ["GET"]


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
        for thing in things if "source_id" in route else things[:1]:
            for method in methods:
                need = DECLARED[route][method]
                if need.role in NO_ROLES:
                    continue
                answer = client.generic(method, asked(route, thing), **_JSON)
                reads = method in needs.SAFE and grants.reaches("viewer", need.role)
                reaches = reads and not (limited and thing != things.seen)
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
                assert policy.may_listen(user, consumer.need, thing.pk) == any(person), (person, consumer)
    sockets: list[Any] = [*websocket.routes]
    assert {each.callback.consumer_class.need.role for each in sockets} == {"viewer", "anybody"}


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
    assert {DECLARED[route]["GET"].role for route in asked_for} <= {"signed in", "viewer"}


# Commands ask for no role. These need the settings of the server, with which one can read and change the database:
ON_THE_SERVER = {
    "up", "demo", "token", "import", "export", "pull", "usage", "retention", "keep", "hold", "unhold", "connect",
    "clusters", "disconnect", "delete", "undo", "pause", "resume", "createuser", "grant", "revoke", "rights",
    "tokens", "audit-trail", "unlock", "deactivate", "activate", "reset-totp", "backup", "restore", "manage",
}  # fmt: skip
# These commands do not use the database. They read files or a cluster, or ask a server with an access token, which
# then decides by the rights of the token:
ELSEWHERE = {
    "analyze", "report", "compare", "changes", "sql", "replay", "record", "collect", "mcp", "rules", "schema", "policy",
}  # fmt: skip


def test_each_command_is_said_to_need_the_server_or_not() -> None:
    (commands,) = [each for each in _parser()._actions if isinstance(each, argparse._SubParsersAction)]
    assert set(commands.choices) == ON_THE_SERVER | ELSEWHERE and not ON_THE_SERVER & ELSEWHERE
    assert {name for name, app in get_commands().items() if app == "dashboard"} == {"causeline", "migrate"}

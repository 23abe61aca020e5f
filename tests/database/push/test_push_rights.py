"""These tests check that sockets tell readers of some namespaces only what they may see, once for all who see the same,
and that a socket ends when its reader gets other roles."""

import json
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from dashboard.access.tokens import tokens
from dashboard.models import Grant
from dashboard.push import hub as hubs
from dashboard.push.consumers import OTHER_RIGHTS
from dashboard.push.hub import Hub, hub
from tests.database.push.sockets import Page, cookie_of, in_a_loop, listening, next_in, notify, opened
from tests.inputs.recordings import SAMPLE, entries_of
from tests.rows.following import Followed
from tests.rows.people import grant, member
from timeline.core.entries import Entry
from timeline.models import Cluster, Delta, Finding, Incident, Source, Track, Upload
from timeline.storage.permitted.limits import EVERYTHING, Permitted

pytestmark = pytest.mark.django_db(transaction=True)
QUIET, RESTART = "vol-quiet", "vol-restart"  # namespaces of the sample
ENTRIES = sorted(entries_of(SAMPLE), key=lambda entry: entry.received)


@pytest.fixture(autouse=True)
def accounts(settings: Settings) -> None:
    settings.LOGIN_REQUIRED, settings.TOKEN_REQUIRED = True, False


def of_namespace(name: str) -> list[Entry]:
    return [each for each in ENTRIES if each.ref.namespace == name]


async def news_until(page: Page, sequence: int) -> list[Any]:
    """Return the messages of a page up to the delta with this sequence."""
    found = []
    while True:
        message = await page.news()
        found.append(message)
        assert message["type"] != "refetch"
        if message["type"] == "delta" and message["sequence"] >= sequence:
            return found


def words_of(source: Source, namespace: str, without: str) -> set[str]:
    """Return the names and UIDs of the objects of a namespace, except names that another namespace has, too."""
    tracks = Track.objects.filter(source=source)
    other = {name for name, uid in tracks.filter(namespace=without).values_list("name", "uid")}
    mine = {word for row in tracks.filter(namespace=namespace).values_list("name", "uid") for word in row if word}
    return {word for word in mine if not any(word in name for name in other)} | {namespace}


def test_a_reader_of_one_namespace_hears_nothing_of_another() -> None:
    live = Followed()
    held_back = of_namespace(QUIET)[-20:]
    hidden_only = of_namespace(RESTART)[-5:]
    live.commit([each for each in ENTRIES[:300] if each not in held_back and each not in hidden_only])
    cookies = {
        QUIET: cookie_of(member("viewer", on=live.cluster, namespaces=[QUIET])),
        RESTART: cookie_of(member("viewer", on=live.cluster, namespaces=[RESTART])),
        "": cookie_of(member("viewer", on=live.cluster)),
    }
    reported: dict[str, list[Any]] = {}
    lists: dict[str, list[Any]] = {}
    rest = [each for each in ENTRIES[300:] if each not in held_back and each not in hidden_only]

    @in_a_loop
    async def scenario() -> None:
        cursor = live.source.sequence
        path = f"/ws/sources/{live.source.pk}/"
        pages = {name: await opened(path, f"cursor={cursor}", cookie=cookie) for name, cookie in cookies.items()}
        incidents = {name: await opened("/ws/incidents/", cookie=cookie) for name, cookie in cookies.items()}
        assert len(hub._feeds) == 3
        commit = sync_to_async(live.commit)
        for begin in range(0, len(rest), 200):
            last = await commit(rest[begin : begin + 200])
        reported[""] = await news_until(pages[""], last)
        last = await commit(hidden_only)
        reported[""] += await news_until(pages[""], last)
        reported[RESTART] = await news_until(pages[RESTART], last)
        last = await commit(held_back)
        reported[QUIET] = await news_until(pages[QUIET], last)
        for name, page in incidents.items():
            await notify(source=live.source.pk, incidents=1, namespaces=[name or "any"])
            lists[name] = [await page.news()]
            while lists[name][-1]["type"] != "incidents" or (name == "" and len(lists[name]) < 3):
                lists[name].append(await page.news())
        for page in (*pages.values(), *incidents.values()):
            await page.leave()

    scenario()
    text = {name: json.dumps(messages) for name, messages in reported.items()}
    hidden = words_of(live.source, RESTART, QUIET)
    assert len(hidden) > 20
    assert not [word for word in hidden if word in text[QUIET]]
    assert not [word for word in hidden if word in json.dumps(lists[QUIET])]
    assert len([word for word in hidden if word in text[RESTART]]) > 20
    assert RESTART in text[""] and QUIET in text[""]
    deltas = {name: [each for each in messages if each["type"] == "delta"] for name, messages in reported.items()}
    for name in (QUIET, RESTART):
        lanes = {tail["lane"] for delta in deltas[name] for tail in delta["tracks"]} - {f"Namespace//{name}"}
        assert {lane.split("/")[1] for lane in lanes} == {name}
        assert next(each["entries"] for each in reported[name] if each["type"] == "health") == 0
    assert all(each["tracks"] or each["findings"] or each["incidents"] for each in deltas[QUIET])
    of_source = Incident.objects.filter(source=live.source)
    seen = {each.identity for each in of_source if each.namespaces and {*each.namespaces} <= {RESTART}}
    sent = {each["id"] for delta in deltas[RESTART] for each in delta["incidents"]}
    assert sent <= seen and sent & seen
    assert lists[QUIET][-1] == {"type": "incidents", "source": live.source.pk}


def test_what_involves_another_namespace_since_then_goes_from_the_page() -> None:
    live = Followed()
    live.commit(ENTRIES)
    seen = Permitted(namespaces={live.source.pk: frozenset([RESTART])})
    found = Finding.objects.filter(source=live.source, namespaces=[RESTART]).first()
    assert found

    def batch(**changed: Any) -> None:
        """Write a batch by which the incident of the finding involves another namespace."""
        Incident.objects.filter(source=live.source, identity=found.incident).update(
            namespaces=[RESTART, QUIET], namespace=QUIET
        )
        about = {"tracks": [], "findings": [], "gone": [], "incidents": [found.incident], **changed}
        sequence = live.tell()
        Delta.objects.filter(source=live.source, sequence=sequence).update(changed=about)

    async def messages(cursor: int) -> bytes:
        async with Hub().follow(live.source.pk, cursor, seen) as queue:
            while b'"health"' in (message := await next_in(queue)):
                pass
        return message

    @in_a_loop
    async def scenario() -> None:
        cursor = live.source.sequence
        await sync_to_async(batch)(involved={found.incident: [RESTART]})
        message = json.loads(await messages(cursor))
        assert (message["incidents"], message["incidents_gone"]) == ([], [found.incident])
        cursor = live.source.sequence
        await sync_to_async(batch)()  # as a version writes that does not know of namespaces
        assert json.loads(await messages(cursor))["type"] == "refetch"

    scenario()


def test_all_who_see_the_same_share_one_feed_and_its_queries() -> None:
    live = Followed()
    live.commit(ENTRIES[:300])
    queries: list[str] = []

    def counted(execute: Any, sql: str, *rest: Any) -> Any:
        queries.append(sql)
        return execute(sql, *rest)

    sets = [EVERYTHING, *(Permitted(namespaces={live.source.pk: frozenset([name])}) for name in (QUIET, RESTART))]
    asked = {}

    @in_a_loop
    async def scenario() -> None:
        for sockets, part in ((3, slice(-20, -10)), (120, slice(-10, None))):
            shared = Hub()
            async with AsyncExitStack() as stack:
                cursor = live.source.sequence
                following = [shared.follow(live.source.pk, cursor, sets[index % 3]) for index in range(sockets)]
                queues = [await stack.enter_async_context(each) for each in following]
                assert len(shared._feeds) == 3
                last = await sync_to_async(live.commit)([*of_namespace(QUIET)[part], *of_namespace(RESTART)[part]])
                queries.clear()
                for queue in queues:
                    while (reported := json.loads(await next_in(queue)))["type"] != "delta" or reported[
                        "sequence"
                    ] < last:
                        pass
                asked[sockets] = len(queries)

    with connection.execute_wrapper(counted):
        scenario()
    assert asked[120] <= asked[3] + 20  # health, which is read every three seconds


@pytest.fixture
def source() -> Source:
    return Source.objects.create(name="prod", ready=True, cluster=Cluster.objects.create(name="prod"))


@pytest.fixture
def reader(source: Source) -> User:
    return member("viewer", on=source, namespaces=["a"])


@pytest.fixture
def cookie(reader: User) -> str:
    return cookie_of(reader)


@in_a_loop
async def test_a_socket_ends_when_its_reader_gets_other_roles(
    source: Source, reader: User, cookie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "CHECK", 0.05)

    @sync_to_async
    def team() -> Group:
        made = Group.objects.create(name="team")
        Grant.objects.create(group=made, role=Grant.Role.RESPONDER, source=source, created_by="a test")
        return made

    group, path = await team(), f"/ws/sources/{source.pk}/"
    changes = [
        lambda: grant(reader, "viewer", on=source, namespaces=["b"]),
        lambda: reader.groups.add(group),
        lambda: reader.groups.remove(group),
        lambda: Grant.objects.filter(user=reader, namespaces=["b"]).delete(),
    ]
    for change in changes:
        page, uploads = await opened(path, cookie=cookie), await opened(cookie=cookie)
        await sync_to_async(change)()
        assert [await each.code_of_end() for each in (page, uploads)] == [OTHER_RIGHTS] * 2
        for each in (page, uploads):
            await each.leave()
    page, incidents = await opened(path, cookie=cookie), await opened("/ws/incidents/", cookie=cookie)
    other = await sync_to_async(Source.objects.create)(name="other", ready=True)
    await sync_to_async(grant)(reader, "viewer", on=other)
    assert await incidents.code_of_end() == OTHER_RIGHTS
    await sync_to_async(User.objects.filter(pk=reader.pk).update)(is_active=False)
    assert await page.code_of_end() != OTHER_RIGHTS  # what concerns another source has not ended it
    for each in (page, incidents):
        await each.leave()


@in_a_loop
async def test_a_share_link_in_the_address_of_another_socket_widens_nothing(source: Source, cookie: str) -> None:
    page = await listening("/ws/incidents/", "view_token=anything", cookie=cookie)
    await notify(source=source.pk, incidents=1, namespaces=["b"])
    await notify(source=source.pk, incidents=1, namespaces=["a"])
    assert await page.news() == {"type": "incidents", "source": source.pk}
    await page.leave()


@in_a_loop
async def test_a_program_with_a_limited_token_hears_nothing_of_uploads_without_an_owner(source: Source) -> None:
    until = timezone.now() + timedelta(days=1)
    text, _ = await sync_to_async(tokens.issue)("ci", ["read"], expires=until, source=source, by="admin")
    page = await listening(authorization=f"Bearer {text}")
    for more in ({"name": "secret"}, {"name": "prod", "source": source}):
        await notify(upload=(await sync_to_async(Upload.objects.create)(**more)).pk)
    assert (await page.news())["upload"]["name"] == "prod"
    await page.leave()

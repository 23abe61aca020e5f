"""Log stores are pulled so that a window has each of its records once, whatever pages, faults and kills there are."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.formats import Skipped, read
from collectors.stores import all_kinds, cloud_logging, elasticsearch, log_analytics, loki, s3, service_accounts
from collectors.stores.kinds import Cursor, Kind, Store, StoreRefused, Transient, Window, configured
from tests.properties import examples
from tests.servers.stores import (
    AnalyticsServer,
    Answer,
    LoggingServer,
    LokiServer,
    Record,
    SearchServer,
    StoreServer,
    service_account,
    serving,
    tls_context,
)
from timeline.core.entries import Entry

BEGIN = 1_795_248_000_000_000_000  # nanoseconds; a whole second of 2026
WINDOW = Window(BEGIN // 1000 + 7, BEGIN // 1000 + 60_000_003)  # borders between milliseconds
SINCE, UNTIL = WINDOW.since * 1000, WINDOW.until * 1000
TIMES = [
    *(SINCE + by for by in (-1_000_000_000, -1_000_000, -7_000, -1_000, 0, 1_000, 2_000, 993_000, 1_000_000)),
    *(UNTIL + by for by in (-1_000_000, -3_000, -1_000, 0, 1_000, 1_000_000, 1_000_000_000)),
    BEGIN + 5_000_000_000,
    BEGIN + 5_000_000_000,  # twice, so that many records have this time
    BEGIN + 5_000_100_000,
    BEGIN + 30_000_000_000,
]
BUSY = Answer(429, {"error": {"code": 429, "message": "slow down", "type": "busy"}}, (("Retry-After", "0"),))
Opened = Callable[[], Store]


def stored(times: list[int]) -> list[Record]:
    digits = [f"{blake2b(b'%d' % place, digest_size=4).hexdigest()}-0000-{place:012x}" for place in range(len(times))]
    return [Record(time, audit_id) for time, audit_id in zip(times, digits, strict=True)]


def everything(open_store: Opened, window: Window, killed: Callable[[int], bool] = lambda page: False) -> list[bytes]:
    """Return the records of a window as a pull gets them that is killed after some pages."""
    store, found = open_store(), list[bytes]()
    cursor: Cursor | None = None
    for number in range(1_000):
        try:
            page = store.page(window, cursor)
        except Transient:
            continue
        found += page.records
        if page.cursor is None:
            store.close()
            return found
        cursor = json.loads(json.dumps(page.cursor))
        assert page.reached == 0 or window.since <= page.reached <= window.until
        if killed(number):
            store.close()
            store = open_store()
    raise AssertionError("the pull does not end")


def audit_ids(tmp_path: Path, records: list[bytes]) -> list[str]:
    """Return the auditIDs of records as the readers of recordings see them."""
    if not records:
        return []
    path = tmp_path / "pulled.jsonl"
    path.write_bytes(b"".join(each + b"\n" for each in records))
    found = list(read([(path, "pulled")], bodies=False))
    assert not [each for each in found if isinstance(each, Skipped)]
    return sorted(each.ref.uid for each in found if isinstance(each, Entry))


def opener(kind: str, **given: str) -> Opened:
    of = all_kinds()[kind]
    return lambda: of.open(configured(of, given, "prod", {}))


Served = tuple[StoreServer, Opened]


@pytest.fixture(
    scope="module", params=["loki", "cloud-logging", "log-analytics", "elasticsearch", "date", "opensearch"]
)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Yield a server of a store that gives few records at once, and a function that opens it."""
    name: str = request.param
    server: Any
    with pytest.MonkeyPatch.context() as patch:
        if name == "loki":
            with serving(LokiServer()) as server:
                server.most = 3
                yield server, opener("loki", url=server.url, query='{job="audit"}')
        elif name == "cloud-logging":
            with serving(LoggingServer()) as server:
                server.page = 3
                account = service_account(server.url)
                yield server, opener(name, project="p", endpoint=server.url, service_account=account)
        elif name == "log-analytics":
            context, authority = tls_context(tmp_path_factory.mktemp("tls"))
            patch.setenv("REQUESTS_CA_BUNDLE", str(authority))
            patch.setattr(log_analytics, "FIRST_STEP", 20_000_000)
            with serving(AnalyticsServer(context)) as server:
                server.most = 40
                secret = {"tenant": "tenant", "client_id": "c", "client_secret": "s", "workspace": "w"}
                addresses = {"endpoint": server.url, "authority": server.url, "table": "AzureDiagnostics"}
                yield server, opener(name, **secret, **addresses)
        else:
            patch.setattr(elasticsearch, "HITS", 3)
            with serving(SearchServer()) as server:
                server.flavour = "opensearch" if name == "opensearch" else "elasticsearch"
                server.nanos = name != "date"
                yield server, opener("elasticsearch", url=server.url, index="audit", flavour=server.flavour)


@examples(4)
@given(
    times=st.lists(st.sampled_from(TIMES), max_size=40),
    kills=st.sets(st.integers(0, 40)),
    busy=st.sets(st.integers(0, 20), max_size=3),
)
def test_a_window_has_each_of_its_records_once(
    served: Served, tmp_path_factory: pytest.TempPathFactory, times: list[int], kills: set[int], busy: set[int]
) -> None:
    server, open_store = served
    server.records = stored(times)
    server.faults = [BUSY for _ in busy]

    def killed(page: int) -> bool:
        if page in kills and isinstance(server, SearchServer):
            server.expire()
        return page in kills

    records = everything(open_store, WINDOW, killed)
    unit = 1 if not isinstance(server, SearchServer) or server.nanos else 1_000_000
    within = [each for each in server.records if SINCE <= each.time // unit * unit < UNTIL]
    assert audit_ids(tmp_path_factory.mktemp("records"), records) == sorted(each.audit_id for each in within)


def test_two_windows_beside_each_other_share_nothing_and_miss_nothing(served: Served, tmp_path: Path) -> None:
    server, open_store = served
    server.records, server.faults = stored(TIMES), []
    middle = (BEGIN + 5_000_000_000) // 1000
    parts = [Window(WINDOW.since - 1, middle), Window(middle, middle + 1), Window(middle + 1, WINDOW.until + 1)]
    whole = everything(open_store, Window(WINDOW.since - 1, WINDOW.until + 1))
    assert sorted(whole) == sorted(each for part in parts for each in everything(open_store, part))
    assert audit_ids(tmp_path, whole)


def test_what_it_costs_is_asked_for_before(served: Served) -> None:
    server, open_store = served
    server.records, server.faults = stored([SINCE, SINCE + 1_000_000, UNTIL]), []
    with closing(open_store()) as store:
        cost = store.cost(WINDOW)
    sizes = sum(len(each.event()) for each in server.records[:2])
    if isinstance(server, LokiServer | AnalyticsServer):
        assert (cost.scanned, cost.records) == (sizes, 2)
    elif isinstance(server, SearchServer):
        assert (cost.scanned, cost.records) == (None, 3)  # it counts the whole millisecond in which the window ends
    else:
        assert (cost.scanned, cost.records) == (None, None)
    assert cost.note


def test_a_refusal_says_what_the_service_says_and_one_that_is_away_may_come_back(served: Served) -> None:
    server, open_store = served
    server.records = stored([SINCE])
    denied = Answer(403, {"error": {"code": 403, "message": "no such right", "type": "denied"}})
    away = Answer(503, {"error": {"message": "away", "type": "away"}}, (("Retry-After", "7"),))
    server.faults = [denied, away]
    with closing(open_store()) as store:
        with pytest.raises(StoreRefused, match=r"403|denied|right"):
            store.page(WINDOW, None)
        with pytest.raises(Transient) as found:
            store.page(WINDOW, None)
    if not isinstance(server, SearchServer) or server.flavour == "elasticsearch":
        assert found.value.after == 7


def test_a_nanosecond_with_more_lines_than_an_answer_is_divided(tmp_path: Path) -> None:
    with serving(LokiServer()) as server:
        server.most = 9
        server.records = stored([SINCE + 1_000] * 100 + [SINCE + 2_000])
        records = everything(opener("loki", url=server.url, query='{job="audit"}'), WINDOW, lambda page: True)
        assert audit_ids(tmp_path, records) == sorted(each.audit_id for each in server.records)


def test_loki_gets_its_tenant_and_token_and_no_proxy_comes_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving(LokiServer()) as server:
        server.token = "of-the-tests"
        with closing(opener("loki", url=server.url, query="{}")()) as store, pytest.raises(StoreRefused, match="401"):
            store.page(WINDOW, None)
        with closing(opener("loki", url=server.url, query="{}", token="of-the-tests", tenant="t")()) as store:
            store.page(WINDOW, None)
        assert server.asked[-1].headers["X-Scope-Orgid"] == "t"


def test_shards_that_did_not_answer_are_asked_again() -> None:
    with serving(SearchServer()) as server:
        shards = {"total": 3, "successful": 2, "failed": 1}
        partial = {"hits": {"hits": []}, "_shards": shards, "timed_out": False}
        server.faults = [Answer(200, partial)]
        store = opener("elasticsearch", url=server.url, index="audit")()
        with closing(store), pytest.raises(Transient, match="1 of 3 shards"):
            store.page(WINDOW, None)


def test_a_lost_point_in_time_is_opened_again_within_one_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(elasticsearch, "HITS", 2)
    with serving(SearchServer()) as server:
        server.records = stored([SINCE + 1_000] * 7)
        store, found = opener("elasticsearch", url=server.url, index="audit")(), list[bytes]()
        cursor: Cursor | None = None
        for number in range(100):
            page = store.page(WINDOW, cursor)
            found += page.records
            if number in (0, 2):
                server.expire()
            if page.cursor is None:
                break
            cursor = page.cursor
        assert audit_ids(tmp_path, found) == sorted(each.audit_id for each in server.records)


def test_the_key_of_a_service_account_leads_to_google_alone_with_what_is_needed_of_it() -> None:
    for uri in (
        "https://evil.example.org/token",
        "http://oauth2.googleapis.com/token",
        "https://oauth2.googleapis.com:8443/token",
        "https://evil.example.org\\@oauth2.googleapis.com/token",
        "https://logging.googleapis.com",
    ):
        key = json.dumps({"type": "service_account", "token_uri": uri})
        with pytest.raises(StoreRefused, match="token_uri"):
            opener("cloud-logging", project="p", service_account=key)()
        with pytest.raises(StoreRefused, match="token_uri"):
            opener("s3", url="gs://bucket/", service_account=key)()
    good = {"type": "service_account", "token_uri": "https://oauth2.googleapis.com/token", "project_id": "p"}
    assert service_accounts.service_account(json.dumps({**good, "universe_domain": "evil.example.org"})) == good


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example\\@logs.example.org:9200",
        "https://evil.example\\.logs.example.org",
        "https://logs.example.org\t.evil.example",
        "https://logs.example.org evil.example",
        "https://reader@logs.example.org",
        "https://reader:secret@logs.example.org",
        "https://logs.example.org:80:90",
        "https://logs.example.org:",
        "https://logs.example.org:70000",
        "https://logs%2eexample.org",
        "https://l\u00f6gs.example.org",
        "https://logs.example.org?@evil.example",
        "https://logs.example.org#@evil.example",
        "https:logs.example.org",
        "//logs.example.org",
        "ftp://logs.example.org",
        "https://[::1",
    ],
)
def test_an_address_that_clients_may_read_differently_is_refused(address: str) -> None:
    with pytest.raises(StoreRefused):
        configured(elasticsearch.KIND, {"url": address, "index": "audit"}, "prod", {})


def test_clients_get_the_address_that_was_checked() -> None:
    for address, used in (
        ("HTTPS://Logs.Example.org:9200/a/", "https://logs.example.org:9200/a/"),
        ("http://[2001:DB8::1]:80", "http://[2001:db8::1]:80"),
        ("https://logs.example.org", "https://logs.example.org"),
    ):
        assert configured(loki.KIND, {"url": address, "query": "{}"}, "prod", {})["url"] == used


@pytest.mark.parametrize("account", ["evil.example.org/", "evil.example.org#", "ab", "Upper", "logs\n"])
def test_the_name_of_a_storage_account_leads_to_azure_alone(account: str) -> None:
    given_fields = {"url": "abfs://logs/", "account": account, "account_key": "a2V5"}
    with pytest.raises(StoreRefused, match="storage account"):
        s3.KIND.open({**configured(s3.KIND, given_fields, "prod", {}), "account": account})


@pytest.mark.parametrize(
    ("given_fields", "words"),
    [
        ({"url": "https://loki"}, "needs the field query"),
        ({"url": "https://loki", "query": "{}", "colour": "red"}, "no field 'colour'"),
        ({"url": "https://loki\n", "query": "{}\x07"}, "cannot be printed"),
    ],
)
def test_what_is_wrong_in_a_configuration_is_said(given_fields: dict[str, str], words: str) -> None:
    with pytest.raises(StoreRefused, match=words):
        configured(all_kinds()["loki"], given_fields, "prod", {})


def test_a_field_can_come_from_the_environment_and_from_its_default() -> None:
    values = configured(loki.KIND, {"query": "{}"}, "prod", {"LOKI_ADDR": "https://loki"})
    assert (values["url"], values["query"], values["token"]) == ("https://loki", "{}", "")
    assert configured(all_kinds()["cloudwatch"], {}, "prod", {})["log_group"] == "/aws/eks/prod/cluster"
    assert all_kinds().keys() == {"cloudwatch", "cloud-logging", "log-analytics", "loki", "elasticsearch", "s3"}
    assert cloud_logging.KIND.field("cluster") is not None


@pytest.mark.parametrize(
    ("kind", "given", "minutes"),
    [
        (loki.KIND, {}, 15),
        (s3.KIND, {}, 60),
        (s3.KIND, {"margin_minutes": "90"}, 90),
        (s3.KIND, {"margin_minutes": "5"}, 15),
        (s3.KIND, {"margin_minutes": "soon"}, 15),
        (s3.KIND, {"margin_minutes": "1e300"}, 15),
    ],
)
def test_windows_overlap_by_as_much_as_records_may_be_late(kind: Kind, given: dict[str, str], minutes: int) -> None:
    assert kind.overlap(given, timedelta(minutes=15)) == timedelta(minutes=minutes)

"""Tests of the logs of programs in the database: import, reading, searching, and what becomes of them."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from msgspec.structs import replace

from collectors.formats import Limits, own
from collectors.uploads.recordings import Count, import_into
from dashboard.presentation.log_lines import open_about
from tests import DATA
from tests.database.storage.sources import asked
from tests.database.storage.sources import imported as from_files
from tests.inputs.recordings import lines_of as lines_in
from tests.inputs.recordings import observations_of
from tests.rows import stored
from tests.unit.formats.test_program_logs import PLANTED, SECRET
from timeline.core.entries import LogLine
from timeline.history.world.world import World
from timeline.models import Log, LogPage, Source
from timeline.queries.logs import lines as queries
from timeline.storage import logs, store
from timeline.storage.entries import chunks

pytestmark = pytest.mark.django_db
KUBE_VIP = DATA / "logs" / "kube-vip.log.zst"
NOON = 1_795_348_800_000_000  # 2026-11-22T12:00:00Z
IN_POD = "namespaces/shop/pods/web-0/app/app/logs/current.log"
Import = Callable[..., Source]


def pod(name: str, namespace: str = "shop", second: int = 0) -> str:
    about = {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}", "resourceVersion": str(10 + second)}
    about["creationTimestamp"] = f"2026-11-22T12:00:{second:02}Z"
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": {}, "status": {}})


def said(second: int, text: str, level: str = "info") -> str:
    return f'time="2026-11-22T12:00:{second:02}.5Z" level={level} msg="{text}"'


LOG = "\n".join([said(1, "about shop/web-0"), said(2, "nothing", "error"), said(3, "about shop/web-0 again")])


@pytest.fixture
def imported(tmp_path: Path) -> Import:
    """Return a function that imports files with this content, each of which may be given as lines."""

    def run(files: dict[str, str | Iterable[str]], source: Source | None = None) -> Source:
        source = source or store.open_source("test")
        paths = []
        for number, (name, content) in enumerate(files.items()):
            text = content if isinstance(content, str) else "\n".join(content)
            path = tmp_path / f"{number}"
            path.write_text(text, errors="surrogateescape")
            paths.append((path, name))
        import_into(source, paths, Limits(), Count())
        return source

    return run


def logs_of(client: Client, source: Source) -> list[Any]:
    found: list[Any] = asked(client, source, "logs")["logs"]
    return found


def lines_of(client: Client, source: Source, **query: Any) -> list[Any]:
    found: list[Any] = asked(client, source, "logs/lines", **query)["lines"]
    return found


def test_the_log_of_a_pod_belongs_to_its_lane_and_any_other_stands_alone(client: Client, imported: Import) -> None:
    other = "namespaces/shop/pods/gone/app/app/logs/current.log"
    source = imported({"pods.json": pod("web-0"), IN_POD: LOG, other: LOG, "kube-vip.log": LOG})
    found = {each["name"]: each for each in logs_of(client, source)}
    assert (found["shop/web-0/app"]["lane"], found["shop/web-0/app"]["label"]) == ("Pod/shop/web-0", "app")
    assert (found["shop/gone/app"]["lane"], found["shop/gone/app"]["label"]) == ("", "shop/gone/app")
    alone = found["kube-vip.log"]
    assert (alone["lane"], alone["track"], alone["lines"]) == ("", None, 3)
    assert (alone["first"], alone["last"]) == (NOON + 1_500_000, NOON + 3_500_000)


@pytest.mark.parametrize(("namespaces", "lane"), [(("shop",), "Pod/shop/web-0"), (("shop", "test"), "")])
def test_a_prefix_names_a_pod_only_if_one_has_its_name(
    client: Client, imported: Import, namespaces: tuple[str, ...], lane: str
) -> None:
    pods = (pod("web-0", namespace) for namespace in namespaces)
    source = imported({"pods.json": pods, "all.log": f"[pod/web-0/app] {LOG.splitlines()[0]}"})
    (found,) = logs_of(client, source)
    assert (found["name"], found["lane"]) == ("all.log web-0/app", lane)


def test_lines_that_are_close_share_a_mark_with_their_number_and_gravest_level(
    client: Client, imported: Import
) -> None:
    many = (said(number % 4, f"line {number}", "error" if number == 9 else "info") for number in range(1000))
    source = imported({"kube-vip.log": many})
    (log,) = logs_of(client, source)

    def marks(width: int) -> Any:
        (found,) = asked(client, source, "logs/marks", logs=log["log"], start=NOON, end=NOON + width)
        return found

    far, near = marks(10_000_000_000), marks(2_000_000)
    assert (far["time"], far["count"], far["level"]) == ([NOON + 500_000], [1000], [2])
    assert (near["count"], near["level"]) == ([250, 250], [0, 2])


def test_the_lines_about_an_object_are_those_that_surely_name_it(client: Client, imported: Import) -> None:
    pods = [pod("web-0"), pod("db", second=1), pod("db", "test", second=2)]
    texts = ["about shop/web-0", "about [web-0] alone", "about [db] of two", "shop/db"]
    source = imported({"pods.json": pods, "kube-vip.log": (said(at, text) for at, text in enumerate(texts))})
    about = {
        (each.namespace, each.name): [line["text"] for line in lines_of(client, source, about=each.id)]
        for each in source.track_set.filter(kind="Pod")
    }
    assert about == {("shop", "web-0"): texts[:2], ("shop", "db"): ["shop/db"], ("test", "db"): []}


def test_a_line_that_says_the_kind_is_about_no_other_object_of_the_name(client: Client, imported: Import) -> None:
    endpoints = json.loads(pod("web-0", second=1)) | {"kind": "Endpoints", "subsets": []}
    endpoints["metadata"]["uid"] = "other"
    lines = [said(1, 'Synced\\" pod=\\"shop/web-0'), said(2, "shop/web-0"), said(3, "pod=web-0 alone")]
    source = imported({"all.json": [pod("web-0"), json.dumps(endpoints)], "scheduler.log": lines})
    counts = {each.kind: len(lines_of(client, source, about=each.id)) for each in source.track_set.all()}
    assert counts == {"Pod": 3, "Endpoints": 1}
    (log,) = logs_of(client, source)
    assert [each["kind"] for each in asked(client, source, f"logs/{log['log']}/line", at=0)["objects"]] == ["Pod"]


def test_lines_are_paged_in_the_order_of_time_over_all_logs(client: Client, imported: Import) -> None:
    one, other = ((said(number // 10, f"{number}") for number in range(start, 600, 2)) for start in (0, 1))
    source = imported({"one.log": one, "other.log": other})
    found: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = asked(client, source, "logs/lines", limit=70, cursor=cursor)
        assert len(page["lines"]) <= 70 and page["scanned"] is None
        found, cursor = found + page["lines"], page["next"]
    assert len({(each["log"], each["sequence"]) for each in found}) == len(found) == 600
    assert [each["time"] for each in found] == sorted(each["time"] for each in found)
    assert len(lines_of(client, source, start=NOON + 500_000, end=NOON + 1_500_000)) == 20


def test_words_find_lines_whatever_their_case_and_characters(
    client: Client, imported: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = [said(1, 'Took \\"Überraschung\\"'), *(said(2, f"line {number}") for number in range(600))]
    source = imported({"kube-vip.log": text})
    for words, expected in (("über TOOK", 1), ('"überraschung"', 1), ("kube-vip", 0), ("line 599", 1)):
        assert len(lines_of(client, source, q=words)) == expected, words
    monkeypatch.setattr(queries, "SCANNED", 1)
    found = asked(client, source, "logs/lines", q="599")
    assert (found["lines"], found["scanned"]) == ([], 256)


def test_a_line_that_says_only_its_age_or_the_time_of_day_is_marked(client: Client, imported: Import) -> None:
    head = "LAST SEEN   TYPE      REASON    OBJECT      MESSAGE"
    row = "5m          Warning   BackOff   pod/web-0   Back-off restarting failed container"
    source = imported({"pods.json": pod("web-0"), "events.txt": [head, row]})
    (line,) = lines_of(client, source, q="back-off")
    assert (line["latest"], line["year_known"], line["zone_known"], line["level"]) == (True, True, True, "warning")
    time_of_day = "12:00:00.250 [main] INFO  c.e.Foo - about shop/web-0"
    (found,) = queries.lines(imported({"app.log": time_of_day, "pods.json": pod("web-0")}).pk)["lines"]
    assert (found["time"], found["date_known"], found["year_known"]) == (NOON + 250_000, False, False)
    assert open_about(found) == "without date and zone"


def test_a_line_has_its_clock_its_place_its_neighbours_and_the_objects_that_it_names(
    client: Client, imported: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "LINES", 4)
    monkeypatch.setattr(queries, "LINES", 4)
    plain = "2026/11/22 12:00:04 about shop/web-0 and shop/unknown"
    source = imported({"pods.json": pod("web-0"), IN_POD: [LOG, *[plain] * 9]})
    (log,) = logs_of(client, source)

    def line(status: int = 200, **query: int) -> Any:
        return asked(client, source, f"logs/{log['log']}/line", status, **query)

    seen: list[int] = []
    sequence = line(at=0)["sequence"]
    while sequence is not None:
        each = line(sequence=sequence)
        assert not seen or each["earlier"] is not None
        seen.append(each["number"])
        sequence = each["later"]
    assert seen == list(range(1, 13))
    assert (each["zone_known"], each["file"], each["line"], each["total"]) == (False, IN_POD, 12, 12)
    assert [(one["kind"], one["namespace"], one["name"]) for one in each["objects"]] == [("Pod", "shop", "web-0")]
    assert each["lane"] == "Pod/shop/web-0"
    assert line(at=NOON + 2_000_000)["text"] == "nothing"
    line(404, sequence=999999)
    asked(client, source, "logs/99/line", 404)


def test_the_lines_that_prove_a_finding_are_found_where_they_were_read(client: Client, imported: Import) -> None:
    about = {"name": "app2", "namespace": "shopfront", "uid": "u", "resourceVersion": "9"}
    about["creationTimestamp"] = "2026-11-22T06:19:30Z"
    service = json.dumps({"apiVersion": "v1", "kind": "Service", "metadata": about, "spec": {}})
    source = imported({"services.json": service, "kube-vip.log": (raw.decode() for raw in lines_in(KUBE_VIP))})
    found = next(each for each in asked(client, source, "findings")["findings"])
    lines = asked(client, source, "logs/proof", finding=found["key"])
    assert [each["line"] for each in lines] == [each["line"] for each in found["proof"]]
    assert "local endpoint(s)" in lines[0]["text"] and "will update" in lines[1]["text"]
    assert all(each["text"] in found["why"] for each in lines)
    (log,) = logs_of(client, source)
    assert {each["log"] for each in lines} == {log["log"]}
    assert asked(client, source, "logs/proof", finding="0" * 16) == []


def test_a_log_alone_is_imported_and_tells_which_time_it_covers(client: Client, imported: Import) -> None:
    source = imported({"kube-vip.log": LOG})
    overview = asked(client, source, "overview")
    assert (overview["first"], overview["last"]) == (NOON + 1_500_000, NOON + 3_500_000)
    rules = asked(client, source, "coverage")["rules"]
    assert {each["verdict"] for each in rules} == {"not"}
    assert "audit log" in next(each["remedy"] for each in rules if each["rule"] == "consumer-order")
    assert client.get(f"/sources/{source.pk}/coverage/").status_code == 200
    store.discard_source(source)
    assert not Log.objects.exists() and not LogPage.objects.exists()


def test_pages_follow_from_what_is_stored_however_often_it_is_read(imported: Import, tmp_path: Path) -> None:
    source = imported({"pods.json": pod("web-0"), IN_POD: LOG})
    entries, before = source.entries, queries.lines(source.pk)["lines"]
    imported({IN_POD: LOG}, source)
    assert queries.lines(source.pk)["lines"] == before
    imported({IN_POD: [LOG, said(0, "earlier")]}, source)
    now = [each["text"] for each in queries.lines(source.pk)["lines"]]
    assert now == ["earlier", *(each["text"] for each in before)]
    source.refresh_from_db()
    assert source.entries == entries  # a line is no change
    exported = tmp_path / "exported.jsonl"
    exported.write_bytes(b"".join(own.write(chunks.observations(source.pk))))
    assert [each["text"] for each in queries.lines(from_files(exported).pk)["lines"]] == now


def test_a_live_source_keeps_the_pages_whose_lines_its_worker_has_forgotten() -> None:
    source = stored.opened()
    lines = [LogLine("log", NOON + number, f"line {number}") for number in range(400)]
    world = World()
    list(world.learn(lines))
    logs.write(source, world)
    later = World()
    later._ledger.remembered = NOON + 300
    list(later.learn([*lines[300:], replace(lines[0], time=NOON + 500, text="new")]))
    logs.write(source, later)
    found = queries.lines(source.pk, limit=500)["lines"]
    assert [each["text"] for each in found] == [*(line.text for line in lines), "new"]


def test_a_real_log_takes_few_bytes_and_is_judged_with_other_evidence(tmp_path: Path) -> None:
    path = tmp_path / "services.json"
    path.write_text(json.dumps(json.loads(pod("app2", "shopfront")) | {"kind": "Service"}))
    source = from_files(path, KUBE_VIP)
    (finding,) = source.finding_set.all()
    assert (finding.rule, finding.document["subject"]["name"]) == ("consumer-order", "app2")
    count = sum(isinstance(each, LogLine) for each in observations_of(KUBE_VIP))
    pages = list(LogPage.objects.filter(source=source))
    assert sum(page.count for page in pages) == count
    assert sum(len(page.lines) + len(page.times) for page in pages) < 40 * count


def test_the_page_of_an_object_lists_the_lines_that_name_it_and_the_search_finds_them(
    client: Client, imported: Import
) -> None:
    texts = [f"<b>about</b> shop/web-0, number {number:02}" for number in range(60)]
    lines = (said(number, text) for number, text in enumerate(texts))
    source = imported({"pods.json": [pod("web-0"), pod("db", second=1)], "kube-vip.log": lines})
    pages = {each.name: f"/sources/{source.pk}/objects/{each.id}/" for each in source.track_set.filter(kind="Pod")}
    page = client.get(pages["web-0"]).content.decode()
    assert "&lt;b&gt;about&lt;/b&gt; shop/web-0, number 49" in page and "number 50" not in page
    later = page.partition('href="?lines=')[2].partition("#")[0]
    page = client.get(f"{pages['web-0']}?lines={later}").content.decode()
    assert "number 50" in page and "number 49" not in page and "?lines=" not in page
    assert 'id="lines"' not in client.get(f"{pages['db']}?lines=x").content.decode()
    found = asked(client, source, "search", q="About number 07")
    assert [each["text"] for each in found["lines"]] == [texts[7]]
    assert not found["objects"]


def test_no_credential_of_a_log_is_stored(imported: Import) -> None:
    imported({"pods.json": pod("web-0"), "kube-vip.log": [*PLANTED, LOG]})
    content = stored.everything()
    assert "again" in content and SECRET[:8] not in content


def test_hostile_lines_are_shown_as_text(client: Client, imported: Import) -> None:
    lines = [said(1, f"<script>x</script> \u202e \u0007 \udc80 shop/web-0 {'x' * 50_000}"), said(2, "shop/web-0 ok")]
    source = imported({"pods.json": pod("web-0"), f"logs/<b>{IN_POD}": lines})
    found = queries.lines(source.pk)["lines"]
    assert len(found) == 2 and max(len(each["text"]) for each in found) <= 1000
    assert "<script>" in found[0]["text"] and "\ufffd" in found[0]["text"]
    page = client.get(f"/sources/{source.pk}/objects/{source.track_set.get(kind='Pod').id}/").content.decode()
    assert "shop/web-0 ok" in page and "<script>x" not in page and "<b>namespaces" not in page

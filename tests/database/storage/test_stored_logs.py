"""Tests of the logs of programs in the database: import, reading, searching, and what becomes of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from msgspec.structs import replace

from collectors.formats import Limits, NotARecording, own
from collectors.uploads.recordings import Count, import_into
from dashboard.presentation.log_lines import open_about
from tests import DATA
from tests.recordings import observations_of
from tests.stored import everything, opened
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


def pod(name: str, namespace: str = "shop", second: int = 0) -> str:
    about = {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}", "resourceVersion": str(10 + second)}
    about["creationTimestamp"] = f"2026-11-22T12:00:{second:02}Z"
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": {}, "status": {}})


def said(second: int, text: str, level: str = "info") -> str:
    return f'time="2026-11-22T12:00:{second:02}.5Z" level={level} msg="{text}"'


Import = Callable[..., Source]


@pytest.fixture
def imported(tmp_path: Path) -> Import:
    def run(files: dict[str, str], source: Source | None = None) -> Source:
        source = source or store.open_source("test")
        paths = []
        for number, (name, content) in enumerate(files.items()):
            path = tmp_path / f"{number}"
            path.write_text(content, errors="surrogateescape")
            paths.append((path, name))
        import_into(source, paths, Limits(), Count())
        return source

    return run


LOG = "\n".join([said(1, "about shop/web-0"), said(2, "nothing", "error"), said(3, "about shop/web-0 again")])
IN_POD = "namespaces/shop/pods/web-0/app/app/logs/current.log"


def asked(client: Client, source: Source, path: str = "") -> Any:
    answer = client.get(f"/api/sources/{source.pk}/logs{path}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_the_log_of_a_pod_belongs_to_its_lane_and_any_other_stands_alone(client: Client, imported: Import) -> None:
    other = "namespaces/shop/pods/gone/app/app/logs/current.log"
    source = imported({"pods.json": pod("web-0"), IN_POD: LOG, other: LOG, "kube-vip.log": LOG})
    found = {each["name"]: each for each in asked(client, source)["logs"]}
    assert (found["shop/web-0/app"]["lane"], found["shop/web-0/app"]["label"]) == ("Pod/shop/web-0", "app")
    assert (found["shop/gone/app"]["lane"], found["shop/gone/app"]["label"]) == ("", "shop/gone/app")
    assert (found["kube-vip.log"]["lane"], found["kube-vip.log"]["track"]) == ("", None)
    assert [found["kube-vip.log"][field] for field in ("lines", "first", "last")] == [
        3,
        NOON + 1_500_000,
        NOON + 3_500_000,
    ]


@pytest.mark.parametrize("namespaces, lane", [(("shop",), "Pod/shop/web-0"), (("shop", "test"), "")])
def test_a_prefix_names_a_pod_only_if_one_has_its_name(
    client: Client, imported: Import, namespaces: tuple[str, ...], lane: str
) -> None:
    pods = "\n".join(pod("web-0", namespace) for namespace in namespaces)
    source = imported({"pods.json": pods, "all.log": f"[pod/web-0/app] {LOG.splitlines()[0]}"})
    (found,) = asked(client, source)["logs"]
    assert (found["name"], found["lane"]) == ("all.log web-0/app", lane)


def test_lines_that_are_close_share_a_mark_with_their_number_and_gravest_level(
    client: Client, imported: Import
) -> None:
    many = "\n".join(said(number % 4, f"line {number}", "error" if number == 9 else "info") for number in range(1000))
    source = imported({"kube-vip.log": many})
    (log,) = asked(client, source)["logs"]
    (marks,) = asked(client, source, f"/marks?logs={log['log']}&start={NOON}&end={NOON + 10_000_000_000}")
    assert (marks["time"], marks["count"], marks["level"]) == ([NOON + 500_000], [1000], [2])
    (marks,) = asked(client, source, f"/marks?logs={log['log']}&start={NOON}&end={NOON + 2_000_000}")
    assert (marks["count"], marks["level"]) == ([250, 250], [0, 2])


def test_the_lines_about_an_object_are_those_that_surely_name_it(client: Client, imported: Import) -> None:
    pods = "\n".join([pod("web-0"), pod("db", second=1), pod("db", "test", second=2)])
    text = "\n".join(
        [said(1, "about shop/web-0"), said(2, "about [web-0] alone"), said(3, "about [db] of two"), said(4, "shop/db")]
    )
    source = imported({"pods.json": pods, "kube-vip.log": text})
    tracks = {(each.namespace, each.name): each.id for each in source.track_set.filter(kind="Pod")}
    about = {
        name: [line["text"] for line in asked(client, source, f"/lines?about={track}")["lines"]]
        for name, track in tracks.items()
    }
    assert about == {
        ("shop", "web-0"): ["about shop/web-0", "about [web-0] alone"],
        ("shop", "db"): ["shop/db"],
        ("test", "db"): [],
    }


def test_a_line_that_says_the_kind_is_about_no_other_object_of_the_name(client: Client, imported: Import) -> None:
    endpoints = json.loads(pod("web-0", second=1)) | {"kind": "Endpoints", "subsets": []}
    endpoints["metadata"]["uid"] = "other"
    lines = [said(1, 'Synced\\" pod=\\"shop/web-0'), said(2, "shop/web-0"), said(3, "pod=web-0 alone")]
    source = imported({"all.json": f"{pod('web-0')}\n{json.dumps(endpoints)}", "scheduler.log": "\n".join(lines)})
    counts = {
        each.kind: len(asked(client, source, f"/lines?about={each.id}")["lines"]) for each in source.track_set.all()
    }
    assert counts == {"Pod": 3, "Endpoints": 1}
    (log,) = asked(client, source)["logs"]
    line = asked(client, source, f"/{log['log']}/line?at=0")
    assert [each["kind"] for each in line["objects"]] == ["Pod"]


def test_lines_are_paged_in_the_order_of_time_over_all_logs(client: Client, imported: Import) -> None:
    one, other = (
        "\n".join(said(number // 10, f"{which} {number}") for number in range(start, 600, 2))
        for which, start in (("a", 0), ("b", 1))
    )
    source = imported({"one.log": one, "other.log": other})
    found: list[dict[str, Any]] = []
    cursor = ""
    while cursor is not None:
        page = asked(client, source, f"/lines?limit=70&cursor={cursor}")
        assert len(page["lines"]) <= 70 and page["scanned"] is None
        found, cursor = found + page["lines"], page["next"]
    assert len({(each["log"], each["sequence"]) for each in found}) == len(found) == 600
    assert [each["time"] for each in found] == sorted(each["time"] for each in found)
    assert len(asked(client, source, f"/lines?start={NOON + 500_000}&end={NOON + 1_500_000}")["lines"]) == 20


def test_words_find_lines_whatever_their_case_and_characters(
    client: Client, imported: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n".join([said(1, 'Took \\"Überraschung\\"'), *(said(2, f"line {number}") for number in range(600))])
    source = imported({"kube-vip.log": text})
    for words, expected in (("über%20TOOK", 1), ("%22überraschung%22", 1), ("kube-vip", 0), ("line%20599", 1)):
        assert len(asked(client, source, f"/lines?q={words}")["lines"]) == expected, words
    monkeypatch.setattr(queries, "SCANNED", 1)
    found = asked(client, source, "/lines?q=599")
    assert (found["lines"], found["scanned"]) == ([], 256)


def test_a_line_that_says_only_its_age_is_marked(client: Client, imported: Import) -> None:
    row = "5m          Warning   BackOff   pod/web-0   Back-off restarting failed container"
    source = imported(
        {"pods.json": pod("web-0"), "events.txt": f"LAST SEEN   TYPE      REASON    OBJECT      MESSAGE\n{row}"}
    )
    (line,) = asked(client, source, "/lines?q=back-off")["lines"]
    assert (line["latest"], line["year_known"], line["zone_known"], line["level"]) == (True, True, True, "warning")


def test_a_line_has_its_clock_its_place_its_neighbours_and_the_objects_that_it_names(
    client: Client, imported: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "LINES", 4)
    monkeypatch.setattr(queries, "LINES", 4)
    plain = "2026/11/22 12:00:04 about shop/web-0 and shop/unknown"
    source = imported({"pods.json": pod("web-0"), IN_POD: "\n".join([LOG, *[plain] * 9])})
    (log,) = asked(client, source)["logs"]
    seen: list[int] = []
    sequence = asked(client, source, f"/{log['log']}/line?at=0")["sequence"]
    while sequence is not None:
        each = queries.line(source.pk, log["log"], sequence=sequence)
        assert each and (not seen or each["earlier"] is not None)
        seen.append(each["number"])
        last, sequence = sequence, each["later"]
    assert seen == list(range(1, 13))
    line = asked(client, source, f"/{log['log']}/line?sequence={last}")
    assert (line["zone_known"], line["file"], line["line"], line["total"]) == (False, IN_POD, 12, 12)
    assert [(each["kind"], each["namespace"], each["name"]) for each in line["objects"]] == [("Pod", "shop", "web-0")]
    assert line["lane"] == "Pod/shop/web-0"
    assert asked(client, source, f"/{log['log']}/line?at={NOON + 2_000_000}")["text"] == "nothing"
    assert client.get(f"/api/sources/{source.pk}/logs/{log['log']}/line?sequence=999999").status_code == 404
    assert client.get(f"/api/sources/{source.pk}/logs/99/line").status_code == 404


def test_a_log_alone_is_imported_and_tells_which_time_it_covers(client: Client, imported: Import) -> None:
    source = imported({"kube-vip.log": LOG})
    overview = client.get(f"/api/sources/{source.pk}/overview").json()
    assert (overview["first"], overview["last"]) == (NOON + 1_500_000, NOON + 3_500_000)
    rules = client.get(f"/api/sources/{source.pk}/coverage").json()["rules"]
    assert {each["verdict"] for each in rules} == {"not"}
    assert "audit log" in next(each["remedy"] for each in rules if each["rule"] == "consumer-order")
    assert client.get(f"/sources/{source.pk}/coverage/").status_code == 200


def test_a_log_without_years_alone_is_refused_with_what_helps(imported: Import) -> None:
    line = 'I1122 12:00:00.250000       1 reconciler.go:12] "Synced" service="shop/web"'
    with pytest.raises(NotARecording, match="--timestamps"):
        imported({"klog.log": "\n".join([line] * 4)})
    source = imported({"klog.log": line, "pods.json": pod("web-0")})
    assert queries.lines(source.pk)["lines"][0]["time"] == NOON + 250_000
    assert not queries.lines(source.pk)["lines"][0]["year_known"]


def test_a_time_of_day_is_placed_on_a_day_of_the_rest_and_says_so(imported: Import) -> None:
    line = "12:00:00.250 [main] INFO  c.e.Foo - about shop/web-0"
    with pytest.raises(NotARecording, match="--timestamps"):
        imported({"app.log": line})
    source = imported({"app.log": line, "pods.json": pod("web-0")})
    (found,) = queries.lines(source.pk)["lines"]
    assert (found["time"], found["date_known"], found["year_known"]) == (NOON + 250_000, False, False)
    assert open_about(found) == "without date and zone"


def test_pages_follow_from_what_is_stored_however_often_it_is_read(imported: Import, tmp_path: Path) -> None:
    source = imported({"pods.json": pod("web-0"), IN_POD: LOG})
    entries = source.entries
    before = queries.lines(source.pk)["lines"]
    imported({IN_POD: LOG}, source)
    assert queries.lines(source.pk)["lines"] == before
    imported({IN_POD: "\n".join([LOG, said(0, "earlier")])}, source)
    assert queries.lines(source.pk)["lines"][0]["text"] == "earlier"
    source.refresh_from_db()
    assert source.entries == entries  # a line is no change
    exported = tmp_path / "exported.jsonl"
    exported.write_bytes(b"".join(own.write(chunks.observations(source.pk))))
    again = store.open_source("again")
    import_into(again, [(exported, "exported.jsonl")], Limits(), Count())
    assert [each["text"] for each in queries.lines(again.pk)["lines"]] == [
        "earlier",
        *(each["text"] for each in before),
    ]


def test_a_deleted_source_leaves_no_line(imported: Import) -> None:
    source = imported({"kube-vip.log": LOG})
    store.discard_source(source)
    assert not Log.objects.exists() and not LogPage.objects.exists()


def test_a_live_source_keeps_the_pages_whose_lines_its_worker_has_forgotten() -> None:
    source = opened()
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


def test_lines_of_a_real_log_take_few_bytes_and_are_found(imported: Import) -> None:
    source = store.open_source("test")
    import_into(source, [(KUBE_VIP, "kube-vip.log.zst")], Limits(), Count())
    count = sum(isinstance(each, LogLine) for each in observations_of(KUBE_VIP))
    pages = list(LogPage.objects.filter(source=source))
    assert sum(page.count for page in pages) == count
    assert sum(len(page.lines) + len(page.times) for page in pages) < 40 * count


def test_the_page_of_an_object_lists_the_lines_that_name_it_and_the_search_finds_them(
    client: Client, imported: Import
) -> None:
    text = "\n".join(said(number % 60, f"<b>about</b> shop/web-0, number {number:02}") for number in range(60))
    source = imported({"pods.json": "\n".join([pod("web-0"), pod("db", second=1)]), "kube-vip.log": text})
    tracks = {each.name: each.id for each in source.track_set.filter(kind="Pod")}
    page = client.get(f"/sources/{source.pk}/objects/{tracks['web-0']}/").content.decode()
    assert "&lt;b&gt;about&lt;/b&gt; shop/web-0, number 49" in page and "number 50" not in page
    later = page.partition('href="?lines=')[2].partition("#")[0]
    page = client.get(f"/sources/{source.pk}/objects/{tracks['web-0']}/?lines={later}").content.decode()
    assert "number 50" in page and "number 49" not in page and "?lines=" not in page
    assert 'id="lines"' not in client.get(f"/sources/{source.pk}/objects/{tracks['db']}/?lines=x").content.decode()
    found = client.get(f"/api/sources/{source.pk}/search?q=About+number+07").json()
    assert [each["text"] for each in found["lines"]] == ["<b>about</b> shop/web-0, number 07"]
    assert not found["objects"]


def test_no_credential_of_a_log_is_stored(imported: Import) -> None:
    imported({"pods.json": pod("web-0"), "kube-vip.log": "\n".join([*PLANTED, LOG])})
    content = everything()
    assert "again" in content and SECRET[:8] not in content


def test_hostile_lines_are_shown_as_text(client: Client, imported: Import) -> None:
    lines = [said(1, f"<script>x</script> \u202e \u0007 \udc80 shop/web-0 {'x' * 50_000}"), said(2, "shop/web-0 ok")]
    path = f"logs/<b>{IN_POD}"
    source = imported({"pods.json": pod("web-0"), path: "\n".join(lines)})
    found = queries.lines(source.pk)["lines"]
    assert len(found) == 2 and max(len(each["text"]) for each in found) <= 1000
    assert "<script>" in found[0]["text"] and "\ufffd" in found[0]["text"]
    page = client.get(f"/sources/{source.pk}/objects/{source.track_set.get(kind='Pod').id}/").content.decode()
    assert "shop/web-0 ok" in page and "<script>x" not in page and "<b>namespaces" not in page


def test_both_forms_of_a_dump_have_logs(client: Client, imported: Import) -> None:
    begin, end = (f"==== {which} logs for container app of pod shop/web-0 ====" for which in ("START", "END"))
    log = f"{begin}\n{LOG}\nno time\n{end}\n"
    listed = f'{{"apiVersion": "v1", "kind": "PodList", "items": [{pod("web-0")}]}}'
    folder = {"dump/shop/pods.json": listed, "dump/shop/web-0/logs.txt": log}
    for files in ({"dump.txt": f"{listed}\n{log}{listed}"}, folder):
        (found,) = asked(client, imported(files))["logs"]
        assert (found["name"], found["lane"], found["lines"]) == ("shop/web-0/app", "Pod/shop/web-0", 3)


def test_a_log_beside_other_evidence_is_judged_with_it(tmp_path: Path) -> None:
    service = json.loads(pod("app2", "shopfront")) | {"kind": "Service"}
    path = tmp_path / "services.json"
    path.write_text(json.dumps(service))
    source = store.open_source("test")
    import_into(source, [(path, "services.json"), (KUBE_VIP, "kube-vip.log.zst")], Limits(), Count())
    (finding,) = source.finding_set.all()
    assert (finding.rule, finding.document["subject"]["name"]) == ("consumer-order", "app2")

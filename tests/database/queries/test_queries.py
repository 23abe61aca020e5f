"""These tests read windows for a screen: lanes in the order in which objects were created, and what is drawn on
them."""

from typing import Any

import pytest
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.test import Client

from tests import events, stored
from timeline.core.entries import moment
from timeline.history.world.world import World
from timeline.kinds import NOISE
from timeline.layout import outline
from timeline.layout.places import CROWD
from timeline.models import Source, Track
from timeline.payloads.findings import FindingGroupPayload
from timeline.payloads.windows import WindowPayload
from timeline.pipeline import ingest
from timeline.queries.incidents.findings import findings
from timeline.queries.sources import extents
from timeline.queries.window import overview as overview_queries
from timeline.queries.window import windows
from timeline.queries.window.view import Grouping, View
from timeline.storage import store

pytestmark = pytest.mark.django_db
GAP = (1795247520841106, 1795247520894060)  # the Service ring does not exist, from its deletion to its creation
MINUTE = 60_000_000


def window(
    sample: Source, start: int | None = None, end: int | None = None, *, offset: int = 0, limit: int = 200, **view: Any
) -> WindowPayload:
    return windows.window(sample.pk, start, end, offset=offset, limit=limit, view=View(**view))


def listed(sample: Source, **view: Any) -> list[FindingGroupPayload]:
    return findings(sample.pk, View(**view))["findings"]


def names(shown: WindowPayload) -> list[str]:
    return [lane["name"] for lane in shown["lanes"]]


def ring(shown: WindowPayload) -> list[int]:
    """Return the indexes of the lanes of the job ring."""
    (group,) = (group for group in shown["groups"] if (group["label"], group["namespace"]) == ("ring", "vol-restart"))
    assert group["short"] == "vcj"
    return [index for index, lane in enumerate(shown["lanes"]) if lane["group"] == group["key"]]


def test_an_owner_heads_its_lanes_in_creation_order(sample: Source) -> None:
    shown = window(sample)
    lanes = [shown["lanes"][index] for index in ring(shown)]
    assert [(lane["short"], lane["name"]) for lane in lanes[:5]] == [
        ("vcj", "ring"),
        ("cm", "ring-svc"),
        ("svc", "ring"),
        ("eps", "ring-ntzhb"),
        ("ep", "ring"),
    ]
    assert [lane["name"] for lane in lanes if lane["kind"] == "Pod"] == [
        "ring-steady-2",
        "ring-steady-1",
        "ring-steady-0",
        "ring-weak-0",
    ]
    numbers = [lane["number"] for lane in lanes]
    assert numbers == sorted(numbers) and numbers[:11] == list(range(1, 12))


def test_groups_stand_in_the_order_of_their_owners_and_count_their_lanes(sample: Source) -> None:
    shown = window(sample)
    keys = [lane["group"] for lane in shown["lanes"]]
    assert list(dict.fromkeys(keys)) == [group["key"] for group in shown["groups"]]
    assert [keys.count(group["key"]) for group in shown["groups"]] == [group["lanes"] for group in shown["groups"]]
    assert shown["lanes_total"] == len(shown["lanes"]) == 72


def test_a_lane_carries_the_lives_of_its_name(sample: Source) -> None:
    shown = window(sample)
    (service,) = (index for index in ring(shown) if shown["lanes"][index]["kind"] == "Service")
    assert shown["lanes"][service]["subtitle"].endswith("3 incarnations shown")
    lives = [
        (start, end, track, open_end)
        for lane, start, end, track, open_end in zip(
            *(shown["bars"][column] for column in ("lane", "start", "end", "track", "open_end")), strict=True
        )
        if lane == service
    ]
    assert len({track for _, _, track, _ in lives}) == 3
    assert lives[0][1] == GAP[0] and lives[1][0] == GAP[1]
    assert not any(open_end for *_, open_end in lives)


def test_what_still_lives_is_open_to_the_end_of_the_recording(sample: Source) -> None:
    shown = window(sample, families=("Leases",))
    ends = zip(shown["bars"]["end"], shown["bars"]["open_end"], strict=True)
    assert {open_end: end == shown["last"] for end, open_end in ends}[True]


def test_births_carry_numbers_and_marks_their_revision(sample: Source) -> None:
    shown = window(sample)
    (weak,) = (index for index in ring(shown) if shown["lanes"][index]["name"] == "ring-weak-0")
    births = [
        number for lane, number in zip(shown["births"]["lane"], shown["births"]["number"], strict=True) if lane == weak
    ]
    assert births == sorted(births) and len(births) == 4
    deleted = [
        revision
        for lane, mark, revision in zip(
            *(shown["marks"][column] for column in ("lane", "mark", "resource_version")), strict=True
        )
        if lane == weak and mark == "deleted"
    ]
    assert "580" in deleted


def test_holes_shades_and_arrows_lie_on_the_lanes_of_their_finding(sample: Source) -> None:
    shown = window(sample)
    first = next(row for row in listed(sample) if row["rule"] == "service-gap")
    assert (first["rule"], first["severity"]) == ("service-gap", "warning")
    assert (first["start"], first["end"]) == GAP
    assert first["summary"] == "Service ring was away for ≈ 50 ms under 3 running Pods"
    lanes = shown["lanes"]
    holes, shades, arrows = shown["holes"], shown["shades"], shown["arrows"]
    assert [(lanes[lane]["kind"], lanes[lane]["name"]) for lane in holes["lane"]] == [("Service", "ring")] * 2
    assert (holes["start"][0], holes["over"][0], holes["text"][0]) == (*GAP, "none · ≈ 50 ms")
    assert holes["over"][0] - holes["begun"][0] == 45_054 and holes["end"][0] - holes["start"][0] == 55_354  # µs
    assert holes["finding"][0] == first["key"]
    shaded = {
        lanes[lane]["name"] for lane, key in zip(shades["lane"], shades["finding"], strict=True) if key == first["key"]
    }
    assert shaded == {"ring-steady-0", "ring-steady-1", "ring-steady-2"}
    late = arrows["text"].index("Service ≈ 30 ms late")
    assert lanes[arrows["from_lane"][late]]["name"] == "ring-weak-0"
    assert lanes[arrows["to_lane"][late]]["kind"] == "Service"
    assert arrows["to_time"][late] == GAP[1]


def test_a_window_is_padded_by_its_width_within_the_recording(sample: Source) -> None:
    shown = window(sample, *GAP)
    width = GAP[1] - GAP[0]
    assert (shown["start"], shown["end"]) == (GAP[0] - width, GAP[1] + width)
    whole = window(sample)
    assert (whole["start"], whole["end"]) == (whole["first"], whole["last"])
    late = window(sample, whole["last"] - 10, whole["last"])
    assert (late["start"], late["end"]) == (whole["last"] - 20, whole["last"])


def test_a_window_shows_only_lanes_that_live_in_it(sample: Source) -> None:
    whole, early = window(sample), window(sample)["first"]
    shown = window(sample, early, early + 1_000_000)
    assert 0 < shown["lanes_total"] < whole["lanes_total"]
    assert "ring-weak-0" not in names(shown)


def test_an_instant_is_a_window_too(sample: Source) -> None:
    shown = window(sample, GAP[0], GAP[0])
    assert "ring-steady-0" in names(shown)


@pytest.mark.parametrize(
    ("start", "end"),
    [(0, 1), (GAP[0] + 60 * MINUTE, GAP[1] + 60 * MINUTE), (None, 0), (GAP[0] + 60 * MINUTE, None)],
)
def test_a_window_beside_the_recording_is_no_error(sample: Source, start: int | None, end: int | None) -> None:
    shown = window(sample, start, end)
    assert shown["start"] <= shown["end"]
    assert shown["bars"]["lane"] == [] or all(shown["bars"]["open_end"])
    assert not shown["lanes_more"]


def test_families_choose(sample: Source) -> None:
    assert {lane["family"] for lane in window(sample)["lanes"]}.isdisjoint({"Events", "Cluster"})
    assert {lane["family"] for lane in window(sample, families=("Pods", "Services"))["lanes"]} == {"Pods", "Services"}
    assert {lane["kind"] for lane in window(sample, families=("Events",))["lanes"]} == {"Event"}
    assert window(sample, families=("Nothing",))["lanes"] == []


def test_a_namespace_chooses(sample: Source) -> None:
    shown = window(sample, namespace="vol-restart")
    assert {lane["namespace"] for lane in shown["lanes"]} == {"vol-restart"}
    assert shown["lanes_total"] == 16
    assert window(sample, namespace="' OR 1=1 --")["lanes"] == []


def test_an_arrow_to_a_lane_that_is_not_shown_ends_nowhere(sample: Source) -> None:
    arrows = window(sample, families=("Pods",))["arrows"]
    assert set(arrows["to_lane"]) == {-1}
    assert min(arrows["from_lane"]) >= 0


def test_focus_brings_the_group_of_a_finding_to_the_top(sample: Source) -> None:
    whole = window(sample)
    gap = next(row for row in listed(sample) if row["rule"] == "service-gap")
    shown = window(sample, focus=gap["focus"])
    assert ring(shown)[0] == 0
    assert sorted(names(shown)) == sorted(names(whole))
    assert names(window(sample, focus=10**12)) == names(whole)


def test_pages_follow_each_other_without_gap_or_repetition(sample: Source) -> None:
    whole = window(sample)
    pages = [window(sample, offset=offset, limit=10) for offset in range(0, 80, 10)]
    assert [lane["key"] for page in pages for lane in page["lanes"]] == [lane["key"] for lane in whole["lanes"]]
    assert {page["lanes_total"] for page in pages} == {72}
    assert [page["offset"] for page in pages] == list(range(0, 80, 10))
    past = window(sample, offset=1_000)
    assert (past["lanes"], past["lanes_total"]) == ([], 72)


@pytest.mark.parametrize(("grouping", "field"), [("kind", "family"), ("namespace", "namespace")])
def test_lanes_can_stand_by_kind_or_namespace(sample: Source, grouping: Grouping, field: str) -> None:
    shown = window(sample, grouping=grouping)
    headings = [lane["group"] for lane in shown["lanes"]]
    assert headings == [lane[field] for lane in shown["lanes"]]  # type: ignore[literal-required]
    assert list(dict.fromkeys(headings)) == [group["key"] for group in shown["groups"]] == sorted(set(headings))
    assert sorted(names(shown)) == sorted(names(window(sample)))
    assert all(group["track"] is None for group in shown["groups"])
    if grouping == "namespace":
        assert shown["groups"][0]["label"] == "cluster"


def test_what_is_smaller_than_a_pixel_is_merged_and_counted(sample: Source) -> None:
    whole, near = window(sample), window(sample, *GAP)
    assert whole["merged"] > 0
    assert len(whole["bars"]["lane"]) + len(whole["marks"]["lane"]) <= 2_500
    assert near["merged"] < whole["merged"]


def test_columns_of_one_table_are_of_one_length(sample: Source) -> None:
    shown = window(sample)
    for table in ("bars", "births", "marks", "holes", "shades", "arrows"):
        columns = dict(shown)[table]
        assert isinstance(columns, dict)
        assert len({len(column) for column in columns.values()}) == 1, table


def test_an_overview_counts_slices_families_and_namespaces(sample: Source) -> None:
    overview = overview_queries.overview(sample.pk)
    assert (overview["first"], overview["last"]) == (window(sample)["first"], window(sample)["last"])
    assert len(overview["counts"]) == outline.SLICES
    assert sum(overview["counts"]) > 300
    assert dict(overview["families"])["Pods"] == 12
    assert dict(overview["namespaces"])["vol-restart"] == 16
    assert overview["severities"] == ["warning"] * 4 + ["info"] * 4
    assert GAP[0] in overview["ticks"]


def test_a_scope_shows_an_owner_with_what_it_owns_and_what_its_findings_name(client: Client, sample: Source) -> None:
    whole = window(sample)
    root = next(row["focus"] for row in listed(sample) if row["rule"] == "service-gap")
    pages = f"/api/sources/{sample.pk}"
    shown = client.get(f"{pages}/window", {"scope": root, "limit": 200}).json()
    own = [lane["key"] for lane in whole["lanes"] if lane["group"] == str(root)]
    named = {lane["key"] for lane in shown["lanes"]} - set(own)
    assert [lane["key"] for lane in shown["lanes"]][: len(own)] == own and shown["scope"]["name"] == "ring"
    subjects = {finding["subject"]["name"] for row in listed(sample, scope=root) for finding in row["findings"]}
    assert all(key.rpartition("/")[2] in subjects for key in named)
    overview = client.get(f"{pages}/overview", {"scope": root}).json()
    assert sorted(overview["ticks"]) == sorted(row["start"] for row in listed(sample, scope=root))
    assert sum(count for _, count in overview["rules"]) == len(overview["ticks"]) < len(listed(sample))
    all_of_it = client.get(f"{pages}/overview").json()
    assert (overview["counts"], overview["families"]) == (all_of_it["counts"], all_of_it["families"])
    nobody = client.get(f"{pages}/window", {"scope": 10**12}).json()
    assert (nobody["lanes"], nobody["scope"]) == ([], None)


def test_unknown_sources_do_not_exist(sample: Source) -> None:
    for ask in (windows.window, overview_queries.overview):
        with pytest.raises(Source.DoesNotExist):
            ask(sample.pk + 1_000)


def test_an_empty_source_is_an_empty_window() -> None:
    source = stored.opened("empty")
    shown = windows.window(source.pk)
    assert (shown["lanes"], shown["groups"], shown["scope"], shown["lanes_total"]) == ([], [], None, 0)
    assert findings(source.pk) == {"findings": [], "order": "time", "next": None, "total": 0}
    assert overview_queries.overview(source.pk)["counts"] == []


def test_a_recording_is_listed_with_what_was_found(sample: Source) -> None:
    hidden = store.open_source("not ready yet")
    listed = {row.id: row for row in extents.recent_sources()}
    assert hidden.pk not in listed
    row = listed[sample.pk]
    assert (row.name, row.entries, row.errors, row.warnings, row.infos) == ("sample", 775, 0, 4, 5)
    assert extents.source(hidden.pk) is None


def test_a_life_without_observed_beginning_is_drawn_open() -> None:
    source = stored.opened()
    ingest(source, World(), events.entries_of(events.event(verb="patch", responseStatus={"code": 200})))
    shown = windows.window(source.pk)
    assert shown["bars"]["open_start"] == [True]
    assert shown["births"]["lane"] == []


def test_lives_of_a_name_without_owner_share_a_lane() -> None:
    source = stored.opened()
    lives = []
    for number in range(3):
        at = f"2026-11-21T07:52:0{number}.100000Z"
        times = {"requestReceivedTimestamp": at, "stageTimestamp": at}
        body = events.pod(uid=f"u{number}", resourceVersion=str(100 + number))
        lives.append(events.event(auditID=str(number), responseObject=body, **times))
    ingest(source, World(), events.entries_of(*lives))
    shown = windows.window(source.pk)
    assert [lane["name"] for lane in shown["lanes"]] == ["p"]
    assert shown["births"]["number"] == [1, 2, 3]
    assert [group["lanes"] for group in shown["groups"]] == [1]


def busy(pods: int, restarts: int) -> list[dict[str, Any]]:
    """Return audit events of Pods that restart in turn, 100 ms apart."""
    made = []
    for number in range(pods * restarts):
        name, at = f"p{number % pods}", f"2026-11-21T{number // 36000:02d}:{number // 600 % 60:02d}"
        body = events.pod(name=name, uid=name, resourceVersion=str(number + 10))
        body["status"] = {"containerStatuses": [{"restartCount": number // pods}]}
        time = f"{at}:{number // 10 % 60:02d}.{number % 10}00000Z"
        times = {"requestReceivedTimestamp": time, "stageTimestamp": time}
        reference = {**events.event()["objectRef"], "name": name}
        made.append(events.event(auditID=str(number), objectRef=reference, responseObject=body, **times))
    return made


def test_a_busy_window_stays_drawable() -> None:
    source = stored.opened("busy")
    ingest(source, World(), events.entries_of(*busy(pods=40, restarts=150)))
    shown = windows.window(source.pk)
    assert len(shown["lanes"]) == 40
    assert 40 < len(shown["bars"]["lane"]) + len(shown["marks"]["lane"]) <= 2_500
    assert shown["merged"] > 2_500


def crowd(pods: int, owner: str = "j") -> Source:
    """Return a source with a Job of this many Pods, created one second apart. Each lives for half a minute."""
    made = []
    for number in range(pods):
        body = events.pod(name=f"p{number:03d}", uid=f"u{number}", resourceVersion=str(2 * number + 10))
        body["metadata"]["ownerReferences"] = [
            {"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": "job", "controller": True}
        ]
        reference = {**events.event()["objectRef"], "name": f"p{number:03d}"}
        for verb, after in (("create", 0), ("delete", 30)):
            second = number + after
            time = f"2026-11-21T07:{second // 60:02d}:{second % 60:02d}.000000Z"
            times = {"requestReceivedTimestamp": time, "stageTimestamp": time}
            line = {"auditID": f"{verb}{number}", "verb": verb, "objectRef": reference, "responseObject": body, **times}
            made.append(events.event(**line))
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": owner, "namespace": "d", "uid": "job", "resourceVersion": "5"},
    }
    at = "2026-11-21T06:59:59.000000Z"
    times = {"requestReceivedTimestamp": at, "stageTimestamp": at}
    reference = {"resource": "jobs", "apiGroup": "batch", "apiVersion": "v1", "namespace": "d", "name": owner}
    made.append(events.event(auditID="job", objectRef=reference, responseObject=job, **times))
    source = stored.opened()
    ingest(source, World(), events.entries_of(*made))
    return source


def test_a_crowd_stands_as_one_strip_until_it_is_opened() -> None:
    source = crowd(CROWD + 5)
    shown = window(source)
    assert [(lane["name"], lane["members"], lane["opened"]) for lane in shown["lanes"]] == [
        ("j", 1, False),
        ("j", 25, False),
    ]
    assert shown["lanes_total"] == 2
    strip = shown["lanes"][1]
    cells = shown["strips"]
    assert set(cells["lane"]) == {1} and max(cells["count"]) == 25
    assert cells["start"] == sorted(cells["start"]) and min(cells["count"]) == 1
    opened = window(source, opened=(strip["key"],))
    assert opened["lanes"][1]["opened"]
    assert [lane["strip"] for lane in opened["lanes"]] == ["", "", *[strip["key"]] * 25]
    assert opened["lanes_total"] == 27
    assert [lane["name"] for lane in window(source, name="P00")["lanes"]] == [f"p{number:03d}" for number in range(10)]


def test_twenty_are_no_crowd() -> None:
    assert len(window(crowd(CROWD))["lanes"]) == 21


def test_a_closed_group_is_one_row_without_lanes(sample: Source) -> None:
    whole = window(sample)
    group = whole["groups"][2]
    shown = window(sample, closed=(group["key"],))
    assert [each["key"] for each in shown["groups"]] == [each["key"] for each in whole["groups"]]
    assert [each["closed"] for each in shown["groups"]].index(True) == 2
    assert group["key"] not in {lane["group"] for lane in shown["lanes"]}
    assert shown["lanes_total"] == whole["lanes_total"] - group["lanes"] + 1
    firsts = [each["first"] for each in shown["groups"]]
    assert firsts == sorted(firsts)
    assert all(each["closed"] or shown["lanes"][each["first"]]["group"] == each["key"] for each in shown["groups"])
    by_kind = window(sample, grouping="kind", closed=("Pods",))
    assert "Pods" not in {lane["family"] for lane in by_kind["lanes"]}
    assert [each["key"] for each in by_kind["groups"] if each["closed"]] == ["Pods"]


def test_pinned_lanes_come_first_and_once(sample: Source) -> None:
    whole = window(sample)
    keys = [lane["key"] for lane in whole["lanes"]]
    shown = window(sample, pins=(keys[30], keys[3], "Pod/none/such"), limit=10)
    assert shown["pins"] == 2
    assert [(lane["key"], lane["pinned"]) for lane in shown["lanes"][:3]] == [
        (keys[30], True),
        (keys[3], True),
        (keys[0], False),
    ]
    assert shown["lanes_total"] == whole["lanes_total"] - 2
    assert shown["groups"][0]["first"] == 2
    assert 0 in shown["bars"]["lane"]


def test_lanes_are_chosen_by_what_findings_concern_them(sample: Source) -> None:
    shown = window(sample, rule="service-gap")
    assert {"ring", "ring-steady-0"} <= set(names(shown))
    assert shown["lanes_total"] < window(sample)["lanes_total"] / 2
    assert names(window(sample, severity="error")) == []
    assert {row["rule"] for row in listed(sample, rule="service-gap")} == {"service-gap"}


def test_only_what_changes_in_the_range_is_active(sample: Source) -> None:
    idle, active = window(sample, *GAP), window(sample, *GAP, active=True)
    assert set(names(active)) < set(names(idle))
    assert "ring" in names(active)


def test_noise_is_shown_when_it_is_asked_for(sample: Source) -> None:
    shown = window(sample, noise=True)
    assert {"Events", "Cluster"} <= {lane["family"] for lane in shown["lanes"]}
    overview = overview_queries.overview(sample.pk)
    assert shown["lanes_total"] == window(sample)["lanes_total"] + overview["noise"]


def test_the_arrows_of_the_selected_finding_are_always_told(sample: Source) -> None:
    early = window(sample)["first"]
    finding = next(row for row in listed(sample) if row["rule"] == "pod-before-service")
    assert finding["key"] not in window(sample, early, early + 1)["arrows"]["finding"]
    assert finding["key"] in window(sample, early, early + 1, finding=finding["key"])["arrows"]["finding"]


def test_so_many_rows_are_counted_and_more_are_said(sample: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("timeline.queries.window.rows.COUNTED", 50)
    shown = window(sample, limit=10)
    assert (shown["lanes_total"], shown["lanes_more"]) == (50, True)
    assert window(sample, offset=60, limit=10)["lanes_total"] == 70
    last = window(sample, offset=70, limit=10)
    assert (len(last["lanes"]), last["lanes_total"], last["lanes_more"]) == (2, 72, False)


@pytest.mark.parametrize("part", [0.0, 0.01, 0.2, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("width", [0, 1_000, MINUTE])
@pytest.mark.parametrize("sparse", [0, 2])  # found by their order, or by time
def test_every_lane_that_lived_in_a_range_is_shown_and_no_other(
    sample: Source, part: float, width: int, sparse: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("timeline.queries.window.rows.SPARSE", sparse)
    whole = overview_queries.overview(sample.pk)
    start = whole["first"] + int((whole["last"] - whole["first"]) * part)
    lived = Track.objects.filter(
        source=sample, span__overlap=DateTimeTZRange(moment(start), moment(start + width), "[]")
    )
    expected = sorted(lived.exclude(family__in=NOISE).order_by("place").values_list("place", "name"))
    assert names(window(sample, start, start + width)) == [name for _, name in expected]

"""These tests read windows for a screen: lanes in the order in which objects were created, and what is drawn on
them."""

from typing import Any

import pytest
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.test import Client

from tests.database.queries.window.looking import keys, names, paged, window
from tests.database.storage.sources import asked, ingested
from tests.inputs import events
from tests.rows import stored
from timeline.core.entries import moment
from timeline.kinds import NOISE
from timeline.layout import outline
from timeline.models import Source, Track
from timeline.payloads.findings import FindingGroupPayload
from timeline.payloads.windows import WindowPayload
from timeline.queries.incidents.findings import findings
from timeline.queries.window import windows
from timeline.queries.window.overview import overview
from timeline.queries.window.view import FindingFilter, Grouping

pytestmark = pytest.mark.django_db
GAP = (1795247520841106, 1795247520894060)  # the Service ring does not exist, from its deletion to its creation
MINUTE = 60_000_000


def listed(sample: Source, **view: Any) -> list[FindingGroupPayload]:
    return findings(sample.pk, FindingFilter(**view))["findings"]


def of_rule(sample: Source, rule: str) -> FindingGroupPayload:
    return next(row for row in listed(sample) if row["rule"] == rule)


def ring(shown: WindowPayload) -> list[int]:
    """Return the indexes of the lanes of the job ring."""
    (group,) = (group for group in shown["groups"] if (group["label"], group["namespace"]) == ("ring", "vol-restart"))
    assert group["short"] == "vcj"
    return [index for index, lane in enumerate(shown["lanes"]) if lane["group"] == group["key"]]


def rows(shown: WindowPayload, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return these columns of a table that is drawn, row by row."""
    held: Any = shown[table]  # type: ignore[literal-required]
    return list(zip(*(held[column] for column in columns), strict=True))


def test_owners_head_their_lanes_in_creation_order(sample: Source) -> None:
    shown = window(sample)
    lanes = [shown["lanes"][index] for index in ring(shown)]
    of_ring = [("vcj", "ring"), ("cm", "ring-svc"), ("svc", "ring"), ("eps", "ring-ntzhb"), ("ep", "ring")]
    assert [(lane["short"], lane["name"]) for lane in lanes[:5]] == of_ring
    pods = ["ring-steady-2", "ring-steady-1", "ring-steady-0", "ring-weak-0"]
    assert [lane["name"] for lane in lanes if lane["kind"] == "Pod"] == pods
    numbers = [lane["number"] for lane in lanes]
    assert numbers == sorted(numbers) and numbers[:11] == list(range(1, 12))
    of_groups = [lane["group"] for lane in shown["lanes"]]
    assert list(dict.fromkeys(of_groups)) == [group["key"] for group in shown["groups"]]
    assert [of_groups.count(group["key"]) for group in shown["groups"]] == [group["lanes"] for group in shown["groups"]]
    assert shown["lanes_total"] == len(shown["lanes"]) == 72


def test_a_lane_carries_the_lives_of_its_name_with_their_births_and_deletions(sample: Source) -> None:
    shown = window(sample)
    (service,) = (index for index in ring(shown) if shown["lanes"][index]["kind"] == "Service")
    assert shown["lanes"][service]["subtitle"].endswith("3 incarnations shown")
    lives = [row[1:] for row in rows(shown, "bars", "lane", "start", "end", "track", "open_end") if row[0] == service]
    assert len({track for _, _, track, _ in lives}) == 3
    assert lives[0][1] == GAP[0] and lives[1][0] == GAP[1]
    assert not any(open_end for *_, open_end in lives)
    (weak,) = (index for index in ring(shown) if shown["lanes"][index]["name"] == "ring-weak-0")
    births = [number for lane, number in rows(shown, "births", "lane", "number") if lane == weak]
    assert births == sorted(births) and len(births) == 4
    assert (weak, "deleted", "580") in rows(shown, "marks", "lane", "mark", "resource_version")
    leases = window(sample, kinds=("Leases",))
    assert {is_open: end == leases["last"] for end, is_open in rows(leases, "bars", "end", "open_end")}[True]


def test_holes_shades_and_arrows_lie_on_the_lanes_of_their_finding(sample: Source) -> None:
    shown, first = window(sample), of_rule(sample, "service-gap")
    assert (first["severity"], first["start"], first["end"]) == ("warning", *GAP)
    assert first["summary"] == "Service ring was away for ≈ 50 ms under 3 running Pods"
    lanes, holes, arrows = shown["lanes"], shown["holes"], shown["arrows"]
    assert [(lanes[lane]["kind"], lanes[lane]["name"]) for lane in holes["lane"]] == [("Service", "ring")] * 2
    assert (holes["start"][0], holes["over"][0], holes["text"][0]) == (*GAP, "none · ≈ 50 ms")
    assert holes["over"][0] - holes["begun"][0] == 45_054 and holes["end"][0] - holes["start"][0] == 55_354  # µs
    assert holes["finding"][0] == first["key"]
    shaded = {lanes[lane]["name"] for lane, key in rows(shown, "shades", "lane", "finding") if key == first["key"]}
    assert shaded == {"ring-steady-0", "ring-steady-1", "ring-steady-2"}
    late = arrows["text"].index("Service ≈ 30 ms late")
    assert lanes[arrows["from_lane"][late]]["name"] == "ring-weak-0"
    assert lanes[arrows["to_lane"][late]]["kind"] == "Service"
    assert arrows["to_time"][late] == GAP[1]


def test_an_arrow_ends_nowhere_without_its_lane_and_is_always_reported_if_its_finding_is_selected(
    sample: Source,
) -> None:
    arrows = window(sample, kinds=("Pods",))["arrows"]
    assert set(arrows["to_lane"]) == {-1} and min(arrows["from_lane"]) >= 0
    early, finding = window(sample)["first"], of_rule(sample, "pod-before-service")
    assert finding["key"] not in window(sample, early, early + 1)["arrows"]["finding"]
    assert finding["key"] in window(sample, early, early + 1, finding=finding["key"])["arrows"]["finding"]


def test_a_window_is_padded_by_its_width_within_the_recording(sample: Source) -> None:
    shown, width = window(sample, *GAP), GAP[1] - GAP[0]
    assert (shown["start"], shown["end"]) == (GAP[0] - width, GAP[1] + width)
    whole = window(sample)
    assert (whole["start"], whole["end"]) == (whole["first"], whole["last"])
    late = window(sample, whole["last"] - 10, whole["last"])
    assert (late["start"], late["end"]) == (whole["last"] - 20, whole["last"])


@pytest.mark.parametrize(
    ("start", "end"),
    [(0, 1), (GAP[0] + 60 * MINUTE, GAP[1] + 60 * MINUTE), (None, 0), (GAP[0] + 60 * MINUTE, None)],
)
def test_a_window_beside_the_recording_is_no_error(sample: Source, start: int | None, end: int | None) -> None:
    shown = window(sample, start, end)
    assert shown["start"] <= shown["end"]
    assert shown["bars"]["lane"] == [] or all(shown["bars"]["open_end"])
    assert not shown["lanes_more"]


def test_lanes_are_chosen_by_kind_namespace_finding_and_activity(sample: Source) -> None:
    whole = window(sample)
    assert {lane["family"] for lane in whole["lanes"]}.isdisjoint({"Events", "Cluster"})
    chosen = window(sample, kinds=("Pods", "Services"))["lanes"]
    assert {lane["family"] for lane in chosen} == {"Pods", "Services"}
    assert {lane["kind"] for lane in window(sample, kinds=("Events",))["lanes"]} == {"Event"}
    none: list[dict[str, Any]] = [{"kinds": ("Nothing",)}, {"namespace": "' OR 1=1 --"}, {"severity": "error"}]
    for nothing in none:
        assert window(sample, **nothing)["lanes"] == []
    shown = window(sample, namespace="vol-restart")
    assert ({lane["namespace"] for lane in shown["lanes"]}, shown["lanes_total"]) == ({"vol-restart"}, 16)
    shown = window(sample, rule="service-gap")
    assert {"ring", "ring-steady-0"} <= set(names(shown)) and shown["lanes_total"] < whole["lanes_total"] / 2
    assert {row["rule"] for row in listed(sample, rule="service-gap")} == {"service-gap"}
    assert "ring" in (active := names(window(sample, *GAP, active=True)))
    assert set(active) < set(names(window(sample, *GAP)))
    noisy = window(sample, noise=True)
    assert {"Events", "Cluster"} <= {lane["family"] for lane in noisy["lanes"]}
    assert noisy["lanes_total"] == whole["lanes_total"] + overview(sample.pk)["noise"]


def test_focus_brings_the_group_of_a_finding_to_the_top(sample: Source) -> None:
    whole, shown = window(sample), window(sample, focus=of_rule(sample, "service-gap")["focus"])
    assert ring(shown)[0] == 0
    assert sorted(names(shown)) == sorted(names(whole))
    assert names(window(sample, focus=10**12)) == names(whole)


def test_pages_follow_each_other_and_count_so_many_lanes(sample: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = paged(window(sample), sample, 10)
    assert {page["lanes_total"] for page in pages} == {72}
    assert [page["offset"] for page in pages] == list(range(0, 80, 10))
    past = window(sample, offset=1_000)
    assert (past["lanes"], past["lanes_total"]) == ([], 72)
    monkeypatch.setattr("timeline.queries.window.rows.COUNTED", 50)
    shown = window(sample, limit=10)
    assert (shown["lanes_total"], shown["lanes_more"]) == (50, True)
    assert window(sample, offset=60, limit=10)["lanes_total"] == 70
    last = window(sample, offset=70, limit=10)
    assert (len(last["lanes"]), last["lanes_total"], last["lanes_more"]) == (2, 72, False)


@pytest.mark.parametrize(("grouping", "field"), [("kind", "family"), ("namespace", "namespace")])
def test_lanes_can_stand_by_kind_or_namespace(sample: Source, grouping: Grouping, field: str) -> None:
    shown = window(sample, group=grouping)
    headings = [lane["group"] for lane in shown["lanes"]]
    assert headings == [lane[field] for lane in shown["lanes"]]  # type: ignore[literal-required]
    assert list(dict.fromkeys(headings)) == [group["key"] for group in shown["groups"]] == sorted(set(headings))
    assert sorted(names(shown)) == sorted(names(window(sample)))
    assert all(group["track"] is None for group in shown["groups"])
    if grouping == "namespace":
        assert shown["groups"][0]["label"] == "cluster"


def test_what_is_smaller_than_a_pixel_is_merged_and_counted(sample: Source) -> None:
    whole, near = window(sample), window(sample, *GAP)
    assert whole["merged"] > near["merged"]
    assert len(whole["bars"]["lane"]) + len(whole["marks"]["lane"]) <= 2_500
    for table in ("bars", "births", "marks", "holes", "shades", "arrows"):
        columns = dict(whole)[table]
        assert isinstance(columns, dict)
        assert len({len(column) for column in columns.values()}) == 1, table


def test_an_overview_counts_slices_families_and_namespaces(sample: Source) -> None:
    found, whole = overview(sample.pk), window(sample)
    assert (found["first"], found["last"]) == (whole["first"], whole["last"])
    assert len(found["counts"]) == outline.SLICES and sum(found["counts"]) > 300
    assert (dict(found["families"])["Pods"], dict(found["namespaces"])["vol-restart"]) == (12, 16)
    assert found["severities"] == ["warning"] * 4 + ["info"] * 4
    assert GAP[0] in found["ticks"]


def test_a_scope_shows_an_owner_with_what_it_owns_and_what_its_findings_name(client: Client, sample: Source) -> None:
    whole, root = window(sample), of_rule(sample, "service-gap")["focus"]
    shown = asked(client, sample, "window", scope=root, limit=200)
    own = [lane["key"] for lane in whole["lanes"] if lane["group"] == str(root)]
    assert keys(shown)[: len(own)] == own and shown["scope"]["name"] == "ring"
    subjects = {finding["subject"]["name"] for row in listed(sample, scope=root) for finding in row["findings"]}
    assert all(key.rpartition("/")[2] in subjects for key in set(keys(shown)) - set(own))
    found, all_of_it = asked(client, sample, "overview", scope=root), asked(client, sample, "overview")
    assert sorted(found["ticks"]) == sorted(row["start"] for row in listed(sample, scope=root))
    assert sum(count for _, count in found["rules"]) == len(found["ticks"]) < len(listed(sample))
    assert (found["counts"], found["families"]) == (all_of_it["counts"], all_of_it["families"])
    nobody = asked(client, sample, "window", scope=10**12)
    assert (nobody["lanes"], nobody["scope"]) == ([], None)


def test_unknown_sources_do_not_exist_and_an_empty_one_is_an_empty_window() -> None:
    source = stored.opened("empty")
    for ask in (windows.window, overview):
        with pytest.raises(Source.DoesNotExist):
            ask(source.pk + 1_000)
    shown = windows.window(source.pk)
    assert (shown["lanes"], shown["groups"], shown["scope"], shown["lanes_total"]) == ([], [], None, 0)
    assert findings(source.pk) == {"findings": [], "order": "time", "next": None, "total": 0}
    assert overview(source.pk)["counts"] == []


def test_a_life_without_observed_beginning_is_drawn_open() -> None:
    shown = window(ingested(events.entries_of(events.event(verb="patch", responseStatus={"code": 200}))))
    assert (shown["bars"]["open_start"], shown["births"]["lane"]) == ([True], [])


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
    by_kind = window(sample, group="kind", closed=("Pods",))
    assert "Pods" not in {lane["family"] for lane in by_kind["lanes"]}
    assert [each["key"] for each in by_kind["groups"] if each["closed"]] == ["Pods"]


def test_pinned_lanes_come_first_and_once(sample: Source) -> None:
    whole = window(sample)
    first, *_ = every = keys(whole)
    shown = window(sample, pins=(every[30], every[3], "Pod/none/such"), limit=10)
    assert shown["pins"] == 2
    pinned = [(lane["key"], lane["pinned"]) for lane in shown["lanes"][:3]]
    assert pinned == [(every[30], True), (every[3], True), (first, False)]
    assert shown["lanes_total"] == whole["lanes_total"] - 2
    assert shown["groups"][0]["first"] == 2 and 0 in shown["bars"]["lane"]


@pytest.mark.parametrize("part", [0.0, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("sparse", [0, 2], ids=["found by their order", "found by time"])
def test_every_lane_that_lived_in_a_range_is_shown_and_no_other(
    sample: Source, part: float, sparse: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("timeline.queries.window.rows.SPARSE", sparse)
    whole = overview(sample.pk)
    start = whole["first"] + int((whole["last"] - whole["first"]) * part)
    for width in (0, 1_000, MINUTE):
        span = DateTimeTZRange(moment(start), moment(start + width), "[]")
        lived = Track.objects.filter(source=sample, span__overlap=span).exclude(family__in=NOISE).order_by("place")
        assert names(window(sample, start, start + width)) == list(lived.values_list("name", flat=True)), width

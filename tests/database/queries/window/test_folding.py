"""These tests fold lanes of a window: those without a change in view, and what every namespace has."""

from typing import Any

import pytest

from tests import RULES
from tests.database.queries.window.looking import key_of, keys, names
from tests.database.queries.window.looking import window as whole_window
from tests.database.storage.sources import imported
from timeline.core.entries import moment
from timeline.models import Occurrence, Source, Track
from timeline.payloads.windows import WindowPayload
from timeline.queries.incidents.findings import findings
from timeline.queries.window.folding import ALL
from timeline.queries.window.overview import overview
from timeline.queries.window.view import Grouping

pytestmark = pytest.mark.django_db
GAP = (1795247520740000, 1795247521200000)  # around the first absence of the Service ring


def window(sample: Source, *, fold: bool = True, **view: Any) -> WindowPayload:
    return whole_window(sample, *GAP, fold=fold, **view)


def test_lanes_without_a_change_and_furniture_are_folded_and_counted(sample: Source) -> None:
    whole, shown = window(sample, fold=False), window(sample)
    assert whole["folded"] == {"quiet": 0, "furniture": 0}
    gone, folded = set(keys(whole)) - set(keys(shown)), shown["folded"]
    assert folded and folded["quiet"] + folded["furniture"] == len(gone) > 10
    assert shown["lanes_total"] == len(shown["lanes"]) == len(whole["lanes"]) - len(gone)
    before = Track.objects.filter(source=sample, span__isnull=False, changed__lt=moment(GAP[0]))
    still = set(before.values_list("name", flat=True))
    assert all(lane["furniture"] or lane["name"] in still for lane in whole["lanes"] if lane["key"] in gone)
    assert not any("kube-root-ca" in key for key in keys(shown))


def test_an_object_of_a_finding_in_view_and_a_pinned_one_are_not_folded(sample: Source) -> None:
    shown = keys(window(sample))
    assert {f"Pod/vol-restart/ring-steady-{number}" for number in range(3)} <= set(shown)  # they ran all the time
    furniture = "ConfigMap/default/kube-root-ca.crt"
    assert furniture not in shown
    pinned = window(sample, pins=(furniture,))
    assert keys(pinned)[0] == furniture and not pinned["lanes"][0]["quiet"]


def test_who_asks_for_certain_objects_gets_all_of_them(sample: Source) -> None:
    root = next(row["focus"] for row in findings(sample.pk)["findings"] if row["rule"] == "service-gap")
    asked: list[dict[str, Any]] = [
        {"name": "kube-root"}, {"rule": "service-gap"}, {"active": True}, {"focus": root, "scope": root},
    ]  # fmt: skip
    for view in asked:
        assert keys(window(sample, **view)) == keys(window(sample, fold=False, **view)), view


@pytest.mark.parametrize("grouping", ["owner", "kind", "namespace"])
def test_a_group_says_how_many_it_folds_and_can_be_unfolded(sample: Source, grouping: Grouping) -> None:
    begin = overview(sample.pk)["first"] + 40_000_000  # a part of the job ring changes then

    def seen(**view: Any) -> WindowPayload:
        return whole_window(sample, begin, begin + 2_000_000, group=grouping, **view)

    def of_group(shown: WindowPayload) -> list[str]:
        return [lane["key"] for lane in shown["lanes"] if lane["group"] == group["key"]]

    whole, shown = seen(), seen(fold=True)
    group = next(each for each in shown["groups"] if sum(each["folded"].values()))  # type: ignore[arg-type]
    assert len(of_group(whole)) - len(of_group(shown)) == group["folded"]["quiet"] + group["folded"]["furniture"]
    opened = seen(fold=True, unfold=(group["key"],))
    assert of_group(opened) == of_group(whole)
    assert next(each for each in opened["groups"] if each["key"] == group["key"])["folded"] == group["folded"]
    everything = seen(fold=True, unfold=(ALL,))
    assert keys(everything) == keys(whole) and everything["folded"] == shown["folded"]


def test_lanes_that_changed_before_the_view_stay_for_who_asks_since_when(sample: Source) -> None:
    begin = overview(sample.pk)["first"] + 40_000_000

    def seen(at: int, since: int | None = None) -> list[str]:
        start = begin + at
        return keys(whole_window(sample, start, start + 2_000_000, fold=True, since=since))

    earlier, later = seen(0), seen(20_000_000)
    assert set(earlier) - set(later)
    assert {*earlier, *later} <= set(seen(20_000_000, since=begin))
    assert seen(20_000_000, since=begin + 30_000_000) == later


def test_pages_of_folded_lanes_follow_each_other(sample: Source) -> None:
    whole = window(sample)
    pages = [window(sample, offset=offset, limit=7) for offset in range(0, whole["lanes_total"], 7)]
    assert [key for page in pages for key in keys(page)] == keys(whole)
    assert [page["folded"] for page in pages] == [*[None] * (len(pages) - 1), whole["folded"]]


def test_lanes_without_a_change_in_view_have_no_colour(sample: Source) -> None:
    lanes = window(sample, fold=False)["lanes"]
    quiet, furniture = ({lane["key"] for lane in lanes if lane[each]} for each in ("quiet", "furniture"))
    changed = {
        key_of(row)
        for row in Track.objects.filter(source=sample)
        if any(GAP[0] <= time <= GAP[1] for time, *_ in row.lifeline)
    }
    assert changed & {lane["key"] for lane in lanes}
    assert quiet & changed <= furniture <= quiet
    assert "Pod/vol-restart/ring-steady-0" not in quiet  # a finding in view names it
    assert not any(lane["quiet"] and not lane["furniture"] for lane in whole_window(sample)["lanes"])


def test_an_object_of_a_hidden_kind_is_shown_while_a_finding_about_it_is_selected() -> None:
    source = imported(RULES / "stale-write/fires-once-and-then-succeeds.jsonl")
    assert names(whole_window(source)) == []
    key = Occurrence.objects.get(source=source).key
    shown = whole_window(source, finding=key, fold=True)
    assert (names(shown), shown["lanes_total"]) == (["node-002"], 1)
    assert [(each["label"], each["lanes"]) for each in shown["groups"]] == [("node-002", 1)]
    assert names(whole_window(source, finding=key, noise=True)) == ["node-002"]
    assert names(whole_window(source, finding=key, namespace="shop")) == []

"""What the modules of the page work out by themselves: words for times and lengths, scales, lists, the view."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from tests import ROOT
from tests.browser.conftest import lent

CASES = json.loads((ROOT / "tests/lengths.json").read_text())
Within = tuple[int, int | None]  # µs before and after the drawn time
SECOND = 1_000_000
AT = 1795247551 * SECOND  # 07:52:31
WHOLE: Within = (0, SECOND)  # of an object that tells a whole second


def of(page: Page, module: str, name: str, calls: Sequence[Any]) -> Any:
    """What a function of a module answers to each of these lists of arguments."""
    call = (
        f"(calls) => import('/static/dashboard/js/{module}.js').then((its) => calls.map((each) => its.{name}(...each)))"
    )
    return page.evaluate(call, calls)


@pytest.fixture(scope="module")
def reported(shared: BrowserContext) -> Iterator[Page]:
    """A page whose modules the tests import; what they choose is forgotten in the end."""
    with lent(shared) as context:
        page = context.new_page()
        page.goto("/rules/")
        yield page


def test_a_length_is_said_as_the_shared_cases_say_it(reported: Page) -> None:
    assert of(reported, "state/durations", "words", [[case] for case in CASES]) == [case["words"] for case in CASES]


def test_what_lies_between_two_changes_is_as_long_as_their_clocks_tell(reported: Page) -> None:
    cases: list[tuple[int, Within | None, Within | None, str]] = [
        (755, WHOLE, WHOLE, "≤ 1.1 s"),
        (0, WHOLE, WHOLE, "≤ 1 s"),
        (7 * SECOND, WHOLE, WHOLE, "6–8 s"),
        (52_954, (0, 2_290), (7_900, 0), "≈ 50 ms"),
        (52_954, (0, 0), (0, 0), "53 ms"),
        (3 * SECOND, WHOLE, (0, None), "at least 2 s"),
        (3 * SECOND, (0, None), (0, None), "an unknown time"),
        (755, None, WHOLE, "an unknown time"),
    ]
    ends = [[{"time": AT, "within": one}, {"time": AT + apart, "within": other}] for apart, one, other, _ in cases]
    lengths = of(reported, "state/durations", "apart", ends)
    assert of(reported, "state/durations", "words", [[each] for each in lengths]) == [words for *_, words in cases]


def test_a_change_tells_its_time_with_the_digits_of_its_clock(reported: Page) -> None:
    cases: list[tuple[int, Within | None, str]] = [
        (AT, WHOLE, "07:52:31"),
        (AT + 384_112, (384_112, SECOND - 384_112), "07:52:31"),
        (AT + 384_112, (SECOND, 0), "07:52:30–07:52:32"),
        (AT, (0, None), "07:52:31"),
        (AT + 384_112, (0, 7_900), "07:52:31.384112"),
        (AT + 384_112, (0, None), "07:52:31.384112"),
        (AT, None, "07:52:31"),
    ]
    assert of(reported, "state/time", "instant", [case[:2] for case in cases]) == [words for *_, words in cases]


def test_times_in_the_zone_of_the_reader_follow_its_changes_of_the_clocks(reported: Page) -> None:
    backward = 1792890000 * SECOND  # 2026-10-25T01:00:00Z, when the clocks of Berlin are put back from 03:00 to 02:00
    forward = 1774746000 * SECOND  # 2026-03-29T01:00:00Z, when they are put forward from 02:00 to 03:00
    stated = {  # in UTC → in Berlin
        ("2026-10-24 23:30", "2026-10-24T23:30Z"): "2026-10-25 01:30",
        ("24 Oct 2026 23:30:05 UTC", "2026-10-24T23:30:05Z"): "25 Oct 2026 01:30:05 Europe/Berlin +02:00",
        ("24 Oct 23:30", "2026-10-24T23:30Z"): "25 Oct 01:30",
        ("07:52:00.841106 UTC", "2026-11-21T07:52:00.841106Z"): "08:52:00.841106 Europe/Berlin +01:00",
        ("40 s ago", "2026-11-21T07:52:00Z"): "40 s ago",
        (".500", "2026-11-21T07:52:00.5Z"): ".500",
    }
    found = reported.evaluate(
        """async ([backward, forward, stated]) => {
          const { OWN, UTC, Zone, choose } = await import("/static/dashboard/js/state/zone.js");
          const time = await import("/static/dashboard/js/state/time.js");
          const hour = 3600e6;
          const ticks = (at, hours) =>
            time.ticks(at - hours * hour, at + hours * hour, 1000).map(({ full }) => full).join(" ");
          const before = time.inZones(backward - 1);
          choose(OWN);
          return {
            labels: [backward - 1, backward].map((at) => OWN.label(at)),
            range: [OWN.labelOf(forward - 1, forward), UTC.labelOf(0, backward)],
            others: [new Zone("America/St_Johns").label(backward), new Zone("Etc/UTC").label(0)],
            before, after: time.inZones(backward, [0, 1e6]),
            shown: [time.clock(backward - 1, 0), time.day(backward - 2 * hour - 1)],
            backward: ticks(backward, 2), forward: ticks(forward, 2), days: ticks(backward, 60),
            stated: stated.map(([text, iso]) => time.translated(text, time.fromIso(iso), OWN)),
          };
        }""",
        [backward, forward, list(stated)],
    )
    assert found == {
        "labels": ["Europe/Berlin +02:00", "Europe/Berlin +01:00"],
        "range": ["Europe/Berlin +01:00 to +02:00", "UTC"],
        "others": ["America/St_Johns −02:30", "UTC"],
        "before": ["2026-10-25 00:59:59.999999 UTC", "2026-10-25 02:59:59.999999 Europe/Berlin +02:00"],
        "after": ["2026-10-25 02:00:00 Europe/Berlin +01:00", "2026-10-25 01:00:00 UTC"],
        "shown": ["02:59:59", "25 Oct"],
        "backward": "01:00 01:30 02:00 02:30 02:00 02:30 03:00 03:30 04:00",
        "forward": "29 Mar 00:30 01:00 01:30 03:00 03:30 04:00 04:30 05:00",
        "days": "23 Oct 12:00 24 Oct 12:00 25 Oct 12:00 26 Oct 12:00 27 Oct 12:00",
        "stated": list(stated.values()),
    }


def test_an_incident_that_happened_before_and_after_the_view_is_in_it_if_the_server_says_so(reported: Page) -> None:
    found = reported.evaluate(
        """async () => {
          const { IncidentsList } = await import("/static/dashboard/js/state/incidentsList.js");
          const one = (id, start, end, times) => ({ id, start, end, times, severity: "error", findings: 1 });
          const all = [one("around", 0, 90, [0, 80]), one("within", 0, 90, [0, 45, 80]), one("long", 0, 90, [0])];
          const symptoms = [{ start: 0, end: 30 }, { start: 60, end: 90 }], apart = one("apart", 0, 90, [0, 60]);
          all.push({ ...apart, symptoms, symptoms_total: 2 });
          const asked = [];
          const page = { next: null, order: "time", acknowledged: 0, silenced: 0 };
          const list = new IncidentsList({
            async incidents({ start, end }) {
              if (start !== undefined) asked.push([start, end]);
              const incidents = start === undefined ? all : all.slice(1, 3);
              return { ...page, incidents, total: incidents.length, findings: incidents.length };
            },
          });
          const inside = (range) => list.divide(range).inside.map(({ id }) => id).join(" ");
          const view = { start: 40, end: 50 }, shown = [];
          await list.load({});
          shown.push(inside(view));
          await list.look(view);
          await list.look(view);
          shown.push(inside(view), inside({ start: 70, end: 100 }), inside({ start: 91, end: 100 }));
          await list.look({ start: 70, end: 100 });
          const counts = list.divide(view).counts;
          all.splice(0, 3);
          list.forget();
          await list.load({});
          await list.look(view);  // between its symptoms, nothing of it happened
          shown.push(inside(view), inside({ start: 20, end: 50 }));
          return { shown, asked, counts };
        }"""
    )
    assert found == {
        "shown": ["within", "long within", "apart around long within", "", "", "apart"],
        "asked": [[40, 50]],  # only once, and only where what is loaded does not tell
        "counts": {"incidents": 2, "symptoms": 2, "findings": 2},
    }


def test_what_an_incident_is_about_is_said_as_on_its_page(reported: Page) -> None:
    def about(kind: str, name: str, namespace: str = "nightly") -> dict[str, Any]:
        return {"anchor": {"group": "", "kind": kind, "namespace": namespace, "name": name}}

    def incident(symptoms: list[dict[str, Any]], total: int, *spaces: str) -> dict[str, Any]:
        return {**symptoms[0], "symptoms": symptoms, "symptoms_total": total, "anchored_in": spaces}

    actor, one, two, lease = about("Actor", "jobs", ""), about("Job", "a"), about("Job", "b"), about("Lease", "kcm")
    cases = [
        (incident([one], 1, "nightly"), "nightly / Job a"),
        (incident([actor, one, two], 3, "", "nightly"), "nightly / 2 Jobs"),
        (incident([one, lease], 9, "x", "y", "z"), "x, y and 1 more / at least 2 objects"),
        (incident([actor], 1, ""), "Actor jobs"),
    ]
    assert of(reported, "state/window", "placeOf", [[each] for each, _ in cases]) == [words for _, words in cases]


def test_creation_numbers_stay_while_they_tell_the_order(reported: Page) -> None:
    found = reported.evaluate(
        """async () => {
          const { Creations } = await import("/static/dashboard/js/state/creations.js");
          const creations = new Creations();
          const shown = (...tracks) => {  // [track, number] of each; the last one is known by its bar only
            const family = (track) => (track === "event" ? "Events" : "Pods");
            const lanes = tracks.map(([track, number]) => ({ group: "7", family: family(track), members: 1, number }));
            const [last] = tracks.slice(-1), births = tracks.slice(0, -1);
            const kept = creations.keep({
              lanes, bars: { lane: tracks.map((_, i) => i), track: tracks.map(([track]) => track) },
              births: {
                lane: births.map((_, i) => i), track: births.map(([track]) => track), number: births.map(([, n]) => n),
              },
            }, true);
            return [...kept.births.number, kept.lanes.at(-1).number].join(" ");
          };
          return [
            shown(["p", 1], ["q", 2], ["r", 3], ["s", 9]),
            shown(["p", 1], ["late", 2], ["q", 3], ["r", 4], ["s", 10]),
            shown(["p", 1], ["late", 2], ["later", 3], ["q", 4], ["r", 5], ["between", 8], ["s", 11], ["new", 12]),
            [["7", "newer", 13], ["7", "q", 4], ["8", "other", 1]].map((each) => creations.of(...each)).join(" "),
            shown(["newer", 13], ["newest", 15]),
            shown(["newest", 15], ["event", 16], ["fresh", 16]),  // Events are numbered last, and move on
            shown(["p", 1], ["late", 2], ["later", 3], ["latest", 4], ["q", 5]),  // no third letter
            shown(["q", 1], ["p", 2], ["r", 3]),  // the order has changed: p began later than was known
            shown(["q", 1], ["p", 2], ["r", 3]),
          ];
        }"""
    )
    assert found == [
        "1 2 3 9",
        "1 1a 2 3 9",
        "1 1a 1b 2 3 6 9 10",
        "11 2 1",
        "11 13",
        "13 16 14",
        "1 2 3 4 5",
        "1 2 3",
        "1 2 3",
    ]


def test_the_range_around_a_fresh_finding_ends_soon_after_what_was_observed(reported: Page) -> None:
    finding = {"start": 100, "end": 200, "ranges": {"time": [50, 1050], "order": [90, 210]}}
    calls = [[finding, "time", 2000], [finding, "time", 250], [finding, "order", 250], [finding]]
    assert of(reported, "state/ranges", "rangeOf", calls) == [
        {"start": 50, "end": 1050},
        {"start": -650, "end": 350},  # as wide, with what led to it
        {"start": 90, "end": 210},
        {"start": 50, "end": 1050},
    ]


def test_the_scale_of_order_goes_both_ways_and_has_no_room_beyond_its_ends(reported: Page) -> None:
    found = reported.evaluate(
        """async () => {
          const { Store } = await import("/static/dashboard/js/state/store.js");
          const { orderScale, instantsOf } = await import("/static/dashboard/js/state/scale.js");
          const births = { time: [30, 10] }, marks = { time: [10, 5000, 99] }, bars = { start: [0], end: [7] };
          const instants = instantsOf({ start: 0, end: 4000, births, marks, bars });
          const scale = orderScale(instants);
          const round = [-500, 0, 3, 10, 64, 4000, 9000].map((time) => Math.round(scale.from(scale.to(time))));
          const store = new Store({ read: () => "?axis=order&start=1000&end=2000", write: () => {} });
          store.bounds = { first: 0, last: 1000000 };
          store.scale = orderScale([0, 1000, 2000, 500000, 1000000]);
          const ranges = [-9, -9, 1, 99, 99].map((by) => { store.pan(by); return [store.start, store.end]; });
          return { instants, places: instants.map(scale.to), middle: scale.to(20), round, ranges };
        }"""
    )
    ranges = found.pop("ranges")
    assert found == {
        "instants": [0, 7, 10, 30, 99, 4000],
        "places": [0, 1, 2, 3, 4, 5],
        "middle": 2.5,
        "round": [-500, 0, 3, 10, 64, 4000, 9000],
    }
    assert ranges[0] == ranges[1] == [-125_000, 500]  # the first moment stands in the middle
    assert ranges[2][0] == 500
    assert ranges[3] == ranges[4] and ranges[3][0] < 1_000_000 < ranges[3][1]


def test_keys_zoom_around_the_edge_of_a_live_source_while_nothing_is_drawn(reported: Page) -> None:
    widths = reported.evaluate(
        """async () => {
          const { Store } = await import("/static/dashboard/js/state/store.js");
          const { Following } = await import("/static/dashboard/js/live/following.js");
          const store = new Store({ read: () => "?start=0&end=60000000&follow=1", write: () => {} });
          let edge = 54e6;
          store.bounds = { first: 0, last: edge };
          const following = new Following({ store, edge: () => edge, onChange: () => {} });
          return [0, 3e6, 3e6, 3e6].map((later) => {
            store.bounds.last = edge += later;
            store.zoom(0.75);
            return following.on && Math.round((store.view().end - store.view().start) / 1e6);
          });
        }"""
    )
    assert widths == [45, 34, 25, 19]


def test_an_incident_that_may_have_ended_is_asked_for_once_a_minute(reported: Page) -> None:
    found = reported.evaluate(
        """async () => {
          const { IncidentsList } = await import("/static/dashboard/js/state/incidentsList.js");
          const one = { id: "a", severity: "error", state: "ongoing", start: 0, end: 0, findings: 1, times: [] };
          let asked = 0;
          const page = { incidents: [one], next: null, total: 1, findings: 1, order: "newest", acknowledged: 0 };
          const list = new IncidentsList({ incidents: async () => (asked++, { ...page, silenced: 0 }) });
          await list.load({});
          const reported = [];
          for (const minutes of [1, 5, 6, 6.5, 7]) {
            reported.push(list.outdated(minutes * 60e6));
            await list.load({});
          }
          return [reported, asked];
        }"""
    )
    assert found == [[False, False, True, False, True], 3]


def test_times_are_read_as_people_type_and_paste_them(reported: Page) -> None:
    moment = 1795240670 * SECOND  # 2026-11-21T05:57:50Z
    now = moment + 3600 * SECOND
    hour, minute = 3600 * SECOND, 60 * SECOND
    moments = {
        "05:57:50": moment,
        "5:57:50 am": moment,
        "06:57:50 +01:00": moment,
        "2026-11-21 05:57:50Z": moment,
        "2026-11-21T06:57:50.5+01:00": moment + SECOND // 2,
        "2026-11-21 00:57:50-05:00": moment,
        "2026-11-21T05:57:50,250 INFO lost the lease": moment + SECOND // 4,
        "[2026/11/21 05:57:50]": moment,
        "2026-11-21 06:57:50.000000 Europe/Berlin +01:00": moment,
        "1795240670": moment,
        "1795240670500": moment + SECOND // 2,
        "1795240670123456789": moment + 123456,
        "I1121 05:57:50.123456    1 leaderelection.go:1] lost": moment + 123456,
        "Nov 21 05:57:50 node-3 kubelet[1]: gone": moment,
        "Sat, 21 Nov 2026 05:57:50 GMT": moment,
        "Sat Nov 21 05:57:50 UTC 2026": moment,
        "21/Nov/2026:05:57:50 +0000": moment,
        "now": now,
        "1h ago": moment,
        "11/21/2026 05:57:50": moment,
        "11/21/2026, 5:57:50 AM": moment,
        "22:57:50": moment - 7 * hour,  # of the day before: the source ends before that of this day
    }
    ranges = {
        "-15m": (now - 15 * minute, now),
        "now-1h": (moment, now),
        "last 1h30m": (now - 90 * minute, now),
        "-1h to -30m": (moment, moment + 30 * minute),
        "05:57:50 to 05:58": (moment, moment + 10 * SECOND),
        "05:57:50-05:58": (moment, moment + 10 * SECOND),
        "21 Nov 05:57:50.7 – 05:57:51.2 UTC": (moment + 700_000, moment + 1_200_000),
        "05:57:50.7–51.2": (moment + 700_000, moment + 1_200_000),
        "2026-11-21T05:57:50Z/2026-11-21T05:58:50Z": (moment, moment + minute),
        "05:57:50 to +5m": (moment, moment + 5 * minute),
        "05:57:50 ± 30s": (moment - 30 * SECOND, moment + 30 * SECOND),
        "2026-11-21": (1795219200 * SECOND, 1795305600 * SECOND),
        "11/21/2026": (1795219200 * SECOND, 1795305600 * SECOND),
        "today": (1795219200 * SECOND, 1795305600 * SECOND),
        "yesterday": (1795132800 * SECOND, 1795219200 * SECOND),
        "15m": (now - 15 * minute, now),
        "2026-11-21T05:57:50Z\t2026-11-21T05:58:50Z": (moment, moment + minute),
        '{"from":"2026-11-21T05:57:50.000Z","to":"2026-11-21T05:58:50.000Z"}': (moment, moment + minute),
        '{"from": "now-1h", "to": "now-30m"}': (moment, moment + 30 * minute),
    }
    none = ["web-0", "kind:pod", "10.0.0.1", "2001:db8::1", "99:99", "2026-02-31", "22/11/2026", "3", ""]
    about = {"now": now, "near": moment + minute, "first": moment - 8 * hour, "last": now}
    read = of(reported, "state/typedTime", "readTime", [[text, about] for text in (*moments, *ranges, *none)])
    wanted = [
        *({"at": at} for at in moments.values()),
        *({"start": start, "end": end} for start, end in ranges.values()),
        *(None for _ in none),
    ]
    assert dict(zip((*moments, *ranges, *none), read, strict=True)) == dict(
        zip((*moments, *ranges, *none), wanted, strict=True)
    )
    past = {"now": moment, "near": moment, "last": moment}  # of a list of incidents, at 05:57:50
    assert of(reported, "state/typedTime", "readTime", [["05:57:50", past], ["05:58", past]]) == [
        {"at": moment},
        {"at": moment + 10 * SECOND - 24 * hour},
    ]
    berlin = """async (about) => {
      const { readTime } = await import("/static/dashboard/js/state/typedTime.js");
      const { Zone } = await import("/static/dashboard/js/state/zone.js");
      return ["06:57:50", "2026-11-21 06:57:50", "05:57:50Z"].map(
        (text) => readTime(text, { ...about, zone: new Zone("Europe/Berlin") }).at);
    }"""
    assert reported.evaluate(berlin, about) == [moment] * 3

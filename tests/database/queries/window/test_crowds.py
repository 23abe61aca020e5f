"""These tests look at more objects, lives and changes than a window has room for."""

from typing import Any

import pytest

from tests.database.queries.window.looking import change, keys, names, timed, window
from tests.database.storage.sources import ingested
from tests.inputs import events
from timeline.core.entries import microseconds
from timeline.layout.assembly import MARKS
from timeline.layout.places import CROWD
from timeline.models import Source, Track
from timeline.payloads.windows import WindowPayload
from timeline.queries.window import dense, windows
from timeline.storage.permitted.limits import Permitted, seeing

pytestmark = pytest.mark.django_db
PODS, TIMES = 40, 40


def test_lives_of_a_name_without_owner_share_a_lane() -> None:
    shown = window(ingested(events.entries_of(*(change("p", number, uid=f"u{number}") for number in range(3)))))
    assert names(shown) == ["p"]
    assert shown["births"]["number"] == [1, 2, 3]
    assert [group["lanes"] for group in shown["groups"]] == [1]


def test_a_busy_window_stays_drawable() -> None:
    """Pods restart in turn, 100 ms apart."""
    lines = [change(f"p{number % PODS}", number / 10) for number in range(PODS * 100)]
    for number, line in enumerate(lines):
        line["responseObject"]["status"] = {"containerStatuses": [{"restartCount": number // PODS}]}
    shown = window(ingested(events.entries_of(*lines)))
    assert len(shown["lanes"]) == PODS
    assert PODS < len(shown["bars"]["lane"]) + len(shown["marks"]["lane"]) <= 2_500
    assert shown["merged"] > 1_000


def crowd(pods: int) -> Source:
    """Return a source with a Job of this many Pods, created one second apart. Each lives for half a minute."""
    about = {"name": "j", "namespace": "d", "uid": "job", "resourceVersion": "5"}
    reference = {"resource": "jobs", "apiGroup": "batch", "apiVersion": "v1", "namespace": "d", "name": "j"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": about}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "job", "controller": True}
    made = [timed(0, auditID="job", objectRef=reference, responseObject=job)]
    for number in range(pods):
        for verb, after in (("create", 1), ("delete", 31)):
            made.append(change(f"p{number:03d}", number + after, verb=verb, ownerReferences=[owner]))
    return ingested(events.entries_of(*made))


def test_a_crowd_stands_as_one_strip_until_it_is_opened() -> None:
    assert len(window(crowd(CROWD))["lanes"]) == 21, "twenty are no crowd"
    source = crowd(CROWD + 5)
    shown = window(source)
    drawn = [(lane["name"], lane["members"], lane["opened"]) for lane in shown["lanes"]]
    assert drawn == [("j", 1, False), ("j", 25, False)]
    assert shown["lanes_total"] == 2
    strip, cells = shown["lanes"][1]["key"], shown["strips"]
    assert set(cells["lane"]) == {1} and (min(cells["count"]), max(cells["count"])) == (1, 25)
    assert cells["start"] == sorted(cells["start"])
    opened = window(source, open=(strip,))
    assert opened["lanes"][1]["opened"] and opened["lanes_total"] == 27
    assert [lane["strip"] for lane in opened["lanes"]] == ["", "", *[strip] * 25]
    assert names(window(source, name="P00")) == [f"p{number:03d}" for number in range(10)]


def test_lives_without_room_are_drawn_together_and_a_closer_look_shows_each() -> None:
    """Pods are created and deleted in turn under the same names, one second apart."""
    lines = []
    for number in range(2 * PODS * TIMES):
        life, pod = divmod(number, PODS)
        lines.append(change(f"p{pod}", number, verb="delete" if life % 2 else "create", uid=f"u{pod}-{life // 2}"))
    source = ingested(events.entries_of(*lines))
    shown = window(source)
    bars = shown["bars"]
    assert len(bars["lane"]) + len(shown["marks"]["lane"]) + len(shown["births"]["lane"]) <= MARKS
    assert incarnations(shown) == [f"{TIMES} incarnations shown"] * PODS
    assert any(text.endswith(" incarnations") for text in bars["text"])
    drawn = list(zip(bars["lane"], bars["start"], bars["end"], strict=True))
    lanes = names(shown)
    for track in Track.objects.filter(source=source):
        lower, upper = microseconds(track.life.lower), microseconds(track.life.upper)
        lane = lanes.index(track.name)
        assert any(each == lane and start <= lower and upper <= end for each, start, end in drawn)
    assert not any(bars["open_end"])

    first, width = shown["first"], (shown["last"] - shown["first"]) // TIMES
    close = window(source, first, first + width)
    assert not any(text.endswith("incarnations") for text in close["bars"]["text"])
    assert set(close["marks"]["mark"]) >= {"deleted"} and len(close["births"]["lane"]) >= PODS


def incarnations(shown: WindowPayload) -> list[str]:
    subtitles = [lane["subtitle"] for lane in shown["lanes"]]
    return [each.rpartition(" · ")[2] for each in subtitles if "incarnations" in each]


def test_findings_are_drawn_on_lives_that_are_drawn_together(sample: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    def looked() -> tuple[WindowPayload, WindowPayload]:
        whole = window(sample)
        with seeing(Permitted(namespaces={sample.pk: frozenset({"vol-restart"})})):
            return whole, window(sample)

    one_by_one = looked()
    monkeypatch.setattr(dense, "ONE_BY_ONE", 3)
    together = looked()
    for each, other in zip(one_by_one, together, strict=True):
        assert keys(other) == keys(each)
        assert other["holes"] == each["holes"] and other["arrows"] == each["arrows"]
    each, other = one_by_one[0], together[0]
    assert each["holes"]["lane"] and other["shades"] == each["shades"]
    assert "1 incarnation" in other["bars"]["text"] and incarnations(other) == incarnations(each)


def test_of_a_window_with_very_many_changes_the_ends_of_lives_are_exact(
    sample: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(shown: WindowPayload) -> dict[int, tuple[int, int]]:
        lives: dict[int, list[int]] = {}
        bars: Any = shown["bars"]
        for track, start, end in zip(bars["track"], bars["start"], bars["end"], strict=True):
            lives.setdefault(track, []).extend((start, end))
        return {track: (min(times), max(times)) for track, times in lives.items()}

    whole = window(sample, limit=100)
    monkeypatch.setattr(windows, "_LONG", 0)
    short = window(sample, limit=100)
    assert ends(whole) == ends(short)
    assert whole["births"] == short["births"]
    assert 0 < len(short["marks"]["time"]) <= len(whole["marks"]["time"])

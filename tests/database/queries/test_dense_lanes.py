"""These tests draw lanes with so many lives that a window has no room for each."""

from typing import Any

import pytest

from tests import events, stored
from timeline.core.entries import microseconds
from timeline.history.world.world import World
from timeline.layout.assembly import MARKS
from timeline.models import Source, Track
from timeline.pipeline import ingest
from timeline.queries.window import dense, windows
from timeline.storage.seen.limits import Seen, seeing

pytestmark = pytest.mark.django_db
PODS, TIMES = 40, 40


def renewed() -> Source:
    """Return a source with Pods that are created and deleted in turn under the same names, one second apart."""
    made = []
    for number in range(2 * PODS * TIMES):
        life, pod = divmod(number, PODS)
        body = events.pod(name=f"p{pod}", uid=f"u{pod}-{life // 2}", resourceVersion=str(number + 10))
        time = f"2026-11-21T{7 + number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}.000000Z"
        line: dict[str, Any] = {
            "auditID": str(number),
            "verb": "delete" if life % 2 else "create",
            "objectRef": {**events.event()["objectRef"], "name": f"p{pod}"},
            "responseObject": body,
            "requestReceivedTimestamp": time,
            "stageTimestamp": time,
        }
        made.append(events.event(**line))
    source = stored.opened()
    ingest(source, World(), events.entries_of(*made))
    return source


def test_lives_without_room_are_drawn_together_and_a_closer_look_shows_each() -> None:
    source = renewed()
    shown = windows.window(source.pk)
    bars = shown["bars"]
    assert len(bars["lane"]) + len(shown["marks"]["lane"]) + len(shown["births"]["lane"]) <= MARKS
    assert [lane["subtitle"].rpartition(" · ")[2] for lane in shown["lanes"]] == [f"{TIMES} incarnations shown"] * PODS
    assert any(text.endswith(" incarnations") for text in bars["text"])
    drawn = list(zip(bars["lane"], bars["start"], bars["end"], bars["open_end"], strict=True))
    names = [lane["name"] for lane in shown["lanes"]]
    for track in Track.objects.filter(source=source):
        lower, upper = microseconds(track.life.lower), microseconds(track.life.upper)
        lane = names.index(track.name)
        assert any(each == lane and start <= lower and upper <= end for each, start, end, _ in drawn)
    assert not any(bars["open_end"])

    first, width = shown["first"], (shown["last"] - shown["first"]) // TIMES
    close = windows.window(source.pk, first, first + width)
    assert not any(text.endswith("incarnations") for text in close["bars"]["text"])
    assert set(close["marks"]["mark"]) >= {"deleted"} and len(close["births"]["lane"]) >= PODS


def test_findings_are_drawn_on_lives_that_are_drawn_together(sample: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    each = windows.window(sample.pk, limit=200)
    with seeing(Seen(namespaces={sample.pk: frozenset({"vol-restart"})})):
        limited = windows.window(sample.pk, limit=200)
    monkeypatch.setattr(dense, "ONE_BY_ONE", 3)
    together = windows.window(sample.pk, limit=200)
    with seeing(Seen(namespaces={sample.pk: frozenset({"vol-restart"})})):
        seen = windows.window(sample.pk, limit=200)
    assert seen["holes"] == limited["holes"] and seen["arrows"] == limited["arrows"]
    assert [lane["key"] for lane in seen["lanes"]] == [lane["key"] for lane in limited["lanes"]]
    assert [lane["key"] for lane in together["lanes"]] == [lane["key"] for lane in each["lanes"]]
    assert together["holes"] == each["holes"] and each["holes"]["lane"]
    assert together["shades"] == each["shades"] and together["arrows"] == each["arrows"]
    assert "1 incarnation" in together["bars"]["text"]
    incarnations = [
        lane["subtitle"].rpartition(" · ")[2] for lane in each["lanes"] if "incarnations" in lane["subtitle"]
    ]
    assert incarnations == [
        lane["subtitle"].rpartition(" · ")[2] for lane in together["lanes"] if "incarnations" in lane["subtitle"]
    ]


def test_of_a_window_with_very_many_changes_the_ends_of_lives_are_exact(
    sample: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = windows.window(sample.pk)
    monkeypatch.setattr(windows, "_LONG", 0)
    short = windows.window(sample.pk)
    ends = []
    for shown in (whole, short):
        lives: dict[int, list[int]] = {}
        for track, start, end in zip(*(shown["bars"][key] for key in ("track", "start", "end")), strict=True):
            lives.setdefault(track, []).extend((start, end))
        ends.append({track: (min(times), max(times)) for track, times in lives.items()})
    assert ends[0] == ends[1]
    assert whole["births"] == short["births"]
    assert 0 < len(short["marks"]["time"]) <= len(whole["marks"]["time"])

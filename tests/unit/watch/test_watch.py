"""These tests watch one resource through faults of network and API server.

Nothing is lost, nothing is reported twice as new, and what cannot be known is a gap.
"""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors.replay import Replay
from collectors.replay.serving import kubeconfig
from collectors.watch.server import api as module
from collectors.watch.streams.decoding import ObjectDecoder
from collectors.watch.streams.resources import Resource
from tests.clients.reflecting import Watching, api_of, api_to, cut, replayed, resource, until
from tests.patience import patient
from timeline.core.entries import Change, Entry, Mark, MarkType, Observation

Begin = Callable[..., Watching]


@pytest.fixture
def replay() -> Iterator[Replay]:
    with replayed() as running:
        yield running


@pytest.fixture
def pods(replay: Replay) -> Iterator[Begin]:
    """Yield a function that starts to watch the Pods, and waits until they are watched."""
    begun: list[Watching] = []

    def begin(waits: dict[str, Any] | None = None, state: str = "watching", **options: Any) -> Watching:
        api = api_of(replay, **(waits or {}))
        watched = Watching(api, resource(api, "pods"), **options)
        begun.append(watched)
        until(lambda: watched.state == state)
        return watched

    yield begin
    for each in begun:
        each.end()


def revision(replay: Replay) -> int:
    return int(replay.status()["revisions"]["pods"])


def caught_up(replay: Replay, watched: Watching) -> None:
    """Wait until the watch has observed everything that was played."""

    def holds() -> bool:
        replay.control(bookmark=True)
        return watched.reflector.revision == revision(replay)

    until(holds)


def play(replay: Replay, watched: Watching) -> None:
    """Play to the end, and wait until everything is observed."""
    replay.control(play=True)
    until(lambda: replay.status()["ended"])
    caught_up(replay, watched)


def changes_in(entries: list[Entry]) -> set[tuple[Any, ...]]:
    """Return all that is observed of each change, each once and without its time of arrival."""
    return {
        (each.ref, each.change, each.resource_version, each.received, each.user_agent, each.facts, each.body)
        for each in entries
        if each.change is not Change.OBSERVED
    }


@pytest.fixture(scope="module")
def calm() -> set[tuple[Any, ...]]:
    """Return what an undisturbed watch observes."""
    with replayed() as replay:
        api = api_of(replay)
        with Watching(api, resource(api, "pods")) as watched:
            until(lambda: watched.state == "watching")
            play(replay, watched)
            return changes_in(watched.entries)


def test_a_list_then_what_changes(replay: Replay, pods: Begin) -> None:
    watched = pods()
    listed = watched.observed
    assert {each.change for each in watched.entries} <= {Change.OBSERVED}
    assert watched.marks(MarkType.LISTED) == listed[-1:]
    play(replay, watched)
    after = [each for each in watched.observed[len(listed) :] if isinstance(each, Entry)]
    assert {each.change for each in after} == {Change.CREATED, Change.MODIFIED, Change.DELETED}
    assert all(each.arrived for each in watched.entries)
    assert watched.marks(MarkType.BOOKMARK)[-1].revision == revision(replay)
    assert [state for state, _ in watched.states] == ["listing", "watching"]


@pytest.mark.parametrize("kinds", [("reset", "half-line", "hang"), ("duplicate", "delay")], ids="-".join)
def test_a_stream_that_breaks_is_taken_up_where_it_was(
    kinds: tuple[str, ...], replay: Replay, pods: Begin, calm: set[tuple[Any, ...]]
) -> None:
    watched = pods()
    faults = [{"kind": kind, "resource": "pods", "count": 2, "after": 4, "seconds": 0.2} for kind in kinds]
    replay.control(faults=faults)
    play(replay, watched)
    assert replay.status()["faults"]["struck"] == dict.fromkeys(kinds, 2)
    assert changes_in(watched.entries) == calm
    assert not watched.marks(MarkType.GAP)
    assert len(watched.marks(MarkType.LISTED)) == 1


def test_an_answer_that_fails_is_asked_for_again(replay: Replay, pods: Begin, calm: set[tuple[Any, ...]]) -> None:
    watched, kinds = pods(), ("throttle", "error", "close", "unauthorized")
    cut(replay, faults=[{"kind": kind, "resource": "pods", "seconds": 1} for kind in kinds])
    until(lambda: replay.status()["faults"]["struck"] == dict.fromkeys(kinds, 1))
    play(replay, watched)
    assert changes_in(watched.entries) == calm
    assert not watched.marks(MarkType.GAP)
    assert "failing" in [state for state, _ in watched.states]
    assert watched.states[-1] == ("watching", "")


def test_a_server_that_asks_to_wait_is_left_alone_so_long(replay: Replay, pods: Begin) -> None:
    watched = pods()
    cut(replay, faults=[{"kind": "throttle", "resource": "pods", "count": 1, "seconds": 3}])
    until(lambda: watched.state == "failing")
    begun = time.monotonic()
    until(lambda: watched.state == "watching")
    assert time.monotonic() - begun > 1.5


def test_a_server_that_is_away_for_a_while(replay: Replay, pods: Begin, calm: set[tuple[Any, ...]]) -> None:
    watched = pods()
    replay.control(step=60)
    replay.control(away=3)
    until(lambda: watched.state == "failing")
    assert "cannot be reached" in watched.states[-1][1]
    until(lambda: watched.state == "watching")
    play(replay, watched)
    assert changes_in(watched.entries) == calm
    assert not watched.marks(MarkType.GAP)


def miss(replay: Replay, watched: Watching, commits: int) -> int:
    """Let the watch miss changes that the server then forgets, and return the revision up to which it is complete."""
    caught_up(replay, watched)
    known = watched.reflector.revision or 0
    cut(replay, faults=[{"kind": "close", "resource": "pods", "count": 10_000}])
    until(lambda: watched.state == "failing")
    replay.control(step=commits, compact=True)
    replay.control(clear=True)
    return known


def test_what_the_server_has_forgotten_is_a_gap_that_is_reported_before_what_is_listed_after_it(
    replay: Replay, pods: Begin, calm: set[tuple[Any, ...]]
) -> None:
    watched = pods()
    replay.control(step=250)
    known = miss(replay, watched, 100)
    until(lambda: len(watched.marks(MarkType.LISTED)) == 2)
    (gap,), (_, listed) = watched.marks(MarkType.GAP), watched.marks(MarkType.LISTED)
    assert (gap.since_revision, gap.revision) == (known, listed.revision)
    assert gap.since <= gap.time and gap.reason
    again = watched.observed[watched.observed.index(gap) + 1 : watched.observed.index(listed)]
    reported = [each for each in again if isinstance(each, Entry)]
    assert {each.change for each in reported} == {Change.OBSERVED, Change.DELETED}
    for each in reported:
        if each.change is Change.DELETED:
            assert (each.resource_version, each.received, each.staged) == (None, gap.since, gap.time)
    until(lambda: watched.state == "watching")
    standing = {each.ref.uid for each in reported if each.change is Change.OBSERVED}
    assert watched.reflector.decoder.live_objects.keys() == standing
    play(replay, watched)
    found = changes_in(watched.entries)
    missed = {each[2] for each in calm - found}
    assert missed and all(known < each <= (gap.revision or 0) for each in missed)
    assert {each[1:3] for each in found - calm} == {(Change.DELETED, None)}  # only what the list revealed


@pytest.mark.parametrize("kind", ["gone-in-stream", "gone"])
def test_410_in_the_stream_and_at_its_start(kind: str, replay: Replay, pods: Begin) -> None:
    watched = pods()
    replay.control(step=100)
    caught_up(replay, watched)
    fault = {"kind": kind, "resource": "pods", "verb": "watch"}
    replay.control(faults=[fault])
    if kind == "gone":
        cut(replay)
    until(lambda: len(watched.marks(MarkType.LISTED)) == 2)
    assert len(watched.marks(MarkType.GAP)) == 1
    until(lambda: watched.state == "watching")


def test_410_between_two_pages_begins_the_list_anew(replay: Replay) -> None:
    """`tests/database/watch/test_cluster_watcher.py` lets another process take up a watch, in time and too late."""
    replay.control(step=150)
    api, batches = api_of(replay), []

    def deliver(batch: list[Observation]) -> None:
        batches.append(batch)
        if len(batches) == 1:
            replay.control(step=20, compact=True)

    with Watching(api, resource(api, "pods"), page=3, deliver=deliver) as watched:
        until(lambda: watched.state == "watching")
        listed = [each for batch in batches for each in batch]
        assert len(listed) > 6
        assert [each.what for each in listed if isinstance(each, Mark)] == [MarkType.LISTED]
        assert listed[-1].revision == revision(replay)  # type: ignore[union-attr]
    found = []
    for page in (500, 2):
        with Watching(api, resource(api, "pods"), page=page) as watched:
            until(lambda watched=watched: watched.state == "watching")  # type: ignore[misc]
            found.append(watched.changes)
    assert found[0] == found[1] != []


def test_revisions_that_go_back_end_it(replay: Replay, pods: Begin) -> None:
    watched = pods()
    replay.control(step=300)
    caught_up(replay, watched)
    replay.control(restore=100)
    time.sleep(0.5)  # wait, so that the reset does not hit the next connection of this test
    until(lambda: watched.state == "restored")
    assert "restored" in watched.states[-1][1]
    until(lambda: not watched.thread.is_alive())


def test_one_that_resumes_behind_the_end_of_a_restored_history_says_so(replay: Replay, pods: Begin) -> None:
    """A real server would wait silently until that revision exists."""
    replay.control(step=100)
    watched = pods(resume=revision(replay) + 1000, state="restored")
    assert not watched.entries


def test_what_is_forbidden_or_missing_is_asked_for_again_now_and_then(replay: Replay, pods: Begin) -> None:
    replay.control(deny=["pods"])
    watched = pods(state="forbidden")
    assert "403" in watched.states[-1][1]
    replay.control(deny=[])
    until(lambda: watched.state == "watching")
    cut(replay, deny=["pods"])
    until(lambda: watched.state == "forbidden")
    replay.control(step=100)
    replay.control(deny=[])
    until(lambda: watched.state == "watching")
    assert not watched.marks(MarkType.GAP)
    with Watching(api_of(replay), Resource("example.com", "v1", "Tab", "tabs", True)) as unknown:
        until(lambda: unknown.state == "missing")


def test_a_token_that_was_exchanged_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calm: set[tuple[Any, ...]]
) -> None:
    monkeypatch.setattr(module, "_RELOAD_SECONDS", 0.0)
    token = tmp_path / "token"
    token.write_text("one\n")
    with replayed(token="one", token_file=token) as replay:
        config = tmp_path / "config"
        config.write_text(json.dumps(kubeconfig(replay.url, "", token)))
        api = api_to(config)
        with Watching(api, resource(api, "pods")) as watched:
            until(lambda: watched.state == "watching")
            replay.control(step=60)
            cut(replay, token="two")
            play(replay, watched)
            assert changes_in(watched.entries) == calm
            assert "failing" not in [state for state, _ in watched.states]


def test_a_stream_is_stopped_at_once(pods: Begin) -> None:
    watched = pods(waits={"silence": (60, 60)})
    begun = time.monotonic()
    watched.end()
    assert time.monotonic() - begun < patient(1)


def test_streams_that_are_quiet_are_begun_anew_and_nobody_is_alarmed(replay: Replay, pods: Begin) -> None:
    watched = pods(waits={"silence": (0.2, 0.2)})
    until(lambda: replay.status()["requests"]["watch pods"] > 3)
    assert [state for state, _ in watched.states] == ["listing", "watching"]


@pytest.mark.parametrize("kind", ["no-revision", "no-metadata"])
def test_odd_objects_of_a_list_end_no_watch(kind: str, replay: Replay, pods: Begin) -> None:
    replay.control(step=60, faults=[{"kind": kind, "resource": "pods", "verb": "list", "count": 2}])
    watched = pods()
    assert replay.status()["faults"]["struck"][kind] >= 1
    if kind == "no-metadata":  # such a list cannot show deletions, so it is requested again
        assert not replay.status()["faults"]["armed"]
    else:
        assert "could not be used" in watched.states[-1][1] and "resourceVersion" in watched.states[-1][1]
    play(replay, watched)
    assert watched.thread.is_alive() and not watched.reflector.failures
    assert all(each.change is not Change.DELETED or each.resource_version for each in watched.entries)


def test_odd_objects_of_a_watch_end_no_watch(replay: Replay, pods: Begin) -> None:
    watched, kinds = pods(), ("no-revision", "odd-revision", "no-metadata")
    replay.control(faults=[{"kind": kind, "resource": "pods", "verb": "watch"} for kind in kinds])
    play(replay, watched)
    assert replay.status()["faults"]["struck"] == dict.fromkeys(kinds, 1)
    assert watched.thread.is_alive() and not watched.reflector.failures
    assert watched.reflector.decoder.unusable == 3
    until(lambda: "3 objects could not be used" in watched.states[-1][1])


def test_an_error_of_our_own_ends_no_watch_and_is_reported(
    replay: Replay, pods: Begin, calm: set[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = pods()
    before = ObjectDecoder.event
    failing: list[Exception] = [KeyError("a bug"), MemoryError(), RecursionError()]

    def event(self: ObjectDecoder, *args: Any) -> Any:
        if failing:
            raise failing.pop()
        return before(self, *args)

    monkeypatch.setattr(ObjectDecoder, "event", event)
    for times in ("once", "2 times", "3 times"):
        replay.control(step=30)
        why = f"failed within Causeline {times} and was begun anew"
        until(lambda why=why: watched.state == "watching" and why in watched.states[-1][1])  # type: ignore[misc]
    play(replay, watched)
    assert watched.reflector.failures == 3
    assert "failing" in [state for state, _ in watched.states]
    assert "failed within Causeline 3 times and was begun anew (KeyError)" in watched.states[-1][1]
    assert watched.marks(MarkType.GAP) and "within Causeline" in watched.marks(MarkType.GAP)[0].reason
    live_objects = {each.ref.uid: each.revision for each in watched.reflector.decoder.live_objects.values()}
    with Watching(api_of(replay), watched.reflector.resource) as anew:
        until(lambda: anew.state == "watching")
        assert live_objects == {each.ref.uid: each.revision for each in anew.reflector.decoder.live_objects.values()}

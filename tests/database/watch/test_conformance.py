"""These tests watch a recording live and upload it: the lives are the same, and so are the findings.

A recording of kubectl is served as a cluster and watched over HTTP; then its files are uploaded. The live source knows
up to where each kind is complete, so it may find what the files leave open. It may find nothing else: the audit log of
the same cluster confirms it. An order that no clock proves is left open by both, because equal whole seconds are not
compared.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from collectors.formats import Limits
from collectors.replay import serve
from collectors.uploads.recordings import Count, import_into
from collectors.watch.cluster_watcher import ClusterWatcher
from collectors.watch.streams import discovery
from tests import ENGINE
from tests.inputs.live import verdicts
from tests.patience import eventually
from tests.rows.followed import by_path, connected, taped
from timeline.core.entries import Mark, MarkType
from timeline.history.streams import PASSES
from timeline.models import Cluster, Finding, Gap, Source, Stream, Track
from timeline.payloads.findings import FindingPayload
from timeline.storage import leases, store
from timeline.storage.entries import chunks
from timeline.storage.exports import document

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def followers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ClusterWatcher]]:
    monkeypatch.setattr(discovery, "COMPARE_FIRST", 0.1)
    started: list[ClusterWatcher] = []
    yield started
    for follower in started:
        follower.stop()
        follower.join(10)


def uploaded(*paths: Path) -> Source:
    source = store.open_source("uploaded")
    import_into(source, [(path, path.name) for path in paths], Limits(), Count())
    return source


def watched(folder: Path, speed: float, followers: list[ClusterWatcher], room: Path, again: Source) -> Source:
    """Play the recording to its end while watchers follow it, and return the source once all findings are final.

    What only the passing of time shows is judged some time after the last change. So this also waits until everything
    is found that was found in `again`, the source of the uploaded recording.
    """
    with serve(taped(folder), speed=speed, paused=True, bookmark_seconds=0.3) as replay:
        connected(replay, room)
        (lease,) = leases.take("here", 1)
        followers.append(ClusterWatcher(lease, by_path))
        followers[-1].start()
        eventually(lambda: Cluster.objects.get().state == "live", 20)
        source = Cluster.objects.get().source
        assert source
        eventually(lambda: set(states(source)) == {"watching"} and compared(source), 20)
        replay.control(play=True)
        eventually(lambda: replay.status()["ended"], 120)
        revisions = replay.status()["revisions"]
        eventually(lambda: reached(source, revisions), 20)
        eventually(lambda: not Finding.objects.filter(source=source, document__status="suspected").exists(), 20)
        eventually(lambda: verdicts(found(source)) >= verdicts(found(again)), 20)
        followers[-1].stop()
        followers[-1].join(10)
    return source


def states(source: Source) -> list[str]:
    return list(Stream.objects.filter(source=source).values_list("state", flat=True))


def compared(source: Source) -> bool:
    """Return whether it was checked often enough which kinds share a counter of revisions."""
    marks = [each for each in chunks.observations(source.pk) if isinstance(each, Mark)]
    passes = Counter((each.group, each.kind) for each in marks if each.what is MarkType.TOGETHER)
    apart = {(each.group, each.kind) for each in marks if each.what is MarkType.APART}
    return len(apart) + sum(passes[kind] >= PASSES for kind in passes.keys() - apart) >= len(states(source)) - 1


def reached(source: Source, revisions: dict[str, str]) -> bool:
    """Return whether each stream is complete up to the last revision of its counter."""
    streams = Stream.objects.filter(source=source)
    return all((stream.watermark or 0) >= int(revisions[str(stream)]) for stream in streams)


def lives(source: Source) -> set[tuple[object, ...]]:
    rows = Track.objects.filter(source=source)
    return {(row.group, row.kind, row.namespace, row.name, row.uid, row.life.upper is None) for row in rows}


def found(source: Source) -> list[FindingPayload]:
    return [each for each in document(source)["findings"] if each["verdict"] != "inconclusive"]


def ids(findings: Iterable[FindingPayload]) -> set[str]:
    return {each["id"] for each in findings}


@pytest.mark.parametrize(("name", "speed"), [("families-watch", 40), ("jobs-watch", 1)])
def test_live_or_uploaded_the_same_is_found(
    name: str, speed: float, followers: list[ClusterWatcher], tmp_path: Path
) -> None:
    again = uploaded(ENGINE / name)
    live = watched(ENGINE / name, speed, followers, tmp_path, again)
    assert not Gap.objects.filter(source=live).exists()
    assert lives(live) == lives(again)
    assert verdicts(found(live)) >= verdicts(found(again))
    if speed == 1:  # the pace of the cluster
        assert verdicts(found(live)) == verdicts(found(again))
    surplus = ids(found(live)) - ids(found(again))
    logged = uploaded(ENGINE / f"{name.removesuffix('-watch')}.jsonl.zst")
    assert surplus <= ids(found(logged))

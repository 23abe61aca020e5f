"""These tests send what a collector sends, in this process: what is refused, what waits, and what becomes of it."""

from datetime import timedelta
from typing import Any

import pytest
import zstandard
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from msgspec.structs import replace

from collectors.watch.server import connections
from collectors.watch.storing import batches
from collectors.watch.storing.batches import Malformed
from collectors.watch.storing.feeds import BATCH_BYTES
from collectors.watch.storing.ingester import Ended
from collectors.watch.streams.threads import StreamStatus
from dashboard.access.tokens import tokens
from dashboard.access.trail import trail
from dashboard.models import AuditRecord
from tests.database.watch.collector import ITEMS, PODS, Sent, Worker, observed
from tests.rows.followed import changes_of
from tests.servers.collecting import awaited, token_of
from timeline.core.entries import Entry, Mark, MarkType
from timeline.models import Cluster, CollectedBatch, Collector, Gap, Stream
from timeline.storage import live
from timeline.storage.entries import collected

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sent() -> Sent:
    return Sent(awaited())


def test_a_batch_is_committed_before_it_is_acknowledged_and_taken_once(sent: Sent) -> None:
    assert sent.lease().json() == {"epoch": 1, "accepted": 0}
    worker = Worker(sent)
    assert sent.batch(1, ITEMS) == 200
    assert sent.batch(1, ITEMS) == 200  # the answer to the first one was lost
    assert CollectedBatch.objects.count() == 1
    worker.commit()
    assert not CollectedBatch.objects.exists() and Collector.objects.get().taken == 1
    stored = changes_of(worker.source)
    assert stored and set(stored.values()) == {1}
    assert Stream.objects.get().state == "watching" and Stream.objects.get().entries > 0
    assert sent.batch(1, ITEMS) == 200  # again, after the worker has taken it
    worker.commit()
    assert changes_of(worker.source) == stored


def test_commits_in_a_row_look_once_for_what_is_to_be_added(sent: Sent) -> None:
    sent.lease()
    worker = Worker(sent)
    sent.batch(1, ITEMS)
    worker.commit()
    worker.ingester._look_at = 0.0  # a second has passed
    with CaptureQueriesContext(connection) as asked:
        worker.commit()
        worker.commit()
    looks = [each["sql"] for each in asked if "timeline_addition" in str(each["sql"])]
    assert len(looks) == 1


def test_batches_have_no_holes_and_older_epochs_are_refused(sent: Sent) -> None:
    sent.lease()
    assert sent.batch(2, ITEMS) == 409
    assert sent.batch(1, ITEMS) == 200
    Collector.objects.update(renewed_at=None)
    assert sent.lease("two").json() == {"epoch": 2, "accepted": 1}
    assert sent.batch(2, ITEMS) == 410  # of epoch 1
    assert sent.lease("one", 1).status_code == 410
    assert sent.batch(2, ITEMS, epoch=2) == 200


def test_another_collector_begins_when_the_active_one_is_silent_or_has_left(sent: Sent) -> None:
    assert sent.lease("one").status_code == 200
    waits = sent.lease("two")
    assert waits.status_code == 423 and waits.headers["retry-after"] and "one" in waits.json()["detail"]
    Collector.objects.update(renewed_at=timezone.now() - 2 * collected.SILENT)
    assert sent.lease("two").json()["epoch"] == 2
    assert sent.lease("two", 2, leaving=True).status_code == 200
    assert sent.lease("one").json()["epoch"] == 3
    assert sent.lease("one", 3, buffered=7, behind=1.5).json() == {"epoch": 3, "accepted": 0}
    assert (Collector.objects.get().buffered, Collector.objects.get().behind) == (7, 1.5)


def test_only_a_token_of_the_scope_for_this_cluster_may_send(sent: Sent) -> None:
    other = awaited("other")
    assert sent.ask("lease", json={"holder": "one"}, named="collected").status_code == 200  # by its name
    assert Sent(sent.cluster, token_of(other)).lease().status_code == 401
    assert Sent(sent.cluster, "causeline_unknown").lease().status_code == 401
    expires = timezone.now() + timedelta(days=1)
    audit, _ = tokens.issue("audit", ["audit"], expires=expires, cluster=sent.cluster, by="tests")
    everything, _ = tokens.issue("all", ["collect"], expires=expires, by="tests")
    assert Sent(sent.cluster, audit).lease().status_code == 401
    assert Sent(sent.cluster, everything).lease().status_code == 401
    Cluster.objects.filter(pk=sent.cluster.pk).update(reference={"how": "in-cluster"})
    assert sent.lease().status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        b"no zstd",
        zstandard.compress(b'{"ref":7}'),
        zstandard.compress(b"[" * 100_000),
        zstandard.compress(
            b'{"stream":{"group":"","version":"","kind":"","resource":"","namespaced":true,"state":"x"}}'
        ),
        zstandard.compress(b" " * (BATCH_BYTES + 1)),  # a bomb
        zstandard.ZstdCompressor(write_content_size=False).compress(b" "),
        batches.written(ITEMS)[:-20],
        batches.written([Mark("", "v1", "Pod", MarkType.GAP, 5, 2, since=3, reason="a\0b")]),
    ],
    ids=["no zstd", "no entry", "deep", "no state", "bomb", "no size", "cut off", "NUL"],
)
def test_what_cannot_be_read_is_put_aside_and_is_a_gap(sent: Sent, body: bytes) -> None:
    sent.lease()
    worker = Worker(sent)
    assert sent.batch(1, ITEMS) == 200 and sent.batch(2, body) == 200
    worker.commit()
    worker.commit()
    assert "aside" in Gap.objects.get().reason and Collector.objects.get().taken == 2
    assert "Batch 2 was put aside" in Collector.objects.get().problem
    assert sent.batch(3, ITEMS[:2]) == 200
    worker.commit()
    assert Collector.objects.get().taken == 3


def test_a_batch_that_no_worker_can_process_is_put_aside_after_some_attempts(sent: Sent) -> None:
    sent.lease()
    worker = Worker(sent)
    assert sent.batch(1, ITEMS) == 200
    worker.commit()
    assert sent.batch(2, ITEMS[:2]) == 200 and sent.batch(3, ITEMS[:2]) == 200
    CollectedBatch.objects.filter(number=2).update(lines=b"damaged")
    for _ in range(collected.ATTEMPTS):  # the first of both batches, the others of one
        with pytest.raises(Malformed):
            worker.commit()
        worker.open()
    worker.commit()
    worker.commit()
    assert Collector.objects.get().taken == 3 and Gap.objects.count() == 1
    assert CollectedBatch.objects.get().number == 2  # it is kept to be looked at


def test_a_collector_learns_what_is_known_after_its_last_batch(sent: Sent) -> None:
    sent.lease()
    worker = Worker(sent)
    assert sent.batch(1, ITEMS) == 200
    asked = "state?epoch=1&after=1"
    assert sent.ask(asked, "GET").status_code == 202
    worker.commit()
    assert sent.ask(asked, "GET").status_code == 202  # the worker answers when it looks the next time
    worker.commit()
    found = batches.known_read(sent.ask(asked, "GET").content, 10**9)
    last = max(each.resource_version or 0 for each in observed() if isinstance(each, Entry))
    assert [each.target for each in found] == [PODS] and int(found[0].resourceVersion) >= last
    existing = worker.live.existing_objects("", "Pod")
    assert {each.ref.uid: each.revision for each in found[0].objects} == {
        uid: each.revision for uid, each in existing.items()
    }
    assert sent.ask("state?epoch=2&after=1", "GET").status_code == 410
    assert sent.ask("state?epoch=x&after=1", "GET").status_code == 400


def test_another_history_of_the_cluster_begins_a_new_source(sent: Sent) -> None:
    sent.lease()
    worker = Worker(sent)
    assert sent.batch(1, ITEMS) == 200
    worker.commit()
    before = worker.source
    assert sent.batch(2, ITEMS, restored="The cluster's etcd was restored.") == 200
    with pytest.raises(Ended, match="restored"):
        worker.commit()
    live.begin(sent.cluster, "restored")
    worker.feed.history_begun()
    worker.open()
    worker.commit()
    assert worker.source != before and changes_of(worker.source) == changes_of(before)


def test_the_collector_has_to_wait_when_too_much_waits(sent: Sent, settings: Any) -> None:
    sent.lease()
    settings.COLLECT_INBOX_BYTES = 0
    assert sent.batch(1, ITEMS) == 200
    assert sent.batch(2, ITEMS) == 429
    assert sent.lease("one", 1, namespaces=["a"]).status_code == 429  # batches of all namespaces wait
    Worker(sent).commit()
    assert sent.batch(2, ITEMS) == 200


def test_credentials_are_taken_out_again(sent: Sent) -> None:
    environment = b'[{"name":"PASSWORD","value":"hunter2hunter2"}]'
    head = b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"env":'
    secret = head + environment + b"}]}}"
    entry = next(each for each in observed() if isinstance(each, Entry))
    sent.lease()
    assert sent.batch(1, [replace(entry, body=secret)]) == 200
    assert b"hunter2" not in zstandard.decompress(bytes(CollectedBatch.objects.get().lines))


def test_the_page_says_how_the_collector_is(sent: Sent, admin_client: Client) -> None:
    page = admin_client.get(f"/clusters/{sent.cluster.pk}/").content.decode()
    assert "No collector has reported yet" in page and "--scope collect" in page and "Test the connection" not in page
    sent.lease("pod-1", version="1.2.3", buffered=3_000_000)
    page = admin_client.get(f"/clusters/{sent.cluster.pk}/").content.decode()
    assert "pod-1 is active, with Causeline 1.2.3." in page and "3.0 MB wait on its disk" in page
    assert 'name="write_events"' not in page


def test_no_events_are_written_where_nothing_connects_to(sent: Sent) -> None:
    wanted = connections.WatchOptions(write_events=True)
    with pytest.raises(connections.ClusterRefused, match="no Events"):
        connections.change(sent.cluster, wanted)
    with pytest.raises(connections.ClusterRefused, match="no Events"):
        connections.connect("other", connections.by_collector(), wanted)
    assert not Cluster.objects.filter(write_events=True).exists()


def test_the_audit_trail_says_once_an_hour_who_sends(sent: Sent) -> None:
    trail.recent = trail._Recent()
    for _ in range(2):
        sent.lease("pod-1")
    assert Sent(sent.cluster, "causeline_wrong").lease().status_code == 401
    rows = AuditRecord.objects.filter(action="send").order_by("id")
    assert [(row.way, row.cluster, row.thing, row.outcome) for row in rows] == [
        ("token", sent.cluster.pk, "what a collector observes", "done"),
        ("nobody", None, "what a collector observes", "refused"),
    ]


def test_what_a_collector_watches_is_not_changed_from_here(sent: Sent) -> None:
    sent.lease(namespaces=["b", "a"])
    sent.cluster.refresh_from_db()
    assert sent.cluster.namespaces == ["a", "b"]
    connections.change(sent.cluster, connections.WatchOptions(keep_days=3))
    assert (sent.cluster.namespaces, sent.cluster.keep_days) == (["a", "b"], 3)


def test_a_mark_of_a_list_is_written_and_read_back() -> None:
    mark = Mark("", "v1", "Pod", MarkType.LISTED, 1, 2, namespace="a", reason="")
    items: list[batches.Item] = [StreamStatus(PODS, "failing", "away"), mark]
    assert [*batches.read(batches.written(items), 10_000)] == items

"""These tests send audit events to the webhook: what is refused, what waits, and what becomes of them in the source."""

import gzip
import json
import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import httpx
import msgspec
import pytest
from django.test import Client
from django.utils import timezone
from msgspec.structs import replace
from pytest_django import Settings

from collectors import tasks
from collectors.watch.storing.adding import ForeignLog
from dashboard.access.tokens import tokens
from dashboard.models import AccessToken
from dashboard.web.webhooks import AUDIT, Webhooks
from tests import DATA
from tests.database.watch.asgi import answer_of
from tests.database.watch.logs import POD, line, logged
from tests.inputs import mutations
from tests.inputs.live import observations
from tests.rows.following import Followed
from tests.unit.history.test_joins import log
from timeline.core.entries import Change, Mark, MarkType, ObjectRef
from timeline.history.packing import unpack
from timeline.models import ActorFeed, AuditBatch, Cluster, Track, Way
from timeline.storage import live
from timeline.storage.entries import inbox

pytestmark = pytest.mark.django_db(transaction=True)
AT = POD.received + 1


def token(cluster: Cluster | None, scope: str = "audit") -> str:
    expires = timezone.now() + timedelta(days=1)
    return tokens.issue("API server", [scope], expires=expires, cluster=cluster, by="test")[0]


def listed(*events: bytes) -> bytes:
    """Return audit events as an API server sends them."""
    items = b",".join(events)
    return b'{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[' + items + b"]}"


def post(text: str, body: bytes | Iterable[bytes], **headers: str) -> httpx.Response:
    """Send a request to the webhook in this process."""

    async def pieces() -> Any:
        for piece in [body] if isinstance(body, bytes) else body:
            yield piece

    sent = {"Authorization": f"Bearer {text}", **{name.replace("_", "-"): each for name, each in headers.items()}}
    return answer_of(Webhooks, "POST", AUDIT, content=pieces(), headers=sent)


def feed() -> ActorFeed:
    return ActorFeed.objects.get()


def test_events_are_stored_once_and_the_worker_takes_them(held: Followed) -> None:
    text = token(held.cluster)
    events = [line(POD.ref, AT + number) for number in range(3)]
    assert post(text, listed(*events)).status_code == 200
    assert post(text, listed(*reversed(events))).status_code == 200  # the answer to the first one was lost
    assert (AuditBatch.objects.count(), logged(held.source)) == (1, [])
    held.add()
    assert (len(logged(held.source)), AuditBatch.objects.get().lines) == (3, None)
    assert post(text, listed(*events)).status_code == 200  # again, after the worker has taken it
    assert post(text, listed(events[0], line(POD.ref, AT + 9))).status_code == 200  # one of both is new
    held.add()
    assert len(logged(held.source)) == 4
    found = feed()
    assert (found.batches, found.events, found.repeated, found.added, found.unread) == (2, 5, 2, 4, 0)


def test_a_log_without_bodies_says_who_made_the_changes_that_the_watches_show() -> None:
    followed = Followed()
    followed.commit(observations(DATA / "beside" / "stale-jobs" / "watch"))
    before = {(row.kind, row.name, row.uid) for row in Track.objects.filter(source=followed.source)}
    assert len(before) > 100
    text = token(followed.cluster)
    events = [msgspec.json.encode(mutations.logged_at("Metadata", event)) for event in log("stale-jobs")]
    for at in range(0, len(events), 500):
        assert post(text, listed(*events[at : at + 500])).status_code == 200
        followed.add()
    rows = Track.objects.filter(source=followed.source)
    kinds = {kind for kind, _, _ in before}
    assert {(row.kind, row.name, row.uid) for row in rows if row.kind in kinds} == before
    written = [
        (row.kind, revision, writer) for row in rows for _, revision, _, _, _, writer, _ in row.lifeline if revision
    ]
    of_pods = [writer for kind, _, writer in written if kind == "Pod"]
    assert sum(writer.startswith("system:") for writer in of_pods) > 0.5 * len(of_pods)


def test_another_event_with_an_audit_id_that_was_sent_before_is_kept(held: Followed) -> None:
    """A client chooses the auditID of its request by a header."""
    text = token(held.cluster)
    before, after = (json.loads(line(POD.ref, AT + number)) for number in range(2))
    for event in (before, before, after | {"auditID": before["auditID"]}):
        assert post(text, listed(json.dumps(event).encode())).status_code == 200
    assert (AuditBatch.objects.count(), feed().events, feed().repeated) == (2, 2, 1)


def test_only_a_token_of_the_scope_that_is_limited_to_a_cluster_may_send(held: Followed) -> None:
    body = listed(line(POD.ref, AT))
    assert post("causeline_unknown", body).status_code == 401
    assert post(token(held.cluster, "read"), body).status_code == 401
    assert post(token(None), body).status_code == 403
    assert not AuditBatch.objects.exists()


def test_hostile_bodies_are_refused_or_skipped(held: Followed) -> None:
    text = token(held.cluster)
    lists = [
        b"",
        b"{",
        b"\xff\x00",
        b'{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":7}',
        b'{"kind":"PodList","apiVersion":"v1","items":[]}',
        b"[" * 100_000,
        listed(b"1," * 30_000 + b"1"),
    ]
    for body in lists:
        answer = post(text, body)
        assert (answer.status_code, answer.headers.get("retry-after")) == (400, None), body[:100]
        assert feed().problem.startswith("A batch was refused. It")
    assert not AuditBatch.objects.exists()
    named, sent, answered = (line(POD.ref, AT + number) for number in range(3))
    deep = b"[" * 900 + b"]" * 900
    events = [
        b"{}",
        b'{"auditID":"\\u0000","stage":"ResponseComplete","verb":"create"}',
        named.replace(b'"namespace": "', b'"namespace": "\\u0000'),
        sent[:-1] + b',"requestObject":' + deep + b"}",
        answered.replace(b'"Metadata"', b'"RequestResponse"')[:-1] + b',"responseObject":{"metadata":' + deep + b"}}",
    ]
    for each in events:
        assert post(text, listed(each)).status_code == 200, each[:100]
    held.add()
    assert (feed().unread, len(logged(held.source))) == (4, 0)


def test_gzip_is_read_in_pieces_and_what_is_too_long_or_no_gzip_is_refused(held: Followed, settings: Settings) -> None:
    text = token(held.cluster)
    settings.AUDIT_BATCH_BYTES = 1_000
    bomb = gzip.compress(b" " * 1_000_000)
    assert post(text, b" " * 1_001).status_code == 413
    assert post(text, bomb, Content_Encoding="gzip").status_code == 413
    assert post(text, bomb[:20], Content_Encoding="gzip").status_code == 400
    assert post(text, b"no gzip", Content_Encoding="gzip").status_code == 400
    assert post(text, b"", Content_Encoding="br").status_code == 415
    small = gzip.compress(listed())
    for pieces in ([small + b"x"], [small, b"x"], [small, small]):
        assert post(text, pieces, Content_Encoding="gzip").status_code == 400
    assert post(text, [small, b""], Content_Encoding="gzip").status_code == 200
    body = gzip.compress(listed(line(POD.ref, AT)))
    assert post(text, [body[:7], body[7:]], Content_Encoding="gzip").status_code == 200
    held.add()
    assert len(logged(held.source)) == 1


def test_an_event_that_cannot_be_read_does_not_cost_the_others(held: Followed) -> None:
    assert post(token(held.cluster), listed(b'{"auditID":7}', line(POD.ref, AT))).status_code == 200
    held.add()
    assert (len(logged(held.source)), feed().unread) == (1, 1)
    assert "event 1: a field is not as Kubernetes writes it" in feed().problem


def test_the_sender_waits_while_too_much_waits(held: Followed, settings: Settings) -> None:
    text = token(held.cluster)
    settings.AUDIT_INBOX_BYTES = 0
    assert post(text, listed(line(POD.ref, AT))).status_code == 200
    answer = post(text, listed(line(POD.ref, AT + 1)))
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")
    held.add()
    assert post(text, listed(line(POD.ref, AT + 1))).status_code == 200


def test_a_cluster_that_is_not_watched_yet_is_asked_for_later() -> None:
    answer = post(token(Cluster.objects.create(name="new")), listed(line(POD.ref, AT)))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


def test_credentials_are_removed_before_anything_is_stored(held: Followed) -> None:
    secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"
    event = json.loads(line(POD.ref, AT))
    event |= {"level": "RequestResponse", "userAgent": f"kubectl/{secret}"}
    event["responseObject"] = {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": POD.ref.name, "namespace": POD.ref.namespace, "uid": POD.ref.uid, "resourceVersion": "999999",
        },
        "spec": {"containers": [{"name": "a", "env": [{"name": "PASSWORD", "value": "hunter22"}]}]},
    }  # fmt: skip
    assert post(token(held.cluster), listed(json.dumps(event).encode())).status_code == 200
    stored = unpack(bytes(AuditBatch.objects.get().lines or b""))
    assert b"999999" in stored and secret.encode() not in stored and b"hunter22" not in stored
    held.add()
    (entry,) = logged(held.source)
    assert secret not in entry.user_agent


def test_what_waits_for_a_source_that_has_ended_is_moved_and_old_events_are_left_out(held: Followed) -> None:
    assert post(token(held.cluster), listed(line(POD.ref, AT))).status_code == 200
    ended = held.source
    held.go_on(live.begin(Cluster.objects.get(), "Its etcd was restored."))
    tasks.take_up_uploads()
    later = AT + 10_000_000
    held.commit([replace(POD, change=Change.OBSERVED, arrived=later), Mark("", "v1", "Pod", MarkType.LISTED, later, 9)])
    held.add()
    assert (logged(ended), logged(held.source)) == ([], [])
    assert ActorFeed.objects.get(source=held.source).late == 1


def test_the_same_batch_of_two_sources_that_have_ended_is_moved_once(held: Followed) -> None:
    ended = [held.source]
    for _ in range(2):
        held.go_on(live.begin(Cluster.objects.get(), "Its etcd was restored."))
        ended.append(held.source)
    present = ended.pop()
    shared = {"way": Way.AUDIT, "arrived": timezone.now(), "size": 1, "lines": b"1"}
    for source in ended:
        AuditBatch.objects.create(source=source, digest="same", **shared)
    AuditBatch.objects.create(source=present, digest="known", **shared | {"lines": None})
    AuditBatch.objects.create(source=ended[0], digest="known", **shared)
    old = shared | {"arrived": timezone.now() - 2 * inbox.REMEMBERED, "lines": None}
    AuditBatch.objects.create(source=present, digest="old", **old)
    inbox.tidy()
    inbox.tidy()
    rows = sorted(AuditBatch.objects.values_list("digest", "source_id"))
    assert rows == [("known", ended[0].pk), ("known", present.pk), ("same", ended[0].pk), ("same", present.pk)]


def test_events_of_another_cluster_are_dropped_and_the_page_says_so(held: Followed) -> None:
    space = ObjectRef("", "v1", "Namespace", "", "kube-system", "other")
    held.commit([replace(POD, ref=replace(space, uid="mine"), resource_version=None, facts=None)])
    for each in (space, POD.ref):
        assert post(token(held.cluster), listed(line(each, AT))).status_code == 200
    held.add()
    assert not AuditBatch.objects.exclude(lines=None).exists()
    assert "another Namespace kube-system" in feed().problem
    (kept,) = logged(held.source)  # the batch beside it was taken
    assert kept.ref.uid == POD.ref.uid


def test_batches_of_two_clusters_are_dropped_if_it_is_not_known_which_is_the_own_one(held: Followed) -> None:
    for place, uid in enumerate(("one", "other")):
        space = ObjectRef("", "v1", "Namespace", "", "kube-system", uid)
        assert post(token(held.cluster), listed(line(space, AT + place))).status_code == 200
    with pytest.raises(ForeignLog):
        held.add()
    assert not AuditBatch.objects.exclude(lines=None).exists()
    assert "another Namespace kube-system" in feed().problem
    assert not logged(held.source)


def test_the_page_of_the_cluster_makes_the_files_and_says_what_flows(client: Client, held: Followed) -> None:
    page = f"/clusters/{held.cluster.pk}/"
    assert "No audit events have arrived." in client.get(page).content.decode()
    form = {"act": "audit", "address": "https://causeline.example.com:8443/", "days": "30", "authority": ""}
    refused = client.post(page, form | {"address": "http://causeline.example.com"})
    assert (refused.status_code, AccessToken.objects.count()) == (400, 0)
    answer = client.post(page, form)
    text = answer.content.decode()
    assert "https://causeline.example.com:8443/api/audit/events" in text and "omitStages" in text
    assert "no-store" in answer["Cache-Control"]
    (made,) = AccessToken.objects.all()
    assert (made.scopes, made.cluster, made.prefix in text) == (["audit"], held.cluster, True)
    found = re.search(r"causeline_[\w-]{20,}", text)
    assert found and found[0] not in client.get(page).content.decode()
    assert post(found[0], listed(line(POD.ref, AT))).status_code == 200
    held.add()
    inbox.compared(
        held.source, {("Pod", True): 3, ("Pod", False): 2, ("Lease", False): 1}, [("Pod", AT), ("Lease", AT)]
    )
    for address in (page, f"/sources/{held.source.pk}/coverage/"):
        text = client.get(address).content.decode()
        assert "1 audit event in 1 batch. 1 observation of them added something." in text
        assert "Of 6 changes of the watches that were compared since then, 3 came with who made them, and 3 did" in text
        assert "within 2 minutes: Pod 2, Lease 1." in text
    assert ActorFeed.objects.get().gaps == [[AT, AT, 1]]  # of Leases, nobody is known otherwise
    manifest = client.post(page, form | {"act": "admission"}).content.decode()
    assert "failurePolicy: Ignore" in manifest

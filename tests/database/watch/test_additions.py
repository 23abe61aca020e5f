"""These tests add an audit log to a cluster that is watched: by its worker, once, and only if it is of that cluster."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from msgspec.structs import replace
from pytest_django import Settings

from collectors import tasks
from collectors.replay import Replay, serve
from collectors.uploads import importing
from collectors.watch.cluster_watcher import ClusterWatcher
from collectors.watch.storing.adding import ForeignLog
from tests.database.watch.logs import POD, SHOWN, WATCH, line, logged
from tests.inputs.recordings import SAMPLE, lines_of
from tests.patience import eventually
from tests.rows.followed import by_path, connected, found, found_anew, taped, watched
from tests.rows.following import Followed
from tests.rows.people import member
from timeline.core.entries import Entry, ObjectRef, Request
from timeline.models import Addition, Cluster, Source, Upload
from timeline.storage import leases, live

pytestmark = pytest.mark.django_db(transaction=True)
OCTETS = "application/octet-stream"
INCLUDE = {"pods", "services"}
LOG = b"\n".join(lines_of(SAMPLE)[:900])


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster that a worker has watched until everything in the recording has happened."""
    recording = tmp_path / "audit.jsonl"
    recording.write_bytes(LOG)
    with serve(taped(recording), speed=100_000, paused=True, bookmark_seconds=0.5) as served:
        connected(served, tmp_path, "prod")
        (lease,) = leases.take("here", 1)
        follower = ClusterWatcher(lease, by_path)
        follower.start()
        eventually(lambda: watched(Cluster.objects.get()) >= INCLUDE)
        _play_to_the_end(served, taped(recording).commits[-1].revision)
        yield Cluster.objects.get()
        follower.stop()
        follower.join(10)


def _play_to_the_end(served: Replay, last: int) -> None:
    served.control(step=100_000)
    eventually(lambda: served.status()["ended"])
    pods = {"resource": "pods", "watermark__gte": last}
    eventually(lambda: Cluster.objects.get().source.stream_set.filter(**pods).exists())  # type: ignore[union-attr]


def sent(client: Client, cluster: Cluster, content: bytes, name: str = "audit.jsonl") -> Upload:
    answer = client.post(f"/api/uploads?name={name}&cluster={cluster.pk}", content, OCTETS)
    assert answer.status_code == 201, answer.content
    upload = importing.take_up(answer.json()["id"])
    assert upload
    importing.run(upload)
    upload.refresh_from_db()
    return upload


def ended(upload: Upload) -> Upload:
    eventually(lambda: Upload.objects.get(pk=upload.pk).state in ("done", "failed"), 20)
    return Upload.objects.get(pk=upload.pk)


def test_the_worker_adds_a_log_once_and_judges_again(client: Client, played: Cluster) -> None:
    source = played.source
    assert source
    assert not logged(source)
    first = ended(sent(client, played, LOG))
    assert (first.state, first.error, first.source) == ("done", "", source)
    assert not Addition.objects.exists()
    stored = logged(source)
    assert any(isinstance(each, Request) for each in stored)
    assert any(isinstance(each, Entry) and each.client for each in stored)
    eventually(lambda: found(source) == found_anew(source), every=0.5)  # once the watches have come as far as the log
    again = ended(sent(client, played, LOG))
    assert (again.state, again.entries) == ("done", 0)
    assert len(logged(source)) == len(stored)
    assert Cluster.objects.get().source == source
    assert Source.objects.count() == 1


def test_a_log_of_another_cluster_is_refused(client: Client, held: Followed) -> None:
    content = line(replace(POD.ref, uid="another"), POD.received + 1)
    upload = sent(client, held.cluster, content)
    words = "another cluster: prod has none of the 1 objects whose UIDs it shows:"
    assert upload.state == "failed"
    assert f"{words} Pod {POD.ref.namespace}/{POD.ref.name} has the UID" in upload.error
    assert not Addition.objects.exists()


def test_another_namespace_kube_system_is_refused(client: Client, held: Followed) -> None:
    space = replace(POD, ref=ObjectRef("", "v1", "Namespace", "", "kube-system", "mine"), resource_version=None)
    held.commit([space])
    other = line(replace(space.ref, uid="other"), POD.received + 2)
    upload = sent(client, held.cluster, b"\n".join([line(POD.ref, POD.received + 1), other]))
    assert (upload.state, "kube-system has the UID other" in upload.error) == ("failed", True)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (lambda: line(POD.ref, 1_000_000), "before prod was watched"),
        (
            lambda: line(replace(POD.ref, uid=""), POD.received + 1, "patch"),
            "Nothing in it shows which cluster it is of",
        ),
        (lambda: (WATCH / "pods.jsonl.zst").read_bytes(), "Only audit logs can be added"),
    ],
    ids=["earlier", "without UIDs", "a watch"],
)
def test_what_does_not_belong_there_is_refused(
    client: Client, held: Followed, content: Callable[[], bytes], reason: str
) -> None:
    upload = sent(client, held.cluster, content())
    assert (upload.state, reason in upload.error) == ("failed", True), upload.error


def test_what_is_older_than_the_worker_remembers_is_left_out(
    client: Client, held: Followed, settings: Settings
) -> None:
    settings.LIVE_MEMORY = timedelta(seconds=1)
    held.forget_with_the_next_commit()
    held.commit(SHOWN[-1:])
    last = max(each.received for each in SHOWN if isinstance(each, Entry))
    upload = sent(client, held.cluster, b"\n".join([line(POD.ref, POD.received + 1), line(POD.ref, last)]))
    held.add()
    upload.refresh_from_db()
    assert (upload.state, upload.skipped, len(logged(held.source))) == ("done", 1, 1)


def test_another_kube_system_that_only_the_worker_knows_is_refused(client: Client, held: Followed) -> None:
    space = ObjectRef("", "v1", "Namespace", "", "kube-system", "other")
    upload = sent(client, held.cluster, b"\n".join([line(POD.ref, POD.received + 1), line(space, POD.received + 2)]))
    assert upload.state == "adding"
    held.commit([replace(POD, ref=replace(space, uid="mine"), resource_version=None, facts=None)])
    with pytest.raises(ForeignLog):
        held.add()
    upload.refresh_from_db()
    assert (upload.state, Addition.objects.count(), logged(held.source)) == ("failed", 0, [])
    assert "another Namespace kube-system" in upload.error


def test_it_waits_for_the_worker_and_can_be_cancelled(client: Client, held: Followed) -> None:
    upload = sent(client, held.cluster, line(POD.ref, POD.received + 1))
    assert (upload.state, Addition.objects.count()) == ("adding", 1)
    assert [each["cluster_name"] for each in client.get("/api/uploads").json()["uploads"]] == ["prod"]
    tasks.take_up_uploads()
    upload.refresh_from_db()
    assert upload.state == "adding"
    assert client.post(f"/api/uploads/{upload.pk}/cancel", content_type=OCTETS).json()["state"] == "cancelled"
    assert not Addition.objects.exists()


def test_what_waits_for_a_source_that_has_ended_is_refused(client: Client, held: Followed) -> None:
    upload = sent(client, held.cluster, line(POD.ref, POD.received + 1))
    live.begin(Cluster.objects.get(), "Its etcd was restored.")
    tasks.take_up_uploads()
    upload.refresh_from_db()
    assert (upload.state, Addition.objects.count()) == ("failed", 0)
    assert "has ended" in upload.error


def test_only_administrators_may_add(client: Client, held: Followed, settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    client.force_login(member("responder", name="visitor"))
    where = f"/api/uploads?name=audit.jsonl&cluster={held.cluster.pk}"
    assert client.post(where, b"{}", OCTETS).status_code == 403
    body = {"name": "audit", "files": [{"name": "a", "size": 1}], "cluster": held.cluster.pk}
    assert client.post("/api/uploads", json.dumps(body), "application/json").status_code == 403
    assert 'id="target"' not in client.get("/").content.decode()
    assert not Upload.objects.exists()


def test_an_unknown_cluster_is_refused(client: Client) -> None:
    assert client.post("/api/uploads?name=a&cluster=7", b"{}", OCTETS).status_code == 404


def test_the_command_line_adds_too(held: Followed, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    file.write_bytes(line(POD.ref, POD.received + 1))
    call_command("causeline", "import", "--cluster", "prod", "--", str(file))
    assert Upload.objects.get().state == "adding"
    with pytest.raises(SystemExit):
        call_command("causeline", "import", "--cluster", "unknown", "--", str(file))
    assert Addition.objects.count() == 1

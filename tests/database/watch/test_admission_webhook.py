"""These tests ask the admission webhook: it answers at once and yes, names who made a change only where that is
certain, and counts what it drops."""

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

import httpx
import msgspec
import pytest
import yaml
from django.utils import timezone
from msgspec.structs import replace

from collectors.formats import Limits
from collectors.gate import admit
from collectors.normalise.objects import observed_object
from collectors.uploads import admission_batches
from collectors.watch.storing import makers
from collectors.watch.webhook_files import admission_manifest, audit_policy, kubeconfig
from dashboard.web import admission
from dashboard.web.webhooks import Webhooks, hide_token
from tests import ROOT
from tests.database.watch.test_audit_webhook import token
from tests.inputs.objects import made
from tests.rows.following import Followed
from tests.unit.formats.test_admission_format import review
from timeline.core.entries import Change, Entry, Mark, MarkType, microseconds
from timeline.history.packing import unpack
from timeline.judging.coverage.audit_policy import Policy
from timeline.models import ActorFeed, AuditBatch

ROBOT = "system:serviceaccount:n:robot"


def entry(body: dict[str, Any], change: Change) -> Entry:
    """Return what a watch shows of a change now."""
    found = observed_object(json.dumps(body).encode(), change, None, bodies=True).entry
    (found,) = [each for each in admit([found], Limits()) if isinstance(each, Entry)]
    return replace(found, arrived=microseconds(timezone.now()), received=microseconds(timezone.now()))


def asked(operation: str, old: Any, new: Any, actor: str = ROBOT, **more: Any) -> bytes:
    about = {"operation": operation, "oldObject": old, "object": new, "uid": f"{operation} {actor}"}
    return json.dumps(review(**about, userInfo={"username": actor}, **more)).encode()


@pytest.mark.django_db(transaction=True)
def test_a_token_that_was_revoked_counts_for_half_a_minute_at_most() -> None:
    cluster = Followed().cluster.pk
    known = admission.Tokens()

    async def found(age: float) -> int | None:
        known._known["revoked"] = cluster, time.monotonic() - age
        answer = await known.cluster("revoked")
        await asyncio.gather(*known._asking.values())
        return answer

    assert asyncio.run(found(admission.OLD_SECONDS - 5)) == cluster
    assert asyncio.run(found(admission.OLD_SECONDS + 1)) is None


class Scene:
    """This is a cluster whose watch has shown one object, and what it shows then."""

    def __init__(self) -> None:
        self.followed = Followed()
        self.old = made("p", 7)
        begin = microseconds(timezone.now())
        self.followed.commit([entry(self.old, Change.OBSERVED), Mark("", "v1", "ConfigMap", MarkType.LISTED, begin, 7)])

    def reviewed(self, *bodies: bytes, dropped: int = 0) -> None:
        at = microseconds(timezone.now())
        admission_batches.store(self.followed.cluster.pk, [(at, body) for body in bodies], dropped, Limits(), 10**9)

    def names(self, changes: Sequence[Entry]) -> list[str]:
        """Return who made the changes, as far as that is known."""
        self.followed.follow_admitted(changes)
        tracks = self.followed.world.tracks()
        found = {moment.entry.resource_version: moment.entry.actor for track in tracks for moment in track.moments}
        return [found[each.resource_version] for each in changes]


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(makers, "SETTLED", 0.0)
    return Scene()


NEW = made("p", 8, labels={"a": "b"})
SENT = made(
    "p", 7, labels={"a": "b"}, managedFields=[{"manager": "kubectl", "operation": "Update", "apiVersion": "v1"}]
)


@pytest.mark.django_db(transaction=True)
def test_what_was_dropped_is_counted_however_often(scene: Scene) -> None:
    for _ in range(2):
        scene.reviewed(dropped=3)
    feed = ActorFeed.objects.get(source=scene.followed.source)
    assert (feed.dropped, feed.repeated, feed.events) == (6, 0, 0)


@pytest.mark.django_db(transaction=True)
class TestWhoMadeAChange:
    def test_an_update_is_recognised_by_its_revision_and_content(self, scene: Scene) -> None:
        scene.reviewed(asked("UPDATE", scene.old, SENT))
        assert scene.names([entry(NEW, Change.MODIFIED)]) == [ROBOT]
        assert ActorFeed.objects.get().added == 1

    def test_nobody_is_named_where_that_is_not_certain(self, scene: Scene) -> None:
        other = made("p", 7, labels={"a": "c"})
        scene.reviewed(
            asked("UPDATE", made("p", 6), SENT, "stale"),  # of another revision
            asked("UPDATE", scene.old, other, "another content"),
            asked("UPDATE", scene.old, SENT, "dry", dryRun=True),
        )
        assert scene.names([entry(NEW, Change.MODIFIED)]) == [""]

    def test_two_who_may_have_made_it_are_not_named(self, scene: Scene) -> None:
        scene.reviewed(asked("UPDATE", scene.old, SENT, "one"), asked("UPDATE", scene.old, SENT, "two"))
        assert scene.names([entry(NEW, Change.MODIFIED)]) == [""]

    def test_creations_and_deletions_are_recognised(self, scene: Scene) -> None:
        born = made("q", 9)
        scene.reviewed(
            asked("CREATE", None, {**born, "metadata": {**born["metadata"], "resourceVersion": ""}}, "maker"),
            asked("DELETE", scene.old, None, "remover"),
        )
        gone = {**scene.old, "metadata": {**scene.old["metadata"], "resourceVersion": "10"}}
        assert scene.names([entry(born, Change.CREATED), entry(gone, Change.DELETED)]) == ["maker", "remover"]

    def test_a_review_alone_is_no_change(self, scene: Scene) -> None:
        scene.reviewed(asked("UPDATE", scene.old, SENT))
        before = scene.followed.source.entries
        assert scene.names([]) == []
        assert scene.followed.source.entries == before
        assert AuditBatch.objects.get().lines  # it waits for its change

    def test_what_was_dropped_is_counted(self, scene: Scene) -> None:
        scene.reviewed(b"{}", asked("UPDATE", scene.old, SENT), dropped=7)
        feed = ActorFeed.objects.get()
        assert (feed.events, feed.unread, feed.dropped) == (1, 1, 7)

    def test_what_waits_is_redacted(self, scene: Scene) -> None:
        secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"
        scene.reviewed(asked("UPDATE", scene.old, SENT, secret))
        assert secret.encode() not in unpack(bytes(AuditBatch.objects.get().lines or b""))

    def test_it_answers_before_anything_is_stored(self, scene: Scene) -> None:
        text = token(scene.followed.cluster)
        body = asked("UPDATE", scene.old, SENT)
        answers, writer = ask(text, body, b"no review", body[:-1])
        assert [each.status_code for each in answers] == [200, 400, 400]
        expected = {"uid": f"UPDATE {ROBOT}", "allowed": True}
        assert answers[0].json() == {
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": expected,
        }  # fmt: skip
        assert writer
        writer.end()
        assert ActorFeed.objects.get().events == 1

    def test_only_a_token_of_a_cluster_is_accepted(self, scene: Scene) -> None:
        body = asked("UPDATE", scene.old, SENT)
        for text in ("causeline_unknown", "", token(scene.followed.cluster, "read"), token(None)):
            answers, writer = ask(text, body)
            assert (answers[0].status_code, writer) == (401, None)


def ask(text: str, *bodies: bytes) -> tuple[list[httpx.Response], admission.Writer | None]:
    async def never(*_: Any) -> None:
        raise AssertionError("the request was not answered by the webhook")

    webhooks = Webhooks(never)

    async def application(scope: Any, receive: Any, send: Any) -> None:
        hide_token(scope)
        assert text not in scope["path"] or not text
        await webhooks(scope, receive, send)

    async def send() -> list[httpx.Response]:
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://causeline") as client:
            return [await client.post(f"/api/admission/{text}", content=body) for body in bodies]

    return asyncio.run(send()), webhooks.writer


def test_what_does_not_fit_into_memory_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "COUNT", 2)
    writer = admission.Writer()
    for _ in range(5):
        writer.put(1, b"{}")
    assert writer.dropped == {1: 3}


def test_the_manifest_cannot_hold_a_cluster_up() -> None:
    found = yaml.safe_load(admission_manifest("https://causeline.example.com/", "causeline_x", "PEM", namespace="own"))
    (webhook,) = found["webhooks"]
    assert found["kind"] == "ValidatingWebhookConfiguration"
    assert (webhook["timeoutSeconds"], webhook["sideEffects"], webhook["failurePolicy"]) == (1, "None", "Ignore")
    assert (webhook["matchPolicy"], webhook["admissionReviewVersions"]) == ("Equivalent", ["v1"])
    assert webhook["clientConfig"] == {
        "url": "https://causeline.example.com/api/admission/causeline_x", "caBundle": "UEVN",
    }  # fmt: skip
    (left_out,) = webhook["namespaceSelector"]["matchExpressions"]
    assert (left_out["operator"], left_out["values"]) == ("NotIn", ["kube-system", "own"])
    asked = {(group, each) for rule in webhook["rules"] for group in rule["apiGroups"] for each in rule["resources"]}
    assert {("", "pods"), ("", "pods/status"), ("apps", "deployments")} <= asked
    for left_out in ("configmaps", "endpoints/status", "secrets", "events"):
        assert ("", left_out) not in asked
    assert not {("events.k8s.io", "events"), ("coordination.k8s.io", "leases")} & asked
    assert {each.partition("/")[2] for _, each in asked} == {"", "status"}
    assert {each for rule in webhook["rules"] for each in rule["operations"]} == {"CREATE", "UPDATE", "DELETE"}


def test_the_shipped_manifest_is_the_one_that_the_page_makes() -> None:
    shipped = (ROOT / "deploy" / "admission-webhook.yaml").read_text(encoding="utf-8")
    assert shipped == admission_manifest("https://causeline.example.com", "TOKEN")


def test_the_kubeconfig_and_the_policy_are_what_an_api_server_reads() -> None:
    found = yaml.safe_load(kubeconfig("https://causeline.example.com", "causeline_x", "PEM"))
    (cluster,), (user,) = found["clusters"], found["users"]
    assert cluster["cluster"]["server"] == "https://causeline.example.com/api/audit/events"
    assert cluster["cluster"]["certificate-authority-data"] == "UEVN"
    assert user["user"] == {"token": "causeline_x"}
    assert msgspec.yaml.decode(audit_policy(), type=Policy).rules[-1].level == "None"

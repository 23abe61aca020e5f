"""Events about incidents that are written into the cluster in which they happened, over HTTP to a small API server."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import yaml
from django.test import Client
from pytest_django import Settings

from collectors.hosts import allowed_hosts
from collectors.watch import rbac
from collectors.watch.access import AccessReport, Grant
from collectors.watch.server import connections
from collectors.watch.server.connections import WatchOptions
from collectors.watch.server.kubeconfig import Kubeconfig
from dashboard.access.outgoing import DestinationRefused, Unreachable
from dashboard.alerting.destinations import kubernetes_event
from dashboard.alerting.messages import Message
from dashboard.alerting.texts import event_note
from dashboard.cli import __main__ as cli
from dashboard.presentation.clusters import access_checks
from tests.servers.answering import closed_port
from tests.servers.events_api import EventsApi, events_api
from timeline.models import Cluster, Incident, Source, Track
from timeline.queries.incidents import anchors
from timeline.queries.incidents.anchors import Anchor

pytestmark = pytest.mark.django_db


@pytest.fixture
def server(settings: Settings) -> Iterator[EventsApi]:
    settings.CLUSTER_HOSTS = allowed_hosts(["http://127.0.0.1:*"])
    with events_api() as found:
        yield found


@pytest.fixture
def cluster(server: EventsApi, sample: Source) -> Cluster:
    way = connections.with_kubeconfig(Kubeconfig(server.kubeconfig))
    made = connections.connect("prod", way, WatchOptions(write_events=True))
    Source.objects.filter(pk=sample.pk).update(cluster=made)
    return made


@pytest.fixture
def message(sample: Source, cluster: Cluster) -> Message:
    gap = Incident.objects.get(source=sample, rule="service-gap")
    url = f"https://causeline.example.org/sources/{sample.pk}/incidents/{gap.identity}/"
    when = "It happened 2 times."
    message = Message(key="7", change="began", title=gap.title, severity="warning", url=url, when=when)
    return replace(message, incident=(sample.pk, gap.identity), started=gap.first)


def send(*messages: Message) -> str:
    return kubernetes_event.send({}, messages, key="delivery")


def only(server: EventsApi) -> dict[str, Any]:
    (event,) = server.events.values()
    return event


def test_an_incident_becomes_an_event_about_its_object(server: EventsApi, message: Message, sample: Source) -> None:
    assert send(message).startswith("Event vol-restart/causeline-")
    event = only(server)
    uid = Track.objects.filter(source=sample, kind="Service", name="ring").order_by("-life").values_list("uid").first()
    involved = {"apiVersion": "v1", "kind": "Service", "namespace": "vol-restart", "name": "ring"}
    assert event["involvedObject"] == {**involved, "uid": uid and uid[0]}
    assert (event["type"], event["reason"], event["count"]) == ("Warning", "IncidentBegan", 1)
    assert event["message"].startswith(message.title) and event["message"].endswith(message.url)
    assert event["firstTimestamp"] == "2026-11-21T07:52:00Z" and event["source"] == {"component": "causeline"}
    late = Incident.objects.filter(source=sample, rule="stale-write", kind="Actor").order_by("title").first()
    assert late
    server.events.clear()
    send(replace(message, incident=(sample.pk, late.identity)))
    involved = only(server)["involvedObject"]  # an incident of an actor is about what that wrote
    assert (involved["kind"], involved["apiVersion"]) == ("Deployment", "apps/v1")
    note = event_note(replace(message, title="ü" * 900, cause="ü" * 900))
    assert len(note.encode()) <= 1024 and note.endswith(message.url) and "…" in note


def test_what_goes_on_is_counted_and_what_is_sent_again_is_not(server: EventsApi, message: Message) -> None:
    server.lost = 1
    with pytest.raises(Unreachable):
        send(message)
    assert send(message) == send(message)
    assert only(server)["count"] == 1
    send(replace(message, key="8", again=True))
    assert (only(server)["count"], only(server)["reason"]) == (2, "IncidentGoesOn")
    send(replace(message, key="9", change="over"))
    event = only(server)
    assert (event["count"], event["reason"], event["type"]) == (3, "IncidentIsOver", "Normal")
    assert event["firstTimestamp"] == "2026-11-21T07:52:00Z" and event["involvedObject"]["name"] == "ring"


def test_what_one_namespace_or_cluster_does_not_take_holds_up_no_other(
    server: EventsApi, message: Message, cluster: Cluster, sample: Source
) -> None:
    others = Incident.objects.filter(source=sample).exclude(namespace=message.namespace or "vol-restart")
    other = others.exclude(namespace="").first()
    assert other
    elsewhere = replace(message, key="8", incident=(sample.pk, other.identity), url=f"{message.url}8/")
    server.deleted = {other.namespace}
    answer = send(elsewhere, message)
    assert answer.startswith("Event vol-restart/causeline-") and "1 refused: The API server answered 404" in answer
    with pytest.raises(DestinationRefused, match="404"):
        send(elsewhere)
    server.deleted = set()
    server.events.clear()
    way = connections.with_kubeconfig(Kubeconfig(replace(server, port=closed_port()).kubeconfig))
    down = connections.connect("down", way, WatchOptions(write_events=True))
    about = anchors.anchor(*message.incident) if message.incident else None
    assert about
    of_down = (replace(message, key="9"), about._replace(cluster=down))
    written, refused, later = kubernetes_event._all_written([of_down, of_down, (message, about)])
    assert (len(written), refused, len(later)) == (1, [], 1)  # a cluster that does not answer is asked once
    assert only(server)["metadata"]["annotations"] == {"causeline.dev/message": "7"}
    Cluster.objects.filter(pk=cluster.pk).update(secret=down.secret)
    with pytest.raises(Unreachable, match="0 of 1 Events were written") as caught:
        send(message)
    assert caught.value.others  # deliveries for other clusters go on


@pytest.mark.parametrize("namespace", ["..", "a/../../b", "a?b", "a%2fb", "a\n"])
def test_a_namespace_that_would_change_the_path_is_refused(namespace: str) -> None:
    about = Anchor(Cluster(), "v1", "Pod", namespace, "p", "")
    message = Message(key="7", change="began", title="t", severity="warning", url="u", when="w")
    no_api: Any = None
    with pytest.raises(DestinationRefused, match="none that Kubernetes takes"):
        kubernetes_event._written(no_api, about, message)


def test_nothing_is_written_unless_turned_on(
    server: EventsApi, message: Message, cluster: Cluster, sample: Source
) -> None:
    connections.change(cluster, WatchOptions())
    with pytest.raises(DestinationRefused, match="turned on"):
        send(message)
    connections.change(cluster, WatchOptions(write_events=True))
    Source.objects.filter(pk=sample.pk).update(cluster=None)  # a recording
    with pytest.raises(DestinationRefused):
        send(message)
    assert server.requests == []


def test_without_the_right_it_is_tried_again_later(server: EventsApi, message: Message) -> None:
    server.allowed = {"get"}
    with pytest.raises(Unreachable, match="403"):
        send(message)
    with pytest.raises(DestinationRefused, match="prod does not allow to create and to patch Events"):
        send(replace(message, change="test", incident=None))
    server.allowed = {"create", "get", "patch"}
    assert send(replace(message, change="test", incident=None)) == "Events may be written into prod; a test writes none"
    assert server.events == {}


def test_the_manifest_grants_it_only_as_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    def writing(manifest: str) -> list[str]:
        (role,) = (each for each in yaml.safe_load_all(manifest) if each["kind"] == "ClusterRole")
        return [verb for rule in role["rules"] for verb in rule["verbs"] if verb not in {"get", "list", "watch"}]

    assert writing(rbac.manifest([], [])) == [] and "never writes" in rbac.manifest([], [])
    assert cli.main(["connect", "--print-rbac", "--write-events"]) == 0
    manifest = capsys.readouterr().out
    assert writing(manifest) == ["create", "patch"] and "never writes" not in manifest


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (("create", "patch"), "events may not be created or changed: no RBAC policy matched."),
        ((), "Events about incidents may be written."),
    ],
)
def test_a_check_of_the_access_says_whether_events_may_be_written(refused: tuple[str, ...], said: str) -> None:
    report = AccessReport("v1.34.1", "", events=Grant("events", "Event", refused, "no RBAC policy matched"))
    assert access_checks.sentences(report, {})[-1] == said


def test_the_page_of_a_cluster_turns_it_on_and_says_whether_the_right_exists(client: Client, cluster: Cluster) -> None:
    address = f"/clusters/{cluster.pk}/"
    page = client.get(address).content.decode()
    assert 'name="write_events" checked' in page and "create and patch Events" in page
    assert client.post(address, {"act": "change", "keep_unit": "GB"}).status_code == 302
    assert not Cluster.objects.get(pk=cluster.pk).write_events
    assert "never writes" in client.get(address).content.decode()
    assert client.post(address, {"act": "change", "keep_unit": "GB", "write_events": "on"}).status_code == 302
    assert Cluster.objects.get(pk=cluster.pk).write_events

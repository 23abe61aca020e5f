"""These tests read the list of findings page by page while further findings arrive."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.rows import stored
from timeline.models import Cluster, Finding, Occurrence, Source
from timeline.payloads.findings import FindingOrder
from timeline.queries.incidents.findings import findings

pytestmark = pytest.mark.django_db
BEGAN = datetime(2026, 11, 21, 7, 52, tzinfo=UTC)


def found(source: Source, key: str, second: int, rank: int = 1) -> None:
    """Store a finding, as far as the list reads it."""
    time, rule, severity = BEGAN + timedelta(seconds=second), "service-gap", ("error", "warning", "info")[rank]
    Occurrence.objects.create(
        source=source, rule=rule, namespace="shop", families=["Pods"], words="", tracks=[], key=key, rank=rank,
        first=time, last=time, findings=[key],
    )  # fmt: skip
    document = {
        "id": key, "rule": rule, "severity": severity, "verdict": "exact", "status": "confirmed", "summary": key,
        "subject": {"group": "", "version": "v1", "kind": "Pod", "namespace": "shop", "name": key, "uid": key},
        "proof": [], "advice": [],
    }  # fmt: skip
    occurrence = {
        "group": key, "first": 0, "last": 0, "headline": "", "plural": "", "why": "", "effect": "none",
        "effect_text": "", "proof": [],
    }  # fmt: skip
    Finding.objects.create(
        source=source, identity=key, rule=rule, severity=severity, namespace="shop", subject=1, root=1, tracks=[],
        first=time, last=time, document=document, occurrences=[occurrence],
    )  # fmt: skip


def keys(source: Source, cursor: str | None = "", order: FindingOrder | None = None) -> tuple[str, str | None]:
    page = findings(source.pk, cursor=cursor or "", limit=3, order=order)
    return " ".join(each["key"] for each in page["findings"]), page["next"]


@pytest.fixture
def recording() -> Source:
    source = stored.opened("log")
    for second, (key, rank) in enumerate([("a", 1), ("b", 0), ("c", 2), ("d", 1), ("e", 0), ("f", 1)]):
        found(source, key, second, rank)
    return source


@pytest.fixture
def watched(recording: Source) -> Source:
    recording.cluster = Cluster.objects.create(name="prod", state="live", expires_at=BEGAN)
    recording.save()
    return recording


def test_of_a_recording_they_come_in_the_order_of_time(recording: Source) -> None:
    first, cursor = keys(recording)
    found(recording, "early", -1)
    found(recording, "late", 99)
    rest, cursor = keys(recording, cursor)
    assert (first, rest, keys(recording, cursor)) == ("a b c", "d e f", ("late", None))


def test_of_a_cluster_the_newest_comes_first_and_what_arrives_moves_no_page(watched: Source) -> None:
    first, cursor = keys(watched)
    found(watched, "newer", 99)
    assert (first, keys(watched, cursor)) == ("f e d", ("c b a", None))
    assert keys(watched)[0] == "newer f e"


def test_the_gravest_come_first_where_they_are_asked_for(watched: Source) -> None:
    first, cursor = keys(watched, order="gravest")
    assert (first, keys(watched, cursor, "gravest")[0]) == ("b e a", "d f c")


def test_those_of_one_time_are_reported_once_each(watched: Source) -> None:
    for key in "ghijk":
        found(watched, key, 50)
    first, cursor = keys(watched)
    assert (first, keys(watched, cursor)[0]) == ("g h i", "j k f")


def test_a_cursor_of_another_order_is_refused(watched: Source) -> None:
    _, cursor = keys(watched, order="time")
    with pytest.raises(ValueError, match="in the order time, and not newest"):
        keys(watched, cursor)

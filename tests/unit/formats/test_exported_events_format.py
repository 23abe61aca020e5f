"""These tests read Events as kubernetes-event-exporter writes them."""

import json
from typing import Any

from collectors.formats import Skipped
from tests import DATA
from tests.objects import entries_of, items_of, listed, reasons_of
from tests.unit.formats.reading import sniffed
from timeline.core.entries import Change, Entry

NAME = "Events of kubernetes-event-exporter"
SAMPLE = (DATA / "event-exporter" / "events.json").read_bytes()


def test_the_events_are_those_of_the_api() -> None:
    entries = entries_of(SAMPLE, bodies=True)
    plain = [{"apiVersion": "v1", "kind": "Event", **json.loads(line)} for line in SAMPLE.splitlines()]
    told = [(each.ref, each.facts) for each in entries_of(listed(*plain))]
    assert [(each.ref, each.facts) for each in entries] == told
    assert {each.change for each in entries} == {Change.OBSERVED}
    assert entries[0].ref.kind == "Event" and entries[0].received == 1795247521_000_000


def test_it_is_of_one_format_alone() -> None:
    for content in (SAMPLE, prefixed()):
        assert sniffed(content) == [NAME]


def prefixed() -> bytes:
    """Return the sample as the log of the exporter's container has it, with a line of the exporter's own."""
    own = b'{"level":"info","time":"2026-11-21T07:52:00Z","message":"Reading config file"}'
    lines = [own, *SAMPLE.splitlines()]
    return b"".join(b"2026-11-21T07:52:00.123456789Z stdout F " + line + b"\n" for line in lines)


def test_the_exporters_own_lines_are_skipped() -> None:
    own, *events = items_of(prefixed())
    assert str(own) == "file line 1: it is not an Event as kubernetes-event-exporter writes it without a layout"
    assert [each.ref for each in events if isinstance(each, Entry)] == [each.ref for each in entries_of(SAMPLE)]


def test_events_of_a_second_cluster_are_skipped() -> None:
    def of(cluster: str) -> dict[str, Any]:
        return {**json.loads(SAMPLE.splitlines()[0]), "clusterName": cluster}

    content = "".join(json.dumps(of(each), separators=(",", ":")) + "\n" for each in ("a", "b", "a")).encode()
    assert reasons_of(content) == ["file line 2: it is of another cluster than the Events before it"]


def test_a_damaged_line_does_not_hide_the_others() -> None:
    first, *others = SAMPLE.splitlines(keepends=True)
    items = items_of(first[: len(first) // 2] + b"\n" + b"".join(others))
    assert [isinstance(each, Skipped) for each in items] == [True, *[False] * len(others)]

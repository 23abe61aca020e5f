"""These tests check folding: repeated writes that change nothing are left out, and no statement about the recording
changes."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from collectors.analysis import Analysis, analyse
from collectors.formats import Limits
from tests.recordings import SAMPLE
from timeline.history.ledger import object_entries

SECOND = 1_000_000


def renewals(count: int, every: float = 2, holder: str = "one", since: float = 0, revision: int = 100) -> list[str]:
    """Return audit lines of a Lease of 15 s that is renewed repeatedly."""
    return [
        renewal(since + every * number, revision + number, revision + number - 1, holder) for number in range(count)
    ]


def renewal(at: float, revision: int, replaces: int, holder: str) -> str:
    whole, part = divmod(round(at * SECOND), SECOND)
    time = f"2026-11-21T{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}.{part:06}Z"
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 1, "renewTime": time}
    lease = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "spec": spec}
    metadata = {"name": "l", "namespace": "n", "uid": "u", "creationTimestamp": "2026-11-20T00:00:00Z"}
    reference = {
        "resource": "leases",
        "apiGroup": "coordination.k8s.io",
        "apiVersion": "v1",
        "namespace": "n",
        "name": "l",
    }
    event = {
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "stage": "ResponseComplete",
        "auditID": f"a{revision}", "verb": "update", "user": {"username": holder}, "objectRef": reference,
        "responseStatus": {"code": 200}, "requestReceivedTimestamp": time, "stageTimestamp": time,
        "requestObject": {**lease, "metadata": {**metadata, "resourceVersion": str(replaces)}},
        "responseObject": {**lease, "metadata": {**metadata, "resourceVersion": str(revision)}},
    }  # fmt: skip
    return json.dumps(event)


def analysed(folder: Path, *files: Sequence[str]) -> Analysis:
    paths = []
    for number, lines in enumerate(files):
        paths.append(folder / f"{number}.jsonl")
        paths[-1].write_text("\n".join(lines))
    return analyse([(path, path.name) for path in paths], Limits())


def kept(analysis: Analysis) -> int:
    return sum(len(track.moments) for track in analysis.world.tracks())


def test_what_is_kept_does_not_grow_with_the_renewals(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, renewals(5000))
    assert analysis.entries == 5000
    assert kept(analysis) <= 3
    assert analysis.findings == []


def test_a_renewal_that_is_late_is_kept_with_those_around_it(tmp_path: Path) -> None:
    lines = [*renewals(500), *renewals(500, since=500 * 2 + 40, revision=600)]
    (finding,) = analysed(tmp_path, lines).findings
    assert finding.rule == "lease-expired"
    assert finding.delay == 42 * SECOND
    assert [proof.moment.entry.resource_version for proof in finding.occurrences[0].proof] == [599, 600]


def test_another_holder_ends_what_is_left_out(tmp_path: Path) -> None:
    lines = [*renewals(500), *renewals(500, holder="two", since=500 * 2, revision=600)]
    (finding,) = analysed(tmp_path, lines).findings
    assert finding.rule == "lease-stolen"
    assert [proof.moment.entry.resource_version for proof in finding.occurrences[0].proof] == [599, 600]


def test_a_lost_line_is_not_left_out(tmp_path: Path) -> None:
    lines = renewals(1000)
    del lines[500]
    analysis = analysed(tmp_path, lines)
    assert [loss.earliest > 0 for loss in analysis.world.completeness.losses] == [True]
    assert kept(analysis) <= 6


@pytest.mark.parametrize("seed", range(5))
def test_order_and_repetition_change_nothing(seed: int, tmp_path: Path) -> None:
    lines = [*renewals(700), *renewals(300, holder="two", since=1400, revision=800)]
    whole = analysed(tmp_path, lines).document()
    mixed = [*lines, *lines[::3]]
    random.Random(seed).shuffle(mixed)
    again = analysed(tmp_path, mixed).document()
    places = json.dumps(whole, sort_keys=True, default=str), json.dumps(again, sort_keys=True, default=str)
    assert _without_lines(places[0]) == _without_lines(places[1])


def test_a_copy_of_the_file_changes_nothing_but_its_name(tmp_path: Path) -> None:
    lines = renewals(1000)
    once, twice = analysed(tmp_path, lines), analysed(tmp_path, lines, lines[::-1])
    assert kept(twice) == kept(once)
    assert twice.entries == once.entries
    assert twice.world.completeness.losses == []


@pytest.mark.parametrize("many", [1, 3, 20])
def test_the_sample_says_the_same_however_much_is_left_out(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_entries, "MANY", 10**9)
    whole = analyse([(SAMPLE, "sample")], Limits())
    monkeypatch.setattr(object_entries, "MANY", many)
    less = analyse([(SAMPLE, "sample")], Limits())
    assert kept(less) < kept(whole)
    assert less.document() == whole.document()


def _without_lines(document: str) -> str:
    return json.dumps(json.loads(document, object_hook=lambda held: {k: v for k, v in held.items() if k != "line"}))

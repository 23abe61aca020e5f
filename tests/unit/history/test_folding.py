"""These tests check folding: repeated writes that change nothing are left out, and no statement about the recording
changes."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from collectors.analysis import Analysis, analyse
from collectors.formats import Limits
from tests.inputs.events import event
from tests.inputs.recordings import SAMPLE
from timeline.history.ledger import object_entries

SECOND = 1_000_000


def renewals(count: int, holder: str = "one", since: float = 0, revision: int = 100) -> list[str]:
    """Return audit lines of a Lease of 15 s that is renewed every two seconds."""
    return [renewal(since + 2 * number, revision + number, holder) for number in range(count)]


def renewal(at: float, revision: int, holder: str) -> str:
    whole, part = divmod(round(at * SECOND), SECOND)
    time = f"2026-11-21T{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}.{part:06}Z"
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 1, "renewTime": time}
    group = "coordination.k8s.io"
    metadata = {"name": "l", "namespace": "n", "uid": "u", "creationTimestamp": "2026-11-20T00:00:00Z"}
    sent, answered = (
        {"kind": "Lease", "apiVersion": f"{group}/v1", "spec": spec,
         "metadata": {**metadata, "resourceVersion": str(number)}}
        for number in (revision - 1, revision)
    )  # fmt: skip
    return json.dumps(event(
        auditID=f"a{revision}", verb="update", user={"username": holder}, responseStatus={"code": 200},
        objectRef={"resource": "leases", "apiGroup": group, "apiVersion": "v1", "namespace": "n", "name": "l"},
        requestReceivedTimestamp=time, stageTimestamp=time, requestObject=sent, responseObject=answered,
    ))  # fmt: skip


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


@pytest.mark.parametrize(
    ("holder", "later", "rule", "delay"), [("one", 40, "lease-expired", 42 * SECOND), ("two", 0, "lease-stolen", None)]
)
def test_a_renewal_that_is_late_or_by_another_is_kept_with_those_around_it(
    holder: str, later: float, rule: str, delay: int | None, tmp_path: Path
) -> None:
    lines = [*renewals(500), *renewals(500, holder, 500 * 2 + later, 600)]
    (finding,) = analysed(tmp_path, lines).findings
    assert finding.rule == rule and delay in (None, finding.delay)
    assert [proof.moment.entry.resource_version for proof in finding.occurrences[0].proof] == [599, 600]


def test_a_lost_line_is_not_left_out(tmp_path: Path) -> None:
    lines = renewals(1000)
    del lines[500]
    analysis = analysed(tmp_path, lines)
    assert [loss.earliest > 0 for loss in analysis.world.completeness.losses] == [True]
    assert kept(analysis) <= 6


@pytest.mark.parametrize("seed", range(2))
def test_order_and_repetition_change_nothing(seed: int, tmp_path: Path) -> None:
    lines = [*renewals(700), *renewals(300, "two", 1400, 800)]
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


def test_the_sample_says_the_same_however_much_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    documents, sizes = [], []
    for many in (10**9, 20, 1):
        monkeypatch.setattr(object_entries, "MANY", many)
        analysis = analyse([(SAMPLE, "sample")], Limits())
        documents.append(analysis.document())
        sizes.append(kept(analysis))
    assert sizes[0] > max(sizes[1:])
    assert documents[0] == documents[1] == documents[2]


def _without_lines(document: str) -> str:
    return json.dumps(json.loads(document, object_hook=lambda held: {k: v for k, v in held.items() if k != "line"}))

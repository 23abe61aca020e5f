"""What is found in a part of a log is found when all of it is read, too, and it is the same then."""

import random
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.analysis import Analysis, analyse
from collectors.formats import Limits, NotARecording
from tests import RULES
from tests.inputs import mutations
from tests.inputs.recordings import SAMPLE, lines_of
from tests.properties import examples
from timeline.history.part import Part, part_of
from timeline.payloads import documents

CAUSED = SAMPLE.parent / "one-pod-too-many.jsonl.zst"
SEEDS = st.integers(0, 2**32)
RECORDINGS = [SAMPLE, CAUSED, *sorted(RULES.glob("*/fires-*.jsonl"))]


def lines_in(path: Path) -> list[bytes]:
    return lines_of(path) if path.suffix == ".zst" else path.read_bytes().splitlines()


def judged(lines: Sequence[bytes], only: Part | None = None) -> Analysis:
    return judged_files([lines], only)


def judged_files(files: Sequence[Sequence[bytes]], only: Part | None = None) -> Analysis:
    with TemporaryDirectory() as folder:
        paths = [(Path(folder, str(number)), str(number)) for number in range(len(files))]
        for (path, _), lines in zip(paths, files, strict=True):
            path.write_bytes(b"\n".join(lines))
        return analyse(paths, Limits(), only=only)


def stated(analysis: Analysis) -> dict[str, dict[str, Any]]:
    """Return what each finding states, by its id."""
    return {each.id: {"cause": None, **documents.finding(each)} for each in analysis.findings}


def namespaces(analysis: Analysis) -> list[str]:
    return sorted({each.ref.namespace for each in analysis.world.tracks()} - {""})


def assert_is_part(part: Analysis, whole: Analysis) -> None:
    """Assert that all findings of a part are those of the whole, except that a cause may be missing, and that no
    incident of the part joins what the whole keeps apart."""
    every = stated(whole)
    for identity, finding in stated(part).items():
        assert finding == {**every[identity], "cause": finding["cause"] and every[identity]["cause"]}
    placed = [(place, whole.places[each][at]) for each, of_it in part.places.items() for at, place in enumerate(of_it)]
    assert all(one[1] == other[1] for one, other in combinations(placed, 2) if one[0] == other[0])


def thinned(lines: list[bytes], how: str, rest: random.Random) -> list[bytes]:
    """Return a log without some of its lines: here and there, in one stretch, or all of some programs; or one that
    has every line twice."""
    if how == "every line twice":
        return [line for line in lines for _ in range(2)]
    if how == "here and there":
        share = rest.choice([0.01, 0.1, 0.5])
        return [line for line in lines if rest.random() > share]
    if how == "in one stretch":
        start = rest.randrange(len(lines))
        return lines[:start] + lines[start + rest.choice([3, 30, 300]) :]
    programs: dict[bytes, bool] = {}
    named = (line.partition(b'"userAgent":"')[2].partition(b'"')[0] for line in lines)
    return [line for line, name in zip(lines, named, strict=True) if programs.setdefault(name, rest.random() > 0.3)]


@given(
    st.sampled_from(RECORDINGS),
    st.sampled_from(["all there", "every line twice", "here and there", "in one stretch", "all of some programs"]),
    SEEDS,
)
@examples(12)
def test_a_part_has_the_findings_of_the_whole_or_fewer(path: Path, how: str, seed: int) -> None:
    rest = random.Random(seed)
    lines = lines_in(path)
    if how != "all there":
        lines = thinned(lines, how, rest)
    try:
        whole = judged(lines)
    except NotARecording:  # too little is left
        return
    for namespace in rest.sample(found := namespaces(whole), min(3, len(found))):
        assert_is_part(judged(lines, Part([namespace])), whole)


@given(st.sampled_from([SAMPLE, CAUSED]), st.sampled_from([0, 40]), SEEDS)
@examples(4)
def test_files_whose_clocks_differ_are_aligned_as_if_all_were_read(path: Path, ahead: int, seed: int) -> None:
    rest = random.Random(seed)
    log = [msgspec.json.decode(line) for line in lines_in(path)]
    one, other = mutations.over_servers(log, rest, 2)
    files = [[*map(msgspec.json.encode, each)] for each in (one, mutations.shifted(other, ahead))]
    whole = judged_files(files)
    for namespace in rest.sample(namespaces(whole), 2):
        part = judged_files(files, Part([namespace]))
        assert any("left out" in each.reason for each in part.skipped)
        assert part.world.offsets == whole.world.offsets
        assert (part.world.first, part.world.last) == (whole.world.first, whole.world.last)
        assert_is_part(part, whole)


@pytest.mark.parametrize("path", [SAMPLE, CAUSED], ids=lambda path: str(path.name))
def test_what_one_namespace_proves_is_found_in_it_alone(path: Path) -> None:
    lines = lines_in(path)
    whole = judged(lines)
    for namespace in namespaces(whole):
        part = judged(lines, Part([namespace]))
        assert_is_part(part, whole)
        missing = {each.rule for each in whole.findings if each.subject.namespace == namespace} - {
            each.rule for each in part.findings
        }
        # These compare what was written in all namespaces, or count Pods in all of them.
        assert missing <= {"stale-write", "lease-contention", "write-after-lease-lost"}
        assert (part.world.first, part.world.last) == (whole.world.first, whole.world.last)


def test_what_is_missing_from_a_log_is_known_in_each_part_of_it() -> None:
    lines = lines_in(SAMPLE)
    cut = lines[:1150] + lines[1250:]
    whole = judged(cut)
    assert whole.world.completeness.losses
    for namespace in namespaces(whole):
        part = judged(cut, Part([namespace])).world.completeness
        known = whole.world.completeness
        assert (part.holes, part.kinds, part.whole_log) == (known.holes, known.kinds, known.whole_log)


def test_an_object_is_judged_with_all_that_it_owns() -> None:
    lines = lines_in(CAUSED)
    (job,) = {each.other for each in judged(lines).findings if each.rule == "job-excess-pods"}
    assert job is not None
    part = judged(lines, part_of([f"object={job.namespace}/Job/{job.name}"]))
    assert {each.subject.kind for each in part.findings} <= {"Job", "Pod"}
    assert any(each.rule == "job-excess-pods" for each in part.findings)
    assert {
        each.name for found in part.findings for each in (found.subject, found.other) if each and each.kind == "Job"
    } == {job.name}


def test_what_was_left_out_is_said() -> None:
    lines = lines_in(SAMPLE)
    (namespace, *_) = namespaces(judged(lines))
    part = judged(lines, Part([namespace]))
    (left_out,) = part.skipped
    assert left_out.line == 0
    assert f"lines about other namespaces were left out, as --only namespace={namespace} asks" in left_out.reason
    assert not any(row["complete"] for row in part.document()["source"]["coverage"])


def test_a_part_without_anything_in_it_is_no_error() -> None:
    part = judged(lines_in(SAMPLE), Part(["nothing-is-here"]))
    assert part.findings == []
    assert "no object that --only namespace=nothing-is-here asks for was observed" in part.nothing


@pytest.mark.parametrize(
    "text", ["", "namespace", "namespace=", "namespace=Shop", "object=shop/report", "object=a/Job/b/c", "since=07:50"]
)
def test_what_names_no_part_says_what_to_write(text: str) -> None:
    with pytest.raises(ValueError, match=r"Write namespace=NAME.*object=NAMESPACE/KIND/NAME"):
        part_of([text])

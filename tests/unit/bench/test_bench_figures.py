"""The benches compare what they measure with what was measured before, whatever machine it was."""

from collections import Counter
from pathlib import Path

from bench.__main__ import compared
from bench.figures import Figure, percentile
from bench.larger import repeated
from collectors.analysis import analyse
from collectors.formats import Limits
from tests import ROOT


def test_a_ratio_is_compared_as_it_is() -> None:
    figure = Figure("import ÷ loop", (0.2, 0.3, 0.25), asked=0.25)
    assert figure.compared == figure.median == 0.25
    assert figure.reached
    assert "0.25 (0.2–0.3)" in figure.words
    assert not figure._replace(asked=0.26).reached
    assert figure._replace(asked=0.26).words.endswith("missed")


def test_milliseconds_are_compared_by_how_they_stand_to_the_loop() -> None:
    here = Figure("window", (40.0, 60.0, 50.0), "ms", 50, at_most=True, loops=(0.01, 0.01, 0.01))
    slower_machine = here._replace(values=(80.0, 120.0, 100.0), loops=(0.02, 0.02, 0.02))
    assert here.compared == slower_machine.compared
    assert here.reached
    assert not slower_machine.reached
    assert here._replace(values=(80.0, 120.0, 100.0)).compared < here.compared


def test_only_what_is_more_than_15_percent_worse_is_reported() -> None:
    before = {"import": 0.20, "window": 4.0}
    assert compared(before, {"import": 0.171, "window": 8.0}) == []
    (reported,) = compared(before, {"import": 0.169, "window": 3.9})
    assert reported.startswith("import: 0.84 of")


def test_a_figure_without_a_baseline_is_reported() -> None:
    (reported,) = compared({}, {"import": 0.2})
    assert "--write" in reported


def test_a_percentile_is_one_of_the_values() -> None:
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert [percentile(values, part) for part in (0, 0.5, 0.99)] == [1.0, 3.0, 5.0]


SAMPLE = ROOT / "dashboard" / "samples" / "volcano-restart.jsonl.zst"
SHARED = {"lease-shared-config"}  # is found once for all Deployments of a Lease


def found(path: Path) -> Counter[str]:
    return Counter(each.rule for each in analyse([(path, path.name)], Limits()).findings)


def test_what_is_repeated_is_found_as_often(tmp_path: Path) -> None:
    large = tmp_path / "large.jsonl"
    large.write_bytes(b"\n".join(repeated(SAMPLE, 3)))
    once = found(SAMPLE)
    assert once
    assert found(large) == Counter({rule: count if rule in SHARED else 3 * count for rule, count in once.items()})

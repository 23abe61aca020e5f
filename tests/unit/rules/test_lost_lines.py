"""These tests take lines away from the recordings of rules: what is left raises no alarm that the whole does not."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import RULES
from tests.inputs.recordings import entries_of, findings_of, world_of
from tests.properties import examples
from tests.unit.rules.test_rules import named
from timeline.core.entries import Entry

JOBS = ("job-excess-pods", "job-finalizer-before-count", "job-double-count")
ENDPOINTS = ("endpoints-before-service", "load-balancer-late", "pod-before-service", "service-gap")
LEASES = sorted(RULES.glob("lease-*/quiet-*.jsonl"))
OF_JOBS = sorted(path for rule in JOBS for path in (RULES / rule).glob("*.jsonl"))
OF_ENDPOINTS = sorted(path for rule in ENDPOINTS[:2] for path in (RULES / rule).glob("*.jsonl"))
WHOLE = [path for path in OF_ENDPOINTS if not path.stem.endswith("not-seen")]  # fixtures without lost lines
UNTOLD = {  # lines whose loss cannot be noticed from the others
    "quiet-clean-hand-over": "its PATCHes do not name what they replace",
    "quiet-other-holder-is-missing": "nor do these",
    "quiet-release-without-a-body-of-a-known-object": "nor do these",
    "quiet-release-without-a-body-of-an-unknown-object": "nor do these",
    "quiet-in-a-watch-of-whole-seconds": "a watch loses none",
    "quiet-replaced": "nothing but the Deployments is shown",
}


def alarms(entries: list[Entry], path: Path) -> set[tuple[str, str, str]]:
    """Return the alarms of the rule of a recording, and of those like it."""
    rule = path.parent.name
    like: str | tuple[str, ...] = "lease-" if rule.startswith("lease-") else JOBS if rule in JOBS else ENDPOINTS
    found = [each for each in findings_of(world_of(entries)) if each.rule.startswith(like)]
    return {(each.rule, each.subject.kind, each.subject.name) for each in found if each.severity != "info"}


def parts(entries: list[Entry], path: Path) -> Iterator[list[Entry]]:
    """Yield what is left of a log that is cut anywhere, and of one of Leases without a kind or a single line."""
    for cut in range(1, len(entries)):
        yield from (entries[:cut], entries[cut:])
    if path in LEASES:
        for left_out in {entry.ref.kind for entry in entries}:
            yield [entry for entry in entries if entry.ref.kind != left_out]
        for lost in range(0 if path.stem in UNTOLD else len(entries)):
            yield entries[:lost] + entries[lost + 1 :]


@pytest.mark.parametrize("path", [*LEASES, *WHOLE], ids=named)
def test_what_is_left_of_a_log_raises_no_alarm_that_the_whole_does_not(path: Path) -> None:
    entries = entries_of(path)
    whole = alarms(entries, path)
    assert not whole or path not in LEASES  # what is benign to one of their rules alarms none
    for part in parts(entries, path):
        assert alarms(part, path) <= whole


def damaged(lines: list[bytes], chance: random.Random) -> list[bytes]:
    """Return a log that has lost single lines, its beginning, its end, or consecutive lines; or a watch whose lines
    were lost, doubled, swapped, or repeated after the first."""
    first, last = sorted((chance.randrange(len(lines)), chance.randrange(len(lines))))
    rate = chance.choice((0.03, 0.1, 0.2, 0.3, 0.5))
    thinned = [line for line in lines if chance.random() > rate]
    if not lines[0].startswith(b'{"type":'):
        return chance.choice((thinned, lines[first:], lines[:last], lines[:first] + lines[last:]))
    at = chance.randrange(len(lines) - 1)
    swapped = [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]
    doubled = [line for line in lines for _ in range(chance.choice((1, 1, 2)))]
    return chance.choice((thinned, doubled, swapped, chance.sample(lines, len(lines)), [*lines, *lines[first:]]))


@pytest.mark.parametrize("path", OF_JOBS, ids=named)
@examples(4)
@given(seed=st.integers(0, 2**32))
def test_damage_to_a_recording_of_jobs_raises_no_alarm(
    path: Path, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    left = damaged(path.read_bytes().splitlines(keepends=True), random.Random(seed))
    copy = tmp_path_factory.mktemp("damaged") / path.name
    copy.write_bytes(b"".join(left))
    assert not left or alarms(entries_of(copy), path) <= alarms(entries_of(path), path)

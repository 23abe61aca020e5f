"""These tests check what a source is said to show of the links that join what one cause did to one incident."""

from pathlib import Path

import pytest

from tests import DATA
from tests.inputs import recordings
from tests.inputs.recordings import findings_of
from tests.unit.judging.logs import at_level, log_of, observed, sample
from tests.unit.judging.test_engine import log, watched
from tests.unit.rules.test_rules import FIRES, named
from timeline.core.entries import Observation
from timeline.history.world.world import World
from timeline.judging.coverage.judgeable import RuleCoverage, judgeable
from timeline.judging.coverage.links import LINKS, provable
from timeline.judging.coverage.remedies import WHOLE_POLICY
from timeline.judging.findings import Root
from timeline.judging.incidents.partition import episodes, pieces_of

ROOTS = {
    Root.LOST_LEASE: "take-over",
    Root.CONFIGURATION: "configuration",
    Root.OLD_COPIES: "old-copies",
    Root.MISSING: "missing-object",
    Root.REFUSAL: "refused-writes",
}
WATCH = sorted((DATA / "objects/watch").iterdir())
OF_REQUESTS = ("old-copies", "take-over", "refused-writes")


def links_of(world: World) -> dict[str, RuleCoverage]:
    return {each.rule: each for each in provable(judgeable(world, LINKS))}


def answers(*observations: Observation) -> dict[str, str]:
    return {link: each.answer for link, each in links_of(recordings.world_of(observations)).items()}


def test_a_log_with_bodies_can_prove_every_link_of_which_it_shows_something() -> None:
    found = links_of(recordings.world_of(observed(log("families"))))
    assert "cannot" not in {found[link].answer for link in ("shared-write", *OF_REQUESTS)}
    assert (found["take-over"].verdict, found["take-over"].remedy) == ("exact", "")


def test_a_log_without_bodies_proves_less_and_never_exactly() -> None:
    found = links_of(recordings.world_of(observed(at_level("Metadata", sample()))))
    assert found.pop("refused-writes").answer != "cannot"  # what was refused needs no bodies
    assert "exact" not in {each.verdict for each in found.values()}
    assert {found[link].answer for link in ("missing-object", "configuration")} == {"cannot"}
    assert found["shared-write"].answer == "part"
    for each in found.values():
        assert "were logged without bodies" in each.why or "was seen" in each.why
        assert each.remedy


def test_watches_alone_prove_no_link_that_rests_on_requests() -> None:
    world = recordings.world_of([each for path in WATCH for each in recordings.observations_of(path)])
    found = links_of(world)
    for link in OF_REQUESTS:
        assert (found[link].verdict, found[link].answer) == ("not", "cannot")
        assert "without an audit log, it is not known who sent which request, nor what was refused" in found[link].why
        assert WHOLE_POLICY in found[link].remedy.splitlines()
    assert found["shared-write"].answer != "cannot"


def test_watches_and_a_log_without_bodies_prove_together_what_neither_proves_alone() -> None:
    bare, watches = observed(at_level("Metadata", log("families"))), watched("families")
    found = [answers(*each)["take-over"] for each in (watches, bare, [*watches, *bare])]
    assert found == ["cannot", "part", "can"]
    both = links_of(recordings.world_of([*watches, *bare]))
    assert both["shared-write"].answer == "part" and "pods were logged without bodies" in both["shared-write"].why


def test_where_orders_stay_open_links_are_proven_in_part() -> None:
    found = links_of(recordings.world_of(observed(at_level("Request", sample()))))
    shallow = [each for each in found.values() if "without revisions" in each.why]
    assert shallow and {(each.verdict, each.answer) for each in shallow} == {("bounded", "part")}


@pytest.mark.parametrize("level", ["RequestResponse", "Request", "Metadata"])
@pytest.mark.parametrize("path", FIRES, ids=named)
def test_no_link_is_proven_that_is_said_not_to_be(path: Path, level: str) -> None:
    if level == "RequestResponse":
        observations = [*recordings.observations_of(path)]
    elif b'"objectRef"' in path.read_bytes().partition(b"\n")[0]:
        observations = observed(at_level(level, log_of(path)))
    else:
        pytest.skip("is no audit log")
    world = recordings.world_of(observations)
    links = links_of(world)
    together = episodes(piece for each in findings_of(world) for piece in pieces_of(each))
    for each in together:
        roots = {ROOTS[link.root] for piece in each.pieces for link in piece.links}
        assert all(links[root].answer != "cannot" for root in roots), roots
        assert roots or len(each.pieces) == 1 or links["shared-write"].answer != "cannot"

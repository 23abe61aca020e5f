"""These tests take away parts of recordings, and check that coverage says what each rule can still judge: what it says
never contradicts a finding, and never promises what it does not have."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

from collectors.formats import Skipped
from collectors.formats.audit import read_lines
from collectors.formats.stream import Line
from tests import live, mutations, recordings
from tests.events import event
from tests.mutations import Log
from tests.recordings import SAMPLE, world_of
from tests.unit.judging.test_coverage import OBJECTS
from tests.unit.rules.test_rules import FIRES, named
from timeline.core.entries import FOREVER, Clock, Entry, Mark, MarkType, Observation
from timeline.core.machine.spill import Spill, Spilling
from timeline.history.snapshot import lines_of, snapshot_of
from timeline.history.world.world import World
from timeline.judge import judge, rulebook
from timeline.judging.coverage.sources import Answer, RuleCoverage, judgeable
from timeline.kinds import resource_of

ANSWERS: list[Answer] = ["cannot", "part", "can"]
VERBS = {"create": {"create"}, "update": {"update", "patch"}, "delete": {"delete", "deletecollection"}}
# Parts of reasons that say that lines are missing. They may appear when lines are added, which prove it.
KNOWN_TO_LACK = ("are missing, or may be", "mostly come with some", "some writes of", "were logged without")
EVERY = 6  # of how many parts one is judged; each recording begins with another one


class Judged(NamedTuple):
    """This is what was found in a recording, and what each rule can judge in it."""

    found: dict[str, set[str]]  # the ids of the findings by rule
    rules: dict[str, RuleCoverage]


def observed(events: Log) -> list[Observation]:
    lines = (Line("log", at, msgspec.json.encode(event)) for at, event in enumerate(events, 1))
    return [item for item in read_lines(lines, False) if not isinstance(item, Skipped)]


def judged(events: Log) -> Judged:
    world = world_of(observed(events))
    found: dict[str, set[str]] = {}
    for each in judge(world, world.tracks(), untracked=True):
        found.setdefault(each.rule, set()).add(each.id)
    return Judged(found, {each.rule: each for each in judgeable(world, rulebook())})


def of(kind: str, verbs: set[str], event: mutations.Event) -> bool:
    """Return whether an event is a write of objects of a kind, and not of their status."""
    return mutations.kind(event) == kind and event["verb"] in verbs and not event["objectRef"].get("subresource")


def parts(log: Log) -> Iterator[tuple[str, Log]]:
    """Yield parts of a log, each with what was taken away."""
    kinds = sorted({mutations.kind(event) for event in log})
    for kind in kinds:
        yield f"all of {kind}", [each for each in log if mutations.kind(each) != kind]
        for verb, verbs in VERBS.items():
            yield f"{verb} {kind}", [each for each in log if not of(kind, verbs, each)]
        status = f"{kind}/status"
        yield f"status of {kind}", [each for each in log if mutations.resource(each) != status]
        for level in ("Metadata", "Request"):
            thin = [mutations.told_at(level, each) if mutations.kind(each) == kind else each for each in log]
            yield f"more than {level} of {kind}", thin
    for verb, verbs in VERBS.items():
        yield f"every {verb}", [each for each in log if each["verb"] not in verbs]
    yield "every status", [each for each in log if each["objectRef"].get("subresource") != "status"]
    yield "watches", [each for each in log if each["verb"] not in ("list", "watch")]
    yield "refused requests", [each for each in log if each["responseStatus"]["code"] < 400]
    yield "conflicts", [each for each in log if each["responseStatus"]["code"] != 409]
    for level in ("Metadata", "Request"):
        yield f"more than {level}", [mutations.told_at(level, each) for each in log]


def logged(path: Path) -> Log:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


AUDITED = [path for path in FIRES if b'"objectRef"' in path.read_bytes().partition(b"\n")[0]]


@pytest.mark.parametrize("path", AUDITED, ids=named)
def test_what_is_said_of_a_part_of_a_recording_is_true(path: Path) -> None:
    log = logged(path)
    whole = judged(log)
    start = AUDITED.index(path) % EVERY
    for taken, part in list(parts(log))[start::EVERY]:
        now = judged(part)
        for rule, each in now.rules.items():
            about = f"{rule} without {taken}: {each.words}, {each.why}"
            assert not now.found.get(rule) or each.answer != "cannot", about
            if whole.found.get(rule, set()) - now.found.get(rule, set()) and _concerns(rule, taken):
                assert each.answer != "can" and each.verdict != "exact", about
            before = whole.rules[rule]
            if not any(sentence in before.why for sentence in KNOWN_TO_LACK):
                assert ANSWERS.index(each.answer) <= ANSWERS.index(before.answer), f"{about}; before: {before.why}"
            assert (each.answer == "can") == (each.verdict == "exact") == (not each.remedy)


def _concerns(rule: str, taken: str) -> bool:
    """Return whether a rule names the kind that was taken away. Without the others, the log may only end earlier."""
    lines = [line for each in rulebook() if each.id == rule for need in each.needs for line in need.lines]
    resources = {part.resource.partition("/")[0] for line in lines for part in line.logged}
    resources |= {resource_of(kind.partition(".")[0]) for line in lines for kind in line.kinds}
    return taken.split()[0] in ("every", "watches", "refused", "conflicts") or taken.split()[-1] in resources


def sample() -> Log:
    return [msgspec.json.decode(line) for line in recordings.lines_of(SAMPLE)]


def told(events: Log, rule: str) -> RuleCoverage:
    return judged(events).rules[rule]


def test_where_only_some_namespaces_show_a_kind_these_are_named() -> None:
    log = [each for each in sample() if each["verb"] not in ("get", "list", "watch")]

    bare = "volcano-system"
    assert told(log, "duplicate-child").answer == "can"
    here = [each for each in log if mutations.kind(each) != "pods" or mutations.namespace(each) != bare]
    other = told(here, "duplicate-child")
    assert other.answer == "part" and f"was seen in {bare}" in other.why and "Pod" in other.why
    thin = [
        mutations.told_at("Metadata", each)
        if mutations.kind(each) == "pods" and mutations.namespace(each) == bare
        else each
        for each in log
    ]
    other = told(thin, "duplicate-child")
    assert other.answer == "part" and f"in {bare}, pods were logged without bodies" in other.why


def test_a_kind_of_which_some_writes_have_no_bodies_is_judged_in_part() -> None:
    log = [each for each in sample() if each["verb"] not in ("get", "list", "watch")]
    first = next(at for at, each in enumerate(log) if of("leases", {"update"}, each))
    assert told(log, "lease-stolen").answer == "can"
    mixed = told([*log[:first], mutations.told_at("Metadata", log[first]), *log[first + 1 :]], "lease-stolen")
    assert mixed.answer == "part" and "some writes of leases were logged without bodies" in mixed.why


def test_what_was_seen_does_not_depend_on_order_repetition_or_batches(tmp_path: Path) -> None:
    items = observed(sample())
    expected = list(world_of(items).shown.state())
    chance = random.Random(7)
    shuffled = [*items, *chance.sample(items, len(items) // 4)]
    chance.shuffle(shuffled)
    third = len(shuffled) // 3
    assert list(world_of(shuffled[:third], shuffled[third:]).shown.state()) == expected
    news: list[Observation] = []
    world = World()
    for _, each in world.learn(shuffled):
        news.append(each)
    assert list(world_of(news).shown.state()) == expected  # what is stored shows the same
    with Spill(tmp_path) as spill:
        assert list(world_of(shuffled, world=World(spilling=Spilling(spill, 0))).shown.state()) == expected


def test_a_snapshot_keeps_what_was_seen_and_an_older_one_claims_no_more_than_it_has(tmp_path: Path) -> None:
    world = world_of(live.observations(OBJECTS / "watch"))
    stored = world.snapshot()
    for kept, same in ((stored, True), (stored._replace(shown=()), False)):
        read = snapshot_of([*lines_of(kept)])
        assert read
        again = World()
        again.restore(read)
        again.settle()
        before, after = (dict.fromkeys(each.shown.state()) for each in (world, again))
        assert (before == after) if same else after.keys()
        answers = [{each.rule: each.answer for each in judgeable(of, rulebook())} for of in (world, again)]
        assert all(ANSWERS.index(answers[1][rule]) <= ANSWERS.index(answer) for rule, answer in answers[0].items())
        assert not same or answers[0] == answers[1]


def test_a_live_cluster_whose_log_has_no_bodies_is_judged_by_both() -> None:
    """The log comes by the webhook. Its requests say who wrote, and what was refused; the watches say what."""
    watches = live.observations(OBJECTS / "watch")
    bare = observed([mutations.told_at("Metadata", each) for each in sample()])
    alone, both = (
        {each.rule: each for each in judgeable(world, rulebook())}
        for world in (
            world_of(watches, world=World(followed=True)),
            world_of(watches, bare, world=World(followed=True)),
        )
    )
    for rule in ("stale-write", "write-storm", "write-after-lease-lost"):
        assert alone[rule].answer == "cannot" and "without an audit log" in alone[rule].why
        assert both[rule].answer != "cannot", both[rule].why
    for rule, each in alone.items():
        assert ANSWERS.index(both[rule].answer) >= ANSWERS.index(each.answer), (rule, both[rule].why)


def test_a_watch_of_one_namespace_says_so() -> None:
    marks = [Mark("", "v1", "Pod", MarkType.LISTED, 1_000_000, 5, namespace="a")]
    marks += [Mark("", "v1", kind, MarkType.LISTED, 1_000_000, 5) for kind in ("Service",)]
    gap = next(each for each in judgeable(world_of([*marks]), rulebook()) if each.rule == "service-gap")
    assert gap.answer == "part"
    assert "pods are watched in a only: nothing is said of other namespaces" in gap.why
    assert "right to list and watch pods in all namespaces" in gap.remedy


def as_watched(entry: Entry) -> Entry:
    """Return what a watch shows of a change that an audit log shows."""
    return replace(entry, clock=Clock.OBJECT, client=None, actor="", identity="", action="", staged=FOREVER)


def test_events_that_a_watch_shows_count_beside_a_log_that_says_who_wrote_them() -> None:
    path = next(path for path in FIRES if path.parent.name == "stale-view")
    log = logged(path)
    bare = observed([mutations.told_at("Metadata", each) for each in log])
    watch = [as_watched(each) for each in observed(log) if isinstance(each, Entry)]
    world = world_of([*bare, *watch])
    told = next(each for each in judgeable(world, rulebook()) if each.rule == "stale-view")
    assert told.answer == "part", told.why
    assert "where a watch shows the content" in told.why


def test_a_log_without_bodies_names_no_kinds_that_watches_leave_out() -> None:
    """Without the log, nothing was known of these kinds either."""
    watch: list[Observation] = [as_watched(each) for each in observed(sample()) if isinstance(each, Entry)]
    made = event(
        level="Metadata",
        responseObject=None,
        objectRef={"resource": "tabs", "namespace": "n", "name": "p", "apiGroup": "example.com", "apiVersion": "v1"},
    )
    alone, both = (
        next(each for each in judgeable(world_of(items), rulebook()) if each.rule == "runaway-creation")
        for items in (watch, [*watch, *observed([made])])
    )
    assert (both.answer, both.why) == (alone.answer, alone.why)
    beside = told([*sample(), made], "runaway-creation")
    assert "tabs" in beside.why and "does not judge them" in beside.why


def test_owners_that_no_line_shows_are_named() -> None:
    """A rule that judges owners of all kinds does not find what their children cannot tell."""
    log = sample()
    whole = told(log, "runaway-creation")
    assert "name one as their owner" not in whole.why
    jobs = told([each for each in log if mutations.kind(each) != "jobs"], "runaway-creation")
    assert "no change of Job.batch.volcano.sh was seen in vol-quiet and vol-restart, where others name one" in jobs.why

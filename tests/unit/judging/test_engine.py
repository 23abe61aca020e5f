"""These tests run the whole engine on real recordings.

Shuffled, doubled or in batches, a recording gives the same findings, byte for byte. Cut, thinned or stripped, it gives
fewer findings, and none that the whole recording does not give.
"""

import random
from collections.abc import Iterable
from functools import cache
from itertools import combinations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.formats import read
from collectors.formats.audit import read_lines
from collectors.formats.stream import Line
from tests import ENGINE, mutations
from tests.mutations import Log, kind, namespace, resource
from tests.properties import examples
from tests.recordings import SAMPLE, entries_of, findings_of, lines_of
from timeline.core.entries import FOREVER, Change, Clock, Entry
from timeline.history.world.world import World
from timeline.judge import judge, matters, rulebook
from timeline.judging.findings import Finding
from timeline.judging.verdicts import Verdict
from timeline.payloads import documents
from timeline.payloads.incidents.making import incidents_of, parts_of, payload

RECORDINGS = {  # the five families together, the Job controller step by step, and real Volcano
    "families": ENGINE / "families.jsonl.zst",
    "jobs": ENGINE / "jobs.jsonl.zst",
    "restart": SAMPLE,
}
WATCHES = {"families": ENGINE / "families-watch", "jobs": ENGINE / "jobs-watch"}
KINDS = (
    "pods",
    "services",
    "endpoints",
    "endpointslices",
    "leases",
    "jobs",
    "persistentvolumeclaims",
    "events",
    "namespaces",
    "deployments",
    "replicasets",
)
Key = tuple[str, str, str, str]

recordings = pytest.mark.parametrize("name", RECORDINGS)


@cache
def entries(name: str) -> list[Entry]:
    return entries_of(RECORDINGS[name])


@cache
def log(name: str) -> Log:
    """Return the writes of a recording."""
    events = [msgspec.json.decode(line) for line in lines_of(RECORDINGS[name])]
    return [event for event in events if event["verb"] not in ("get", "list", "watch")]


def read_logs(logs: Iterable[Log]) -> Iterable[Entry]:
    for number, events in enumerate(logs):
        lines = (Line(f"log-{number}", at, msgspec.json.encode(event)) for at, event in enumerate(events, 1))
        yield from (item for item in read_lines(lines, False) if isinstance(item, Entry))


@cache
def watched(name: str) -> list[Entry]:
    items = read([(WATCHES[name], "watch")], bodies=False)
    return [item for item in items if isinstance(item, Entry)]


def world_of(*batches: Iterable[Entry]) -> World:
    world = World(matters)
    for batch in batches:
        for _ in world.learn(batch):
            pass
        world.settle()
    return world


def found_in(*logs: Log, beside: Iterable[Entry] = ()) -> list[Finding]:
    return findings_of(world_of([*read_logs(logs), *beside]))


def key(found: Finding) -> Key:
    other = f"{found.other.kind}/{found.other.name}" if found.other else ""
    return found.rule, found.subject.namespace, f"{found.subject.kind}/{found.subject.name}", other


def alarms(found: Iterable[Finding]) -> set[Key]:
    return {key(each) for each in found if each.severity != "info"}


@cache
def whole(name: str) -> frozenset[Key]:
    """Return the alarms of the complete recording."""
    return frozenset(alarms(found_in(log(name))))


def unexplained(name: str, *logs: Log, beside: Iterable[Entry] = ()) -> set[Key]:
    return alarms(found_in(*logs, beside=beside)) - whole(name)


def lost_without_a_trace(name: str, kept: Log) -> set[Key]:
    """Alarms that no other line can prevent once the last write of a Service, or the release of a Lease, is lost:
    docs/limits.md names them. They say on which absence they rest."""
    here = {event["auditID"] for event in kept}
    gone = [event for event in log(name) if event["auditID"] not in here]
    released = [subject(event) for event in gone if kind(event) == "leases" and is_release(event)]
    stolen = {("lease-stolen", space, f"Lease/{lease}", "") for space, lease in released}
    last = {subject(event): event["auditID"] for event in log(name) if kind(event) == "services"}
    silent = {service for service, audit_id in last.items() if audit_id not in here}
    late = {("load-balancer-late", space, f"Service/{service}", "") for space, service in silent}
    return (
        stolen
        | late
        | {
            ("endpoints-before-service", space, f"EndpointSlice/{slice_name}", "")
            for space, slice_name, service in slices(name)
            if (space, service) in silent
        }
    )


def is_release(event: mutations.Event) -> bool:
    return not event["responseObject"].get("spec", {}).get("holderIdentity")


def subject(event: mutations.Event) -> tuple[str, str]:
    """The namespace and the name of what was written."""
    return namespace(event), str(event["objectRef"].get("name") or event["responseObject"]["metadata"]["name"])


@cache
def slices(name: str) -> set[tuple[str, str, str]]:
    """The namespace and the name of each EndpointSlice, and its Service."""
    bodies = [event["responseObject"]["metadata"] for event in log(name) if kind(event) == "endpointslices"]
    labelled = [(body, body.get("labels", {}).get("kubernetes.io/service-name")) for body in bodies if "name" in body]
    return {(body["namespace"], body["name"], service) for body, service in labelled if service}


def document(world: World, count: int) -> bytes:
    findings = judge(world, world.tracks())
    incidents = [payload(each) for each in incidents_of(parts_of(findings), rulebook())]
    result = documents.document(
        world, findings, name="r", entries=count, skipped=[], rules=rulebook(), incidents=incidents
    )
    return msgspec.json.encode(result)


@cache
def whole_document(name: str) -> bytes:
    return document(world_of(entries(name)), len(entries(name)))


# ---- the same, whatever the order


@examples(1)
@given(seed=st.integers(0, 2**32), batches=st.integers(1, 5), doubled=st.floats(0, 1))
@recordings
def test_order_repetition_and_batches_leave_no_trace_in_the_document(
    name: str, seed: int, batches: int, doubled: float
) -> None:
    chance = random.Random(seed)
    given_order = entries(name) + [entry for entry in entries(name) if chance.random() < doubled]
    chance.shuffle(given_order)
    size = len(given_order) // batches + 1
    world = world_of(*(given_order[start : start + size] for start in range(0, len(given_order), size)))
    assert document(world, len(entries(name))) == whole_document(name)


@examples(1)
@given(seed=st.integers(0, 2**32))
@pytest.mark.parametrize("name", WATCHES)
def test_nor_of_a_log_and_watches_together(name: str, seed: int) -> None:
    chance = random.Random(seed)
    together = entries(name) + watched(name)
    expected = document(world_of(together), len(together))
    at = chance.randrange(len(together))
    shuffled = chance.sample(together, len(together))
    assert document(world_of(shuffled[:at], shuffled[at:], together[::7]), len(together)) == expected


def test_the_recordings_hold_every_family() -> None:
    rules = {rule for name in RECORDINGS for rule, *_ in whole(name)}
    assert rules >= {
        "endpoints-before-service",
        "job-excess-pods",
        "job-finalizer-before-count",
        "lease-contention",
        "lease-flapping",
        "lease-stolen",
        "load-balancer-late",
        "missing-reference",
        "pod-before-service",
        "runaway-creation",
        "service-gap",
    }


# ---- fewer findings, and no others


@examples(2)
@given(seed=st.integers(0, 2**32))
@recordings
def test_a_log_that_begins_and_ends_anywhere(name: str, seed: int) -> None:
    chance = random.Random(seed)
    start, end = sorted(chance.sample(range(len(log(name)) + 1), 2))
    assert not unexplained(name, log(name)[start:])
    assert not unexplained(name, log(name)[:end])
    assert not unexplained(name, log(name)[start:end])


@examples(2)
@given(seed=st.integers(0, 2**32), length=st.sampled_from([1, 3, 10, 30, 100, 300]))
@recordings
def test_a_piece_rotated_away(name: str, seed: int, length: int) -> None:
    chance = random.Random(seed)
    once = mutations.without_piece(log(name), chance, length)
    assert unexplained(name, once) <= lost_without_a_trace(name, once)
    twice = mutations.without_piece(once, chance, length)
    assert unexplained(name, twice) <= lost_without_a_trace(name, twice)


@examples(2)
@given(seed=st.integers(0, 2**32), share=st.sampled_from([0.001, 0.01, 0.03, 0.1, 0.3, 0.6]))
@recordings
def test_lines_lost_all_over(name: str, seed: int, share: float) -> None:
    kept = mutations.lost(log(name), random.Random(seed), share)
    assert unexplained(name, kept) <= lost_without_a_trace(name, kept)


def test_the_one_line_that_shows_that_something_is_there_may_be_lost_without_a_trace() -> None:
    """The creation of a Service to which a slice belongs, the write that gave another Service its address, and the
    release of a Lease."""
    writes = {subject(event): event for event in log("families") if kind(event) == "services"}
    writes |= {subject(event): event for event in log("families") if kind(event) == "leases" and is_release(event)}
    for line, alarm in (
        (writes["endpoints-first", "web2"], ("endpoints-before-service", "EndpointSlice/web2-x")),
        (writes["lb-late", "app0"], ("load-balancer-late", "Service/app0")),
        (writes["lease-benign", "ctl"], ("lease-stolen", "Lease/ctl")),
    ):
        kept = [event for event in log("families") if event is not line]
        found = unexplained("families", kept)
        assert found <= lost_without_a_trace("families", kept)
        assert found == {(alarm[0], namespace(line), alarm[1], "")}


@recordings
def test_kinds_left_out_one_at_a_time_and_in_pairs(name: str) -> None:
    pairs = random.Random(1).sample(list(combinations(KINDS, 2)), 4)
    for left_out in [*((each,) for each in KINDS), *pairs]:
        assert not unexplained(name, [each for each in log(name) if kind(each) not in left_out]), left_out


@recordings
def test_without_some_verbs(name: str) -> None:
    for verb in ("create", "update", "patch", "delete"):
        assert not unexplained(name, [event for event in log(name) if event["verb"] != verb]), verb


@recordings
@pytest.mark.parametrize("level", ["Metadata", "Request"])
def test_policies_that_tell_less(name: str, level: str) -> None:
    resources = ["pods/status", "jobs/status", "services", "leases", "persistentvolumeclaims", "endpointslices"]
    assert not unexplained(name, [mutations.told_at(level, event) for event in log(name)])
    for each in resources:
        thin = [mutations.told_at(level, event) if resource(event) == each else event for event in log(name)]
        assert not unexplained(name, thin), each


@recordings
def test_a_managed_clusters_policy(name: str) -> None:
    thin = mutations.by_gke(log(name))
    assert not unexplained(name, thin)
    assert not unexplained(name, thin[len(thin) // 3 :])


@recordings
def test_one_or_two_of_three_servers_files(name: str) -> None:
    for seed in range(4):
        files = mutations.over_servers(log(name), random.Random(seed))
        assert not unexplained(name, files[0])
        assert not unexplained(name, *files[:2])
        assert not unexplained(name, files[0], mutations.shifted(files[1], 3))


@examples(1)
@given(seed=st.integers(0, 2**32), ahead=st.sampled_from([-300, -3, 3, 300]))
@recordings
def test_servers_whose_clocks_are_far_apart_end_when_the_others_do(name: str, seed: int, ahead: float) -> None:
    chance = random.Random(seed)
    first, *others = mutations.over_servers(log(name)[: chance.randrange(100, len(log(name)))], chance)
    assert not unexplained(name, mutations.shifted(first, ahead), *others)


@recordings
def test_namespaces_by_themselves(name: str) -> None:
    for each in {namespace(event) for event in log(name)}:
        assert not unexplained(name, [event for event in log(name) if namespace(event) == each]), each


@recordings
@pytest.mark.parametrize(
    "field", ["uid", "resourceVersion", "userAgent", "responseObject", "requestObject", "creationTimestamp", "auditID"]
)
def test_fields_cut_away_everywhere_or_in_half_of_the_lines(name: str, field: str) -> None:
    cut = mutations.stripped(log(name), field)
    chance = random.Random(field)
    mixed = [chance.choice(pair) for pair in zip(log(name), cut, strict=True)]
    assert not unexplained(name, cut)
    assert not unexplained(name, mixed)


@recordings
@pytest.mark.parametrize("digits", [0, 3])
def test_times_without_their_fractions(name: str, digits: int) -> None:
    cut = mutations.rounded(log(name), digits)
    chance = random.Random(digits)
    assert not unexplained(name, cut)
    assert not unexplained(name, [chance.choice(pair) for pair in zip(log(name), cut, strict=True)])


@examples(1)
@given(seed=st.integers(0, 2**32))
@pytest.mark.parametrize("name", WATCHES)
def test_a_part_of_a_log_beside_watches_that_go_on(name: str, seed: int) -> None:
    chance = random.Random(seed)
    end = chance.randrange(len(log(name)))
    assert not unexplained(name, log(name)[:end], beside=watched(name))
    assert not unexplained(name, log(name)[end:], beside=watched(name))


@pytest.mark.parametrize("name", WATCHES)
def test_a_log_that_tells_no_revisions_no_uids_or_no_answers_beside_watches(name: str) -> None:
    for field in ("resourceVersion", "uid", "responseObject"):
        cut = mutations.stripped(log(name), field)
        assert not unexplained(name, cut, beside=watched(name)), field
    request = [mutations.told_at("Request", event) for event in log(name)]
    assert not unexplained(name, request, beside=watched(name))


@pytest.mark.parametrize("name", WATCHES)
def test_watches_by_themselves(name: str) -> None:
    kinds = sorted({entry.ref.kind for entry in watched(name)})
    for left_out in ["", *kinds]:
        kept = [entry for entry in watched(name) if entry.ref.kind != left_out]
        assert not unexplained(name, beside=kept), left_out


# ---- what can still be known is still found


@recordings
def test_three_servers_files_tell_what_one_did_although_their_clocks_differ(name: str) -> None:
    files = mutations.over_servers(log(name), random.Random(1))
    apart = [mutations.shifted(file, ahead) for file, ahead in zip(files, (0, 2.5, -1.5), strict=False)]
    assert alarms(found_in(*files)) == whole(name)
    assert not unexplained(name, *apart)
    exact = {key(each) for each in found_in(log(name)) if each.rule in {"service-gap", "pod-before-service"}}
    assert exact <= {key(each) for each in found_in(*apart)}


@recordings
def test_without_microseconds_the_revisions_still_order(name: str) -> None:
    found = found_in(mutations.rounded(log(name), 0))
    assert whole(name) <= {key(each) for each in found}
    gaps = {each for each in whole(name) if each[0] in {"service-gap", "job-excess-pods", "runaway-creation"}}
    assert gaps <= alarms(found)


def test_a_kind_left_out_takes_nothing_from_the_rules_of_others() -> None:
    of_leases = {
        each for each in whole("families") if each[0].startswith("lease-") and each[0] != "lease-shared-config"
    }
    without = [event for event in log("families") if kind(event) != "leases"]
    assert of_leases and alarms(found_in(without)) == whole("families") - of_leases
    leases = [event for event in log("families") if kind(event) in ("leases", "events", "deployments", "pods")]
    assert of_leases <= alarms(found_in(leases))


def test_what_was_seen_at_both_its_ends_is_found_whatever_else_is_lost() -> None:
    chance = random.Random(3)
    ends = [event for event in log("families") if kind(event) in ("services", "pods") or chance.random() < 0.5]
    gaps = {each for each in whole("families") if each[0] in ("service-gap", "pod-before-service")}
    assert gaps and gaps <= {key(each) for each in found_in(ends)}


# ---- clocks


@recordings
def test_drawn_times_follow_the_revisions_of_real_lines_and_stay_in_their_brackets(name: str) -> None:
    world = world_of(entries(name))
    drawn = [
        (moment.entry.resource_version, moment.time, moment.entry)
        for track in world.tracks()
        for moment in track.moments
        if moment.entry.resource_version is not None and moment.space == "" and moment.clock is Clock.AUDIT
    ]
    drawn.sort(key=lambda each: each[0] or 0)
    times = [time for _, time, _ in drawn]
    assert len(times) > 100 and times == sorted(times)
    assert all(entry.received <= time <= entry.staged for _, time, entry in drawn)


def test_the_lines_of_a_log_are_not_in_the_order_of_commits() -> None:
    revisions = [entry.resource_version for entry in entries("restart") if entry.resource_version is not None]
    assert revisions != sorted(revisions)


def test_a_deletion_that_repeats_the_old_revision_has_none_of_its_own() -> None:
    for track in world_of(entries("jobs") + entries("families")).tracks():
        ended = track.ended
        if ended and len(track.moments) > 1 and ended.entry.resource_version is not None:
            before = [moment.entry.resource_version or 0 for moment in track.moments[:-1]]
            assert ended.entry.resource_version > max(before), track


def test_writes_without_revision_are_ordered_by_their_times_alone_and_raise_no_alarm_about_order() -> None:
    bare = [mutations.told_at("Metadata", event) for event in log("families")]
    world = world_of(read_logs([bare]))
    assert all(moment.entry.resource_version is None for track in world.tracks() for moment in track.moments)
    for found in findings_of(world):
        if found.verdict is Verdict.EXACT:
            first, last = found.occurrences[0].proof[0].moment, found.occurrences[0].proof[-1].moment
            assert first is last or first.entry.staged < last.entry.received


def test_a_time_that_lost_its_fraction_bounds_the_commit_by_the_whole_of_its_second() -> None:
    event = next(event for event in log("families") if resource(event) == "services")
    (exact,), (second,), (milli,) = (list(read_logs([mutations.rounded([event], digits)])) for digits in (6, 0, 3))
    assert (
        second.received <= exact.received <= exact.staged <= second.staged == second.staged // 10**6 * 10**6 + 999_999
    )
    assert milli.received <= exact.received and exact.staged <= milli.staged == milli.staged // 1000 * 1000 + 999


def test_servers_whose_clocks_differ_are_drawn_as_if_they_agreed() -> None:
    files = mutations.over_servers(log("families"), random.Random(2), servers=2)
    files.sort(key=len, reverse=True)  # the clock of the file with most lines is taken as the right one
    ahead = mutations.shifted(files[1], 40)
    true, seen = world_of(read_logs(files)), world_of(read_logs([files[0], ahead]))
    services = [name for name in {track.name for track in true.tracks()} if name.kind == "Service"]
    for name in services:
        for real, drawn in zip(true.incarnations(name), seen.incarnations(name), strict=True):
            assert abs(real.first.time - drawn.first.time) < 1_000_000, name


def test_of_a_log_and_a_watch_that_tell_one_write_the_logs_clock_is_taken() -> None:
    world = world_of(entries("jobs") + watched("jobs"))
    moments = [moment for track in world.tracks() if track.ref.kind == "Job" for moment in track.moments]
    assert moments and all(moment.clock is Clock.AUDIT for moment in moments)


@pytest.mark.parametrize("field", ["resourceVersion", "uid"])
def test_a_log_without_revisions_is_one_with_the_watch_that_has_them(field: str) -> None:
    """Each state counts once: with the watch's revision, and with the log's time where both have the state."""
    cut = mutations.stripped(log("jobs"), field)
    world = world_of([*read_logs([cut]), *watched("jobs")])
    alone = world_of(watched("jobs"))
    for track in alone.tracks():
        if track.ref.kind == "Job":
            incarnation = next(each for each in world.incarnations(track.name) if each.ref.uid == track.ref.uid)
            states = [moment.facts for moment in incarnation.moments if moment.entry.facts is not None]
            assert states == [moment.facts for moment in track.moments]


def test_what_is_only_known_to_have_come_after_a_time_is_before_nothing() -> None:
    """For a deletion, a watch shows the time of the object's last write, not of the deletion."""
    gone = [entry for entry in watched("families") if entry.change is Change.DELETED and entry.ref.kind == "Service"]
    assert gone and all(entry.staged == FOREVER for entry in gone)
    assert not unexplained("families", beside=[entry for entry in watched("families") if entry.ref.kind != "Namespace"])

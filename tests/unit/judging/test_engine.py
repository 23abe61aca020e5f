"""These tests run the whole engine on real recordings.

Shuffled, doubled or in batches, a recording gives the same findings, byte for byte. Cut, thinned or stripped, it gives
fewer findings, and none that the whole recording does not give.
"""

import random
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.formats import read
from collectors.formats.audit import read_lines
from collectors.formats.stream import Line
from collectors.gate import Limits, admit
from tests import ENGINE
from tests.inputs import mutations
from tests.inputs import recordings as recordings_of
from tests.inputs.live import batches as parted
from tests.inputs.mutations import Log, kind, namespace, resource
from tests.inputs.recordings import SAMPLE, entries_of, findings_of
from tests.properties import examples
from tests.unit.judging.logs import READS, log_of
from timeline.core.entries import FOREVER, Change, Entry, Observation
from timeline.history.world.world import World
from timeline.judge import judge, matters, rulebook
from timeline.judging.findings import Finding
from timeline.payloads import documents
from timeline.payloads.incidents.making import incidents_of, payload, places_of_findings
from timeline.payloads.incidents.symptoms import parts_of

RECORDINGS = {  # the five families together, the Job controller step by step, and real Volcano
    "families": ENGINE / "families.jsonl.zst",
    "jobs": ENGINE / "jobs.jsonl.zst",
    "restart": SAMPLE,
}
WATCHES = {"families": ENGINE / "families-watch", "jobs": ENGINE / "jobs-watch"}
Key = tuple[str, str, str, str]

recordings = pytest.mark.parametrize("name", RECORDINGS)
watches = pytest.mark.parametrize("name", WATCHES)


@cache
def entries(name: str) -> list[Entry]:
    return entries_of(RECORDINGS[name])


@cache
def log(name: str) -> Log:
    """Return the writes of a recording."""
    return [event for event in log_of(RECORDINGS[name]) if event["verb"] not in READS]


def read_logs(logs: Iterable[Log]) -> Iterable[Entry]:
    for number, events in enumerate(logs):
        lines = (Line(f"log-{number}", at, msgspec.json.encode(event)) for at, event in enumerate(events, 1))
        yield from (item for item in admit(read_lines(lines, False), Limits(), bodies=False) if isinstance(item, Entry))


@cache
def watched(name: str) -> list[Entry]:
    items = read([(WATCHES[name], "watch")], bodies=False)
    return [item for item in items if isinstance(item, Entry)]


def world_of(*batches: Iterable[Observation]) -> World:
    return recordings_of.world_of(*batches, world=World(matters))


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
    last = {subject(event): event["auditID"] for event in log(name) if kind(event) == "services"}
    silent = {service for service, audit_id in last.items() if audit_id not in here}
    behind = {(space, slice_name) for space, slice_name, service in slices(name) if (space, service) in silent}
    return {
        (rule, space, f"{kind}/{each}", "")
        for rule, kind, names in (
            ("lease-stolen", "Lease", released),
            ("load-balancer-late", "Service", silent),
            ("endpoints-before-service", "EndpointSlice", behind),
        )
        for space, each in names
    }


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
    incidents = [payload(each) for each in incidents_of(parts_of(findings), rulebook(), places_of_findings(findings))]
    more = {"name": "r", "entries": count, "skipped": [], "rules": rulebook(), "incidents": incidents}
    return msgspec.json.encode(documents.document(world, findings, **more))  # type: ignore[arg-type]


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
    order = entries(name) + [entry for entry in entries(name) if chance.random() < doubled]
    chance.shuffle(order)
    assert document(world_of(*parted(order, len(order) // batches + 1)), len(entries(name))) == whole_document(name)


@examples(1)
@given(seed=st.integers(0, 2**32))
@watches
def test_nor_of_a_log_and_watches_together(name: str, seed: int) -> None:
    chance = random.Random(seed)
    together = entries(name) + watched(name)
    expected = document(world_of(together), len(together))
    at = chance.randrange(len(together))
    shuffled = chance.sample(together, len(together))
    assert document(world_of(shuffled[:at], shuffled[at:], together[::7]), len(together)) == expected


def test_the_recordings_hold_every_family() -> None:
    rules = {rule for name in RECORDINGS for rule, *_ in whole(name)}
    families = "endpoints-before-service job-excess-pods job-finalizer-before-count lease-contention lease-flapping"
    families += " lease-stolen load-balancer-late missing-reference pod-before-service runaway-creation service-gap"
    assert rules >= {*families.split()}


# ---- fewer findings, and no others


def begun_and_ended_anywhere(log: Log, chance: random.Random) -> Iterator[list[Log]]:
    start, end = sorted(chance.sample(range(len(log) + 1), 2))
    yield from ([log[start:]], [log[:end]], [log[start:end]])


def rotated_away(log: Log, chance: random.Random) -> Iterator[list[Log]]:
    length = chance.choice([1, 3, 10, 30, 100, 300])
    once = mutations.without_piece(log, chance, length)
    yield from ([once], [mutations.without_piece(once, chance, length)])


def lost_all_over(log: Log, chance: random.Random) -> Iterator[list[Log]]:
    yield [mutations.lost(log, chance, chance.choice([0.001, 0.01, 0.03, 0.1, 0.3, 0.6]))]


def one_or_two_of_three_servers(log: Log, chance: random.Random) -> Iterator[list[Log]]:
    files = mutations.over_servers(log, chance)
    yield from ([files[0]], files[:2], [files[0], mutations.shifted(files[1], 3)])


def servers_with_clocks_far_apart(log: Log, chance: random.Random) -> Iterator[list[Log]]:
    """The server whose clock is off ends when the others do."""
    first, *others = mutations.over_servers(log[: chance.randrange(100, len(log))], chance)
    yield [mutations.shifted(first, chance.choice([-300, -3, 3, 300])), *others]


DAMAGES = (
    begun_and_ended_anywhere, rotated_away, lost_all_over, one_or_two_of_three_servers, servers_with_clocks_far_apart,
)  # fmt: skip


@examples(1)
@given(seed=st.integers(0, 2**32))
@recordings
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_part_of_a_log_raises_no_alarm_that_the_whole_does_not(name: str, damage: Any, seed: int) -> None:
    for files in damage(log(name), random.Random(seed)):
        forgiven = lost_without_a_trace(name, files[0]) if damage in (rotated_away, lost_all_over) else set()
        assert unexplained(name, *files) <= forgiven


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


def without_kinds(log: Log) -> Iterator[Log]:
    """One at a time and in pairs."""
    kinds = "pods services endpoints endpointslices leases jobs persistentvolumeclaims events namespaces deployments"
    each = [*kinds.split(), "replicasets"]
    for left_out in [*((one,) for one in each), *random.Random(1).sample(list(combinations(each, 2)), 4)]:
        yield [event for event in log if kind(event) not in left_out]


def without_a_verb(log: Log) -> Iterator[Log]:
    for verb in ("create", "update", "patch", "delete"):
        yield [event for event in log if event["verb"] != verb]


def policies_that_tell_less(log: Log) -> Iterator[Log]:
    parts = {"pods/status", "jobs/status", "services", "leases", "persistentvolumeclaims", "endpointslices"}
    for level in ("Metadata", "Request"):
        yield [mutations.logged_at(level, event) for event in log]
        for part in sorted(parts):
            yield [mutations.logged_at(level, event) if resource(event) == part else event for event in log]
    thin = mutations.by_gke(log)  # of a managed cluster
    yield from (thin, thin[len(thin) // 3 :])


def namespaces_by_themselves(log: Log) -> Iterator[Log]:
    for one in sorted({namespace(event) for event in log}):
        yield [event for event in log if namespace(event) == one]


def fields_cut_away(log: Log) -> Iterator[Log]:
    """Everywhere, or in half of the lines; and the fractions of times as well."""
    bodies = ["responseObject", "requestObject"]
    fields = ["uid", "resourceVersion", "userAgent", "creationTimestamp", "auditID", *bodies]
    cuts = [mutations.stripped(log, field) for field in fields] + [mutations.rounded(log, digits) for digits in (0, 3)]
    for at, cut in enumerate(cuts):
        chance = random.Random(at)
        yield from (cut, [chance.choice(pair) for pair in zip(log, cut, strict=True)])


LOSSES = (without_kinds, without_a_verb, policies_that_tell_less, namespaces_by_themselves, fields_cut_away)


@recordings
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
def test_a_log_that_tells_less_raises_no_alarm_that_the_whole_does_not(name: str, loss: Any) -> None:
    for number, part in enumerate(loss(log(name))):
        assert not unexplained(name, part), number


@examples(1)
@given(seed=st.integers(0, 2**32))
@watches
def test_a_part_of_a_log_beside_watches_that_go_on(name: str, seed: int) -> None:
    end = random.Random(seed).randrange(len(log(name)))
    assert not unexplained(name, log(name)[:end], beside=watched(name))
    assert not unexplained(name, log(name)[end:], beside=watched(name))


@watches
def test_a_log_that_tells_no_revisions_no_uids_or_no_answers_beside_watches(name: str) -> None:
    cuts = [mutations.stripped(log(name), field) for field in ("resourceVersion", "uid", "responseObject")]
    for cut in [*cuts, [mutations.logged_at("Request", event) for event in log(name)]]:
        assert not unexplained(name, cut, beside=watched(name))


@watches
def test_watches_by_themselves(name: str) -> None:
    """For a deletion, they show the time of the object's last write, which is before nothing."""
    gone = [entry for entry in watched(name) if entry.change is Change.DELETED and entry.ref.kind == "Service"]
    assert all(entry.staged == FOREVER for entry in gone) and (gone or name != "families")
    for left_out in ["", *sorted({entry.ref.kind for entry in watched(name)})]:
        assert not unexplained(name, beside=[each for each in watched(name) if each.ref.kind != left_out]), left_out


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

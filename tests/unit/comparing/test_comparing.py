"""These tests compare runs of the same work: parts of real recordings, and made ones."""

import json
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.formats import read
from dashboard.cli.__main__ import main
from tests import DATA, ROOT
from tests.inputs.events import entries_of, event, pod
from tests.properties import examples
from tests.unit.payloads.test_findings_schema import every_part, shape
from timeline.comparing.comparison import compare_owners, compare_recordings
from timeline.comparing.lives import Run, actor_name, may_be_one
from timeline.comparing.roles import template
from timeline.comparing.specs import spec_of
from timeline.comparing.tracks import Bodies, owner_run, recording_run
from timeline.core.entries import Entry, Level, ObjectRef
from timeline.history.world.world import World
from timeline.judge import judge, matters
from timeline.payloads.comparison import ComparisonPayload, DifferencePayload

FOLDER = DATA / "compare"
OLD, NEW, SERVICES = (FOLDER / f"{name}.jsonl.zst" for name in ("stale-jobs", "stale-jobs-136", "services"))
SCHEMA = json.loads((ROOT / "timeline/payloads/schemas/comparison-v1.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def observed(path: Path) -> list[Entry]:
    return [item for item in read([(path, path.name)], bodies=True) if isinstance(item, Entry)]


ENTRIES = {path: observed(path) for path in (OLD, NEW, SERVICES)}


class Source:
    """This is a recording that was read, from which runs can be taken."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.world, self.bodies = World(matters), Bodies()
        entries = list(entries)
        for each in entries:
            self.bodies.add(each)
        for _ in self.world.learn(entries):
            pass
        self.world.settle()
        self.findings = judge(self.world, self.world.tracks())

    def run(self, namespace: str, kind: str, name: str, incarnation: int = -1) -> Run:
        tracks = [track for track in self.world.tracks() if track.name[1:] == (kind, namespace, name)]
        return owner_run(self.world, tracks[incarnation], self.findings, self.bodies, f"{namespace}/{kind}/{name}")

    def whole(self, label: str = "source") -> Run:
        return recording_run(self.world, self.findings, self.bodies, label)


def checked(document: ComparisonPayload) -> ComparisonPayload:
    """Return a comparison that was held against its schema."""
    VALIDATOR.validate(json.loads(msgspec.json.encode(document)))
    return document


def differences(document: ComparisonPayload, type: str = "") -> list[DifferencePayload]:
    (owner,) = document["owners"]
    return [each for each in owner["differences"] if not type or each["type"] == type]


def texts(document: ComparisonPayload, type: str = "") -> list[str]:
    return [each["text"] for each in differences(document, type)]


def two(source: Source, kind: str, name: str) -> list[Run]:
    return [source.run(namespace, kind, name) for namespace in ("nightly-before", "nightly-after")]


def test_a_job_whose_controller_saw_it_late_differs_from_the_same_before_and_after_that() -> None:
    """The controller saw its Job three seconds late."""
    source = Source(ENTRIES[OLD])
    jobs = checked(compare_owners(two(source, "Job", "queue"), source.run("nightly", "Job", "queue")))
    (extra,) = differences(jobs, "extra")
    assert extra["text"] == "There were 4 Pods, 2 in each good run."
    assert (extra["good"], extra["bad"], extra["sure"], len(extra["objects"])) == (["2"], ["4"], True, 2)

    (order,) = differences(jobs, "order")
    assert order["text"] == (
        "In 2 of 2 good runs the Job finished after the last Pod was created; here it came before that, by ≈ 1.01 s. "
        "It changed places with 5 more steps."
    )
    assert order["good"] == ["last Pod created", "Job finished"] == order["bad"][::-1]
    assert (order["good_runs"], order["of_runs"]) == (2, 2)
    assert "last Pod ready" in order["others"]

    latest = next(each for each in differences(jobs, "delay") if "created" in each["text"].partition(" was ")[2])
    assert latest["text"].startswith("The latest Pod was created ≈ 8.35 s after its owner (59–150 times as long)")
    assert latest["good_seconds"] and latest["bad_seconds"] and latest["ratio"] and latest["ratio"][1]
    (good_least, good_most), (bad_least, bad_most) = latest["good_seconds"], latest["bad_seconds"]
    assert latest["ratio"] == pytest.approx([bad_least / good_most, bad_most / good_least])  # as the clocks bound it

    finding = next(each for each in differences(jobs, "finding") if each["subject"] == "job-excess-pods")
    assert finding["text"].endswith("2 findings of job-excess-pods, none in any good run.")

    steps = {each["step"]: each for each in jobs["owners"][0]["steps"]}
    assert next(iter(steps)) == "Job created"
    assert steps["Job created"]["good"] == steps["Job created"]["bad"] == [0, 0]
    assert [name for name, each in steps.items() if each["differs"]] == ["last Pod created", "Job finished"]


def test_runs_that_went_alike_do_not_differ() -> None:
    good = two(Source(ENTRIES[OLD]), "Job", "report-0")
    for one, other in (good, good[::-1]):
        assert not differences(compare_owners([other, one], one))
        assert not differences(compare_owners([one], one))


def test_recordings_of_two_controller_managers_that_did_the_same_work_are_compared_owner_by_owner() -> None:
    document = checked(compare_recordings([Source(ENTRIES[NEW]).whole("new")], Source(ENTRIES[OLD]).whole("old")))
    owners = {each["role"]: each for each in document["owners"]}
    assert list(owners)[:2] == ["Job queue in nightly", "Job report-0 in nightly"]
    for name in ("queue", "report-0"):
        found = {each["type"] for each in owners[f"Job {name} in nightly"]["differences"]}
        assert {"extra", "order", "finding"} <= found
    (writer,) = document["common"]
    assert writer["text"].endswith(" did.") and "v1.33.3) wrote in 9 owners; " in writer["text"]
    assert writer["bad"] == ["job-controller (kube-controller-manager/v1.33.3)"]
    assert "Job queue in nightly-after" not in owners and document["alike"] >= 3
    assert document["notes"] == [
        "With one good run, nothing shows what varies from run to run. Further good runs leave out what does."
    ]


def test_a_service_that_came_too_late_is_out_of_order_beside_services_in_time() -> None:
    source = Source(ENTRIES[SERVICES])
    good = [source.run("order-benign", "Job", f"ring{number}") for number in range(3)]
    document = checked(compare_owners(good, source.run("order-late", "Job", "ring0")))
    assert texts(document, "order")[0] == (
        "In 3 of 3 good runs the Service was created before Pod 0 was created; here it came after that, by "
        "0.22–0.49 s. It changed places with 3 more steps."
    )
    assert "pod-before-service" in [each["subject"] for each in differences(document, "finding")]
    assert not differences(document, "spec")  # the names differ, and nothing that was asked for


def test_what_one_recording_lacks_is_reported_as_an_owner_of_its_own() -> None:
    whole = ENTRIES[SERVICES]
    less = [each for each in whole if "ring1" not in each.ref.name]
    for good, bad, text in (
        (whole, less, "was not created in this run; it was in the good run."),
        (less, whole, "is only in this run, and not in the good run."),
    ):
        document = checked(compare_recordings([Source(good).whole()], Source(bad).whole()))
        found = [each["text"] for owner in document["owners"] for each in owner["differences"]]
        assert f"Job ring1 in order-benign {text}" in found


RING = "order-benign", "Job", "ring0"
LATE = "order-late", "Job", "ring0"


def test_kinds_that_a_run_did_not_observe_are_not_called_missing() -> None:
    blind = Source(each for each in ENTRIES[SERVICES] if each.ref.kind != "Service")
    document = compare_owners([Source(ENTRIES[SERVICES]).run(*RING)], blind.run("order-benign", "Job", "ring1"))
    assert not differences(document, "missing")
    note = "order-benign/Job/ring1 does not show Service and their owners: their numbers are not compared."
    assert note in document["notes"]


def test_a_log_without_objects_is_not_taken_for_one_in_which_nothing_was_owned() -> None:
    nothing = {"facts": None, "owner": None, "body": b"", "level": Level.METADATA}
    bare = Source(msgspec.structs.replace(each, **nothing) for each in ENTRIES[SERVICES])
    document = compare_owners([bare.run(*RING)], Source(ENTRIES[SERVICES]).run(*RING))
    assert {each["type"] for each in differences(document)} <= {"finding"}
    assert any(note.startswith("order-benign/Job/ring0 does not show ") for note in document["notes"])


# Properties


@examples(4)
@given(seed=st.integers(0, 2**32), doubled=st.booleans())
def test_the_comparison_does_not_depend_on_the_order_of_entries_and_of_good_runs(seed: int, doubled: bool) -> None:
    chance, entries = random.Random(seed), ENTRIES[SERVICES] * (2 if doubled else 1)
    good = [("order-benign", "Job", f"ring{number}") for number in range(3)]
    (expected,), (found,) = (
        compare_owners([source.run(*name) for name in names], source.run(*LATE))["owners"]
        for source, names in (
            (Source(ENTRIES[SERVICES]), good),
            (Source(chance.sample(entries, len(entries))), chance.sample(good, 3)),
        )
    )
    assert (found["differences"], found["steps"]) == (expected["differences"], expected["steps"])


@examples(4)
@given(kept=st.integers(2, 75), seed=st.integers(0, 2**32))
def test_a_run_never_differs_from_itself_whatever_was_lost(kept: int, seed: int) -> None:
    entries = random.Random(seed).sample(ENTRIES[SERVICES], min(kept, len(ENTRIES[SERVICES])))
    whole = Source(entries).whole()
    document = checked(compare_recordings([whole, whole], whole))
    assert (document["differences"], document["owners"]) == (0, [])


# Made ones


def created(name: str, revision: int, second: float, spec: Any = None, **changes: Any) -> dict[str, Any]:
    """Return the audit event of a Pod's creation."""
    made = pod(name=name, uid=f"uid-{name}", resourceVersion=str(revision), creationTimestamp="2026-11-21T07:52:00Z")
    made["spec"] = spec or {"containers": [{"name": "main", "image": "app:1"}]}
    return event(
        auditID=f"{name}-{revision}",
        objectRef={"resource": "pods", "namespace": "n", "name": name, "apiVersion": "v1"},
        responseObject=made,
        requestReceivedTimestamp=f"2026-11-21T07:52:{second:09.6f}Z",
        stageTimestamp=f"2026-11-21T07:52:{second + 0.001:09.6f}Z",
        **changes,
    )


def pods(*events: dict[str, Any]) -> Callable[[str], Run]:
    source = Source(entries_of(*events, bodies=True))
    return lambda name: source.run("n", "Pod", name)


def image(text: str) -> dict[str, Any]:
    return {"containers": [{"name": "main", "image": text}], "nodeName": f"node-{text}"}


def test_a_field_differs_only_if_no_good_run_has_its_value() -> None:
    images = enumerate(("app:1", "app:2", "app:2"))
    run = pods(*(created("abc"[at], 10 + at, 1 + at, image(each)) for at, each in images))
    (field,) = differences(compare_owners([run("a")], run("b")))
    assert (field["subject"], field["good"], field["bad"]) == ("spec.containers[main].image", ["app:1"], ["app:2"])
    assert field["text"] == "spec.containers[main].image of the Pod is app:2; in the good run app:1."
    assert not differences(compare_owners([run("a"), run("b")], run("c")))


def test_names_uids_and_what_kubernetes_makes_up_are_no_differences() -> None:
    def spec(token: str, name: str) -> dict[str, Any]:
        mounts = [{"name": f"kube-api-access-{token}", "mountPath": "/var/run"}]
        container = {"name": "main", "volumeMounts": mounts, "args": [f"--self={name}.n.svc"]}
        return {"hostname": name, "nodeName": token, "containers": [container]}

    run = pods(created("a", 10, 1, spec("x4mxk", "a")), created("b", 11, 2, spec("j79lk", "b")))
    assert not differences(compare_owners([run("a")], run("b")))


def test_another_program_that_writes_is_a_difference_and_so_is_its_version() -> None:
    run = pods(
        created("a", 1, 1, userAgent="kubectl/v1.36.0 (linux/amd64)"),
        created("b", 2, 2, userAgent="kubectl/v1.33.0 (linux/amd64)"),
    )
    said = "Pod created by kubectl/v1.33.0; in the good run by kubectl/v1.36.0."
    assert texts(compare_owners([run("a")], run("b"))) == [said]


def test_two_names_of_one_program_are_no_difference() -> None:
    part = "kcm/v1 (linux) kubernetes/abc/job-controller"
    run = pods(created("a", 1, 1, userAgent=part), created("b", 2, 2, userAgent="kcm/v1 (linux)"))
    assert texts(compare_owners([run("a")], run("b"))) == []
    assert texts(compare_owners([run("b")], run("a"))) == []


@pytest.mark.parametrize(
    ("name", "other", "one"),
    [
        ("kubectl", "kubectl/v1.36.0", True),
        ("kubectl.exe/v1.36.0", "Kubectl/v1.36.0", True),
        ("kcm/v1", "job-controller (kcm/v1)", True),
        ("kcm/v2", "job-controller (kcm/v1)", False),
        ("pod-collector (kcm/v1)", "job-controller (kcm/v1)", False),
        ("kubectl/v1.33.0", "kubectl/v1.36.0", False),
    ],
)
def test_two_names_may_be_of_one_program_if_they_contradict_each_other_in_nothing(
    name: str, other: str, one: bool
) -> None:
    assert may_be_one(name, other) is may_be_one(other, name) is one


@pytest.mark.parametrize(
    ("user", "agent", "name"),
    [
        ("somebody", "kubectl/v1.36.0 (linux/amd64) kubernetes/abc", "kubectl/v1.36.0"),
        ("a", "kcm/v1 (linux) kubernetes/abc/job-controller", "job-controller (kcm/v1)"),
        ("system:node:a", "kubelet/v1.36.0 (linux/amd64) kubernetes/abc", "kubelet/v1.36.0"),
        ("system:serviceaccount:ns:operator", "", "operator"),
    ],
)
def test_a_writer_is_named_by_its_program_and_its_version(user: str, agent: str, name: str) -> None:
    (entry,) = entries_of(created("a", 1, 1, user={"username": user}, userAgent=agent))
    assert actor_name(entry) == name


def test_nothing_of_secrets_is_read_and_of_config_maps_only_a_hash() -> None:
    secret = ObjectRef("", "v1", "Secret", "n", "s")
    assert spec_of(secret, None, [b'{"data": {"key": "dmFsdWU="}}'], None).values == {}
    config = spec_of(ObjectRef("", "v1", "ConfigMap", "n", "c"), None, [b'{"data": {"key": "value"}}'], None)
    assert list(config.values) == ["data[key]"]
    assert not any("value" in each for values in config.values.values() for each in values)


@pytest.mark.parametrize(
    ("name", "owner", "form"),
    [
        ("web-6d4f8b9c7d-x7k2p", "web-6d4f8b9c7d", "*"),
        ("web-6d4f8b9c7d", "web", "*"),
        ("web-0", "web", "#"),
        ("data-web-1", "web", "data-web-#"),
        ("ring-steady-12", "ring", "steady-#"),
        ("backup-29384720", "backup", "*"),
        ("ring", "ring", ""),
        ("other-part", "ring", "other-part"),
    ],
)
def test_the_template_of_a_name_has_nothing_that_is_made_up(name: str, owner: str, form: str) -> None:
    assert template(name, owner) == form


# The document and the command


def test_the_schema_has_the_fields_of_the_types_and_describes_each() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    generated = msgspec.json.schema(ComparisonPayload)
    assert shape(SCHEMA, SCHEMA["$defs"], closed=True) == shape(generated, generated["$defs"], closed=False)
    assert all("$ref" in part or part["description"].endswith(".") for part in every_part(SCHEMA))


def compared(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    status = main(["compare", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def owners(*names: str) -> Sequence[str]:
    return [part for name in names for part in ("--owner", name)]


def test_the_command_compares_owners_of_one_recording(capsys: pytest.CaptureFixture[str]) -> None:
    names = owners("nightly-before/Job/report-0", "nightly-after/job/report-0", "nightly/Job.batch/report-0#1")
    status, output, errors = compared(capsys, OLD, *names)
    assert (status, errors) == (1, "")
    assert "· There were 2 Pods, 1 in each good run." in output
    assert "≠ Job finished" in output and output.endswith(" differences.\n")
    status, output, _ = compared(capsys, OLD, "--output", "json", *names)
    assert status == 1
    VALIDATOR.validate(json.loads(output))


@pytest.mark.parametrize(
    ("arguments", "status", "shown"),
    [
        ([NEW, OLD, *owners("nightly/Job/queue")], 1, ["\nJob queue in nightly\n"]),
        ([OLD, OLD], 0, ["No difference; 9 owners do not differ."]),
        (
            [SERVICES, NEW],
            1,
            [
                "Only in this run\n",
                "  · Job queue in nightly\n",
                "Only in the good runs\n",
                "  · Job ring0 in order-late\n",
            ],
        ),
    ],
    ids=["one owner in two recordings", "a recording and itself", "owners that only one has"],
)
def test_the_command_compares_recordings(
    arguments: list[str | Path], status: int, shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found, output, _ = compared(capsys, *arguments)
    assert found == status and [output.count(each) for each in shown] == [1] * len(shown)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([OLD], "One recording is nothing to compare with. Name two recordings, or owners in it (--owner)."),
        ([OLD, *owners("nightly/Job/queue")], "one nightly/Job/queue, which is nothing to compare with"),
        ([OLD, "/nowhere.log"], "/nowhere.log"),
        ([OLD, NEW, *owners("nightly/Job/none")], "no Job none was observed in nightly."),
        ([OLD, NEW, *owners("nightly")], "'nightly' names no owner. Write namespace/kind/name"),
        ([OLD, NEW, *owners("a/Job/b", "a/Job/c", "a/Job/d")], "2 files and 3 owners: give one file"),
        ([OLD, NEW, *owners("nightly/Job/queue#3")], "nightly/Job/queue#3 has 1 incarnation."),
    ],
)
def test_the_command_says_what_it_cannot_compare(
    arguments: list[str | Path], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, output, errors = compared(capsys, *arguments)
    assert (status, output) == (2, "")
    assert error in errors

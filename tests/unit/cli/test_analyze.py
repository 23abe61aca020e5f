"""These tests run `causeline analyze` and `causeline rules` in this process, without a server."""

import gzip
import json
import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import zstandard

from collectors import analysis
from collectors.formats import Limits
from tests import DATA, RULES, mutations
from tests.command import causeline, process
from tests.events import event
from tests.recordings import QUIET, SAMPLE, lines_of
from timeline.core.actors import actor_of
from timeline.core.entries import Client
from timeline.judge import rulebook
from timeline.payloads.findings import DocumentPayload


def document(*arguments: str | Path, run: Callable[..., tuple[int, str, str]] = causeline) -> dict[str, Any]:
    status, output, errors = run("analyze", *arguments, "--output", "json", "--fail-on", "never")
    assert (status, errors) == (0, "")
    payload: dict[str, Any] = json.loads(output)
    msgspec.convert(payload, DocumentPayload, strict=True)
    return payload


def rules_in(payload: dict[str, Any]) -> set[str]:
    return {finding["rule"] for finding in payload["findings"]}


@pytest.mark.parametrize(("threshold", "status"), [("error", 0), ("warning", 1), ("never", 0)])
def test_the_threshold_decides_whether_the_command_fails(threshold: str, status: int) -> None:
    assert causeline("analyze", SAMPLE, "--fail-on", threshold)[0] == status


def test_findings_of_one_cause_are_one_incident_with_its_gravest_proof() -> None:
    output = " ".join(causeline("analyze", SAMPLE, "--rule", "service-gap", columns=200)[1].split())
    assert "warning Service ring was away under 3 Pods, 2 times" in output
    assert "service-gap · vol-restart · from 2026-11-21T07:52:00.841106Z to" in output
    assert " · 2 occurrences · 3 findings" in output
    assert output.count("created again") == 1
    every = causeline("analyze", SAMPLE, "--rule", "service-gap", "--findings", columns=200)[1]
    assert every.count("created again") == 2
    assert "1 incident · 3 findings (3 warnings) in 775 changes" in every


def test_brief_is_a_line_for_each_incident() -> None:
    lines = causeline("analyze", SAMPLE, "--brief")[1].splitlines()
    table = lines[: lines.index("")]
    assert len(table) == 6
    assert (
        "warning 2026-11-21T07:52:07Z over        2 × vol-restart: Service ring was away under 3 Pods, 2 times" in table
    )
    assert sum(" ongoing " in line for line in table) == 1


def test_a_range_of_time_selects_what_happened_in_it() -> None:
    def rules(*options: str) -> set[str]:
        status, output, _ = causeline("analyze", SAMPLE, "--output", "json", "--fail-on", "never", *options)
        assert status == 0
        return {each["rule"] for each in json.loads(output)["incidents"]}

    assert rules("--since", "2026-11-21T07:52:08Z") == {"lease-contention"}
    assert rules("--until", "2026-11-21T07:52:00Z") == {"lease-shared-config", "stale-write"}
    assert rules("--since", "2026-11-21T07:52:08Z", "--until", "2026-11-21T07:52:09Z") == set()
    status, _, errors = causeline("analyze", SAMPLE, "--since", "yesterday")
    assert status == 2 and "yesterday is not a valid time. Write it as RFC 3339" in errors


def test_the_first_version_of_the_document_has_no_incidents() -> None:
    first, second = (
        json.loads(causeline("analyze", SAMPLE, "--output", "json", "--schema", version)[1]) for version in ("v1", "v2")
    )
    assert (first["schema"], second["schema"]) == ("causeline.findings/v1", "causeline.findings/v2")
    assert first == {name: value for name, value in second.items() if name != "incidents"} | {"schema": first["schema"]}
    assert {each for incident in second["incidents"] for each in incident["findings"]} == {
        each["id"] for each in second["findings"]
    }


def test_nothing_found_is_a_success() -> None:
    status, output, _ = causeline("analyze", QUIET)
    assert status == 0
    assert "0 incidents · 0 findings in" in output


def test_the_document_is_the_same_for_the_same_lines_in_any_order(tmp_path: Path) -> None:
    lines = (RULES / "service-gap" / "fires-volcano-restart-pod.jsonl").read_bytes().splitlines(keepends=True)
    payload = []
    for number, order in enumerate([lines, lines[::-1] + lines[:20]]):
        path = tmp_path / str(number) / "log.jsonl"
        path.parent.mkdir()
        path.write_bytes(b"".join(order))
        found = document(path)
        for finding in found["findings"]:
            for proof in finding["proof"]:
                proof["file"] = proof["line"] = None
        found["source"]["name"] = ""
        payload.append(found)
    assert payload[0] == payload[1]
    assert payload[0]["findings"]


def test_rules_and_namespaces_narrow_what_is_told() -> None:
    assert rules_in(document(SAMPLE)) > {"service-gap", "lease-contention"}
    assert rules_in(document(SAMPLE, "--rule", "service-gap")) == {"service-gap"}
    assert rules_in(document(SAMPLE, "--namespace", "volcano-system")) == {
        "lease-contention",
        "lease-shared-config",
        "stale-write",
    }


def test_a_folder_and_the_standard_input_are_read_too(tmp_path: Path) -> None:
    shutil.copy(SAMPLE, tmp_path / "audit.jsonl.zst")
    expected = rules_in(document(SAMPLE))
    assert rules_in(document(tmp_path)) == expected
    assert rules_in(document("-", run=partial(process, stdin=SAMPLE.read_bytes()))) == expected


def test_a_broken_line_is_counted_and_the_rest_judged(tmp_path: Path) -> None:
    lines = (RULES / "service-gap" / "fires-volcano-restart-pod.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines[0] + b"{broken\n" + b"".join(lines[1:]))
    payload = document(path)
    assert [(each["file"], each["line"]) for each in payload["source"]["skipped"]] == [(str(path), 2)]
    assert "service-gap" in rules_in(payload)


def test_two_clusters_in_one_input_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    with zstandard.open(SAMPLE, "rt") as log:
        events = [json.loads(line) for line in log if '"resource":"namespaces"' in line and '"kube-system"' in line]
    line = next(each for each in events if each["verb"] == "create" and each["responseStatus"]["code"] == 201)
    line["responseObject"]["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"
    line["auditID"] = "another"
    other.write_text(json.dumps(line))
    status, _, errors = causeline("analyze", SAMPLE, other)
    assert status == 2
    assert "two clusters" in errors and "other.jsonl line 1" in errors


def test_coverage_says_what_can_be_judged() -> None:
    payload = document(SAMPLE)["source"]
    pods = next(row for row in payload["coverage"] if row["resource"] == "pods")
    assert pods == {
        "group": "",
        "resource": "pods",
        "level": "RequestResponse",
        "complete": True,
        "from_list": False,
        "holes": 0,
    }
    rules = {row["rule"]: (row["answer"], row["verdict"]) for row in payload["rules"]}
    assert (rules["pod-before-service"], rules["job-excess-pods"]) == (("can", "exact"), ("cannot", "not"))
    assert rules["service-gap"] == ("part", "bounded")
    output = causeline("analyze", SAMPLE, "--coverage")[1]
    assert "pods" in output and "In the audit policy" in output
    assert all(f" {answer}\n" in output for answer in ("can judge", "can judge in part", "cannot judge"))


def test_the_catalogue_lists_every_rule_and_shows_its_page() -> None:
    status, output, _ = causeline("rules")
    assert status == 0
    assert [line.split()[0] for line in output.splitlines()] == [rule.id for rule in rulebook()]
    assert "Looks alike but is benign" in causeline("rules", "lease-stolen")[1]
    assert causeline("rules", "nonsense")[0] == 2


def test_a_log_that_is_understood_and_tells_of_no_change_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "reads.jsonl"
    path.write_text(json.dumps(event(verb="list", responseObject=None)) + "\n")
    status, output, errors = causeline("analyze", path, "--output", "json")
    payload = json.loads(output)
    assert (status, payload["source"]["entries"], payload["source"]["first"], payload["findings"]) == (0, 0, None, [])
    assert "nothing in it changes an object" in errors and "An audit policy should log" in errors
    assert "in 0 changes; 0 skipped" in causeline("analyze", path)[1]


def test_lines_that_are_skipped_for_one_reason_are_told_together_and_losses_first(tmp_path: Path) -> None:
    with zstandard.open(SAMPLE, "rb") as log:
        lines = log.read().splitlines(keepends=True)
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"".join(lines[:400]) + b"noise\n" * 30 + b"".join(lines[400:]))[:-9000])
    output = " ".join(causeline("analyze", path)[1].split())
    losses, broken = output.index("the compressed data ends too early"), output.index("line 401 and 29 more: not JSON")
    assert losses < broken


def test_what_is_told_of_skipped_lines_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "SKIPS_KEPT", 5)
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"noise\n" * 50 + QUIET.read_bytes())
    result = analysis.analyse([(path, "log.jsonl")], Limits())
    assert (len(result.skipped), result.skips) == (5, 50)
    assert result.document()["source"]["skipped"][0]["reason"].startswith("45 more lines were skipped")


def test_a_namespace_that_is_not_there_is_said() -> None:
    status, output, errors = causeline("analyze", SAMPLE, "--namespace", "vol-restrat")
    assert (status, errors) == (0, "causeline: no object that a rule needs was observed in a namespace vol-restrat\n")
    assert "0 incidents · 0 findings in" in output


def test_what_cannot_be_judged_is_said_before_anybody_asks() -> None:
    dump = DATA / "objects/dump.txt.zst"
    output = causeline("analyze", dump)[1]
    rules = len(rulebook())
    lack = f"{rules - 3} of {rules} rules cannot judge this recording, 3 can judge it only in part; --coverage says why"
    assert lack in " ".join(output.split())
    assert "cannot judge" not in causeline("analyze", SAMPLE, "--rule", "service-gap")[1]


def test_each_remedy_is_told_once_in_a_line_to_copy() -> None:
    watch = DATA / "objects/watch"
    output = causeline("analyze", watch, "--coverage", columns=60)[1]
    lines = output.splitlines()
    assert lines.count("kubectl get jobs.batch -A -w --output-watch-events --show-managed-fields -o json") == 1
    policies = [line for line in lines if line.startswith("- {level: RequestResponse")]
    assert policies and len(policies) == len(set(policies))
    table = lines[next(at for at, line in enumerate(lines) if line.startswith("Seen")) :]
    assert max(map(len, table[: table.index("")])) <= 60
    rules = {row["rule"]: row for row in document(watch)["source"]["rules"]}
    assert rules["lease-stolen"]["verdict"] == "bounded"


def test_pods_whose_service_came_late_are_one_row_with_the_proof_of_all() -> None:
    late = RULES / "pod-before-service" / "fires-container-first.jsonl"
    output = causeline("analyze", late, "--rule", "pod-before-service")[1]
    assert output.count("pod-before-service ·") == 1
    assert "3 Pods created before Service ring2, by 0.35–0.56 s" in output
    assert "The delay is" not in output  # each subject has another delay
    for line in ("ring2-0: Pod created", "ring2-1: Pod created", "ring2-2: Pod created", "ring2: Service created"):
        assert output.count(line) == 1


def test_commands_are_not_broken_however_narrow_the_terminal() -> None:
    leaks = RULES / "runaway-creation" / "fires-volcano-retries.jsonl"
    lines = causeline("analyze", leaks, columns=60)[1].splitlines()
    clean = next(line for line in lines if "delete persistentvolumeclaim" in line)
    assert clean.lstrip().startswith("`kubectl") and "--dry-run=server`" in clean
    assert all(len(line) <= 60 for line in lines if "`" not in line and str(leaks) not in line)


def test_the_proof_says_who_wrote_and_with_what_and_breaks_between_its_parts() -> None:
    lines = causeline("analyze", SAMPLE, "--rule", "service-gap", columns=70)[1].splitlines()
    assert "        2026-11-21T07:52:00.841106Z · Service deleted · revision 582 ·" in lines
    assert any(line.startswith("          admin with vc-cm-head/v0.0.0 ·") for line in lines)
    assert "1 incident · 3 findings (3 warnings) in" in " ".join(lines)
    watched = DATA / "objects/watch"
    written = causeline("analyze", watched, "--rule", "pod-before-service", columns=200)[1]
    assert "Service created · revision 592 · vc-cm-head ·" in written


def test_a_server_whose_clock_was_off_is_named_for_its_times_are_not_those_of_its_lines(tmp_path: Path) -> None:
    with zstandard.open(SAMPLE, "rt") as log:
        events = [json.loads(line) for line in log]
    less, more = sorted(mutations.over_servers(events, random.Random(2), servers=2), key=len)
    for name, part in (("a", mutations.shifted(less, 40)), ("b", more)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, part)))
    output = " ".join(causeline("analyze", tmp_path)[1].split())
    assert f"The clock behind {tmp_path}/a.jsonl was about 40" in output
    assert "ahead of the others', as neighbouring revisions tell; its times are corrected by that." in output
    assert "The clock behind" not in causeline("analyze", SAMPLE)[1]


def test_most_lines_skipped_is_no_success(tmp_path: Path) -> None:
    lines = [line for line in lines_of(SAMPLE) if b'"verb":"create"' in line][:3]
    log = tmp_path / "audit.log"
    log.write_bytes(b"\n".join([*lines, *[b'{"kind": "Event", "auditID": "cut'] * 7]) + b"\n")
    status, _, errors = causeline("analyze", log)
    assert status == 2
    assert "7 of 10 lines were skipped" in errors and "--allow-skipped" in errors
    status, output, errors = causeline("analyze", log, "--allow-skipped")
    assert status == 0
    assert "7 of 10 lines were skipped" in errors and "7 skipped" in output
    page = tmp_path / "report.html"
    status, _, errors = causeline("report", log, "-o", page)
    assert status == 2
    assert "7 of 10 lines were skipped" in errors and "--allow-skipped" in errors
    assert "7 of 10 lines were skipped, so what was found says little of it." in page.read_text()
    assert causeline("report", log, "-o", tmp_path / "again.html", "--allow-skipped")[0] == 0
    assert causeline("report", log, "-o", "-")[0] == 2


def test_half_a_file_is_judged_in_full_by_no_rule(tmp_path: Path) -> None:
    log = tmp_path / "audit.log.gz"
    whole = gzip.compress(b"\n".join(lines_of(SAMPLE)))
    log.write_bytes(whole[: len(whole) // 2])
    output = causeline("analyze", log, "--coverage")[1]
    assert "seen in full" not in output and "exact, for what was seen in full" not in output
    assert "a part of the recording could not be read" in output
    document = json.loads(causeline("analyze", log, "--output", "json")[1])
    assert not any(row["complete"] for row in document["source"]["coverage"])
    assert all(rule["remedy"] for rule in document["source"]["rules"])


def test_an_incident_about_an_actor_stands_in_the_namespace_of_what_it_wrote() -> None:
    job = RULES / "stale-write" / "fires-the-copy-stands-still.jsonl"
    for options in ((), ("--brief",), ("--findings",)):
        _, output, _ = causeline("analyze", job, "--rule", "stale-write", *options)
        assert "nightly" in output and "cluster" not in output


class Sent(NamedTuple):
    """This is what an audit log shows of a sender."""

    actor: str
    user_agent: str
    client: Client | None = None


def test_the_part_of_many_programs_is_told_with_its_program() -> None:
    agent = "kube-scheduler/v1.30.2 (linux/amd64) kubernetes/a1b2c3d"
    who = [actor_of(Sent("system:kube-scheduler", f"{agent}/{part}")) for part in ("leader-election", "job-controller")]
    assert list(map(str, who)) == ["leader-election of kube-scheduler", "job-controller"]


def test_the_page_of_a_rule_lists_what_is_a_list() -> None:
    _, output, _ = causeline("rules", "lease-stolen")
    points = [line for line in output.splitlines() if line.startswith("- ")]
    assert points[:2] == [
        "- A hand-over by release (an empty holder).",
        "- A take-over after the duration ran out, as after a killed leader.",
    ]
    assert " - A take-over" not in output

"""These tests run `causeline analyze` and `causeline rules` in this process, without a server."""

import copy
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

from collectors import analysis
from collectors.formats import Limits
from dashboard.cli import text
from tests import DATA, RULES
from tests.clients.command import causeline, process
from tests.inputs import mutations
from tests.inputs.events import event
from tests.inputs.recordings import QUIET, SAMPLE, lines_of
from tests.unit.judging.logs import sample
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


def printed(*arguments: str | Path, columns: int = 200) -> str:
    return causeline("analyze", *arguments, columns=columns)[1]


def words(*arguments: str | Path, columns: int = 200) -> str:
    return " ".join(printed(*arguments, columns=columns).split())


def rules_in(*arguments: str | Path, run: Any = causeline) -> set[str]:
    return {each["rule"] for each in document(*arguments, run=run)["findings"]}


POD = SAMPLE.parent / "one-pod-too-many.jsonl.zst"
LATE = "2026-11-21T07:52:08Z"


@pytest.mark.parametrize(("threshold", "status"), [("error", 0), ("warning", 1), ("never", 0)])
def test_the_threshold_decides_whether_the_command_fails(threshold: str, status: int) -> None:
    assert causeline("analyze", SAMPLE, "--fail-on", threshold)[0] == status


def test_what_one_cause_did_is_one_incident_with_its_gravest_proof() -> None:
    output = words(POD)
    title = "error job-controller acted on old copies of Jobs for 6.1 s: 1 Pod too many in Job report-0 "
    course = "Since 2026-11-22T05:56:14.279400Z for 6.1 s, over. Effect observed: report-0-r9wx8 ran: work was done "
    assert output.startswith(title + course)
    assert "job-excess-pods, stale-view, stale-write · nightly · 3 symptoms · 3 findings - error: Pod" in output
    assert "Cause: job-controller created Pod report-0-r9wx8 when Job report-0 was Complete." in output
    assert output.count("Job report-0 as the copy had it") == output.count("· Job Complete ·") == 1
    assert "1 incident · 3 symptoms · 3 findings (1 error, 2 warnings) in 90 changes" in output


def test_an_incident_of_one_symptom_has_an_example_and_no_list() -> None:
    output = words(SAMPLE, "--rule", "service-gap")
    assert "warning Service ring was away under 3 Pods, 2 times Since 2026-11-21T07:52:00.841106Z for 6.4 s" in output
    assert "service-gap · vol-restart · 1 symptom · 3 findings For example: Service ring was away for" in output
    assert output.count("created again") == 1 and "- warning" not in output
    assert "cannot judge" not in output
    every = printed(SAMPLE, "--rule", "service-gap", "--findings")
    assert every.count("created again") == 2
    assert "1 incident · 1 symptom · 3 findings (3 warnings) in 775 changes" in every


def test_the_symptoms_are_folded_to_the_first_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_SYMPTOMS", 1)
    output = words(POD)
    assert output.count(" - ") == 2 and "- 2 more symptoms: 1 of stale-write, 1 of stale-view" in output


def test_incidents_without_harm_are_counted_and_listed_when_asked_for() -> None:
    output = words(SAMPLE)
    assert "2 more incidents without harm: --brief lists them, --findings shows the proof. 4 incidents · " in output
    assert "node-controller" not in output and "ongoing when the recording ends. Effect possible: only one" in output
    assert "node-controller" in words(SAMPLE, "--brief") and "node-controller" in words(SAMPLE, "--findings")
    alone = words(SAMPLE, "--rule", "stale-write")
    assert alone.startswith("2 incidents without harm: --brief lists them")


def test_brief_is_a_line_for_each_incident() -> None:
    lines = printed(SAMPLE, "--brief", columns=100).splitlines()
    table = lines[: lines.index("")]
    assert len(table) == 4
    away = "2 symptoms  vol-restart: Service ring was away under 3 Pods, 2 times, and 1 more symptom of the same cause"
    assert table[0] == f"warning abab8e 2026-11-21T07:52:07Z over     {away}"
    assert sum(" ongoing " in line for line in table) == 1


@pytest.mark.parametrize(
    ("options", "rules"),
    [
        (["--since", LATE], {"lease-contention"}),
        (["--until", "2026-11-21T07:52:00Z"], {"lease-shared-config", "stale-write"}),
        (["--since", LATE, "--until", "2026-11-21T07:52:09Z"], set()),
        (["--rule", "service-gap"], {"service-gap"}),
        (["--namespace", "volcano-system"], {"lease-contention", "lease-shared-config", "stale-write"}),
    ],
)
def test_a_range_of_time_rules_and_namespaces_select_what_is_reported(options: list[str], rules: set[str]) -> None:
    incidents = document(SAMPLE, *options)["incidents"]
    assert {symptom["rule"] for each in incidents for symptom in each["symptoms"]} == rules


def test_a_time_that_is_none_is_said() -> None:
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


def test_the_third_version_of_the_document_has_an_incident_for_each_cause() -> None:
    second, third = (
        json.loads(causeline("analyze", SAMPLE, "--output", "json", "--schema", version)[1]) for version in ("v2", "v3")
    )
    assert third["schema"] == "causeline.findings/v3" and third["findings"] == second["findings"]
    of_second = {each["id"] for each in second["incidents"]}
    assert {each["id"] for incident in third["incidents"] for each in incident["symptoms"]} == of_second
    assert len(third["incidents"]) < len(second["incidents"])
    shared = next(each for each in third["incidents"] if each["root"])
    assert shared["title"] == (
        "Workloads with different schedulers elect on Lease volcano: Lease volcano went from one to the other"
    )
    assert {each["rule"] for each in shared["symptoms"]} == {"lease-contention", "lease-shared-config"}
    away = next(each for each in third["incidents"] if each["symptoms"][0]["rule"] == "service-gap")
    assert len(away["episodes"]) == 2 and len(away["findings"]) == 5


def test_nothing_found_is_a_success() -> None:
    status, output, _ = causeline("analyze", QUIET)
    assert status == 0
    assert "0 incidents · 0 symptoms · 0 findings in" in output


def test_a_folder_and_the_standard_input_are_read_too(tmp_path: Path) -> None:
    shutil.copy(SAMPLE, tmp_path / "audit.jsonl.zst")
    expected = rules_in(SAMPLE)
    assert expected > {"service-gap", "lease-contention"}
    assert rules_in(tmp_path) == expected
    assert rules_in("-", run=partial(process, stdin=SAMPLE.read_bytes())) == expected


def test_a_broken_line_is_counted_and_the_rest_judged(tmp_path: Path) -> None:
    lines = (RULES / "service-gap" / "fires-volcano-restart-pod.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines[0] + b"{broken\n" + b"".join(lines[1:]))
    payload = document(path)
    assert [(each["file"], each["line"]) for each in payload["source"]["skipped"]] == [(str(path), 2)]
    assert "service-gap" in {each["rule"] for each in payload["findings"]}


def test_two_clusters_in_one_input_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    created = (each for each in sample() if (each["verb"], each["responseStatus"]["code"]) == ("create", 201))
    line = copy.deepcopy(next(each for each in created if each["objectRef"].get("name") == "kube-system"))
    line["responseObject"]["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"
    line["auditID"] = "another"
    other.write_text(json.dumps(line))
    status, _, errors = causeline("analyze", SAMPLE, other)
    assert status == 2
    assert "two clusters" in errors and "other.jsonl line 1" in errors


def test_coverage_says_what_can_be_judged() -> None:
    payload = document(SAMPLE)["source"]
    pods = next(row for row in payload["coverage"] if row["resource"] == "pods")
    whole = {"level": "RequestResponse", "complete": True, "from_list": False, "holes": 0}
    assert pods == {"group": "", "resource": "pods", **whole}
    rules = {row["rule"]: (row["answer"], row["verdict"]) for row in payload["rules"]}
    assert (rules["pod-before-service"], rules["job-excess-pods"]) == (("can", "exact"), ("cannot", "not"))
    assert rules["service-gap"] == ("part", "bounded")
    output = printed(SAMPLE, "--coverage", columns=100)
    assert "pods" in output and "In the audit policy" in output
    assert all(f" {answer}\n" in output for answer in ("can judge", "can judge in part", "cannot judge"))


def test_coverage_says_which_links_can_be_proven() -> None:
    watches = str(DATA / "objects/watch")
    asked = ("analyze", watches, "--output", "json", "--schema")
    second, third = (json.loads(causeline(*asked, version)[1]) for version in ("v2", "v3"))
    links = {row["link"]: (row["answer"], row["verdict"]) for row in third["source"].pop("links")}
    assert third["source"] == second["source"]  # version 2 has no links
    assert links["take-over"] == ("cannot", "not") and links["shared-write"] == ("can", "exact")
    output = printed(watches, "--coverage", columns=100)
    assert "What can be joined to one cause\n" in output
    assert "The take-over of a Lease    cannot join\n" in output


def test_the_catalogue_lists_every_rule_and_shows_its_page() -> None:
    status, output, _ = causeline("rules")
    assert status == 0
    assert [line.split()[0] for line in output.splitlines()] == [rule.id for rule in rulebook()]
    page = causeline("rules", "lease-stolen")[1]
    assert "Looks alike but is benign" in page and " - A take-over" not in page
    assert [line for line in page.splitlines() if line.startswith("- ")][:2] == [
        "- A hand-over by release (an empty holder).",
        "- A take-over after the duration ran out, as after a killed leader.",
    ]
    assert causeline("rules", "nonsense")[0] == 2


def test_a_log_that_is_understood_and_tells_of_no_change_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "reads.jsonl"
    path.write_text(json.dumps(event(verb="list", responseObject=None)) + "\n")
    status, output, errors = causeline("analyze", path, "--output", "json")
    payload = json.loads(output)
    assert (status, payload["source"]["entries"], payload["source"]["first"], payload["findings"]) == (0, 0, None, [])
    assert "nothing in it changes an object" in errors and "An audit policy should log" in errors
    assert "in 0 changes; 0 skipped" in causeline("analyze", path)[1]


def test_lines_that_are_skipped_for_one_reason_are_reported_together_and_losses_first(tmp_path: Path) -> None:
    lines = lines_of(SAMPLE)
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"\n".join([*lines[:400], *[b"noise"] * 30, *lines[400:]]))[:-9000])
    output = words(path)
    losses, broken = output.index("the compressed data ends too early"), output.index("line 401 and 29 more: not JSON")
    assert losses < broken


def test_what_is_reported_of_skipped_lines_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "SKIPS_KEPT", 5)
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"noise\n" * 50 + QUIET.read_bytes())
    result = analysis.analyse([(path, "log.jsonl")], Limits())
    assert (len(result.skipped), result.skips) == (5, 50)
    assert result.document()["source"]["skipped"][0]["reason"].startswith("45 more lines were skipped")


def test_a_namespace_that_is_not_there_is_said() -> None:
    status, output, errors = causeline("analyze", SAMPLE, "--namespace", "vol-restrat")
    assert (status, errors) == (0, "causeline: no object that a rule needs was observed in a namespace vol-restrat\n")
    assert "0 incidents · 0 symptoms · 0 findings in" in output


def test_a_part_of_a_log_is_judged_alone_and_what_is_left_out_is_said() -> None:
    part = document(SAMPLE, "--only", "namespace=volcano-system", "--fail-on", "never")
    assert {each["subject"]["namespace"] for each in part["findings"]} == {"volcano-system"}
    assert "were left out, as --only namespace=volcano-system asks" in part["source"]["skipped"][0]["reason"]
    assert {each["answer"] for each in part["source"]["rules"]} == {"cannot", "part"}


def test_a_part_that_is_not_named_as_one_is_refused() -> None:
    status, _, errors = causeline("analyze", SAMPLE, "--only", "shop")
    assert status == 2 and "--only 'shop' names no part of a recording. Write namespace=NAME" in errors


def test_other_inputs_are_read_whole_and_show_only_the_part() -> None:
    paths = [DATA / "objects/watch", SAMPLE]
    part = document(*paths, "--only", "namespace=volcano-system")
    whole = document(*paths)["findings"]
    assert part["findings"] == [each for each in whole if each["subject"]["namespace"] == "volcano-system"]
    assert not any("left out" in each["reason"] for each in part["source"]["skipped"])


def test_what_cannot_be_judged_is_said_before_anybody_asks() -> None:
    rules = len(rulebook())
    lack = f"{rules - 4} of {rules} rules cannot judge this recording, 4 can judge it only in part; --coverage says why"
    assert lack in words(DATA / "objects/dump.txt.zst")


def test_each_remedy_is_reported_once_in_a_line_to_copy() -> None:
    lines = printed(DATA / "objects/watch", "--coverage", columns=60).splitlines()
    assert lines.count("kubectl get jobs.batch -A -w --output-watch-events --show-managed-fields -o json") == 1
    policies = [line for line in lines if line.startswith("- {level: RequestResponse")]
    assert policies and len(policies) == len(set(policies))
    table = lines[next(at for at, line in enumerate(lines) if line.startswith("Seen")) :]
    assert max(map(len, table[: table.index("")])) <= 60


def test_pods_whose_service_came_late_are_one_row_with_the_proof_of_all() -> None:
    output = printed(
        RULES / "pod-before-service/fires-container-first.jsonl", "--rule", "pod-before-service", columns=100
    )
    assert output.count("pod-before-service ·") == 1
    assert "3 Pods created before Service ring2, by 0.35–0.56 s" in output
    assert "The delay is" not in output  # each subject has another delay
    for line in ("ring2-0: Pod created", "ring2-1: Pod created", "ring2-2: Pod created", "ring2: Service created"):
        assert output.count(line) == 1


def test_commands_are_not_broken_however_narrow_the_terminal() -> None:
    leaks = RULES / "runaway-creation" / "fires-volcano-retries.jsonl"
    lines = printed(leaks, columns=60).splitlines()
    clean = next(line for line in lines if "delete persistentvolumeclaim" in line)
    assert clean.lstrip().startswith("`kubectl") and "--dry-run=server`" in clean
    assert all(len(line) <= 60 for line in lines if "`" not in line and str(leaks) not in line)


def test_the_proof_says_who_wrote_and_with_what_and_breaks_between_its_parts() -> None:
    lines = printed(SAMPLE, "--rule", "service-gap", columns=70).splitlines()
    assert "        2026-11-21T07:52:00.841106Z · Service deleted · revision 582 ·" in lines
    assert any(line.startswith("          vc-cm-head (admin) ·") for line in lines)
    written = printed(DATA / "objects/watch", "--rule", "pod-before-service", "--findings")
    assert "Service created · revision 592 · vc-cm-head ·" in written


def test_a_server_whose_clock_was_off_is_named_for_its_times_are_not_those_of_its_lines(tmp_path: Path) -> None:
    less, more = sorted(mutations.over_servers(sample(), random.Random(2), servers=2), key=len)
    for name, part in (("a", mutations.shifted(less, 40)), ("b", more)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, part)))
    output = words(tmp_path)
    assert f"The clock behind {tmp_path}/a.jsonl was about 40" in output
    assert "ahead of the others', as neighbouring revisions tell; its times are corrected by that." in output
    assert "The clock behind" not in printed(SAMPLE)


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
        output = printed(job, "--rule", "stale-write", *options)
        assert "nightly" in output and "cluster" not in output


class Sent(NamedTuple):
    """This is what an audit log shows of a sender."""

    actor: str
    user_agent: str
    client: Client | None = None


def test_the_part_of_many_programs_is_named_with_its_program() -> None:
    agent = "kube-scheduler/v1.30.2 (linux/amd64) kubernetes/a1b2c3d"
    who = [actor_of(Sent("system:kube-scheduler", f"{agent}/{part}")) for part in ("leader-election", "job-controller")]
    assert list(map(str, who)) == ["leader-election of kube-scheduler", "job-controller"]

"""`causeline policy` prints an audit policy, and what it would have logged of a sample of one's own log."""

import copy
import gzip
import json
from pathlib import Path

import msgspec
import pytest
import yaml

from collectors.formats import audit_events
from collectors.sampling import Prediction, predict
from dashboard.cli.__main__ import main
from dashboard.presentation.wording import size
from tests import ROOT
from tests.inputs import mutations
from tests.inputs.mutations import Log
from tests.inputs.recordings import SAMPLE
from tests.unit.judging.logs import log_of
from tests.unit.judging.test_engine import RECORDINGS
from timeline.judge import rulebook
from timeline.judging.coverage.audit_policy import Policy
from timeline.judging.coverage.policies import plan

RULES = {rule.id: rule for rule in rulebook()}


def policy_for(*rules: str) -> Policy:
    return plan([RULES[each] for each in rules or RULES]).policy


def log(name: str) -> Log:
    return copy.deepcopy(log_of(RECORDINGS[name]))


def written(path: Path, log: Log) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in log))
    return path


def predicted(policy: Policy, *paths: Path) -> Prediction:
    return predict(policy, audit_events([(path, path.name) for path in paths]))


@pytest.mark.parametrize(
    ("name", "rules"),
    [("families", ()), ("jobs", ("service-gap", "missing-reference")), ("restart", ("lease-stolen",)),
     ("restart", ("write-storm",)), ("jobs", ())],
)  # fmt: skip
def test_a_sample_with_bodies_shows_the_exact_size(name: str, rules: tuple[str, ...], tmp_path: Path) -> None:
    whole = managed(log(name))
    policy = policy_for(*rules)
    logged = written(tmp_path / "logged", mutations.logged_by(policy, whole))
    prediction = predicted(policy, written(tmp_path / "sample", whole))
    # Only patches that were sent with managedFields keep them.
    kept, sent = (path.read_bytes().count(b"managedFields") for path in (logged, tmp_path / "sample"))
    assert kept < sent / 2
    assert prediction.sample.size == (tmp_path / "sample").stat().st_size
    assert prediction.sample.entries == len(whole)
    total = prediction.total
    assert (total.size, total.estimated, total.bare) == (logged.stat().st_size, 0, 0)
    assert total.entries == len(logged.read_bytes().splitlines())


def managed(log: Log) -> Log:
    """Return a log whose bodies have managedFields, which the policy leaves out."""
    for event in log:
        for body in ("requestObject", "responseObject"):
            of = event.get(body)
            if isinstance(of, dict) and (of.get("metadata") or {}).get("uid"):
                of["metadata"]["managedFields"] = [{"manager": "kubectl", "fieldsV1": {"f:metadata": {}}}]
    return log


def test_bodies_that_a_sample_lacks_are_estimated_from_others(tmp_path: Path) -> None:
    whole = mutations.logged_by(policy_for(), log("restart"))
    true = written(tmp_path / "true", whole).stat().st_size
    half = [mutations.logged_at("Metadata", event) if number % 2 else event for number, event in enumerate(whole)]
    prediction = predicted(policy_for(), written(tmp_path / "half", half))
    total = prediction.total
    assert total.entries == len(whole)
    assert total.estimated > 0.2 * true
    assert abs(total.size - true) < 0.15 * true


def test_nothing_is_said_of_bodies_whose_like_a_sample_lacks(tmp_path: Path) -> None:
    bare = [mutations.logged_at("Metadata", event) for event in log("restart")]
    prediction = predicted(policy_for(), written(tmp_path / "bare", bare))
    assert prediction.total.estimated == 0
    for line, logged in zip(policy_for().rules, prediction.lines, strict=True):
        assert logged.bare == (logged.entries if line.level == "RequestResponse" else 0)
    assert prediction.total.bare


def test_only_stages_that_the_policy_logs_count(tmp_path: Path) -> None:
    events = log("restart")
    received = [event | {"stage": "RequestReceived"} for event in events]
    with_both = predicted(policy_for(), written(tmp_path / "both", [*events, *received]))
    assert with_both.total.entries == predicted(policy_for(), written(tmp_path / "one", events)).total.entries
    assert with_both.sample.entries == 2 * len(events)


def test_a_sample_may_have_any_form(tmp_path: Path) -> None:
    events = log("restart")[:60]
    plain = predicted(policy_for(), written(tmp_path / "plain", events))
    (tmp_path / "packed.gz").write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))
    (tmp_path / "list").write_text(json.dumps({"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "items": events}))
    (tmp_path / "pretty").write_text("\n".join(json.dumps(event, indent=2, ensure_ascii=False) for event in events))
    for form in ("packed.gz", "list", "pretty"):
        other = predicted(policy_for(), tmp_path / form)
        assert (other.total, other.sample, other.stretches) == (plain.total, plain.sample, plain.stretches), form


def test_time_between_files_is_no_time_that_the_sample_shows(tmp_path: Path) -> None:
    events = log("restart")[:60]
    later = mutations.shifted(events, 86_400)
    first, second = (written(tmp_path / name, each) for name, each in (("first", events), ("second", later)))
    alone = predicted(policy_for(), first)
    both = predicted(policy_for(), second, first)
    assert (len(both.stretches), both.length) == (2, 2 * alone.length)
    # Several API servers log at the same time.
    halves = [written(tmp_path / f"server-{at}", events[at::2]) for at in (0, 1)]
    servers = predicted(policy_for(), *halves)
    assert (servers.length, servers.total) == (alone.length, alone.total)


def test_broken_lines_are_counted(tmp_path: Path) -> None:
    sample = written(tmp_path / "sample", log("restart")[:5])
    sample.write_bytes(sample.read_bytes() + b'{"auditID": 7}\n{"auditID":"a","level":"Loud","verb":"get"}\n{"audi')
    prediction = predicted(policy_for(), sample)
    assert (prediction.sample.entries, prediction.skips.count) == (5, 3)


def test_the_command_prints_a_policy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "service-gap", "--namespace", "shop"]) == 0
    shown = capsys.readouterr().out
    assert yaml.safe_load(shown)["rules"][0]["namespaces"] == ["shop"]
    assert main(["policy"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["kind"] == "Policy"


def test_the_command_predicts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "service-gap", "--sample", str(SAMPLE)]) == 0
    output = capsys.readouterr()
    total = predicted(policy_for("service-gap"), SAMPLE).total
    words = " ".join(line.strip("# ") for line in output.out.splitlines())
    assert f"this policy logs {total.entries:,} entries, {size(round(total.size))}; in an hour about" in words
    assert "The sample has none about daemonsets.apps" in words
    assert msgspec.yaml.decode(output.out, type=Policy) == policy_for("service-gap")
    assert not output.err


def test_a_rate_needs_time_and_entries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = written(tmp_path / "one", log("restart")[:1])
    assert main(["policy", "--sample", str(one)]) == 0
    shown = capsys.readouterr().out
    assert "The sample has 1 entry" in shown
    assert "too short for a rate" in shown
    assert "in an hour" not in shown


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nope"], "There is no rule nope. The rules are attachment-overlap,"),
        (["consumer-order"], "consumer-order needs the log of kube-vip, which no policy brings."),
        (["--namespace", "a b"], "'a b' cannot be the name of a namespace."),
        (["--sample", "/nowhere/audit.log"], "/nowhere/audit.log"),
        (["--sample", str(ROOT / "README.md")], "README.md: there is no audit event in it. The first reason: "),
    ],
)
def test_what_cannot_be_done_is_said(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", *arguments]) == 2
    output = capsys.readouterr()
    assert reason in output.err
    assert output.out == ""


def test_a_sample_that_is_mostly_skipped_is_no_ground(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = written(tmp_path / "sample", log("restart")[:3])
    sample.write_bytes(sample.read_bytes() + b'{"auditID": 7}\n' * 9)
    assert main(["policy", "--sample", str(sample)]) == 2
    assert "9 of 12 lines were skipped" in capsys.readouterr().err
    assert main(["policy", "--allow-skipped", "--sample", str(sample)]) == 0

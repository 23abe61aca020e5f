"""These tests check the advice of findings: its steps are in the order in which they are done, and commands can be
copied."""

import ast
import json
import shlex

import pytest

from tests import ROOT
from timeline.core.entries import ObjectRef
from timeline.judging.advice import commands, kubectl, ordered, steps
from timeline.judging.cleanup import deletion_advice


def test_lines_belong_to_the_step_that_is_named_before_them() -> None:
    parts = steps(["Clean: delete `x`.", "Or leave it.", "Verify: look.", "Stop: the controller."])
    assert [(step.name, step.lines) for step in parts] == [
        ("Stop", ["The controller."]),
        ("Clean", ["Delete `x`.", "Or leave it."]),
        ("Verify", ["Look."]),
    ]


def test_advice_that_names_no_step_is_refused() -> None:
    with pytest.raises(ValueError, match="no step"):
        steps(["Do something."])


def test_the_advice_of_several_cases_is_put_in_order() -> None:
    assert ordered(["Verify: b", "Clean: a", "Verify: b", "Stop: c"]) == ("Stop: c", "Clean: a", "Verify: b")


def test_a_name_is_no_part_of_a_command() -> None:
    assert kubectl("n", "get pod {}", "ring-0") == "`kubectl -n n get pod ring-0`"
    assert kubectl("", "get pod {}", "x; rm -rf /") == "`kubectl get pod 'x; rm -rf /'`"
    assert commands(kubectl("a`", "get {}", "b` or `kubectl delete c")) == [
        "kubectl -n 'a?' get 'b? or ?kubectl delete c'"
    ]
    assert kubectl("", "delete pod {}", "--all") == "`kubectl delete pod '?-all'`"


def test_the_advice_on_leaked_objects_has_hostile_names_only_as_words() -> None:
    hostile = ObjectRef("batch.volcano.sh", "v1", "Job; a", "$(b)", "c`; d", "e'\"")
    claim = ObjectRef("", "v1", "PersistentVolumeClaim", "$(b)", "--all", "e'\"")
    found = [command for line in deletion_advice(hostile, [claim], [claim]) for command in commands(line)]
    words = [shlex.split(each.replace(" --dry-run=server", "").replace("custom-columns=", "")) for each in found]
    assert words[1:3] == [
        ["vcctl", "job", "suspend", "--namespace", "$(b)", "--name", "c?; d"],
        ["kubectl", "-n", "$(b)", "delete", "job; a.batch.volcano.sh", "c?; d", "--cascade=orphan"],
    ]
    assert words[3] == ["kubectl", "-n", "$(b)", "delete", "persistentvolumeclaim", "?-all"]
    body, path = words[5][1], words[5][6]
    assert json.loads(body)["preconditions"] == {"uid": "e'\""} and "%24%28b%29" in path
    assert shlex.split(words[-1][-1])[:3] == ["kubectl", "-n", "$(b)"]


def test_rules_write_no_name_or_kind_of_a_recording_into_a_command_themselves() -> None:
    calls = [
        (path, node)
        for folder in ("timeline/judging", "timeline/rules")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "advice.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"kubectl", "about"}
    ]
    written = [
        f"{path}:{node.lineno}" for path, node in calls if any(isinstance(each, ast.JoinedStr) for each in node.args)
    ]
    assert len(calls) > 50 and written == []

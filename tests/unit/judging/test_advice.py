"""These tests check the advice of findings: its steps are in the order in which they are done, and commands can be
copied."""

import pytest

from timeline.judging.advice import kubectl, ordered, steps


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

"""These tests run `causeline report` in processes of their own."""

from tests.clients.command import process
from tests.inputs.recordings import QUIET, SAMPLE
from tests.unit.report.test_report import HTML, words


def test_it_goes_to_standard_output_too_and_is_the_same_each_time() -> None:
    status, once, errors = process("report", SAMPLE, "-o", "-")
    assert (status, errors) == (0, "")
    assert once.startswith(HTML.decode()) and "CAUSELINE_RULE_" not in words(once)
    assert process("report", SAMPLE, "-o", "-")[1] == once


def test_standard_input_has_a_title_and_settings_that_were_changed_are_reported() -> None:
    changed = {"CAUSELINE_RULE_SERVICE_GAP_TEARDOWN": "7"}
    status, html, _ = process("report", "-", "-o", "-", stdin=QUIET.read_bytes(), **changed)
    assert status == 0 and "<h1>standard input</h1>" in html
    assert "CAUSELINE_RULE_SERVICE_GAP_TEARDOWN = 7; all others have their defaults" in words(html)

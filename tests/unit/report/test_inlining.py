"""These tests put the pages' modules, styles and fonts into one file."""

import base64
import hashlib
import re

import pytest

from dashboard.report import inlining


def test_modules_stand_before_those_that_import_them() -> None:
    code = inlining.module("js/report/report.js", {"js/state/api.js": "js/report/api.js"})
    assert not re.search(r"^(import|export)\b", code, flags=re.MULTILINE)
    order = re.findall(r"^const (js_\w+) = \(\(\) => \{$", code, flags=re.MULTILINE)
    assert (
        order.index("js_draw_dom")
        < order.index("js_ui_incidentsPanel")
        < order.index("js_timeline")
        < order.index("js_report_report")
    )
    assert len(order) == len(set(order))
    assert "js_report_api" in order and "js_state_api" not in order
    assert "const { SECOND, clock, day, ticks: clockTicks } = js_state_time;" in code


def test_a_module_of_another_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = {"a.js": 'import everything from "./b.js";\n', "c.js": "const end = '</script>';\n"}
    monkeypatch.setattr(inlining, "text", codes.__getitem__)
    with pytest.raises(ValueError, match=r"a\.js: not of a form"):
        inlining.module("a.js", {})
    with pytest.raises(ValueError, match="cannot stand inside a page"):
        inlining.module("c.js", {})


def test_fonts_lie_in_the_styles() -> None:
    styles = inlining.styles(["css/base.css"])
    assert styles.count("data:font/woff2;base64,") == 2
    assert "../vendor" not in styles


def test_the_policy_names_what_runs_by_its_hash() -> None:
    digest = base64.b64encode(hashlib.sha256(b"run()").digest()).decode()
    policy = inlining.policy(["run()"], ["", "a {}"])
    assert f"script-src 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy

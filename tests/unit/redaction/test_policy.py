"""These tests check what a house may choose: patterns of its own, or no objects at all. It changes no finding."""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from collectors import redaction
from collectors.analysis import analyse
from collectors.formats import Limits, NotARecording, read
from collectors.redaction import Policy, budget, redact_json
from collectors.redaction.objects import clean_text
from collectors.redaction.policy import PatternError, checked
from dashboard import environment
from tests import DATA, ROOT
from tests.inputs.credentials import FORMS
from tests.properties import sampled
from timeline.core import masks
from timeline.core.entries import Entry

Use = Callable[[Policy], None]


@pytest.mark.parametrize("pattern", ["(a+)+b", "(", "a*", r"(a|a)*b", r"(x)\1", "a{1,9}" * 9, "(a{1,30}){1,30}", "x*y"])
def test_a_pattern_that_could_take_long_is_refused(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PatternError):
        checked(pattern)
    monkeypatch.setenv("CAUSELINE_REDACT_PATTERNS", pattern)
    with pytest.raises(environment.SettingError, match="CAUSELINE_REDACT_PATTERNS"):
        environment.redaction()


def test_patterns_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, policy: Use, tmp_path: Path) -> None:
    (tmp_path / "patterns").write_text("# of ours\nacme_[a-z0-9]{8,40}\n\nXY-\\d{4}\n")
    monkeypatch.setenv("CAUSELINE_REDACT_PATTERNS_FILE", str(tmp_path / "patterns"))
    environment.redaction()
    assert redaction.current() == Policy(("acme_[a-z0-9]{8,40}", "XY-\\d{4}"))
    monkeypatch.setenv("CAUSELINE_REDACT", "strict")
    environment.redaction()
    assert redaction.current().strict
    monkeypatch.setenv("CAUSELINE_REDACT", "loose")
    with pytest.raises(environment.SettingError, match="CAUSELINE_REDACT"):
        environment.redaction()


@pytest.mark.parametrize(
    ("body", "pattern", "redacted"),
    [
        ({"a": "see ACME-12345678 there"}, r"ACME-\d{8}", {"a": f"see {masks.OWN} there"}),
        ({"kind": "Pod", "spec": {"note": "see acme-12345678"}}, r"acme-\d{8}", {"note": f"see {masks.OWN}"}),
        ({"spec": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}, "serviceAccountToken", None),
    ],
    ids=["in any object", "in an ordinary Pod", "in the volume of every Pod"],
)
def test_patterns_of_a_house_hold_for_what_was_seen_before(
    body: dict[str, Any], pattern: str, redacted: dict[str, Any] | None, policy: Use
) -> None:
    raw = orjson.dumps(body)
    assert json.loads(redact_json(raw)) == body
    policy(Policy((pattern,)))
    clean = json.loads(redact_json(raw))
    assert clean.get("spec", clean) == redacted if redacted else pattern not in str(clean)


def test_own_patterns_are_found_wherever_they_are_in_a_long_text(policy: Use) -> None:
    policy(Policy(("acme_[a-z]{4,9}", r"(?<=<)[0-9]{3}(?=>)", "^first", r"last\Z")))
    for length in range(16_384 - 12, 16_384 + 12, 3):
        text = "first" + "-" * length + "acme_abcdef" + "-" * length + "<123>" + "first last"
        assert clean_text(text) == re.sub("^first|acme_abcdef|123|last$", masks.OWN, text)


def test_own_patterns_end_with_the_time_of_an_object(policy: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    policy(Policy(("(?:x|y){1,500}z",)))
    monkeypatch.setattr(budget, "SECONDS", 0.02)
    monkeypatch.setattr(budget, "SECONDS_FOR_A_BYTE", 0)
    assert clean_text("x" * 200_000) == "[redacted:time]"


def test_strictly_no_object_is_kept_and_all_facts_are(policy: Use) -> None:
    recording = [(DATA / "restart.jsonl", "r")]
    usual = [each for each in read(recording, bodies=True) if isinstance(each, Entry)]
    policy(Policy(strict=True))
    strict = [each for each in read(recording, bodies=True) if isinstance(each, Entry)]
    assert [each.facts for each in strict] == [each.facts for each in usual]
    assert not any(each.body for each in strict) and any(each.body for each in usual)


def test_masks_are_counted_by_why_they_stand_there() -> None:
    counts: Counter[str] = Counter()
    body: dict[str, Any] = {"env": [{"name": "A", "value": "x"}], "password": "y", "a": FORMS["GitHub"]}
    body["metadata"] = {"annotations": {"kapp.k14s.io/original": "{}"}}
    masks.count(redact_json(orjson.dumps(body)), counts)
    assert counts == {"name": 2, "form": 1, "copy": 1, "pattern": 0, "time": 0}


SUFFIXES = (".jsonl", ".json", ".yaml", ".gz")
RECORDINGS = sorted(path for path in DATA.rglob("*") if path.is_file() and path.suffix in SUFFIXES)
SAMPLES = sorted((ROOT / "dashboard" / "samples").glob("*"))


def _sorted(raw: bytes, kind: str = "") -> bytes:
    """Return the object with its keys in sorted order, so that it can be compared."""
    return orjson.dumps(orjson.loads(raw), option=orjson.OPT_SORT_KEYS)


@pytest.mark.parametrize("path", sampled([*RECORDINGS, *SAMPLES], 12), ids=lambda path: path.name)
def test_findings_are_the_same_without_redaction(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        redacted = analyse([(path, path.name)], Limits()).document()
    except NotARecording:
        return  # some files only show what is refused
    monkeypatch.setattr("collectors.gate.without_credentials", lambda each: each)
    monkeypatch.setattr("collectors.gate.clean_text", lambda text: text)
    for module in ("collectors.gate", "collectors.redaction.intents"):
        monkeypatch.setattr(f"{module}.redact_json", _sorted)
    assert analyse([(path, path.name)], Limits()).document() == redacted

"""These tests draw lanes as SVG for pages, and as PNG for messages."""

import re
import shutil
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from dashboard.drawing import figures
from dashboard.drawing.lettering import WEIGHTS, Letters
from dashboard.drawing.pictures import Picture
from dashboard.drawing.png import SCALE, png
from dashboard.drawing.shapes import DOTS, SEVERITIES
from dashboard.drawing.standalone import WIDTH, Heading, svg
from dashboard.presentation.examples import example
from tests.drawn import boxes, layer, places, size, texts
from timeline.judge import rulebook
from timeline.judging.rulebook import Rule

LETTERS = Letters()
HOSTILE = "</text><image href='file:///etc/passwd'/>\x00\n\u202e" + "long " * 200
RULES = [rule for rule in rulebook() if example(rule) is not None]


def heading(title: str = "A title", **more: str) -> Heading:
    return Heading(title, "error", [more.get("line", "")], more.get("cause", ""), "Causeline", more.get("more", ""))


def picture(rule: str) -> Picture:
    found = next(example(each) for each in RULES if each.id == rule)
    assert found is not None
    return found.picture


def drawn(rule: str = "service-gap", reported: Heading | None = None, theme: figures.Theme = "light") -> str:
    return svg(picture(rule), reported or heading(), theme, LETTERS)


@pytest.mark.parametrize("theme", figures.THEMES)
def test_severity_has_the_colour_and_shape_of_the_pages(theme: figures.Theme) -> None:
    for severity, colour in (("error", "fault"), ("warning", "violation"), ("info", "accent")):
        drawing = drawn(reported=heading()._replace(severity=severity), theme=theme)  # type: ignore[arg-type]
        mark = ElementTree.fromstring(drawing).find("{http://www.w3.org/2000/svg}path")
        assert mark is not None and mark.attrib["d"] == SEVERITIES[severity]
        assert mark.attrib["fill"] == figures.palette(theme)[colour]


def test_hostile_text_is_drawn_as_text_and_the_height_stays_bounded() -> None:
    plain = ElementTree.fromstring(drawn(reported=heading(line="x", cause="x")))
    root = ElementTree.fromstring(drawn(reported=heading(HOSTILE, line=HOSTILE, cause=HOSTILE)))
    assert root.find(".//{http://www.w3.org/2000/svg}image") is None
    assert int(root.attrib["height"]) <= int(plain.attrib["height"]) + 25 + 2 * 19
    reported = "".join(each.text or "" for each in root.iter())
    assert "\x00" not in reported and "\u202e" not in reported and "</text><image" in reported and "…" in reported


def test_a_letter_that_no_font_has_is_escaped_and_text_fits_its_room(tmp_path: Path) -> None:
    assert LETTERS.written("Ärger Ωμ Служба ≈ 50 ms") == "Ärger Ωμ Служба ≈ 50 ms"
    assert LETTERS.written("名 😀\n x") == "\\u540d \\U0001f600 x"
    shutil.copy(WEIGHTS[600], tmp_path / "more.ttf")
    (tmp_path / "broken.ttf").write_bytes(b"no font")
    assert Letters(str(tmp_path)).files == [*LETTERS.files, str(tmp_path / "more.ttf")]
    for room in (20.0, 60.0, 400.0):
        for line in LETTERS.lines("train-pvc-rxtylzrd1b0l was away under three running Pods", room, 13):
            assert LETTERS.width(line, 13) <= room
    assert LETTERS.fitted("Running", 3, 11) == ""
    assert LETTERS.lines("one two", 400, 13) == ["one two"]


def test_every_example_is_drawn_as_large_as_it_says_and_most_in_less_than_300_ms() -> None:
    spent = []
    for rule in RULES:
        before = time.process_time()
        drawing = drawn(rule.id)
        height = int(ElementTree.fromstring(drawing).attrib["height"])
        assert size(png(drawing, LETTERS)) == (WIDTH * SCALE, height * SCALE)
        spent.append(time.process_time() - before)
    assert sorted(spent)[len(spent) // 2] < 0.3


def test_a_page_and_a_message_have_the_same_lanes_and_a_page_both_themes() -> None:
    shown = picture("service-gap")
    of_message = ElementTree.fromstring(drawn().replace(' xmlns="http://www.w3.org/2000/svg"', ""))
    for name in ("bar", "hole", "shade"):
        found = of_message.find(f".//g[@data-layer='{name}']")
        assert found is not None and boxes(shown, name) == places(found) != []
    pods = [
        figures.mix(figures.palette(each)["family-pods"], figures.palette(each)["paper"], 0.85)
        for each in figures.THEMES
    ]
    assert f"light-dark({','.join(pods)})" in {each.attrib["fill"] for each in layer(shown, "bar").findall("svg/rect")}


def test_the_label_of_an_arrow_stays_inside_a_narrow_page() -> None:
    (label,) = layer(picture("job-excess-pods"), "label")
    edge = float(label.findall("rect")[0].attrib["width"]) / 2 + 4
    style = re.fullmatch(r"transform:translate\(clamp\((\d+)px,[\d.]+%,100% - (\d+)px\),\d+px\)", label.attrib["style"])
    assert style is not None and {style[1], style[2]} == {f"{edge:.0f}"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_picture_of_each_rule_shows_the_violation(rule: Rule) -> None:
    shown = example(rule)
    assert shown is not None
    assert any(len(layer(shown.picture, name)) for name in ("arrow", "hole"))


def test_a_refused_request_about_no_object_stands_on_the_lane_of_the_subject() -> None:
    shown = picture("quota-conflict")
    assert [step.text for step in shown.steps] == ["first creation refused", "last creation refused"]
    assert {shown.lanes[step.lane]["kind"] for step in shown.steps} == {"ResourceQuota"}


def test_a_finding_without_an_arrow_has_its_steps_on_their_lanes() -> None:
    shown = picture("lease-flapping")
    assert [step.text for step in shown.steps] == ["taken over"] * 3
    assert [each.findtext("path/title") for each in layer(shown, "arrow")] == ["taken over"] * 3
    ((left, _),) = boxes(shown, "shade")
    assert left == layer(shown, "arrow")[0].attrib["x"]


def test_where_a_violation_begins_is_a_sign_of_its_severity() -> None:
    shown = picture("service-gap")
    (sign,) = layer(shown, "dot")
    assert sign.find("path").attrib["d"] == DOTS["warning"]  # type: ignore[union-attr]
    ((left, _),) = boxes(shown, "hole")
    assert sign.attrib["x"] == left


def test_names_in_a_recording_are_text_in_the_picture_of_a_page() -> None:
    hostile = "<img src=x onerror=alert(1)>\"'&"
    lane = {"kind": "Pod", "name": hostile, "family": "Pods"}
    bars = {"lane": [0], "start": [0], "end": [9], "text": [hostile], "tone": ["strong"]}
    marks = {"lane": [0], "time": [5], "mark": ["ready"], "text": [hostile]}
    empty: dict[str, list[int]] = {name: [] for name in ("lane", "from_lane", "to_lane", "finding", "time", "number")}
    columns: Any = {"lanes": [lane], "bars": {**bars, "open_start": [False], "open_end": [False]}, "marks": marks}
    columns |= dict.fromkeys(("arrows", "births", "dots", "holes", "shades"), empty)
    shown = Picture(columns, 0, 10)
    assert "<img" not in shown.svg()
    assert [layer(shown, name).findtext(part) for name, part in (("bar", ".//text"), ("mark", ".//title"))] == [
        hostile
    ] * 2


def test_it_shows_lanes_phases_and_times() -> None:
    said = texts(
        drawn(reported=heading("Service ring was away", line="batch / Service ring", more="and 12 more objects"))
    )
    assert said[0] == "Service ring was away"
    assert {"ring", "ring-0", "svc", "Running", "batch / Service ring", "and 12 more objects"} <= set(said)
    assert "2026-11-21 UTC" in said and any(each.startswith("07:55:") for each in said)


def test_what_surrounds_a_text_is_painted_below_it() -> None:
    root = ElementTree.fromstring(f"<div>{picture('service-gap').svg()}</div>")
    halos = [each for each in root.iterfind(".//g[@data-layer]") if each.find(".//text[@stroke]") is not None]
    assert {each.attrib["data-layer"] for each in halos} == {"bar", "text"}
    assert {each.get("paint-order") for each in halos} == {"stroke"}

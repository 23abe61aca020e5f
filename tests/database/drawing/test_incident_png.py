"""The picture of an incident as PNG, which the server draws without a browser."""

import shutil
import struct
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from django.test import Client
from pytest_django import Settings

from dashboard.drawing import figures
from dashboard.drawing.lettering import WEIGHTS, Letters
from dashboard.drawing.png import SCALE, png
from dashboard.drawing.standalone import WIDTH, Heading, svg
from dashboard.presentation.examples import example
from dashboard.presentation.incident_pictures import drawing
from tests import ROOT
from tests.rows.people import member
from timeline.judge import rulebook
from timeline.models import Incident, Source

LETTERS = Letters()
HOSTILE = "</text><image href='file:///etc/passwd'/>\x00\n\u202e" + "long " * 200
RULES = [rule for rule in rulebook() if example(rule) is not None]


def heading(title: str = "A title", **more: str) -> Heading:
    return Heading(title, "error", [more.get("line", "")], more.get("cause", ""), "Causeline", more.get("more", ""))


def drawn(rule: str = "service-gap", reported: Heading | None = None, theme: figures.Theme = "light") -> str:
    found = next(example(each) for each in RULES if each.id == rule)
    assert found is not None
    return svg(found.picture, reported or heading(), theme, LETTERS)


def size(file: bytes) -> tuple[int, int]:
    assert file.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", file[16:24])
    return width, height


def texts(drawing: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("theme", figures.THEMES)
def test_severity_has_the_colour_and_shape_of_the_pages(theme: figures.Theme) -> None:
    shape = (ROOT / "templates/parts/shape.html").read_text(encoding="utf-8")
    for severity, colour in (("error", "fault"), ("warning", "violation"), ("info", "accent")):
        drawing = drawn(reported=heading()._replace(severity=severity), theme=theme)  # type: ignore[arg-type]
        mark = ElementTree.fromstring(drawing).find("{http://www.w3.org/2000/svg}path")
        assert mark is not None and mark.attrib["d"] in shape
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


def test_it_shows_lanes_phases_and_times() -> None:
    said = texts(
        drawn(reported=heading("Service ring was away", line="batch / Service ring", more="and 12 more objects"))
    )
    assert said[0] == "Service ring was away"
    assert {"ring", "ring-0", "svc", "Running", "batch / Service ring", "and 12 more objects"} <= set(said)
    assert "2026-11-21 UTC" in said and any(each.startswith("07:55:") for each in said)


@pytest.mark.django_db
def test_who_sees_the_page_of_an_incident_has_it_as_png(client: Client, sample: Source, settings: Settings) -> None:
    gap = Incident.objects.get(source=sample, rule="service-gap")
    address = f"/sources/{sample.pk}/incidents/{gap.identity}.png"
    settings.LOGIN_REQUIRED = True
    assert client.get(address).status_code == 302
    client.force_login(member("responder"))
    answer = client.get(address)
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/png")
    assert size(answer.content)[0] == WIDTH * SCALE
    assert answer["Cache-Control"] == "private, max-age=60"
    assert client.get(address, headers={"If-None-Match": answer["ETag"]}).status_code == 304
    assert client.get(address, {"theme": "dark"})["ETag"] != answer["ETag"]
    assert client.get(f"/sources/{sample.pk}/incidents/{'0' * 16}.png").status_code == 404
    said = texts(drawing(sample.pk, gap.identity, "light", LETTERS))
    assert said[0] == gap.title
    assert "vol-restart / Service ring · 2 times from 2026-11-21 07:52:00 to 07:52:07 UTC" in said
    assert "Causeline · sample · The gravest of 2 occurrences · 3 findings · Times are in UTC" in said

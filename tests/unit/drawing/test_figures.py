"""These tests check the parts of the Plotly figure on which the page's JavaScript relies."""

import re
from pathlib import Path

import pytest

import timeline
from dashboard.drawing import figures
from dashboard.drawing.shapes import MARKS
from timeline import kinds


@pytest.mark.parametrize("theme", figures.THEMES)
def test_every_trace_has_a_name_of_its_own_and_no_data(theme: figures.Theme) -> None:
    traces = figures.skeleton(theme)["data"]
    names = [trace["name"] for trace in traces]
    assert len(set(names)) == len(names)
    assert all(trace["type"] == "scatter" and "x" not in trace for trace in traces)
    assert {"bars Pods strong", "bars ended", "hole outlines", "shade area", "arrows"} <= set(names)


@pytest.mark.parametrize("theme", figures.THEMES)
def test_words_on_bars_can_be_read(theme: figures.Theme) -> None:
    for trace in figures.bars(theme):
        assert figures.contrast(trace["meta"]["ink"], trace["fillcolor"]) >= 4.5, trace["name"]


@pytest.mark.parametrize("theme", figures.THEMES)
@pytest.mark.parametrize(
    ("ink", "paper"),
    [
        ("ink", "paper"),
        ("ink-soft", "paper"),
        ("ink-soft", "raised"),
        ("ink-soft", "violation-soft"),
        ("ink-soft", "fault-soft"),
        ("violation-ink", "paper"),
        ("violation-ink", "violation-soft"),
        ("good", "good-soft"),
        ("on-accent", "accent"),
        ("accent", "paper"),
    ],
)
def test_words_on_the_page_can_be_read(theme: figures.Theme, ink: str, paper: str) -> None:
    colours = figures.palette(theme)
    assert figures.contrast(colours[ink], colours[paper]) >= 4.5


def test_every_family_has_a_colour_and_a_trace() -> None:
    known = {kind.family for kind in kinds.registry().values()}
    assert known | set(kinds.NOISE) | {"Other"} == set(figures.FAMILIES)


def test_every_mark_has_a_shape() -> None:
    folder = Path(timeline.__file__).parent
    written = [path.read_text(encoding="utf-8") for path in [*folder.glob("kinds/*.py"), folder / "layout/phases.py"]]
    yielded = {mark for text in written for mark in re.findall(r'(?:Mark\(|Event\(time, )"(\w+)"', text)}
    assert {"restarted", "deleted", "deleting"} <= yielded
    assert yielded == set(MARKS)


def test_the_config_never_offers_a_cloud() -> None:
    config = figures.skeleton("light")["config"]
    assert config["showSendToCloud"] is False
    assert config["displaylogo"] is False

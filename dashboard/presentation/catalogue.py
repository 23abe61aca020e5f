"""Make the catalogue of rules from their docstrings and settings: as Markdown, and in pieces for pages."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from timeline.core.entries import Level
from timeline.history.shown import Verb
from timeline.judge import rulebook
from timeline.judging.coverage.lines import OF_OBJECTS, WORDS, Line, Need
from timeline.judging.rulebook import Rule, settings
from timeline.payloads.objects import CataloguePayload

_BEGINNING = """\
# Rules

The catalogue, written by `make docs` from the rules themselves (`timeline/rules/`): change a page there. `causeline
rules` lists them, and `causeline rules ID` shows one page with the settings that are in force."""
_CODE = re.compile(r"`([^`\n]++)`")
_BLOCKS = re.compile(r"\n[^\S\n]*+\n\s*+|\n(?=- )")
BENIGN = "Looks alike but is benign"


class Piece(NamedTuple):
    """A part of a text in which `backticks` mark code."""

    text: str
    code: bool


class Section(NamedTuple):
    """A part of a rule's page: paragraphs, and then the items of a list."""

    heading: str
    paragraphs: list[list[Piece]]
    points: list[list[Piece]]


def words(text: str) -> list[Piece]:
    pieces = _CODE.split(text)
    return [Piece(piece, bool(index % 2)) for index, piece in enumerate(pieces) if piece]


def written(pieces: Iterable[Piece]) -> str:
    """Return the text of pieces, with its code in backticks."""
    return "".join(f"`{piece.text}`" if piece.code else piece.text for piece in pieces)


def sections(rule: Rule) -> list[Section]:
    """Return the parts of a rule's page."""
    found = []
    for section in rule.page.split("\n## ")[1:]:
        heading, _, body = section.partition("\n")
        blocks = [" ".join(each.split()) for each in _BLOCKS.split(body)]
        paragraphs = [words(each) for each in blocks if each and not each.startswith("- ")]
        points = [words(each.removeprefix("- ")) for each in blocks if each.startswith("- ")]
        found.append(Section(heading, paragraphs, points))
    return found


def catalogue() -> str:
    """Return all rules as Markdown, with the defaults of their settings."""
    rules = rulebook()
    rows = [f"| [{rule.id}](#{rule.id}) | {rule.title} |" for rule in rules]
    parts = [_BEGINNING, "\n".join(["| rule | what it sees |", "|---|---|", *rows])]
    for rule in rules:
        parts += _page(rule)
    return "\n\n".join(parts) + "\n"


def payload(rule: Rule) -> CataloguePayload:
    """Return the page of a rule as the API has it, with the thresholds in force."""
    parts = [section.partition("\n") for section in rule.page.split("\n## ")[1:]]
    essential = list(dict.fromkeys(each.lines[0].kinds for each in rule.needs if not each.misses))
    return {
        "rule": rule.id,
        "title": rule.title,
        "needs": [kind for each in essential if len(each) == 1 for kind in each],
        "any_of": list(next((each for each in essential if len(each) > 1), ())),
        "lines": [written(each) for each in needs(rule)],
        "sections": [(heading, body.strip()) for heading, _, body in parts],
        "settings": [
            {
                "variable": each.variable,
                "value": each.value,
                "default": each.default,
                "unit": each.unit,
                "meaning": each.meaning,
            }
            for each in settings.values()
            if each.rule == rule.id
        ],
        "url": f"/rules/{rule.id}/",
    }


def _page(rule: Rule) -> Iterator[str]:
    yield f"## {rule.id}"
    yield rule.page.replace("\n## ", "\n### ")
    yield "### What it needs\n\n" + "\n".join(f"- {written(each)}" for each in needs(rule))
    own = [setting for setting in settings.values() if setting.rule == rule.id]
    if own:
        rows = [f"| `{each.variable}` | {each.default:g} | {each.unit} | {each.meaning} |" for each in own]
        yield "\n".join(["### Settings\n", "| variable | default | unit | meaning |", "|---|---|---|---|", *rows])


def needs(rule: Rule) -> list[list[Piece]]:
    """Return for each need of a rule which lines a source must show, and what the rule misses without them."""
    return [words(_need(each)) for each in rule.needs]


def _need(need: Need) -> str:
    lines = ", or ".join(map(_line, need.lines))
    return f"{lines[:1].upper()}{lines[1:]}.{f' Without them, it misses {need.misses}.' if need.misses else ''}"


def _line(line: Line) -> str:
    if Verb.LOG in line.verbs:
        return f"the log of {' or '.join(line.by)}"
    acts = " or ".join(WORDS[each][1] for each in line.verbs)
    if set(line.verbs) <= OF_OBJECTS:
        kinds = " or ".join(f"`{kind}`" for kind in line.kinds)
        others = f"{kinds} and of all other kinds" if kinds else "objects of all kinds"
        acts += f" of {others if line.others else kinds}"
        acts += ", with their bodies" if line.level is Level.FULL else ", at any level"
    return f"{acts}, in an audit log" if line.sent else acts

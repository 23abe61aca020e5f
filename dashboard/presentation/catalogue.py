"""This module makes the catalogue of rules from their docstrings and settings: as Markdown, and in pieces for pages."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from timeline.judge import rulebook
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
    """This is a part of a text in which `backticks` mark code."""

    text: str
    code: bool


class Section(NamedTuple):
    """This is a part of a rule's page: paragraphs, and then the items of a list."""

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
    return {
        "rule": rule.id,
        "title": rule.title,
        "needs": list(rule.whole),
        "any_of": list(rule.any_of),
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
    yield f"### What it needs\n\n{' '.join(_needs(rule))}"
    own = [setting for setting in settings.values() if setting.rule == rule.id]
    if own:
        rows = [f"| `{each.variable}` | {each.default:g} | {each.unit} | {each.meaning} |" for each in own]
        yield "\n".join(["### Settings\n", "| variable | default | unit | meaning |", "|---|---|---|---|", *rows])


def _needs(rule: Rule) -> Iterator[str]:
    """Yield sentences that say what a recording must show for a rule."""
    kinds = [*rule.whole, "` or `".join(rule.any_of)] if rule.any_of else rule.whole
    if kinds:
        yield f"Changes of {', '.join(f'`{kind}`' for kind in kinds)}, with their bodies."
    if rule.requests:
        yield "An audit log, which shows who sent each request and which requests were refused."
    if rule.logs:
        yield "The logs of programs."
    if not (kinds or rule.requests or rule.logs):
        yield "Changes of objects, with their bodies."

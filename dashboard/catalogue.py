"""The catalogue of rules as Markdown, from their own pages and settings: docs/rules.md."""

from collections.abc import Iterator

from timeline.judge import rulebook
from timeline.rulebook import Rule, settings

_BEGINNING = """\
# Rules

The catalogue, written by `make docs` from the rules themselves (`timeline/rules/`): change a page there. `causeline
rules` lists them, and `causeline rules ID` shows one page with the settings that are in force."""


def catalogue() -> str:
    """All pages, with the defaults of their settings."""
    rules = rulebook()
    rows = [f"| [{rule.id}](#{rule.id}) | {rule.title} |" for rule in rules]
    parts = [_BEGINNING, "\n".join(["| rule | what it sees |", "|---|---|", *rows])]
    for rule in rules:
        parts += _page(rule)
    return "\n\n".join(parts) + "\n"


def _page(rule: Rule) -> Iterator[str]:
    yield f"## {rule.id}"
    yield rule.page.replace("\n## ", "\n### ")
    kinds = [*rule.needs, "` or `".join(rule.any_of)] if rule.any_of else rule.needs
    yield f"### What it needs\n\nChanges of {', '.join(f'`{kind}`' for kind in kinds)}, with their bodies."
    own = [setting for setting in settings.values() if setting.rule == rule.id]
    if own:
        rows = [f"| `{each.variable}` | {each.default:g} | {each.unit} | {each.meaning} |" for each in own]
        yield "\n".join(["### Settings\n", "| variable | default | unit | meaning |", "|---|---|---|---|", *rows])

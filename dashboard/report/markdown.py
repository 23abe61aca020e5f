"""Write a report as Markdown, to paste into the document of an incident.

Names, messages and notes come from outside. They get into the document through `text` and `code` alone, and so none of
them becomes a link, an image, HTML, a mention or other markup: a word with a character that has a meaning anywhere is
written as a code span, in which neither Markdown nor what GitHub, GitLab and chats add to it means anything.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from dashboard import __version__
from dashboard.presentation import changes_before, wording
from dashboard.presentation.catalogue import words
from dashboard.report import summary
from dashboard.report.contents import Contents
from timeline.core.durations import duration
from timeline.judging.advice import steps
from timeline.payloads.findings import FindingGroupPayload, ProofPayload
from timeline.payloads.incidents.making import InView

PARAGRAPHS = 10  # the most incidents that the summary describes, so that it fits on a page
DETAILED = 20  # the most incidents that are described with their proof
_EVENTS = 6  # rows of a table of proof
_OTHERS = 5  # further occurrences of an incident that are named
_SKIPPED = 5
_LONGEST = 2000  # characters of one text from outside
_WORD = re.compile(r"([(\"“≈≤]*+)((?:.*[^.,;:)\"”%?])?+)([.,;:)\"”%?]*+)", flags=re.DOTALL)
_HARMLESS = re.compile(r"-?[A-Za-z0-9](?:[-A-Za-z0-9,;:()'’/–…]|(?<=\d)\.(?=\d))*|[-–—·×&→/]?")
# Words that are made of harmless characters, and which something still changes: actors, emoji, references to commits.
_CHANGED = re.compile(r":[A-Za-z+-]|:\d{3}|GH-\d|[0-9a-f]{7}", flags=re.IGNORECASE)
_TICKS = re.compile("`+")
_BEGINS_BLOCK = re.compile(r"-|\d+[.)]")  # as the first word of a line


def text(outside: str) -> str:
    """Return text from outside as Markdown that shows the same words, in one line."""
    return _joined([_word(word, first=not at) for at, word in enumerate(_line(outside).split(" "))], " ")


def code(outside: str) -> str:
    """Return text from outside, such as a command, as Markdown code on one line. Return "" for empty text."""
    line = _line(outside)
    if not line:
        return ""
    fence = "`" * (max(map(len, _TICKS.findall(line)), default=0) + 1)
    pad = " " if "`" in (line[0], line[-1]) else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _line(outside: str) -> str:
    """Return the text in one line, without characters that are not seen."""
    seen = "".join(
        "\ufffd" if unicodedata.category(char)[0] == "C" and not char.isspace() else char for char in outside
    )
    line = " ".join(seen.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST].rstrip()} …"


def _word(word: str, *, first: bool) -> str:
    found = _WORD.fullmatch(word)
    before, middle, after = found.groups() if found else ("", word, "")
    if first and _BEGINS_BLOCK.match(word):
        return code(word)
    if _HARMLESS.fullmatch(middle) and not _CHANGED.search(middle):
        return word
    return f"{before}{code(middle)}{after}"


def _joined(parts: Iterable[str], between: str = "") -> str:
    """Join pieces of Markdown, and keep two code spans apart, which would become one."""
    whole = ""
    for part in parts:
        if whole:
            whole += between or (" " if whole.endswith("`") and part.startswith("`") else "")
        whole += part
    return whole


def _sentence(line: str) -> str:
    """Return a text in which `backticks` mark code, such as a line of advice."""
    parts = []
    for piece in words(line):
        if piece.code:
            parts.append(code(piece.text))
        else:
            before, after = (" " if piece.text[at : at + 1 or None].isspace() else "" for at in (0, -1))
            parts.append(f"{before}{text(piece.text)}{after}" if piece.text.strip() else " ")
    return _joined(parts)


def _cell(markdown: str) -> str:
    """Return a cell of a table. A bar would end it even in a code span, so a similar character replaces it."""
    return markdown.replace("|", "│")


def document(contents: Contents) -> str:
    """Return the whole document. The same contents give the same text."""
    return "\n".join(_lines(contents)).rstrip() + "\n"


def _lines(contents: Contents) -> Iterator[str]:
    yield f"# Report of {text(contents.title)}"
    yield ""
    covers = "" if contents.nothing else f"{wording.span(contents.first, contents.last)} UTC · "
    length = "" if contents.nothing else f" · {duration(contents.last - contents.first)}"
    yield f"{covers}**{summary.counts(contents)}**{length}" + (f" · as of {contents.made}" if contents.made else "")
    yield ""
    for sentence in summary.scope(contents):
        yield text(sentence)
        yield ""
    if contents.note:
        yield from _note(contents)
    yield "## Summary"
    yield ""
    if first := summary.beginning(contents):
        yield text(first)
        yield ""
    harmful = summary.harmful(contents)
    for each in harmful[:PARAGRAPHS]:
        named = f"**{each.incident['severity'].capitalize()}** · {code(each.incident['name'])}"
        yield f"- {named} · {text(summary.sentence(each, contents))}"
    if (more := len(harmful) - PARAGRAPHS) > 0:
        yield f"- {wording.count(more)} more that may have done harm, see below"
    if harmless := summary.harmless(contents):
        yield f"- {harmless}"
    if not contents.incidents:
        yield text(summary.nothing(contents))
    yield ""
    if contents.incidents:
        yield "## Incidents"
        yield ""
    for number, each in enumerate(contents.incidents[:DETAILED], 1):
        yield from _folded(f"{number}. Incident {each.incident['name']}", _incident(number, each, contents))
    if (more := len(contents.incidents) - DETAILED) > 0:
        yield f"{wording.count(more)} more are not described here."
        yield ""
    yield "## What was seen"
    yield ""
    yield from _folded("What was recorded, and what could be judged", _coverage(contents))
    yield f"Written by Causeline {text(__version__)}. All times are in UTC."


def _folded(heading: str, lines: Iterator[str]) -> Iterator[str]:
    """Yield lines that viewers of HTML in Markdown, such as GitHub and GitLab, fold under a heading. The heading is
    HTML, so it must have no text from outside."""
    yield "<details>"
    yield f"<summary>{heading}</summary>"
    yield ""
    yield from lines
    yield "</details>"
    yield ""


def _note(contents: Contents) -> Iterator[str]:
    note = contents.note
    assert note
    yield "## Note of the author"
    yield ""
    for line in note.text.splitlines():
        yield f"> {text(line)}".rstrip() if line.strip() else ">"
    if written := summary.author(note):
        yield ">"
        yield f"> — {text(written)}"
    yield ""


def _incident(number: int, each: InView, contents: Contents) -> Iterator[str]:
    incident = each.incident
    yield f"### {number}. {text(incident['title'])}"
    yield ""
    facts = [
        f"incident {code(incident['name'])}",
        incident["severity"],
        incident["status"],
        summary.state(each, contents),
        summary.numbers(each),
    ]
    rules = ", ".join(map(code, incident["rules"]))
    yield f"{' · '.join(facts)} · {rules} · {text(summary.where(each))}"
    yield ""
    yield from _symptoms(each)
    if incident["cause"]:
        yield f"**{summary.because(each)}** {text(incident['cause'])}"
        yield ""
        yield from _events(summary.cause_proof(each))
    for row in each.rows[:1]:
        yield from _proof(row, each)
    if each.occurrences > 1:
        yield from _others(each)
    if changed := summary.changes(each, contents):
        yield "**Changed before**"
        yield ""
        for one in changed:
            details = [one.when, one.near, one.where, one.who, one.time, one.steps_words]
            yield f"- {text(one.text)} · {' · '.join(text(detail) for detail in details if detail)}"
        yield ""
        yield changes_before.NOTE
        yield ""
    if incident["advice"]:
        yield "**What to do**"
        yield ""
        for step in steps(incident["advice"]):
            yield f"- {step.name}: {' '.join(map(_sentence, step.lines))}"
        yield ""
    for noted in summary.notes(each):
        yield f"**{noted.heading}** {text(noted.words)}"
        yield ""


def _symptoms(each: InView) -> Iterator[str]:
    listed, more = summary.symptoms(each)
    if not listed:
        return
    yield "**Symptoms**"
    yield ""
    for severity, title in listed:
        yield f"- {severity}: {text(title)}"
    if more:
        yield f"- and {wording.count(more)} more"
    yield ""


def _proof(row: FindingGroupPayload, each: InView) -> Iterator[str]:
    heading = "Proof" if each.occurrences == 1 else "Proof of the gravest occurrence"
    yield f"**{heading}** {text(summary.title(row, each))}. {_sentence(row['why'])}"
    yield ""
    yield from _events(row["proof"])
    harm = row["effect_text"]
    yield f"**Effect** {row['effect']}{': ' + text(harm) if harm else ''}."
    yield ""


def _events(events: Sequence[ProofPayload]) -> Iterator[str]:
    """Yield a table of events, and nothing if there are none."""
    if not events:
        return
    yield "| Event | Time (UTC) | Revision | Who |"
    yield "|---|---|---|---|"
    for event in [*events[: _EVENTS - 1], *events[_EVENTS - 1 :][-1:]]:
        proof = wording.proof(event, "")
        time = f"{proof['iso'][:10]} {proof['time']}{' or later' if proof['since'] else ''}"
        cells = [proof["role"], time, proof["revision"] or "not recorded", proof["who"] or "not recorded"]
        yield f"| {' | '.join(_cell(text(cell)) for cell in cells)} |"
    yield ""
    if (more := len(events) - _EVENTS) > 0:
        verb = "is" if more == 1 else "are"
        yield f"{wording.count(more)} more {wording.plural('event', more)} of the proof {verb} left out."
        yield ""


def _others(each: InView) -> Iterator[str]:
    others = each.rows[1 : 1 + _OTHERS]
    yield f"**Other occurrences** ({wording.count(each.occurrences - 1)})"
    yield ""
    for row in others:
        yield f"- {summary.lasted(row)} UTC: {text(summary.title(row, each))}"
    if (more := each.occurrences - 1 - len(others)) > 0:
        yield f"- and {wording.count(more)} more"
    yield ""


def _coverage(contents: Contents) -> Iterator[str]:
    lack = wording.judgeable(contents.coverage["rules"])
    kinds = contents.coverage["coverage"]
    holes = sum(kind["holes"] for kind in kinds)
    what = f"{text(contents.entries)} of {len(kinds)} kinds in" if kinds else "Some namespaces of"
    yield f"- {what} {text(contents.name)}"
    yield f"- {lack[:1].upper()}{lack[1:]}"
    for answer, titles in wording.joined(contents.coverage["links"]):
        yield f"- {text(answer)}: {text(titles)}"
    if kinds:
        yield f"- {wording.count(holes) if holes else 'No'} {wording.plural('write', holes or 1)} known to be missing"
    for skipped in wording.skipped(contents.skipped)[:_SKIPPED]:
        yield f"- Skipped in {text(skipped.file)}: {text(skipped.reason)}"
    if contents.skips:
        yield f"- {wording.count(contents.skips)} {wording.plural('piece', contents.skips)} skipped in all"
    yield ""

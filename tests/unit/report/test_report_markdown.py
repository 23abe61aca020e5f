"""These tests read reports as Markdown, with names that would be links, mentions or markup if they were not escaped."""

import re
import unicodedata
from pathlib import Path

import markdown as python_markdown  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from collectors.analysis import analyse
from collectors.formats import Limits
from dashboard.report import markdown
from dashboard.report.contents import of_analysis
from tests.clients.command import causeline
from tests.inputs.recordings import QUIET, SAMPLE
from timeline.judge import rulebook

COMMONMARK = MarkdownIt("commonmark").enable(["table", "strikethrough"])
EXTENSIONS = ["tables", "pymdownx.magiclink", "pymdownx.tilde", "pymdownx.caret", "pymdownx.mark", "pymdownx.emoji"]
SHORTHANDS = {"repo_url_shorthand": True, "social_url_shorthand": True, "normalize_issue_symbols": True}
OPTIONS = {"pymdownx.magiclink": {**SHORTHANDS, "provider": "github", "user": "somebody", "repo": "something"}}
HOSTILE = [
    "[click](http://evil.example)",
    "![x](https://evil.example/a.png)",
    "<img src=x onerror=alert(1)>",
    "<!-- hidden",
    "http://evil.example/a",
    "javascript:alert(1)",
    "www.evil.example",
    "evil.example",
    "mailto:a@evil.example",
    "<http://evil.example>",
    "@everyone",
    "owner/repo#1",
    "#12 !34 GH-56 $78 %90 ~ab &12",
    "`code`",
    "``` fence",
    "a|b",
    "a\nb\n\n# heading",
    "- item",
    "1. item",
    "12) item",
    "> quoted",
    "**bold** __bold__ ~~gone~~ ==marked== ^up^",
    ":smile: :100:",
    "&lt;b&gt; &amp; &#64;x",
    "[^1]: note",
    "\\[x](y)",
    "\u202eevil",
    "0123456789abcdef0123456789abcdef01234567",
    "===",
    "---",
    "    indented",
    "[ ] task",
    "$x^2$",
    "system:serviceaccount:kube-system:deployment-controller",
]
PLAIN = [
    "Service ring was away for ≈ 50 ms under 3 running Pods",
    "ring-steady-0, -1, -2 ran meanwhile; no failure seen (0.1–0.41 s)",
    "from 2026-11-21 07:52:00.841 to 07:52:07.232 UTC",
]
# What viewers look for after the Markdown is read, in all text that is not code.
FOUND_LATER = re.compile(
    r"@\w|(?:^|\W)[#!%$~&]\w|\w#\d|https?:|\w://|www\.|(?:mailto|xmpp|tel|javascript):|\w\.[^\W\d_]|GH-\d|:[+a-z-]\w*:|"
    r"\b[0-9a-f]{7,40}\b",
    flags=re.IGNORECASE,
)
OWN_HTML = re.compile(
    r"(<details>\n<summary>(\d+\. Incident [0-9a-f]{6}|What was recorded, and what could be judged)</summary>"
    r"|</details>)\n"
)
HARMLESS_TOKENS = {"paragraph_open", "paragraph_close", "inline"}


def visible(outside: str) -> str:
    """Return the text as a reader has to see it: in one line, with unseen characters replaced."""
    seen = "".join(
        "\ufffd" if unicodedata.category(each)[0] == "C" and not each.isspace() else each for each in outside
    )
    return " ".join(seen.split())


def inline(tokens: list[Token]) -> list[Token]:
    return [each for token in tokens for each in (token.children or [])]


def check(written: str, outside: str) -> None:
    """Check that Markdown shows a text and nothing else, and that no part of it that is not code means anything."""
    tokens = COMMONMARK.parse(written)
    assert {token.type for token in tokens} <= HARMLESS_TOKENS, written
    assert {token.type for token in inline(tokens)} <= {"text", "code_inline"}, written
    assert "".join(token.content for token in inline(tokens)) == visible(outside)
    for token in inline(tokens):
        assert token.type == "code_inline" or not FOUND_LATER.search(token.content), written


@pytest.mark.parametrize("outside", [*HOSTILE, *PLAIN])
def test_no_text_from_outside_has_a_meaning(outside: str) -> None:
    shown = markdown.text(outside)
    check(shown, outside)
    html = python_markdown.markdown(shown, extensions=EXTENSIONS, extension_configs=OPTIONS)
    assert set(re.findall(r"<(/?\w+)", html)) <= {"p", "/p", "code", "/code"}, html  # so read others it
    assert shown == outside or outside in HOSTILE  # what is harmless stays readable


PIECES = st.sampled_from([*HOSTILE, *"`*_[]()<>#|~:/.@!&\\-+=^$%{} \n", "ring-0", "a", "1", "é", "www", "http"])


@given(st.lists(PIECES, min_size=1, max_size=8).map("".join).filter(lambda text: visible(text)))
def test_no_combination_has_a_meaning(outside: str) -> None:
    check(markdown.text(outside), outside)
    if "|" not in outside:
        check(markdown.code(outside), outside)


def hostile_log(tmp_path: Path, name: str) -> Path:
    """Return a recording in which a Pod has this name, and the one who writes most has it, too."""
    log = tmp_path / "log.jsonl"
    source = QUIET.parent / "fires-volcano-restart-pod.jsonl"
    written = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").encode()
    log.write_bytes(source.read_bytes().replace(b"ring-steady-0", written).replace(b'"admin"', b'"%s"' % written))
    return log


@pytest.mark.parametrize(
    "name", ["[x](http://evil.example)<img src=x>|@all", "`a` ![b](c) owner/repo#1", "a\n# b\n| c | d |"]
)
def test_a_report_of_hostile_names_has_only_markup_of_its_own(tmp_path: Path, name: str) -> None:
    log = hostile_log(tmp_path, name)
    written = markdown.document(
        of_analysis(analyse([(log, name.replace("/", "_"))], Limits()), note=f"{name}\n> {name}")
    )
    tokens = COMMONMARK.parse(written)
    harmless = {"text", "code_inline", "strong_open", "strong_close", "softbreak"}
    assert {token.type for token in inline(tokens)} <= harmless
    assert not {"fence", "code_block", "hr"} & {token.type for token in tokens}
    assert {OWN_HTML.fullmatch(token.content) is not None for token in tokens if token.type == "html_block"} == {True}
    for token in inline(tokens):
        assert token.type == "code_inline" or not FOUND_LATER.search(token.content), token.content
    columns = re.findall(r"^\|.*\|$", written, flags=re.MULTILINE)
    assert columns and {len(row.split("|")) for row in columns} == {6}
    headings = [inline([body])[0].content for at, body in enumerate(tokens) if tokens[at - 1].type == "heading_open"]
    assert "b" not in headings and "Summary" in headings


def test_it_has_the_same_sentences_and_counts_as_the_page() -> None:
    status, written, errors = causeline("report", SAMPLE, "-o", "-", "--format", "markdown")
    assert (status, errors) == (0, "")
    assert "**4 incidents · 6 symptoms · 10 findings**" in written
    assert (
        "4 incidents, 2 without harm, 1 of the others ongoing when the recording ends. The gravest, over after "
        "6.4 s: Service ring was away under 3 Pods, 2 times, and 1 more symptom of the same cause.\n\n"
        "- **Warning** · `abab8e` · Service ring was away under 3 Pods, 2 times, and 1 more symptom of the same "
        "cause. From 2026-11-21 07:52:00.841 to 07:52:07.232 UTC (6.4 s), written by vc-cm-head (admin): harm is "
        "possible (for example: ring-steady-0, -1, -2 ran meanwhile; no container failure seen until the recording "
        "ends 58 s later; Job ring failed after 12.7 s); over.\n"
    ) in written
    assert "- 2 more incidents without harm\n" in written
    assert (
        "**Symptoms**\n\n- warning: Service ring was away under 3 Pods, 2 times\n"
        "- info: 2 Pods created before Service ring\n"
    ) in written
    assert "| Service deleted | 2026-11-21 07:52:00.841106 | 582 | vc-cm-head (admin) |" in written
    assert "- Verify: `kubectl -n vol-restart get service ring -w --output-watch-events` shows no DELETED" in written
    assert f"of {len(rulebook())} rules cannot judge this recording" in written
    assert causeline("report", SAMPLE, "-o", "-", "--format", "markdown")[1] == written


def test_the_name_of_the_file_says_that_it_is_markdown(tmp_path: Path) -> None:
    target = tmp_path / "report.md"
    status, _, errors = causeline("report", QUIET, "-o", target, "--title", "The night of the 21st")
    assert status == 0 and f"{target} is written, " in errors
    assert target.read_text().startswith("# Report of The night of the 21st\n")
    assert "No rule that can judge this recording found a violation." in target.read_text()


def test_tables_and_lists_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "DETAILED", 1)
    monkeypatch.setattr(markdown, "_EVENTS", 1)
    written = markdown.document(of_analysis(analyse([(SAMPLE, SAMPLE.name)], Limits())))
    assert written.count("\n### ") == 1 and "3 more are not described here." in written
    assert "1 more event of the proof is left out." in written

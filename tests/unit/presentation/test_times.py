"""The server writes times in UTC, and marks them so that a script can show them in the reader's zone."""

import re

import pytest
from django.template import Context, Engine

from dashboard.presentation import times
from dashboard.presentation.times import times as sentence
from dashboard.presentation.times import utc


def marked(html: str) -> list[tuple[str, str]]:
    """Return each marked time as ISO 8601, with its words."""
    return re.findall(r'<time datetime="([^"]*)" data-utc>([^<]*)</time>', html)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("at 2026-11-21 07:52:00.841 UTC.", [("2026-11-21T07:52:00.841Z", "2026-11-21 07:52:00.841 UTC")]),
        (
            "from 2026-11-21 23:59:59 to 00:00:01 UTC",
            [("2026-11-21T23:59:59Z", "2026-11-21 23:59:59"), ("2026-11-22T00:00:01Z", "00:00:01 UTC")],
        ),
        (
            "31 Dec 2026 23:55:31 – 1 Jan 07:57:01 UTC",
            [("2026-12-31T23:55:31Z", "31 Dec 2026 23:55:31"), ("2027-01-01T07:57:01Z", "1 Jan 07:57:01 UTC")],
        ),
        (
            "known at 2026-11-22 05:02 UTC: until 2026-11-22 08:00",
            [("2026-11-22T05:02Z", "2026-11-22 05:02 UTC")],
        ),
        (
            "at 2026-11-21 07:52:31–07:52:33 UTC",
            [("2026-11-21T07:52:31Z", "2026-11-21 07:52:31"), ("2026-11-21T07:52:33Z", "07:52:33 UTC")],
        ),
        ("It came back at 08:00 UTC.", []),  # of which day is not known
        ("2026-13-40 07:52 UTC, 2026-11-21T07:52:00Z, 1.2.3.4:55:00", []),
        ("", []),
    ],
)
def test_a_sentence_has_its_times_in_utc_marked_and_no_others(words: str, found: list[tuple[str, str]]) -> None:
    html = sentence(words)
    assert marked(html) == found
    assert re.sub(r"</?time[^>]*>", "", html) == words


def test_words_that_are_all_in_utc_need_not_say_it() -> None:
    day = "2026-11-21T23:59:58.5Z"
    assert marked(utc("committed within 23:59:59.841106 – .849006", day)) == [
        ("2026-11-21T23:59:59.841106Z", "23:59:59.841106")
    ]
    assert [iso for iso, _ in marked(utc("23:59:59–00:00:01", day))] == ["2026-11-21T23:59:59Z", "2026-11-22T00:00:01Z"]
    assert marked(utc("07:52:00")) == []


def test_what_stands_beside_a_time_is_escaped() -> None:
    engine = Engine(builtins=[times.__name__])
    hostile = {"words": "<b> at 2026-11-21 07:52 UTC by <script>"}
    html = engine.from_string("{{ words|times }} {{ words|utc }}").render(Context(hostile))
    assert html.count("&lt;b&gt; at <time ") == 2 and html.count("by &lt;script&gt;") == 2

"""These tests check the short words on pills: each has a tooltip and an accessible description with its meaning."""

from typing import get_args, get_type_hints

import pytest
from django.template.loader import render_to_string

from dashboard.presentation.pills import MEANINGS
from timeline.payloads.findings import FindingPayload

WORDS = [word for name in ("severity", "verdict", "status") for word in get_args(get_type_hints(FindingPayload)[name])]


@pytest.mark.parametrize("word", [*WORDS, *MEANINGS])
def test_a_pill_says_what_it_means(word: str) -> None:
    pill = render_to_string("parts/pill.html", {"word": word, "tone": ""})
    meaning = MEANINGS[word].replace("'", "&#x27;")
    assert pill == f'<span class="pill" title="{meaning}" aria-description="{meaning}">{word}</span>'

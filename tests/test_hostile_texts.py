"""These tests redact texts that somebody chose to take long: the time must not grow faster than the text."""

import time
from collections.abc import Callable

import orjson
import pytest

from collectors.redaction import redact_json
from collectors.redaction.objects import clean_text

SMALL, LARGE = 16 << 10, 128 << 10  # characters
MOST = 12  # times that the larger text may take
FLOOR = 0.05  # seconds; what takes less is not measured well

REPEATED = {  # what comes before, what is repeated, what comes after
    "escaped quotes": ("", '\\"', ""),
    "escaped quotes after a backslash": ('"', '\\"a', "\\"),
    "escaped quotes in a command": ("mysql ", '# - \\"', ""),
    "escaped quotes after programs": ("", 'mysql \\"', ""),
    "closed elements": ("", "</password><", ""),
    "elements of one name": ("", "<password>", ""),
    "elements of many names": ("", "<password{}>[redacted", ""),
    "elements with attributes": ("", '<password a="b">[redacted', "</x>"),
    "open blocks": ("", "password {", ""),
    "open brackets after phrases": ("", "identified by {", ""),
    "here-documents": ("", "set password <<A{}\n", ""),
    "here-documents that are spoken of": ("", "password is <<A\n", ""),
    "parts of a query": ('"', "*&sig=", "\n"),
    "slashes": ("", "/", "="),
    "names in pairs": ("", "k=", ""),
    "values in pairs": ("", "v=+", ""),
}


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of a call; the least of a few calls if one takes long."""
    times: list[float] = []
    while len(times) < 3 and (not times or FLOOR < min(times) < 2):
        began = time.thread_time()
        work()
        times.append(time.thread_time() - began)
    return min(times)


def grown(before: str, repeated: str, after: str, length: int) -> str:
    """Return a text of about this length. `{}` in what is repeated becomes a number that is different each time."""
    times = length // len(repeated)
    return before + "".join(repeated.replace("{}", str(each)) for each in range(times)) + after


@pytest.mark.parametrize("shape", REPEATED.values(), ids=REPEATED)
def test_the_time_of_a_text_grows_with_its_length(shape: tuple[str, str, str]) -> None:
    small, large = (seconds(lambda: clean_text(grown(*shape, length))) for length in (SMALL, LARGE))  # noqa: B023
    assert large < max(MOST * small, FLOOR), (small, large)


def test_json_in_json_takes_no_longer_with_each_level() -> None:
    def nested(levels: int) -> str:
        text = "a=b " * 5_000
        for _ in range(levels):
            text = orjson.dumps({"a": text, "b\\": ""}).decode()
        return text

    one, five = (seconds(lambda: clean_text(nested(levels))) for levels in (1, 5))  # noqa: B023
    assert five < max(MOST * one, FLOOR), (one, five)


def test_an_annotation_of_escaped_quotes_is_redacted_quickly() -> None:
    body = orjson.dumps({"kind": "Pod", "metadata": {"name": "a", "annotations": {"x": '\\"' * 50_000}}})
    assert seconds(lambda: redact_json(body, "Pod")) < 1


def test_what_follows_a_closed_element_stays() -> None:
    text = "<a><password>x</password><user>joe</user> text</a>"
    assert clean_text(text) == "<a><password>[redacted]</password><user>joe</user> text</a>"
    assert clean_text("<n:password><b>x</b>y</n:password> text") == "<n:password>[redacted]</n:password> text"


def test_a_value_that_begins_within_another_one_is_masked_to_its_end() -> None:
    assert clean_text("db-password \"x --api-key 'y\" z'") == "db-password \"[redacted]'"

"""These tests redact texts that somebody chose to take long: the time must not grow faster than the text."""

import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from collectors.redaction import budget, redact_json
from collectors.redaction.objects import clean_text
from tests.properties import sampled

SMALL, LARGE = 16 << 10, 128 << 10  # characters
MOST = 12  # times that the larger text may take
FLOOR = 0.05  # seconds; what takes less is not measured well

REPEATED = [  # what comes before, what is repeated, what comes after
    ('"', '\\"a', "\\"),
    ("mysql ", '# - \\"', ""),
    ("", "API key: # :A", "\n"),
    ('"', "*&sig=", "\n"),
    ("", "/", "="),
    ("a=b ", "\u0301\u0323", ""),
    ("", '<password a="b">[redacted', "</x>"),
]
# What is repeated alone.
QUOTES = ['\\"', 'mysql \\"', '"password', "\\", "'", 'password "', "&quot;", '"name":"password",']
BRACKETS = ["password {", "identified by {", "{", "[", "tokens: {"]
DOCUMENTS = ["kind: Secret\ndata: {", "kind: Secret\n---\n", "password: |\n", "password:\n x\n", "a,password\n"]
HERE_DOCUMENTS = ["data:\n", "set password <<A{}\n", "password is <<A\n", "password = <<EOF\n"]
ELEMENTS = ["</password><", "<password>", "<password{}>[redacted", "<a ", "&lt;a&gt;"]
NAMES = ["password=", "name=password ", "value: x, ", "password\n ", "val password: a", "k=", "v=+", "token", "token "]
FORMS = ["eyJ", "eyJ-", "AKIA", "$1$", "-----BEGIN PRIVATE KEY-----", "cGFzc3dvcmQ6IHBsNG50ZWRRNw== ", "abcdef."]
COMMANDS = ["-p ", "mysql -p", "curl -u ", "echo ", "echo a > ", "htpasswd -b ", "user a >", "vault kv put "]
OTHERS = ["gh secret set ", "%3A%2F%2F", "://", "://a:b", "a:", "1:", "a", "0", "A/", "-", "a-", " ", "\n", "a\t"]
for _repeated in (QUOTES, BRACKETS, DOCUMENTS, HERE_DOCUMENTS, ELEMENTS, NAMES, FORMS, COMMANDS, OTHERS):
    REPEATED += [("", each, "x") for each in _repeated]


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


@pytest.mark.parametrize("shape", sampled(REPEATED, 16), ids=repr)
def test_the_time_of_a_text_grows_with_its_length(shape: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "SECONDS", 1e6)  # or the larger one would be cut off
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


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "Pod", "metadata": {"name": "a", "annotations": {"x": '\\"' * 50_000}}},
        {"kind": "ConfigMap", "data": {"\u0301\u0323" * 50_000: "x y"}},
    ],
    ids=["an annotation of escaped quotes", "a name of accents"],
)
def test_an_object_of_such_texts_is_redacted_quickly(body: dict[str, Any]) -> None:
    raw = orjson.dumps(body)
    assert seconds(lambda: redact_json(raw)) < 1


def test_what_is_quick_about_elements_and_values_finds_their_ends() -> None:
    closed = "<a><password>{}</password><user>joe</user> text</a>"
    assert clean_text(closed.format("x")) == closed.format("[redacted]")
    assert clean_text("<n:password><b>x</b>y</n:password> text") == "<n:password>[redacted]</n:password> text"
    # A value that begins within another one is masked to its end.
    assert clean_text("db-password \"x --api-key 'y\" z'") == "db-password \"[redacted]'"


def object_of(*values: str) -> bytes:
    return orjson.dumps({"kind": "ConfigMap", "data": {f"k{at}": value for at, value in enumerate(values)}})


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let each look at the clock take the time that is in the list."""
    step, now = [0.0], [0.0]

    def clock() -> float:
        now[0] += step[0]
        return now[0]

    monkeypatch.setattr(budget, "clock", clock)
    return step


def test_an_object_that_takes_too_long_keeps_no_text_that_was_not_searched(ticks: list[float]) -> None:
    texts = [f"a {at} text without any secret, " * 2_000 for at in range(4)]
    whole = orjson.loads(redact_json(object_of("short text", *texts)))["data"]
    assert list(whole.values()) == ["short text", *texts]
    ticks[0] = budget.SECONDS
    cut = orjson.loads(redact_json(object_of(*texts, "a last one", "name-0")))
    assert cut["kind"] == "ConfigMap"
    assert list(cut["data"].values()) == ["[redacted:time]"] * 5 + ["name-0"]
    ticks[0] = 0
    assert orjson.loads(redact_json(object_of("short text", *texts)))["data"] == whole  # nothing of that is remembered


def test_each_object_has_its_own_time(ticks: list[float]) -> None:
    ticks[0] = budget.SECONDS / 40
    for at in range(80):
        assert b"[redacted:time]" not in redact_json(object_of(f"{at} is a text " * 200))


def test_a_text_outside_of_objects_has_its_own_time(ticks: list[float]) -> None:
    ticks[0] = budget.SECONDS * 10
    assert clean_text("some text " * 9_000) == "[redacted:time]"
    assert clean_text("a short text") == "a short text"


def test_a_text_that_is_too_long_is_replaced_without_a_search() -> None:
    body = orjson.loads(redact_json(object_of("a b" * budget.LONGEST, "other text")))
    assert list(body["data"].values()) == ["[redacted:time]", "other text"]

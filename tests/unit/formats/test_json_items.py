"""These tests find values inside JSON documents of any size, whatever is broken around them."""

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.formats import Limits, Recording, Skipped
from collectors.formats.json_items import Pattern, items, outline
from collectors.formats.json_stream import Item
from collectors.formats.stream import TOO_DEEP
from tests.properties import examples

ITEMS = ("items", "*")
TOO_LONG = ".items[0]: longer than 1000 bytes; CAUSELINE_LINE_LIMIT_BYTES raises the limit"


def recording(content: bytes, piece: int = 7, line_bytes: int = 100_000) -> Recording:
    def chunks() -> Iterator[bytes]:
        return (content[at : at + piece] for at in range(0, len(content), piece))

    return cast("Recording", SimpleNamespace(name="file", chunks=chunks, limits=Limits(line_bytes=line_bytes)))


def found(content: bytes, *patterns: Pattern, piece: int = 7) -> list[tuple[int, str, Any]]:
    """Return line, path and value of every item, none of which may be skipped."""
    made = list(items(recording(content, piece), *patterns))
    assert not [item for item in made if isinstance(item, Skipped)], made
    return [(item.line, str(item), json.loads(item.data)) for item in made if isinstance(item, Item)]


VALUES = ("data", "result", "*", "values", "*")


@pytest.mark.parametrize(
    ("content", "patterns", "expected"),
    [
        (b'{"kind": "List", "items": [{"a": 1},\n {"a": [2]}],\n "metadata": {"items": [3]}}', [ITEMS],
         [(1, ".items[0]", {"a": 1}), (2, ".items[1]", {"a": [2]})]),
        (b'{"a":1}\n{\n "b": 2\n}{"c":3}\n\n', [()], [(1, "", {"a": 1}), (2, "", {"b": 2}), (4, "", {"c": 3})]),
        (b'{"items":[1,2]}\n{"items":[]}\n{"items":null}\n{"other":0}\n{"items":[3]}\n', [ITEMS],
         [(1, ".items[0]", 1), (1, ".items[1]", 2), (5, ".items[0]", 3)]),
        (b'{"data":{"result":[{"stream":{},"values":[["1","x"]]},{"values":[["2","y"]]}]}}', [VALUES],
         [(1, ".data.result[0].values[0]", ["1", "x"]), (1, ".data.result[1].values[0]", ["2", "y"])]),
        (b'{"metadata":{"resourceVersion":"7"},"items":[1]}', [ITEMS, ("metadata",)],
         [(1, ".metadata", {"resourceVersion": "7"}), (1, ".items[0]", 1)]),
    ],
    ids=["between other fields", "documents in any layout", "lists on lines", "through arrays", "several patterns"],
)  # fmt: skip
def test_values_are_found_with_their_places(content: bytes, patterns: list[Pattern], expected: list[Any]) -> None:
    assert found(content, *patterns) == expected


@pytest.mark.parametrize(
    ("content", "kept", "reasons"),
    [
        (b'{"items":[{"a":1},{"a":2,},{"a":3},{"a":nul}]}', [1, 3], [".items[1]: not JSON", ".items[3]: not"]),
        (b'{"items":[{"a":1},{"a":2', [1], [".items[1]: the file ends in the middle of it"]),
        (b'{"items":[{"a":1}', [1], ["the file ends in the middle of a document"]),
        (b'{"items":[{"a":1} {"a":2},{"a":3}]}', [1, 3], ["not JSON: a comma, a colon or a bracket is missing"]),
        (b'{"items":[{"a":1}]}\nnoise\n{"items":[{"a":2}]}', [1, 2], ["it is not JSON"]),
        (b'{"it\n{"items":[{"a":2}]}', [2], ["not JSON"]),
        (b'{"items":[{"a":' + b"[" * 5000 + b"]" * 5000 + b'},{"a":2}]}', [2], [f".items[0]: {TOO_DEEP}"]),
        (b'{"items":[{"a":"' + b"x" * 5000 + b'"},{"a":2}]}', [2], [TOO_LONG]),
    ],
)
@pytest.mark.parametrize("piece", [7, 1_000_000])
def test_what_is_damaged_is_reported_and_the_rest_is_kept(
    content: bytes, kept: list[int], reasons: list[str], piece: int
) -> None:
    made = list(items(recording(content, piece, 1000), ITEMS))
    if piece == 7 or b"xxx" not in content:  # a long value that is in memory already is not refused
        assert [json.loads(item.data)["a"] for item in made if isinstance(item, Item)] == kept
        skipped = [item.reason for item in made if isinstance(item, Skipped)]
        assert len(skipped) == len(reasons) and all(map(str.startswith, skipped, reasons)), skipped


def test_damage_has_its_line() -> None:
    (skipped,) = items(recording(b'{"items": [\n\n {"a": x}\n]}'), ITEMS)
    assert isinstance(skipped, Skipped) and str(skipped).startswith("file line 3: .items[0]: not JSON")


def test_an_outline_shows_which_places_there_are_even_of_a_document_that_is_cut_off() -> None:
    head = b'noise\n{"a": {"b": [1, {"c": "text"}]}}\n[{"d": "cut of'
    places = {(): b"", ("a",): b"", ("a", "b"): b"", ("*",): b"", ("*", "d"): b'"cut of'}
    assert outline(head) == {**places, ("a", "b", "*"): b"1", ("a", "b", "*", "c"): b'"text"'}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@examples(15)
@given(st.lists(values), st.integers(1, 50), st.sampled_from([None, 2]))
def test_every_list_comes_back_however_it_is_cut_into_pieces(made: list[Any], piece: int, indent: int | None) -> None:
    content = json.dumps({"before": made, "items": made, "after": 1}, indent=indent).encode()
    assert [value for _, _, value in found(content, ITEMS, piece=piece)] == made


@examples(20)
@given(st.binary(max_size=60) | st.text('{}[]",:\\ \n1ae', max_size=60).map(str.encode), st.integers(1, 20))
def test_nothing_that_comes_in_ends_the_reading(content: bytes, piece: int) -> None:
    for patterns in ((ITEMS,), ((),), (("*",), ("a", "*", "b", "*"))):
        assert all(isinstance(item, Item | Skipped) for item in items(recording(content, piece), *patterns))
    outline(content)


def test_a_head_of_damaged_documents_is_not_read_to_its_end_for_each() -> None:
    head = b"\n[x" * 3_000
    assert sum(map(len, outline(head).values())) < 100 * len(head)
    assert outline(b'\n{"a":1}\n[x' * 10 + b'\n{"b":2}')[("b",)] == b"2"

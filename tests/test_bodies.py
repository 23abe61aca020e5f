"""Objects as a person reads them, and what a revision changed in them."""

import json
from typing import Any

from timeline.bodies import Line, as_yaml, change


def body(**fields: Any) -> bytes:
    metadata = {"name": "p", "resourceVersion": "1", "managedFields": [{"manager": "kubectl"}]}
    return json.dumps({"kind": "Pod", "metadata": metadata, **fields}).encode()


def test_keys_are_sorted_and_managed_fields_are_shown_when_asked_for() -> None:
    told = body(spec={"b": 1, "a": "two\nlines\n", "wide": "x " * 200})
    assert as_yaml(told).splitlines() == [
        "kind: Pod",
        "metadata:",
        "  name: p",
        "  resourceVersion: '1'",
        "spec:",
        "  a: |",
        "    two",
        "    lines",
        "  b: 1",
        f"  wide: '{'x ' * 200}'",
    ]
    assert "manager: kubectl" in as_yaml(told, managed_fields=True)


def test_a_change_says_where_it_stands() -> None:
    volumes = [{"configMap": {"name": "other"}}, {"name": "v", "projected": {"sources": [{"secret": {"name": "s"}}]}}]
    before = body(spec={"volumes": volumes, "z": 1})
    volumes[1]["projected"]["sources"][0]["secret"]["name"] = "t"  # type: ignore[index]
    after = body(spec={"volumes": volumes, "z": 1}).replace(b'"resourceVersion": "1"', b'"resourceVersion": "2"')
    assert change(before, after) == [
        Line("@", "spec.volumes.projected.sources"),
        Line(" ", "      - secret:"),
        Line("-", "          name: s"),
        Line("+", "          name: t"),
        Line(" ", "  z: 1"),
    ] or change(before, after)[0] == Line("@", "spec.volumes.projected")


def test_nothing_changed_is_nothing_told() -> None:
    assert change(body(a=1), body(a=1)) == []


def test_what_is_no_object_is_shown_all_the_same() -> None:
    assert as_yaml(b"[1, null]") == "- 1\n- null\n"

"""These tests check that an incident names those who did what went wrong, and not everybody whose writes prove it."""

from typing import Any

import pytest

from timeline.payloads.incidents.occurrences import acting


def proof(part: str, actor: str | None, agent: str | None = None) -> dict[str, Any]:
    return {"part": part, "actor": actor, "user_agent": agent}


@pytest.mark.parametrize(
    ("proofs", "names"),
    [
        ([proof("state", "ann"), proof("act", "bob", "kubectl/v1"), proof("late", "eve")], ["kubectl (bob)"]),
        ([proof("state", "ann"), proof("act", "bob"), proof("act", "bob")], ["bob", "bob"]),
        ([proof("state", "ann"), proof("act", None), proof("removed", "eve"), proof("late", "bob")], ["eve", "bob"]),
        ([proof("state", "ann"), proof("act", None)], ["ann"]),
        ([proof("act", None)], []),
        ([{"actor": "ann", "user_agent": None}], ["ann"]),  # as an earlier version has stored it
    ],
)
def test_who_wrote_an_act_comes_before_who_wrote_anything_else(proofs: list[dict[str, Any]], names: list[str]) -> None:
    assert acting([{"proof": proofs}]) == names

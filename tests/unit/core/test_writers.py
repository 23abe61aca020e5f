"""These tests name who made a change: an account, or else a program."""

import pytest

from timeline.core.entries import _writer, writer


@pytest.mark.parametrize(
    ("account", "agent", "who"),
    [
        ("ann", "kubectl/v1.31", "ann"),
        ("", "kubelet/v1.31 (linux/amd64)", "kubelet"),
        ("", "kubectl-client-side-apply", "kubectl-client-side-apply"),
        (None, None, ""),
        ("a\0" + "b" * 500, "", "a\ufffd" + "b" * 251),
    ],
)
def test_an_actor_is_an_account_or_else_a_program(account: str | None, agent: str | None, who: str) -> None:
    assert writer(account, agent) == who


def test_long_user_agents_are_not_remembered_whole() -> None:
    assert writer(None, "a" * 300_000) == "a" * 253
    found = _writer.cache_info().currsize
    assert writer(None, "a" * 300_001) == "a" * 253  # is the same to the cache
    assert _writer.cache_info().currsize == found

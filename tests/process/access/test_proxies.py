"""These tests check the address of a client: only trusted proxies can state it."""

from pathlib import Path

import pytest

from dashboard.access.signing_in import attempts
from tests.running import Running, running
from tests.visitor import Visitor

FORM = "application/x-www-form-urlencoded"


def failures(site: Running, forwarded: str) -> list[int]:
    """Return the answers to one wrong password more than is allowed, each sent with such a header."""
    visitor = Visitor(site.address)
    answers = []
    for at in range(attempts.OF_A_NAME + 1):
        body = b"username=alice&password=wrong"
        status, _ = visitor.ask("POST", "/login/", body, Content_Type=FORM, X_Forwarded_For=forwarded.format(at))
        answers.append(status)
    return answers


@pytest.mark.parametrize("trusted", ["", "127.0.0.1,10.0.0.0/8"])
def test_the_address_behind_a_proxy(trusted: str, tmp_path: Path) -> None:
    with running(tmp_path, "web", CAUSELINE_LOGIN="on", CAUSELINE_PROXIES=trusted) as site:
        answers = failures(site, "203.0.113.{}")
        assert answers[-1] == (200 if trusted else 429), "each is from somewhere else only where the proxy may say so"
        if trusted:  # the client's own text is to the left of the proxy's, and is ignored
            assert failures(site, "203.0.113.{}, 198.51.100.7, 10.1.2.3")[-1] == 429
        text = site.log("web").read_text()
    assert ('"from": "198.51.100.7"' in text) == bool(trusted)
    assert ('"from": "127.0.0.1"' in text) == (not trusted)

"""These tests hold what Causeline may connect to: allowed schemes, hosts and ports, and never link-local addresses."""

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from collectors.hosts import allowed_hosts
from dashboard.access import encryption, outgoing
from dashboard.access.outgoing import DestinationRefused, NotAllowed, Unreachable
from tests.servers.answering import LOCALHOST, Receiver, closed_port, receiving


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    settings.DESTINATION_HOSTS = allowed_hosts([LOCALHOST])
    with receiving() as server:
        yield server


@pytest.mark.parametrize(
    ("entry", "address", "expected"),
    [
        ("hooks.example.org", "https://hooks.example.org/a?b=c", True),
        ("hooks.example.org", "https://HOOKS.example.org./a", True),
        ("hooks.example.org", "http://hooks.example.org/a", False),
        ("hooks.example.org", "https://hooks.example.org:8443/a", False),
        ("hooks.example.org:8443", "https://hooks.example.org:8443/a", True),
        ("hooks.example.org:*", "https://hooks.example.org:8443/a", True),
        ("hooks.example.org", "https://hooks.example.org@evil.example/a", False),
        ("hooks.example.org", "https://evil.example/hooks.example.org", False),
        ("hooks.example.org", "https://xhooks.example.org/", False),
        ("*.example.org", "https://a.b.example.org/", True),
        ("*.example.org", "https://example.org/", False),
        ("http://alertmanager:9093", "http://alertmanager:9093/api", True),
        ("10.0.0.0/8", "https://10.1.2.3/", True),
        ("10.0.0.0/8", "https://11.1.2.3/", False),
        ("10.0.0.0/8", "https://10.1.2.3.example.org/", False),
        ("10.*", "https://10.1.2.3/", False),  # a pattern of names, because it covers 10.example.org, too
        ("[fd00::]/8:8443", "https://[fd12::1]:8443/", True),
        ("slack://*", "slack://a/b/c", True),
        ("*", "ftp://example.org/", False),
        ("*", "https:///path", False),
        ("*", "javascript:alert(1)", False),
        ("*", "not an address", False),
        ("", "https://example.org/", False),
    ],
)
def test_what_an_entry_of_the_setting_allows(entry: str, address: str, expected: bool) -> None:
    allowed = allowed_hosts([entry] if entry else [])
    if expected:
        outgoing.permitted(address, allowed)
    else:
        with pytest.raises(NotAllowed):
            outgoing.permitted(address, allowed)


NEVER = """
    169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 １６９.254.169.254 169.254.169.254. [fe80::1]
    [::ffff:169.254.169.254] [64:ff9b::a9fe:a9fe] [2002:a9fe:a9fe::1] [::ffff:0:a9fe:a9fe] [::a9fe:a9fe]
    [64:ff9b:1::a9fe:a9fe] [64:ff9b:1:a9fe:a9:fe00::] [2001:0:a9fe:a9fe::] [2001:0:102:304:0:0:5601:5601]
    [2001:db8::5efe:a9fe:a9fe] [fd00:ec2::254] [fd00:ec2::23] [fd00:42::42] 100.100.100.200 168.63.129.16
    metadata.google.internal 0.0.0.0 [::] 224.0.0.1 255.255.255.255 0.0.0.1
    [::ffff:127.0.0.1] [64:ff9b::7f00:1] 127.1 0177.0.0.1 127.0.0.1 localhost
"""  # link-local ones however they are written and within whatever others, and of this machine, by a wildcard alone


@pytest.mark.parametrize("host", NEVER.split())
def test_some_addresses_are_never_connected_to_whatever_is_allowed(host: str) -> None:
    with pytest.raises(NotAllowed):
        outgoing.checked(f"https://{host}/", allowed_hosts(["*", "0.0.0.0/0", "[::]/0"]))


@pytest.mark.parametrize("entry", ["https://", "a b", "a:70000", "10.0.0.1/99", "user@host", "host/path"])
def test_an_entry_that_is_none_stops_the_start(entry: str) -> None:
    with pytest.raises(ValueError, match="has "):
        allowed_hosts([entry])


def test_a_name_is_resolved_once_and_what_was_checked_is_connected_to(
    receiver: Receiver, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DESTINATION_HOSTS = allowed_hosts(["http://rebinding.example:*", "http://169.254.169.254"])
    original, answers = socket.getaddrinfo, ["127.0.0.1", "169.254.169.254"]

    def resolve(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if host != "rebinding.example":
            return original(host, port, *rest, **more)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answers.pop(0), port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    address = f"http://rebinding.example:{receiver.port}/hook"
    assert outgoing.post(address, b"{}", {}).status == 200 and len(answers) == 1
    assert receiver.requests[0].headers["host"] == f"rebinding.example:{receiver.port}"
    for refused in (address, "http://169.254.169.254/"):  # even if an entry names it
        with pytest.raises(NotAllowed, match="link-local"):
            outgoing.post(refused, b"{}", {})


def test_a_proxy_of_the_environment_is_not_asked_and_what_is_away_is_tried_again_later(
    receiver: Receiver, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving() as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
            monkeypatch.setenv(name.lower(), proxy.url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        assert outgoing.post(f"{receiver.url}/hook", b"{}", {}).status == 200
        settings.DESTINATION_HOSTS = allowed_hosts([LOCALHOST, "nothing.invalid"])
        for address in (f"http://localhost:{closed_port()}/secret-path", "https://nothing.invalid/secret-path"):
            with pytest.raises(Unreachable) as caught:
                outgoing.post(address, b"", {})
            assert "secret-path" not in str(caught.value)
        assert proxy.requests == [] and len(receiver.requests) == 1


@pytest.mark.parametrize("behaviour", ["hang", "drip"])
def test_an_exchange_has_a_time_limit_in_all(receiver: Receiver, behaviour: str) -> None:
    receiver.always = behaviour
    begun = time.monotonic()
    with pytest.raises(Unreachable, match="did not answer"):
        outgoing.post(receiver.url, b"{}", {}, seconds=0.3)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (200, None),
        (202, None),
        (302, Unreachable),
        (400, DestinationRefused),
        (413, DestinationRefused),
        (404, Unreachable),
        (503, Unreachable),
    ],
)
def test_what_an_answer_means(receiver: Receiver, status: int, error: type[Exception] | None) -> None:
    receiver.always, receiver.headers = status, {"Retry-After": "90", "Location": f"{receiver.url}/elsewhere"}
    answer = outgoing.post(f"{receiver.url}/hook", b"{}", {})
    assert [each.path for each in receiver.requests] == ["/hook"]  # a redirect is not followed
    if error is None:
        assert outgoing.accepted(answer).startswith(str(status))
    else:
        why = "Redirects are not followed" if status == 302 else str(status)
        with pytest.raises(error, match=why) as caught:
            outgoing.accepted(answer)
        assert getattr(caught.value, "after", 0) == (90 if error is Unreachable and status != 302 else 0)


def test_what_is_encrypted_can_be_read_with_the_key_alone(settings: Settings) -> None:
    settings.CREDENTIALS_KEYS = ["a" * 32]
    given = {"url": "https://hooks.example.org/secret"}
    sealed = encryption.encrypted(given)
    assert b"secret" not in sealed and encryption.decrypted(sealed) == given
    settings.CREDENTIALS_KEYS = ["b" * 32, "a" * 32]
    assert encryption.decrypted(sealed) == given
    for keys in ([], ["b" * 32]):
        settings.CREDENTIALS_KEYS = keys
        with pytest.raises(encryption.Unreadable):
            encryption.decrypted(sealed)

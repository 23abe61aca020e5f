"""Send requests to hosts that people name as destinations.

An operator allows schemes and hosts by CAUSELINE_DESTINATION_HOSTS, and `collectors.hosts` decides by it. A name is
resolved once: the addresses that were checked are the ones that are connected to. Redirects are not followed.
"""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import httpx
from django.conf import settings

from collectors import hosts
from collectors.hosts import AllowedHost, Gate, retry_after
from dashboard import __version__

SECONDS = 15.0  # for a whole exchange, from the connection to the end of the answer
_CONNECT_SECONDS = 5.0
_ANSWER = 16_384  # bytes of an answer that are read
_LONGEST_WAIT = 86_400.0  # seconds that a server can ask to wait


class DestinationRefused(Exception):
    """The other side will never take this. The message is a sentence for people, without secrets."""


class NotAllowed(DestinationRefused):
    """Nothing may be sent there. This may change when an operator changes a setting, or a name resolves otherwise."""


class Unreachable(Exception):
    """The other side may take this later. The message is a sentence for people, without secrets."""

    def __init__(self, message: str, after: float = 0.0, *, others: bool = False) -> None:
        super().__init__(message)
        self.after = after  # seconds that the other side wants to be left alone, or 0
        self.others = others  # whether other messages may be taken there now


class Target(NamedTuple):
    """An address that was checked, and where it leads."""

    url: httpx.URL
    addresses: tuple[str, ...]  # IP addresses, at least one


class Answer(NamedTuple):
    """What the other side answered."""

    status: int
    text: str  # its first 16 KB
    headers: Mapping[str, str]


def permitted(address: str, allowed: Sequence[AllowedHost] | None = None) -> httpx.URL:
    """Return an address as it is connected to, if its scheme, host and port are allowed. No name is resolved.

    `allowed` are the entries of CAUSELINE_DESTINATION_HOSTS unless it is given. Raise NotAllowed.
    """
    try:
        url = httpx.URL(address.strip())
        scheme, host, port = url.scheme, _host(url), url.port
    except (httpx.InvalidURL, UnicodeError, TypeError):
        raise NotAllowed("This is not an address such as https://hooks.example.org/path.") from None
    if not scheme or not host:
        raise NotAllowed("This is not an address such as https://hooks.example.org/path.")
    try:
        gate(allowed).permit(scheme, host, port)
    except hosts.NotAllowed as error:
        raise NotAllowed(str(error)) from None
    return url


def checked(address: str, allowed: Sequence[AllowedHost] | None = None) -> Target:
    """Return where an address leads: its name is resolved here, and every address that it has is checked.

    Raise NotAllowed for what `permitted` does not permit, and for names that lead to link-local, multicast, unspecified
    or metadata addresses. A name leads to this machine only if an entry names it without a wildcard. Raise Unreachable
    if the name cannot be resolved.
    """
    url = permitted(address, allowed)
    host = _host(url)
    try:
        return Target(url, gate(allowed).resolved(url.scheme, host, url.port))
    except hosts.NotAllowed as error:
        raise NotAllowed(str(error)) from None
    except hosts.Unresolved as error:
        raise Unreachable(str(error)) from None


def gate(allowed: Sequence[AllowedHost] | None = None) -> Gate:
    """Return what may be connected to: the entries of CAUSELINE_DESTINATION_HOSTS unless others are given."""
    return Gate("CAUSELINE_DESTINATION_HOSTS", settings.DESTINATION_HOSTS if allowed is None else allowed)


def post(
    address: str, content: bytes, headers: Mapping[str, str], *, seconds: float = SECONDS, method: str = "POST"
) -> Answer:
    """Send a request to an address that is allowed, and return the answer, whatever its status.

    Raise NotAllowed or Unreachable. The whole exchange takes at most so many seconds, after the name is resolved.
    """
    target = checked(address)
    try:
        return asyncio.run(_exchange(target, method, content, headers, seconds))
    except TimeoutError:
        raise Unreachable(f"It did not answer within {seconds:g} seconds.") from None
    except httpx.HTTPError as error:  # its message may quote the address
        raise Unreachable(_sentence(error)) from None


def accepted(answer: Answer) -> str:
    """Return the status of an answer in one line, such as "202 Accepted", if the server has accepted the message.

    Raise Refused for answers to which sending the same again changes nothing, and Unreachable for others.
    """
    line = f"{answer.status} {httpx.codes.get_reason_phrase(answer.status)}".strip()
    if 200 <= answer.status < 300:
        return line
    if 300 <= answer.status < 400:
        raise Unreachable(f"It answered {line}. Redirects are not followed: write the address that it leads to.")
    if answer.status in {400, 405, 406, 410, 411, 413, 414, 415, 422}:
        raise DestinationRefused(f"It answered {line}.")
    raise Unreachable(f"It answered {line}.", min(retry_after(answer.headers.get("retry-after")), _LONGEST_WAIT))


async def _exchange(target: Target, method: str, content: bytes, headers: Mapping[str, str], seconds: float) -> Answer:
    url, last = target.url, None
    limits = httpx.Timeout(seconds, connect=_CONNECT_SECONDS)
    sent = {"User-Agent": f"causeline/{__version__}", **headers, "Host": url.netloc.decode("ascii")}
    # `trust_env=False` ignores HTTPS_PROXY and the like: a proxy would connect to an address that was not checked.
    client = httpx.AsyncClient(verify=_context(), timeout=limits, trust_env=False)
    async with asyncio.timeout(seconds), client:
        for address in target.addresses:
            request = client.build_request(
                method,
                url.copy_with(host=address),
                content=content,
                headers=sent,
                extensions={"sni_hostname": url.raw_host.decode("ascii")},  # TLS checks the name, not the address
            )
            try:
                answer = await client.send(request, stream=True)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                last = error
                continue
            try:
                return Answer(answer.status_code, await _beginning(answer), dict(answer.headers))
            finally:
                await answer.aclose()
    assert last
    raise last


async def _beginning(answer: httpx.Response) -> str:
    read = bytearray()
    async for chunk in answer.aiter_raw():  # not decompressed: nobody needs more than the status
        read += chunk
        if len(read) >= _ANSWER:
            break
    return bytes(read[:_ANSWER]).decode("utf-8", "replace")


def _host(url: httpx.URL) -> str:
    return url.raw_host.decode("ascii").lower().strip("[]").rstrip(".")


def _sentence(error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        certificate = any(isinstance(each, ssl.SSLError) for each in (error.__cause__, error.__context__))
        return (
            "Its certificate or TLS was not accepted."
            if certificate or "SSL" in str(error)
            else "It cannot be reached."
        )
    if isinstance(error, httpx.TimeoutException):
        return "It did not answer in time."
    return f"The connection broke off ({type(error).__name__})."


@cache
def _context() -> ssl.SSLContext:
    return httpx.create_ssl_context()

"""This module sends requests to a running Causeline as browsers, scripts and strangers do, and keeps no cookies."""

import asyncio
import json
from collections.abc import Iterable
from http.client import HTTPConnection, HTTPMessage
from typing import NamedTuple

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin

from tests.patience import patient
from tests.servers.running import Running

FORM = "application/x-www-form-urlencoded"


class Answer(NamedTuple):
    status: int
    headers: HTTPMessage
    body: str

    @property
    def target(self) -> str:
        return self.headers["Location"] or ""

    def cookie(self, name: str) -> str:
        """Return the cookie whose name begins so, as a request sends it."""
        cookies = [each for each in self.headers.get_all("Set-Cookie", []) if each.startswith(f"{name}_")]
        return cookies[0].partition(";")[0] if cookies else ""


def send(
    site: Running,
    path: str,
    headers: Iterable[tuple[str, str]],
    method: str = "GET",
    body: str = "",
    source: str = "127.0.0.1",
) -> Answer:
    """Return the answer to a request from this address of the machine, with these headers."""
    sent = [*headers, ("Content-Length", str(len(body.encode())))]
    connection = HTTPConnection("127.0.0.1", site.port, timeout=60, source_address=(source, 0))
    connection.putrequest(method, path, skip_host="Host" in dict(sent))
    for name, value in sent:
        connection.putheader(name, value)
    connection.endheaders(body.encode())
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    return Answer(answer.status, answer.headers, content)


def ask(site: Running, path: str, method: str = "GET", body: str = "", /, **headers: str) -> Answer:
    return send(site, path, [(name.replace("_", "-"), value) for name, value in headers.items()], method, body)


def opened(site: Running, path: str = "", *, origin: str | None, **headers: str) -> object:
    """Return the first message of a socket, the code with which it is closed, or the status of a refusal."""

    async def scenario() -> object:
        address = f"ws://127.0.0.1:{site.port}/ws/uploads/{path}"
        try:
            async with connect(
                address, origin=Origin(origin) if origin else None, additional_headers=headers
            ) as socket:
                return json.loads(await asyncio.wait_for(socket.recv(), patient(20)))["type"]
        except InvalidStatus as error:
            return error.response.status_code
        except ConnectionClosed as error:
            return error.rcvd.code if error.rcvd else 0

    return asyncio.run(scenario())

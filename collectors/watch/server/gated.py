"""Let connections to an API server lead only where `collectors.hosts` allows it.

A name is resolved once, and the addresses that were checked are connected to. Of a proxy that a kubeconfig names, both
ends are checked: it is asked for an address that was checked, because it could resolve the name otherwise. A proxy of
the environment is an operator's choice: it gets the name, and what it can reach is for it to say where the name has no
address here.
"""

import socket
from typing import Any
from urllib.parse import urlsplit

from urllib3.connection import HTTPConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

from collectors.hosts import Gate, NotAllowed, Unresolved
from collectors.watch.server.deadlines import Http, HttpPool, Https, HttpsPool
from collectors.watch.server.failures import Unusable


def pools(gate: Gate | None, *, own_proxy: bool) -> dict[str, Any]:
    """Return the classes of pools of connections, by their scheme. With a gate, their connections lead where it allows,
    and raise Unusable otherwise. `own_proxy` says that a proxy is named by the kubeconfig, not by the environment."""
    if gate is None:
        return {"http": HttpPool, "https": HttpsPool}
    limits = {"gate": gate, "own_proxy": own_proxy}
    plain = type("_GatedHttp", (_Gated, Http), {**limits, "scheme": "http"})
    secure = type("_GatedHttps", (_Gated, Https), {**limits, "scheme": "https"})
    return {
        "http": type("_GatedHttpPool", (HttpPool,), {"ConnectionCls": plain}),
        "https": type("_GatedHttpsPool", (HttpsPool,), {"ConnectionCls": secure}),
    }


class _Gated(HTTPConnection):
    gate: Gate
    own_proxy: bool
    scheme: str

    def _new_conn(self) -> socket.socket:
        """Connect to the server, or to the proxy."""
        if self.proxy is not None and not self.own_proxy:
            return super()._new_conn()
        name, last = self._dns_host, None
        scheme = self.proxy.scheme if self.proxy is not None and self.proxy.scheme else self.scheme
        try:
            addresses = _resolved(self.gate, scheme, name, self.port)
        except Unresolved as error:
            raise NameResolutionError(self.host, self, socket.gaierror(str(error))) from None
        try:
            for self._dns_host in addresses:
                try:
                    return super()._new_conn()
                except (NewConnectionError, ConnectTimeoutError) as error:
                    last = error
        finally:
            self._dns_host = name
        assert last
        raise last

    def _tunnel(self) -> None:
        """Ask the proxy for a connection to the server."""
        name = str(self._tunnel_host)
        self._tunnel_host = self._asked_for("https", name, self._tunnel_port)
        try:
            super()._tunnel()  # of http.client
        finally:
            self._tunnel_host = name  # which TLS checks

    def request(self, method: str, url: str, *args: Any, **more: Any) -> None:
        """Send a request. Where there is no tunnel through a proxy, the proxy gets the whole address."""
        if self.proxy is not None and self._tunnel_host is None:
            server = urlsplit(url)
            host = server.hostname or ""
            if self._asked_for(server.scheme, host, server.port) != host:
                raise Unusable(
                    f"{host[:200]} is reached by http through a proxy-url, which could resolve the name otherwise. Use "
                    f"https, or let an operator name the host in {self.gate.setting}."
                )
        super().request(method, url, *args, **more)

    def _asked_for(self, scheme: str, name: str, port: int | None) -> str:
        """Return what the proxy is asked for to reach a server: its name, or an address that was checked."""
        named = self.gate.names(scheme, _plain(name), port)
        try:
            addresses = _resolved(self.gate, scheme, name, port)
        except Unresolved as error:
            if self.own_proxy and not named:
                raise Unusable(
                    f"{error} Only the proxy-url could know it: let an operator name the host in {self.gate.setting}."
                ) from None
            return name
        if named or not self.own_proxy:
            return name
        first = sorted(addresses, key=lambda each: ":" in each)[0]
        return f"[{first}]" if ":" in first else first


def _resolved(gate: Gate, scheme: str, host: str, port: int | None) -> tuple[str, ...]:
    try:
        return gate.resolved(scheme, _plain(host), port)
    except NotAllowed as error:
        raise Unusable(str(error)) from None


def _plain(host: str) -> str:
    return host.lower().strip("[]").rstrip(".")

"""Send requests to one API server with the credentials of one configuration. This is thread-safe."""

import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlencode

import urllib3
from urllib3.connection import HTTPConnection

from collectors.hosts import Gate
from collectors.watch.server import configuration
from collectors.watch.server.bodies import LIST_BYTES, SMALL_BYTES, body_of
from collectors.watch.server.clock import ServerClock
from collectors.watch.server.failures import ApiError, RequestRefused, Unauthorized, Unreachable, Unusable, refused
from collectors.watch.server.stream import Stream, Watchdog

_AGENT = "causeline"
_JSON = "application/json"
_RELOAD_SECONDS = 3.0  # seconds before credentials that were refused are loaded once more
_LISTS = 3  # resources that are listed at the same time
_CONNECTIONS = 128  # connections that are kept open
# A dead peer is noticed after 14 s.
_ALIVE = {"SO_KEEPALIVE": 1, "TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 3, "TCP_KEEPCNT": 3}


class _Request(NamedTuple):
    method: str
    path: str
    query: dict[str, object]
    headers: dict[str, str]
    timeout: urllib3.Timeout
    body: bytes | None = None


class Api:
    """Send requests with the credentials of one configuration.

    It loads the configuration again when the server refuses the credentials, since tokens rotate. Every wait is
    limited.
    """

    def __init__(
        self,
        load: configuration.Load,
        *,
        connect: float = 10.0,
        read: float = 30.0,
        silence: tuple[float, float] = (10.0, 75.0),
    ) -> None:
        """Load the configuration. Raise Unusable if that fails.

        `load` fills a configuration. `connect` and `read` are the seconds to wait for a connection and for the next
        bytes of a response. `silence` are the seconds after which a silent watch is ended: if it was busy before, and
        if it was not.
        """
        self._load = load
        self._timeout = urllib3.Timeout(connect=connect, read=read)
        self._silence = silence
        self._watch_timeout = urllib3.Timeout(connect=connect, read=silence[1] + 30)
        self._lock = threading.Lock()
        self._watchdog = Watchdog()
        self.lists = threading.Semaphore(_LISTS)  # held while a resource is listed, since pages take memory
        self._loaded = 0.0  # when the credentials were loaded, by time.monotonic
        self.clock = ServerClock()
        self._configuration, self._pool = self._configured()

    @classmethod
    def from_kubeconfig(cls, reduced: Callable[[], dict[str, Any]], *, gate: Gate | None = None, **waits: Any) -> "Api":
        """Return a connection with a reduced kubeconfig. Raise Unusable.

        `reduced` returns it (`Kubeconfig.reduced`), and is called again, with all its checks, when the server refuses
        the credentials. `gate` limits where the kubeconfig may lead; without it, to any address.
        """
        return cls(configuration.from_kubeconfig(reduced, gate), **waits)

    @classmethod
    def in_cluster(cls, **waits: Any) -> "Api":
        """Return a connection as the ServiceAccount of the Pod that this process runs in. Raise Unusable."""
        return cls(configuration.in_cluster, **waits)

    @property
    def host(self) -> str:
        """Return the server's address, such as https://10.0.0.1:6443."""
        return str(self._configuration.host)

    def now(self) -> int:
        """Return the time by the server's clock, in µs since 1970."""
        return self.clock.now()

    def get(self, path: str, *, accept: str = _JSON, most: int = LIST_BYTES, **query: object) -> bytes:
        """Return the body of the response. Raise ApiError; TooLarge if it has more bytes than `most`."""
        headers = {"Accept": accept, "Accept-Encoding": "gzip"}
        return self._read_whole(_Request("GET", path, query, headers, self._timeout), most)

    def post(self, path: str, body: bytes) -> bytes:
        """Return the body of the response, which must be small. Raise ApiError."""
        headers = {"Accept": _JSON, "Content-Type": _JSON}
        return self._read_whole(_Request("POST", path, {}, headers, self._timeout, body), SMALL_BYTES)

    def patch(self, path: str, body: bytes) -> bytes:
        """Change an object by a JSON merge patch, and return the small body of the response. Raise ApiError."""
        headers = {"Accept": _JSON, "Content-Type": "application/merge-patch+json"}
        return self._read_whole(_Request("PATCH", path, {}, headers, self._timeout, body), SMALL_BYTES)

    def stream(self, path: str, stop: threading.Event, *, accept: str = _JSON, **query: object) -> Stream:
        """Return a streaming response, which ends when `stop` is set. Raise ApiError."""
        # A compressed event would be held back until the next one.
        headers = {"Accept": accept, "Accept-Encoding": "identity"}
        response = self._send_with_reload(_Request("GET", path, query, headers, self._watch_timeout))
        return Stream(response, self._watchdog, stop, self._silence)

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._pool.clear()

    def _read_whole(self, request: _Request, most: int) -> bytes:
        response = self._send_with_reload(request)
        try:
            body = body_of(response, most)
        except ApiError:
            response.close()
            raise
        except (urllib3.exceptions.HTTPError, OSError) as error:
            response.close()
            raise self._unreachable(error) from None
        response.release_conn()
        return body

    def _send_with_reload(self, request: _Request) -> urllib3.BaseHTTPResponse:
        """Return a successful response whose body is not read yet; send twice if new credentials may help."""
        before = self._loaded
        try:
            return self._send(request)
        except Unauthorized:
            if not self._reload(before):
                raise
            return self._send(request)

    def _send(self, request: _Request) -> urllib3.BaseHTTPResponse:
        with self._lock:
            pool = self._pool
            headers = {"User-Agent": _AGENT, **request.headers, **self._credentials()}
            url = self.host.rstrip("/") + request.path
        if request.query:
            url = f"{url}?{urlencode(request.query)}"
        sent = time.monotonic()
        try:
            response = pool.request(
                request.method,
                url,
                body=request.body,
                headers=headers,
                timeout=request.timeout,
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self._unreachable(error) from None
        except ValueError:  # a header that cannot be sent
            raise Unusable("The credentials hold characters that cannot be sent.") from None
        self.clock.learn(response.headers.get("Date"), sent, time.monotonic())
        if response.status not in (200, 201):
            raise self._refused(response)
        return response

    def _refused(self, response: urllib3.BaseHTTPResponse) -> RequestRefused:
        body = b""
        try:
            body = body_of(response, SMALL_BYTES)
        except (ApiError, urllib3.exceptions.HTTPError, OSError):
            response.close()
        else:
            response.release_conn()
        return refused(body, response.status, response.headers.get("Retry-After"))

    def _unreachable(self, error: Exception) -> Unreachable:
        """Return the error to raise, without what the original error quotes: an address may hold a password."""
        return Unreachable(f"{self._configuration.host.rpartition('@')[2]} {_reason(error)}.")

    def _credentials(self) -> dict[str, str]:
        header = configuration.authorization(self._configuration)
        return {"Authorization": header} if header else {}

    def _reload(self, before: float) -> bool:
        """Load the credentials again; return whether they may differ from those loaded at the time `before`."""
        with self._lock:
            if self._loaded != before:
                return True  # another thread has loaded them
            if time.monotonic() - before < _RELOAD_SECONDS:
                return False
            self._configuration, self._pool = self._configured()
            return True

    def _configured(self) -> tuple[Any, urllib3.PoolManager]:
        options = [*HTTPConnection.default_socket_options, *_keep_alive_options()]
        found = configuration.configured(self._load, options, _CONNECTIONS)
        self._loaded = time.monotonic()
        return found


def _keep_alive_options() -> list[tuple[int, int, int]]:
    """Return the socket options that this system has."""
    options = []
    for name, value in _ALIVE.items():
        if (option := getattr(socket, name, None)) is not None:
            level = socket.SOL_SOCKET if name.startswith("SO_") else socket.IPPROTO_TCP
            options.append((level, option, value))
    return options


def _reason(error: BaseException) -> str:
    """Return why there was no response, as the end of a sentence."""
    reason = getattr(error, "reason", None)
    cause = reason if isinstance(reason, BaseException) else error
    if isinstance(cause, urllib3.exceptions.NameResolutionError):
        return "cannot be found: its name has no address here"
    if isinstance(cause, urllib3.exceptions.NewConnectionError):
        return "cannot be reached: " + (os.strerror(errno) if (errno := _errno(cause)) else "no connection")
    if isinstance(cause, urllib3.exceptions.ConnectTimeoutError | TimeoutError | urllib3.exceptions.ReadTimeoutError):
        return "did not answer in time"
    if isinstance(cause, urllib3.exceptions.SSLError):
        return (
            "is not trusted: its certificate does not match the kubeconfig, or it requires another client certificate"
        )
    return f"closed the connection ({type(cause).__name__})"


def _errno(error: BaseException) -> int:
    before = error.__cause__ or error.__context__
    return before.errno or 0 if isinstance(before, OSError) else 0

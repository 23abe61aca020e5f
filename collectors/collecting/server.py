"""Send the requests of a collector to Causeline's server.

Every wait is limited, and no redirect is followed, since it could lead the token elsewhere.
"""

import random
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote, urlsplit

import msgspec
import urllib3

from collectors.addresses import is_loopback
from collectors.collecting.buffer import Batch
from collectors.watch.server.failures import safe_text
from collectors.watch.storing import batches
from collectors.watch.storing.batches import KnownStream

_TIMEOUT = urllib3.Timeout(connect=10, read=60)
_STATE_BYTES = 1024**3  # of what is known of a cluster, at most, without compression
_ANSWER_BYTES = 512 * 1024**2  # of one answer at most
_FIRST_PAUSE, _LONGEST_PAUSE = 0.3, 30.0  # seconds before the next attempt: at first, at most
_RETRY_AFTER_LIMIT = 300.0  # seconds that a server may ask us to wait


class Unusable(Exception):
    """The collector cannot be configured like this. The message says what to do."""


class Away(Exception):
    """The server did not do what was asked, and may later."""

    def __init__(self, why: str, retry_after: float = 0) -> None:
        super().__init__(why)
        self.retry_after = min(retry_after, _RETRY_AFTER_LIMIT)


class Standby(Away):
    """Another collector is active."""


class SteppedDown(Exception):
    """This collector is not the active one any more."""


class OutOfOrder(Exception):
    """The server has another number of batches than this collector expects."""


class Epoch(msgspec.Struct):
    """The right to send batches, and the number of the last one that the server has."""

    epoch: int
    accepted: int


class _Detail(msgspec.Struct):
    detail: str = ""
    accepted: int | None = None


_epoch = msgspec.json.Decoder(Epoch)
_detail = msgspec.json.Decoder(_Detail)


class Pause:
    """Grow the pauses between attempts that fail, with jitter, so that collectors do not ask together."""

    def __init__(self) -> None:
        self._attempts = 0

    def reset(self) -> None:
        """Begin with the shortest pause again."""
        self._attempts = 0

    def seconds(self, least: float = 0) -> float:
        """Return the seconds to wait now, which are at least those that the server asked for."""
        longest: float = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(self._attempts, 10))
        self._attempts += 1
        return max(longest * random.uniform(0.5, 1), least * random.uniform(1, 1.2))


class Server:
    """The address of the server and the token, which `token` reads again for each request."""

    def __init__(self, url: str, cluster: str, token: Callable[[], str], authority: Path | None = None) -> None:
        """`authority` is a file with the certificates of the authority that signed the server's; None for those of the
        system. Raise Unusable."""
        parts = urlsplit(url)
        if (
            parts.scheme not in ("http", "https")
            or not parts.hostname
            or parts.query
            or parts.fragment
            or parts.username
        ):
            raise Unusable("CAUSELINE_COLLECT_URL is not an address such as https://causeline.example.org.")
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise Unusable(
                "CAUSELINE_COLLECT_URL has to begin with https://: otherwise anybody on the way reads the token."
            )
        try:
            context = ssl.create_default_context(cafile=str(authority) if authority else None)
        except (OSError, ssl.SSLError) as error:
            raise Unusable(f"CAUSELINE_COLLECT_CA_FILE cannot be used: {error}.") from None
        self._base = f"{url.rstrip('/')}/api/collect/{quote(cluster, safe='')}"
        self._token = token
        self._pool = urllib3.PoolManager(maxsize=4, timeout=_TIMEOUT, retries=False, ssl_context=context)

    def lease(self, **report: object) -> Epoch:
        """Ask for the right to send, or keep it. Raise Away, Standby and SteppedDown."""
        body = msgspec.json.encode(report)
        return _epoch.decode(self._ask("POST", "lease", body, {"Content-Type": "application/json"})[1])

    def state(self, epoch: int, after: int) -> Sequence[KnownStream] | None:
        """Return what is known of the cluster after a batch; None if the server has yet to find out. Raise Away,
        SteppedDown and batches.Malformed."""
        status, body = self._ask("GET", f"state?epoch={epoch}&after={after}", None, {})
        return None if status == 202 else batches.known_read(body, _STATE_BYTES)

    def send(self, epoch: int, batch: Batch) -> int:
        """Send a batch, and return the number of the last one that the server has stored. Raise Away, SteppedDown
        and OutOfOrder."""
        headers = {
            "Content-Type": "application/zstd",
            "Causeline-Epoch": str(epoch),
            "Causeline-Number": str(batch.number),
        }
        if batch.restored:
            headers["Causeline-Restored"] = batch.restored.encode("ascii", "replace").decode().replace("\n", " ")
        return _detail.decode(self._ask("POST", "batches", batch.lines, headers)[1]).accepted or 0

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        headers = {**headers, "Authorization": f"Bearer {self._token()}", "User-Agent": "causeline-collector"}
        try:
            answer = self._pool.request(
                method, f"{self._base}/{path}", body=body, headers=headers, redirect=False, preload_content=False
            )
            try:
                content = answer.read(_ANSWER_BYTES + 1)
            finally:
                answer.release_conn()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise Away(f"The server cannot be reached ({safe_text(_reason(error))}).") from None
        if len(content) > _ANSWER_BYTES:
            raise Away("The answer of the server is too large.")
        if answer.status in (200, 202):
            return answer.status, content
        raise _failure(answer.status, content, answer.headers.get("Retry-After", ""))


def _failure(status: int, content: bytes, retry_after: str) -> Exception:
    try:
        said = _detail.decode(content)
    except ValueError:
        said = _Detail()
    words = f"The server answered {status}. {safe_text(said.detail)}".strip()
    wait = float(retry_after) if retry_after.isascii() and retry_after.isdecimal() else 0.0
    if status == 423:
        return Standby(words, wait)
    if status == 410:
        return SteppedDown(words)
    if status == 409:
        return OutOfOrder(words)
    return Away(words, wait)


def _reason(error: BaseException) -> str:
    """Return the innermost reason of an error of urllib3, without the address."""
    inner = getattr(error, "reason", None)
    return _reason(inner) if isinstance(inner, BaseException) else f"{type(error).__name__}"

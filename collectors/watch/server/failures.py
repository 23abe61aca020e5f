"""The errors of requests to an API server. Their messages are sentences without credentials. It does no I/O."""

import msgspec

from collectors.gate import admit_text

_SHOWN_CHARACTERS = 300  # characters of a server's message that are shown
_SCANNED_CHARACTERS = 10_000  # characters of it that are searched for credentials


class ApiError(Exception):
    """A request had no response, or not the expected one."""

    status = 0  # the HTTP status; 0 without a response
    reason = ""  # the reason in the server's Status, such as "Expired"
    retry_after: float | None = None  # seconds to wait, if the server asks for it


class Unreachable(ApiError):
    """There was no connection, no response in time, or an incomplete one."""


class TooLarge(ApiError):
    """A response is larger than the limit for responses of its kind."""


class Unusable(ApiError):
    """The configuration cannot be used, or gives no credentials."""


class RequestRefused(ApiError):
    """The server has answered with an error."""

    def __init__(self, message: str, status: int, reason: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after


class Unauthorized(RequestRefused):
    """Status 401: the server does not accept the credentials."""


class Forbidden(RequestRefused):
    """Status 403: the credentials do not allow this request."""


class Missing(RequestRefused):
    """Status 404: there is no such resource."""


class Gone(RequestRefused):
    """Status 410: the server has forgotten what changed since the given resourceVersion."""


class RevisionsWentBack(Exception):
    """The resourceVersions are lower than before: the cluster's etcd was restored.

    Its message says what shows it.
    """


class _Details(msgspec.Struct):
    retryAfterSeconds: float = 0


class _Status(msgspec.Struct):
    """The fields of a Status (meta/v1) that say what is wrong."""

    kind: str = ""
    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


_status = msgspec.json.Decoder(_Status)
_TYPES: dict[int, type[RequestRefused]] = {401: Unauthorized, 403: Forbidden, 404: Missing, 410: Gone}


def refused(body: bytes, status: int = 0, retry_after: str | None = None) -> RequestRefused:
    """Return the error for a Status, from a response or in a watch.

    For a response, `status` is its HTTP status and `retry_after` its header Retry-After. Of a body that is no Status
    nothing is shown: another server has answered, such as a proxy, and who connects a cluster need not read it.
    """
    try:
        status_body = _status.decode(body)
    except (ValueError, RecursionError):
        status_body = _Status()
    if status_body.kind != "Status":
        status_body = _Status()
    details = status_body.details or _Details()
    code = status_body.code or status
    wait = float(retry_after) if retry_after and retry_after.isdecimal() else details.retryAfterSeconds or None
    said, reason = safe_text(status_body.message), safe_text(status_body.reason)
    message = f"The API server answered {code}{': ' + said if said else ' ' + reason}".rstrip(" .") + "."
    return _TYPES.get(code, RequestRefused)(message, code, reason, wait)


def safe_text(text: str | None) -> str:
    """Return a server's text in a form that can be stored and shown: short, on one line, without credentials."""
    plain = "".join(letter if letter.isprintable() else " " for letter in (text or "")[:_SCANNED_CHARACTERS])
    return admit_text(plain)[:_SHOWN_CHARACTERS].strip()

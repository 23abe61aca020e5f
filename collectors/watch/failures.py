"""This pure module has the errors of requests to an API server. Messages are sentences without credentials."""

import msgspec

from collectors.redaction import redact

_SHOWN_CHARACTERS = 300  # letters of what a server says
_SCANNED_CHARACTERS = 10_000  # of it, in which credentials are looked for


class ApiError(Exception):
    """A request had no answer, or not the one that was wanted."""

    status = 0  # of HTTP; 0 where nothing was answered
    reason = ""  # of the server's Status, such as "Expired"
    retry_after: float | None = None  # seconds, as the server asks


class Unreachable(ApiError):
    """No connection, no answer in time, or one that broke off."""


class TooLarge(ApiError):
    """An answer has more bytes than are read of one of its kind."""


class Unusable(ApiError):
    """The configuration cannot be used, or gives no credentials."""


class Refused(ApiError):
    """The server answered with an error."""

    def __init__(self, message: str, status: int, reason: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after


class Unauthorized(Refused):
    """401: the server does not know who asks."""


class Forbidden(Refused):
    """403: it knows, and that may not be asked for."""


class Missing(Refused):
    """404: there is no such resource."""


class Gone(Refused):
    """410: it no longer knows what has changed since that revision."""


class RevisionsWentBack(Exception):
    """The server's revisions are lower than they were: its etcd was restored. The message says what shows it."""


class _Details(msgspec.Struct):
    retryAfterSeconds: float = 0


class _Status(msgspec.Struct):
    """The part of a Status that tells what is wrong."""

    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


_status = msgspec.json.Decoder(_Status)
_TYPES: dict[int, type[Refused]] = {401: Unauthorized, 403: Forbidden, 404: Missing, 410: Gone}


def refused(body: bytes, status: int = 0, retry_after: str | None = None) -> Refused:
    """What a Status says, of an answer or in a watch; of an answer also its HTTP status and its header Retry-After."""
    try:
        status_body = _status.decode(body)
    except (ValueError, RecursionError):
        status_body = _Status()
    details = status_body.details or _Details()
    code = status_body.code or status
    wait = float(retry_after) if retry_after and retry_after.isdecimal() else details.retryAfterSeconds or None
    said, reason = safe_text(status_body.message), safe_text(status_body.reason)
    message = f"The API server answered {code}{': ' + said if said else ' ' + reason}".rstrip(" .") + "."
    return _TYPES.get(code, Refused)(message, code, reason, wait)


def safe_text(text: str | None) -> str:
    """Return what a server says so that it can be stored and shown: short, on one line, and without credentials."""
    plain = "".join(letter if letter.isprintable() else " " for letter in (text or "")[:_SCANNED_CHARACTERS])
    return str(redact(plain))[:_SHOWN_CHARACTERS].strip()

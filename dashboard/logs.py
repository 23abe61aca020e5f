"""Format the log: one line for each event, as JSON or as text, on standard error.

All libraries log through Python's `logging`; structlog formats what they say. What an event belongs to (a request, a
task, a source, a cluster) is bound with `structlog.contextvars`, and is part of every line that is written meanwhile.
"""

import re
import sys
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import structlog
from structlog.contextvars import bind_contextvars, clear_contextvars
from structlog.typing import EventDict

if TYPE_CHECKING:
    import logging

_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
# The user and password of an address, if an @ follows. The quantifiers are possessive, so matching takes linear time:
# anybody can send a request with any path, and paths are logged.
_ADDRESS = re.compile(r"(://)[^\s/@:'\"]*+:[^\s@'\"]*+(@)?")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_MASK = "***"


def configuration(form: str, level: str) -> dict[str, Any]:
    """Return Django's LOGGING for `json` or `text`. `auto` writes text to a terminal, and JSON to everything else."""
    if form == "auto":
        form = "text" if sys.stderr.isatty() else "json"
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "pass_foreign_args": True,
        "foreign_pre_chain": [structlog.contextvars.merge_contextvars, _about_record],
        "processors": [
            *([_with_fields] if form == "json" else []),
            structlog.processors.format_exc_info,
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _without_secrets,
            structlog.processors.JSONRenderer() if form == "json" else _as_text,
        ],
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": formatter},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            "causeline.changes": {"level": "INFO"},  # these are written at every CAUSELINE_LOG_LEVEL
            "uvicorn": {"level": "INFO" if level == "DEBUG" else level},  # at DEBUG it logs all headers, with tokens
        },
    }


def begin_request(headers: list[tuple[bytes, bytes]]) -> str:
    """Bind the id of a request to everything that is logged while it runs, and return it.

    The id is the header X-Request-ID if that is a plain word of at most 64 characters, else a new one.
    """
    given = dict(headers).get(b"x-request-id", b"").decode("latin-1")
    request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
    clear_contextvars()
    bind_contextvars(request_id=request_id)
    return request_id


def _about_record(logger: Any, method: str, event: EventDict) -> EventDict:
    record: logging.LogRecord = event["_record"]
    about = {
        "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname,
        "logger": record.name,
    }
    record.values = event.pop("positional_args", ())
    return {**about, **event}


def _with_fields(logger: Any, method: str, event: EventDict) -> EventDict:
    """Add the fields of a record: those in `extra={"fields": {…}}`, and the parts of uvicorn's line of a request."""
    record: logging.LogRecord = event["_record"]
    fields: dict[str, Any] = getattr(record, "fields", {})
    values: Any = getattr(record, "values", ())
    if record.name == "uvicorn.access" and isinstance(values, tuple) and len(values) == 5:
        client, verb, path, _, status = values
        fields = {"event": "request", "client": client, "method": verb, "path": path, "status": status}
    return {**event, **fields}


def _without_secrets(logger: Any, method: str, event: EventDict) -> EventDict:
    """Mask the passwords of addresses and what follows Bearer or Basic, in case a library's message has them."""
    return {key: _masked(value) if isinstance(value, str) else value for key, value in event.items()}


def _masked(text: str) -> str:
    without_passwords = _ADDRESS.sub(lambda found: f"{found[1]}{_MASK}@" if found[2] else found[0], text)
    return _BEARER.sub(rf"\1 {_MASK}", without_passwords)


def _as_text(logger: Any, method: str, event: EventDict) -> str:
    """Return `time LEVEL logger: message key=value …`, and below it the traceback of an exception."""
    head = f"{event.pop('timestamp')} {event.pop('level')} {event.pop('logger')}: {event.pop('event')}"
    below = [event.pop(key) for key in ("exception", "stack") if event.get(key)]
    about = [f"{key}={value}" for key, value in event.items()]
    return "\n".join([" ".join([head, *about]), *below])

"""Log who changed what: one line for each request that may change something, each sign-in, each command.

In text, a line is made of `key="value"` pairs; in JSON, each pair is a field. Values are JSON strings of ASCII, so no
name ends a line, begins another, or turns the text around it. No body, no query and no password is logged.
"""

import getpass
import json
import logging
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db import connection, transaction
from django.utils.deprecation import MiddlewareMixin
from structlog.contextvars import bind_contextvars

from dashboard.access.roles import needs
from dashboard.access.trail import recording
from dashboard.metrics.requests import note_route

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from django.http import HttpRequest, HttpResponse, QueryDict
    from django.http.response import HttpResponseBase

logger = logging.getLogger("causeline.changes")
FILE = "changes.log"  # in the log folder; commands write here, because nobody keeps what a terminal shows
_TOKEN = "start-up token"
_LONGEST = 200  # characters of a value
_RECORDED = "recorded"  # the attribute of a request whose record was committed with what it changed
_COMMIT = "causeline_commit"  # the attribute of a request that holds a function, see `commit`


def note(action: str, **about: object) -> None:
    """Write one line to the log and one record to the audit trail. `about` holds its fields; empty values are left
    out."""
    _log(action, about)
    recording.of_line(action, about)


def _log(action: str, about: dict[str, object]) -> None:
    fields = {key: _shortened(value) for key, value in about.items() if value not in (None, "")}
    logger.info("%s", line(action, **about), extra={"fields": {"event": action, **fields}})


def line(action: str, **about: object) -> str:
    """Return the text of a line. Empty values are left out."""
    pairs = {"action": action, **about}
    return " ".join(f"{key}={_quoted(value)}" for key, value in pairs.items() if value not in (None, ""))


def note_command(action: str, **about: object) -> None:
    """Log what a command did, and which user of the machine ran it, to a file; if that cannot be written, to the
    terminal.

    In the transaction of what the command changes, the record is a part of it: raise DatabaseError if it cannot be
    written.
    """
    by = user_of_machine()
    try:
        handler = logging.FileHandler(_folder() / FILE, encoding="ascii")
    except OSError as error:  # such as a file that root created; the command is logged here instead
        logger.warning("%s cannot be written: %s", FILE, error.strerror)
        _note_command(action, by, about)
        return
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger.addHandler(handler)
    propagates, logger.propagate = logger.propagate, False
    try:
        _note_command(action, by, about)
    finally:
        logger.propagate = propagates
        logger.removeHandler(handler)
        handler.close()


def _note_command(action: str, by: str, about: dict[str, object]) -> None:
    fields = {"by": by, "at": "command line", **about}
    _log(action, fields)
    recording.of_line(action, fields, must=connection.in_atomic_block)


def user_of_machine() -> str:
    """Return the name of the user of the machine who runs a command; "" if the user has none, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def who_commands() -> str:
    """Return the name under which what a command makes is stored."""
    by = user_of_machine()
    return f"{by} on the command line" if by else "command line"


def about(request: "HttpRequest", **objects: object) -> None:
    """Add these fields to the line of a request whose path does not say what it changes."""
    request.__dict__.setdefault("changed", {}).update(objects)


def who(request: "HttpRequest") -> str:
    """Return the user's name, or "" if nobody is signed in. Without accounts it is "start-up token" or "anybody"."""
    if settings.LOGIN_REQUIRED:
        return request.user.get_username() if request.user.is_authenticated else ""
    if settings.TOKEN_REQUIRED:
        return _TOKEN if request.user.is_authenticated else ""
    return "anybody"


def note_token(request: "HttpRequest", *, good: bool) -> None:
    """Log that somebody signed in with the start-up token, or tried to with a wrong one."""
    note("sign in" if good else "sign-in failed", **{"by": _TOKEN, "from": address(request)})


def address(request: "HttpRequest") -> str:
    """Return the address that a request comes from. `dashboard.asgi` has replaced those of trusted proxies."""
    return str(request.META.get("REMOTE_ADDR") or "")


class LogChanges(MiddlewareMixin):
    """Log each request that may change something, whatever its route is and however it ends."""

    def process_view(
        self, request: "HttpRequest", view: object, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        if route := request.resolver_match:
            note_route(getattr(request, "scope", {}), route.route)
        for name in ("source", "cluster"):
            given = str(options.get(f"{name}_id"))
            if given.isdecimal() and len(given) < 19:
                bind_contextvars(**{name: int(given)})
        if request.method not in needs.SAFE:  # read before the view, which may end the session
            request.__dict__["actor"], request.__dict__["actor_user"] = who(request), _same(request.user)

    def process_response(self, request: "HttpRequest", response: "HttpResponse") -> "HttpResponse":
        need = needs.of_request(request)
        if need and need.record == "refused" and response.status_code < 400:
            return response
        if _is_logged(request):
            _log(f"{request.method} {request.path}", _fields(request, response.status_code))
        if not request.__dict__.get(_RECORDED):
            _record(request, response.status_code, must=False)
        return response


def changes(request: "HttpRequest") -> bool:
    """Return whether the view of a request may change something that the middleware records."""
    need = needs.of_request(request)
    return _is_logged(request) and not (need and need.record == "refused")


def _is_logged(request: "HttpRequest") -> bool:
    """Return whether a request may change something that its view does not log itself."""
    need = needs.of_request(request)
    return request.method not in needs.SAFE and (need is None or (need.changes and need.action is not None))


@contextmanager
def recorded(request: "HttpRequest") -> "Iterator[Callable[[HttpResponseBase], None]]":
    """Make what a view changes, and the record of it, one transaction: there is never one without the other. Yield a
    function to call with the answer of the view.

    If the view fails, nothing is changed, and the record of that is written when the answer is ready. If the record
    cannot be written, nothing is changed either.
    """
    done = False

    def record(status: int) -> None:
        nonlocal done
        if not done and not connection.needs_rollback:
            _record(request, status, must=True)
            done = True

    def commit() -> None:
        if len(connection.savepoint_ids) == depth:  # else a limited reader's transaction is within this one
            record(200)
            stack.close()
            request.__dict__[_RECORDED] = done

    with ExitStack() as stack:
        stack.enter_context(transaction.atomic())
        depth = len(connection.savepoint_ids)
        request.__dict__[_COMMIT] = commit
        yield lambda answer: record(answer.status_code)
    request.__dict__[_RECORDED] = done


def commit(request: "HttpRequest") -> None:
    """Commit what a request has changed so far, with its record. A view calls this before it waits for another system,
    so that meanwhile it keeps no row locked and no connection of a pooler. What it changes later, it commits itself.

    The request of a reader whose sight is limited stays one transaction: the limit ends with it.
    """
    request.__dict__[_COMMIT]()


def _record(request: "HttpRequest", status: int, *, must: bool) -> None:
    user = request.__dict__.get("actor_user") or getattr(request, "user", None)
    recording.of_request(request, status, user, _fields(request, status), must=must)


def _fields(request: "HttpRequest", status: int) -> dict[str, object]:
    """Return what is logged of a request: of one that changes something, also who sends it."""
    fields = {"act": _act(request), **request.__dict__.get("changed", {})}
    if not _is_logged(request):
        return fields
    about = {"by": request.__dict__.get("actor", ""), "from": address(request), "act": fields.pop("act")}
    return {**about, "status": status, **fields}


def _same(user: Any) -> Any:
    """Return the user itself instead of the lazy object that Django has on a request."""
    return getattr(user, "_wrapped", user) if user.is_authenticated else user


def _act(request: "HttpRequest") -> str:
    """Return which button of a form was pressed. A form that was not read yet stays unread: reading it can fail."""
    form: QueryDict | None = request.__dict__.get("_post")
    return form.get("act", "") if form else ""


def _signed_in(sender: object, request: "HttpRequest", user: Any, **_: object) -> None:
    note("sign in", **{"by": user.get_username(), "from": address(request)})


def _signed_out(sender: object, request: "HttpRequest", user: Any, **_: object) -> None:
    if user is not None:
        note("sign out", **{"by": user.get_username(), "from": address(request)})


def listen() -> None:
    """Log sign-ins from now on."""
    user_logged_in.connect(_signed_in, dispatch_uid="causeline.changes")
    user_logged_out.connect(_signed_out, dispatch_uid="causeline.changes")


def _quoted(value: object) -> str:
    if isinstance(value, int):
        return str(value)
    return json.dumps(_shortened(value)).replace("\x7f", "\\u007f")


def _shortened(value: object) -> int | str:
    if isinstance(value, int):
        return value
    text = str(value)
    return f"{text[:_LONGEST]}…" if len(text) > _LONGEST else text


def _folder() -> Any:
    folder = settings.DATA_DIR / "logs"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder

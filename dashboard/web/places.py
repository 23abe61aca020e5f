"""Limit how many answers that read and compare whole objects are made for one reader at once, so that the requests of
one leave processors to all others.

Each request is answered in a thread of its own; those that wait here hold up nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Condition
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from ninja.errors import HttpError

from dashboard.access.roles import needs

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

AT_ONCE = 2  # answers for one reader, by one web process
WAITING = 8  # requests of one reader that wait at most
SECONDS = 20.0  # that one waits at most
_View = Callable[..., "HttpResponseBase"]
_TOO_MANY = "Too many of your requests for whole objects are being answered. Try again in a moment."
_changed = Condition()
_made: Counter[object] = Counter()  # answers that are being made, by reader
_waiting: Counter[object] = Counter()


class Busy(Exception):
    """A reader has too many such requests."""


@contextmanager
def place(reader: object) -> Iterator[None]:
    """Wait for a place of a reader, and hold it during the context. Raise Busy."""
    with _changed:
        if _made[reader] >= AT_ONCE:
            if _waiting[reader] >= WAITING:
                raise Busy
            _waiting[reader] += 1
            came = _changed.wait_for(lambda: _made[reader] < AT_ONCE, SECONDS)
            _less(_waiting, reader)
            if not came:
                raise Busy
        _made[reader] += 1
    try:
        yield
    finally:
        with _changed:
            _less(_made, reader)
            _changed.notify_all()


def in_place(view: _View) -> _View:
    """Let a view, or an operation of the API, wait for a place of its reader. If there are too many, answer 429."""

    @wraps(view)
    def waiting(request: HttpRequest, /, *arguments: Any, **options: Any) -> HttpResponseBase:
        try:
            with place(_reader(request)):
                return view(request, *arguments, **options)
        except Busy:
            if needs.is_operation(request.resolver_match):
                raise HttpError(429, _TOO_MANY) from None
            answer = HttpResponse(f"{_TOO_MANY}\n", status=429, content_type="text/plain; charset=utf-8")
            answer["Retry-After"] = "5"
            return answer

    return waiting


def _reader(request: HttpRequest) -> Any:
    """Return the account whose session or token a request has; without one, the address from which it comes."""
    number = getattr(request.user, "pk", None)
    return request.META.get("REMOTE_ADDR") if number is None else number


def _less(counts: Counter[object], reader: object) -> None:
    counts[reader] -= 1
    if not counts[reader]:
        del counts[reader]

"""This module limits what a request, a socket or a program reads to what its reader may see.

`timeline.storage.seen` limits the queries. Here it is decided who the reader is, and for how long the limit holds:
until the answer is made, or, for an answer that is sent piece by piece, while a piece is read.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from dashboard.access import embedding, grants, rights
from timeline.storage import seen_views
from timeline.storage.seen import EVERYTHING, Seen, present, seeing
from timeline.storage.seen_views import ALL, NOTHING, View

_LIMITS = "causeline_limits"  # the attribute of a request that ends its limit
_FAILED = "causeline_failed"  # the same, where its view has raised an error
# What only administrators of everything read is not seen by anybody whose sight is limited.
VIEWS = {
    "dashboard_accesstoken": View(NOTHING),
    "dashboard_delivery": View(NOTHING),
    "dashboard_destination": View(NOTHING),
    "dashboard_failedsignins": View(ALL),  # to count a failure
    "dashboard_grant": View(NOTHING),
    "dashboard_processfigures": View(ALL),
    "dashboard_route": View(f"({seen_views.whole()} OR {seen_views.of_cluster()})"),
    "dashboard_route_destinations": View(NOTHING),
    "dashboard_told": View(NOTHING),
}


def make_views(**_: object) -> None:
    """Make the views of limited readers after a migration."""
    seen_views.create(VIEWS)


def drop_views(plan: list[Any], **_: object) -> None:
    """Remove the views of limited readers before a migration, which may change the columns that they read."""
    if plan:
        seen_views.drop()


def seen_by(user: Any) -> Seen:
    """Return what the user of a request may see."""
    if isinstance(user, rights.Reader):
        return EVERYTHING if user.sources is None else Seen(whole=frozenset(user.sources.values_list("pk", flat=True)))
    if not settings.LOGIN_REQUIRED or not grants.held_by(user).anywhere:
        return EVERYTHING
    return grants.seen_by(user)


def limit(request: HttpRequest, seen: Seen | None = None) -> None:
    """Limit what is read for this request to what its user, or whoever may see this, may see, until its answer is
    made."""
    stack: ExitStack = request.__dict__[_LIMITS]
    stack.enter_context(seeing(seen_by(request.user) if seen is None else seen, getattr(request.user, "pk", None)))


def piecewise(request: HttpRequest, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Return the pieces of an answer, each of which is read within what the user of the request may see."""
    return _piecewise(seen_by(request.user), getattr(request.user, "pk", None), pieces)


def _piecewise(seen: Seen, reader: int | None, pieces: Iterator[bytes]) -> Iterator[bytes]:
    while True:
        with seeing(seen, reader):
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece


class LimitWhatIsSeen(MiddlewareMixin):
    """This middleware limits what pages read. The API does it by itself, as soon as it knows who asks (see
    `dashboard.web.api`)."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with ExitStack() as stack:
            request.__dict__[_LIMITS] = stack
            answer: HttpResponseBase = self.get_response(request)
            if _FAILED in request.__dict__ and not present().everything:
                transaction.set_rollback(True)
            return answer

    def process_view(
        self, request: HttpRequest, view: object, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        match = request.resolver_match
        if not match or match.route.startswith("api/"):
            return
        if (text := embedding.of_page(request)) is not None:
            embedded = embedding.checked(text)
            limit(request, Seen(whole=frozenset([embedded.source] if embedded else [])))
        elif not rights.sign_in_required() or request.user.is_authenticated:  # others see no page about observations
            limit(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> None:
        request.__dict__[_FAILED] = True  # what was written is taken back once the page about the error is made

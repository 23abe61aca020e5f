"""Limit what a request, a socket or a program reads to what its reader may see.

`timeline.storage.permitted.limits` limits the queries. Here it is decided who the reader is, and for how long the limit
holds: until the answer is made, or, for an answer that is sent piece by piece, while a piece is read.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.db import close_old_connections
from django.db.models import Model
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from dashboard.access.roles import grants, needs
from dashboard.access.signing_in import rights
from dashboard.access.tokens import links, tokens
from dashboard.access.trail import change_log
from dashboard.models import AccessToken, Grant
from timeline.storage.permitted import conditions as seen_conditions
from timeline.storage.permitted import views as seen_views
from timeline.storage.permitted.conditions import ALL, NOTHING, LimitedTable
from timeline.storage.permitted.limits import EVERYTHING, Permitted, answering, present, seeing

_LIMITS = "causeline_limits"  # the attribute of a request that holds its limits
# What only administrators of everything read is not seen by anybody whose sight is limited.
VIEWS = {
    "dashboard_accesstoken": LimitedTable(seen_conditions.of_reader("owner_id")),
    "dashboard_auditrecord": LimitedTable(ALL),  # to write records; only administrators of everything read them
    "dashboard_delivery": LimitedTable(NOTHING),
    "dashboard_destination": LimitedTable(NOTHING),
    "dashboard_failedsignins": LimitedTable(ALL),  # to count a failure
    "dashboard_grant": LimitedTable(NOTHING),
    "dashboard_processfigures": LimitedTable(ALL),
    "dashboard_route": LimitedTable(f"({seen_conditions.whole()} OR {seen_conditions.of_cluster()})"),
    "dashboard_route_destinations": LimitedTable(NOTHING),
    "dashboard_sharelink": LimitedTable(seen_conditions.of_reader("maker_id")),
    "dashboard_signin": LimitedTable(ALL),  # each reader sees and ends the own sessions
    "dashboard_told": LimitedTable(NOTHING),
}


def make_views() -> None:
    """Make the views of limited readers for the tables that there are."""
    seen_views.create(VIEWS)


def after_migration(**about: object) -> None:
    """Create the database views of limited readers after a migration.

    Django sends the same signal after it has emptied the tables (`flush`); then nothing is done, because the tables and
    their views are still the same."""
    if "plan" in about:
        make_views()


def before_migration(plan: list[Any], **_: object) -> None:
    """Remove the views of limited readers before a migration, which may change the columns that they read. Until it has
    ended, limited readers get an error instead of an answer."""
    if plan:
        seen_views.drop()


def seen_by(user: Any) -> Permitted:
    """Return what the user of a request may see."""
    return grants.held_by(user).seen


def answered_by(user: Any) -> Permitted:
    """Return what the user of a request may acknowledge and silence: that for which the role is at least responder."""
    return grants.held_by(user).reaching(Grant.Role.RESPONDER).seen


def limit(request: HttpRequest, seen: Permitted | None = None) -> None:
    """Limit what is read for this request to what its user, or whoever may see this, may see, until its view ends.

    A user can acknowledge and silence only where the user is at least a responder.
    """
    stack: ExitStack = request.__dict__[_LIMITS]
    stack.enter_context(seeing(seen_by(request.user) if seen is None else seen, getattr(request.user, "pk", None)))
    stack.enter_context(answering(answered_by(request.user)))


def in_part(source: int) -> str:
    """Return a sentence for a reader who sees only some namespaces of a source; "" for others."""
    if present().sees_whole(source):
        return ""
    seen = len(present().namespaces.get(source, ()))
    return f"You see {seen} namespace{'' if seen == 1 else 's'} of this recording or cluster; the rest is left out."


@dataclass(frozen=True)
class Sight:
    """What the listener of a socket sees."""

    seen: Permitted = EVERYTHING
    reader: int | None = None  # the id of the account; None without accounts
    held: grants.Held = grants.ALL  # the roles of the account

    @cached_property
    def fingerprint(self) -> str:
        """A text that is the same for listeners who see the same."""
        return self.seen.fingerprint

    @sync_to_async
    def shows(self, model: type[Model], number: int | None) -> bool:
        """Return whether listeners who see this see the row with this number, whatever they have uploaded."""
        close_old_connections()
        with seeing(self.seen):
            return model._default_manager.filter(pk=number).exists()


@sync_to_async
def of_listener(scope: Mapping[str, Any]) -> Sight:
    """Return what the listener of a socket, who has signed in if people have to, may see, as it is stored now."""
    if not settings.LOGIN_REQUIRED:
        return Sight()
    close_old_connections()
    user = User.objects.get(pk=rights.listening(scope).pk)  # whoever listens for long has kept older roles
    return Sight(seen_by(user), user.pk, grants.held_by(user))


@sync_to_async
def of_token(token: AccessToken) -> Sight:
    """Return what a listener with an access token may see."""
    close_old_connections()
    reader = tokens.reader_of(token)
    return Sight(seen_by(reader), reader.pk, reader.held)


def piecewise(request: HttpRequest, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Return the pieces of an answer that Django sends one by one after the view has returned. While each piece is
    read, the database shows only what the user of the request may see."""
    return _piecewise(seen_by(request.user), getattr(request.user, "pk", None), pieces)


def _piecewise(seen: Permitted, reader: int | None, pieces: Iterator[bytes]) -> Iterator[bytes]:
    while True:
        with seeing(seen, reader):
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece


class LimitWhatIsSeen(MiddlewareMixin):
    """Call the view of a request within the limits of its user. The API enters its limits by itself, as soon as it
    knows who asks (see `dashboard.web.api`). What a view changes is one transaction with its record.

    It must be the last one that has a `process_view`. The view is called here, so that all of it, and the transaction
    of a limited reader, is in one thread.
    """

    def process_view(
        self,
        request: HttpRequest,
        view: Callable[..., HttpResponseBase],
        arguments: tuple[Any, ...],
        options: dict[str, Any],
    ) -> HttpResponseBase:
        if not change_log.changes(request):
            return self._answer(request, view, arguments, options)
        with change_log.recorded(request) as record:
            answer = self._answer(request, view, arguments, options)
            record(answer)
        return answer

    def _answer(
        self,
        request: HttpRequest,
        view: Callable[..., HttpResponseBase],
        arguments: tuple[Any, ...],
        options: dict[str, Any],
    ) -> HttpResponseBase:
        with ExitStack() as stack:
            request.__dict__[_LIMITS] = stack
            if not needs.is_operation(request.resolver_match):
                self._limit_page(request)
            return view(request, *arguments, **options)

    def _limit_page(self, request: HttpRequest) -> None:
        if link := links.of_request(request):
            limit(request, link.seen)
        elif not rights.sign_in_required() or request.user.is_authenticated:  # others see no page about observations
            limit(request)

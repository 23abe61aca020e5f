"""This module makes and checks signed views: texts that let whoever has them read one source until they expire.

A page of another site shows a timeline in an iframe, in which browsers send no cookies. The address of the iframe has
the text as a parameter, which `rights.take_token` takes out before anything can log it. The page then sends it with its
own requests: as a header, and in the address of its WebSocket. Nothing is stored. Without CAUSELINE_EMBED_ANCESTORS no
such text is accepted, and a new CAUSELINE_SECRET_KEY ends all of them.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.utils import timezone

from dashboard.access import rights
from dashboard.access.trail import Actor

PARAMETER, HEADER = "view_token", "Causeline-View"
LONGEST = timedelta(days=90)
QUERY_LENGTH = 2000  # characters
ACTOR = Actor("", "view")
_SALT = "dashboard.access.embedding"


class SignedView(NamedTuple):
    """This is what a signed view allows: to read the source `source` until `until`. It opens with a query."""

    source: int
    query: str  # of the timeline: its range, focus and filters
    until: int  # seconds since 1970


def signed(view: SignedView) -> str:
    return signing.dumps(view._asdict(), salt=_SALT, compress=True)


def checked(text: str) -> SignedView | None:
    """Return what the text allows; None if it is not valid, has expired, or if views may not be embedded."""
    if not settings.EMBED_ANCESTORS:
        return None
    try:
        view = SignedView(**signing.loads(text, salt=_SALT))
    except (signing.BadSignature, TypeError):
        return None
    return view if view.until > timezone.now().timestamp() else None


def of_page(request: HttpRequest) -> str | None:
    """Return the text in the address of a page that is to be embedded; None if there is none."""
    if request.GET.get("embed") != "1":
        return None
    return in_address(getattr(request, "scope", {}))


def in_address(scope: Mapping[str, Any]) -> str | None:
    """Return the text that was in the address of a request or a WebSocket."""
    text: str | None = scope.get(rights.VIEW)
    return text


def sent(request: HttpRequest) -> str | None:
    """Return the text that the scripts of an embedded page send with a request; None if they send none."""
    return request.headers.get(HEADER)

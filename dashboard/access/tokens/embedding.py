"""Check signed views: the addresses of embedded timelines that an older version of Causeline has made.

Nothing of them is stored, so they cannot be revoked one by one: without CAUSELINE_EMBED_ANCESTORS none is accepted, and
a new CAUSELINE_SECRET_KEY ends all of them. None is made any more (see `dashboard.access.tokens.links`), and the last
one expires 90 days after the upgrade.
"""

from typing import NamedTuple

from django.conf import settings
from django.core import signing
from django.utils import timezone

SALT = "dashboard.access.embedding"


class SignedView(NamedTuple):
    """What a signed view allows: to read the source `source` until `until`. It opens with a query."""

    source: int
    query: str  # of the timeline: its range, focus and filters
    until: int  # seconds since 1970


def checked(text: str) -> SignedView | None:
    """Return what the text allows; None if it is not valid, has expired, or if views may not be embedded."""
    if not settings.EMBED_ANCESTORS:
        return None
    try:
        view = SignedView(**signing.loads(text, salt=SALT))
    except (signing.BadSignature, TypeError):
        return None
    return view if view.until > timezone.now().timestamp() else None

"""Describe access tokens, for the page and the terminal."""

from datetime import datetime, timedelta
from typing import NamedTuple

from dashboard.access.tokens import tokens
from dashboard.models import AccessToken
from dashboard.presentation.wording import MINUTE, number_of


class TokenRow(NamedTuple):
    number: int
    name: str
    prefix: str
    scopes: str
    limit: str
    made: str
    used: str
    expires: str
    expired: bool
    soon: str  # "expires in 3 days" within the last week; "" before, and once it has expired


def rows(now: datetime, owner: int | None = None) -> list[TokenRow]:
    """Return all tokens, or those of one person, the newest first."""
    refused = set(tokens.made_by_deactivated().values_list("pk", flat=True))
    found = AccessToken.objects.select_related("cluster", "source", "owner").order_by("-pk")
    found = found if owner is None else found.filter(owner=owner)
    return [row(each, now, refused=each.pk in refused) for each in found]


def row(token: AccessToken, now: datetime, *, refused: bool = False) -> TokenRow:
    """Return a token in words. It is refused while the account of whoever made it is deactivated."""
    expired = token.expires <= now
    by = f"{token.created_by or 'somebody without a name'}{', who is deactivated, so it is refused' if refused else ''}"
    return TokenRow(
        number=token.pk,
        name=token.name,
        prefix=token.prefix,
        scopes=_scopes(token),
        limit=tokens.limit_of(token),
        made=f"created {token.created:{MINUTE}} by {by}",
        used=f"last used {token.last_used:{MINUTE}}" if token.last_used else "not used yet",
        expires=f"{'expired' if expired else 'expires'} {token.expires:{MINUTE}}",
        expired=expired,
        soon=_soon(token.expires - now),
    )


def _scopes(token: AccessToken) -> str:
    if token.owner is None:
        return ", ".join(token.scopes)
    may = "reads and responds to" if "respond" in token.scopes else "reads"
    return f"{may} what {token.owner.get_username()} may"


def _soon(left: timedelta) -> str:
    if not timedelta() < left <= tokens.SOON:
        return ""
    return f"expires in {number_of(left.days, 'day')}" if left.days else "expires within a day"

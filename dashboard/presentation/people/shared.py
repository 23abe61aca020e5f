"""Describe share links, and remove the links of a shared page that lead to other pages."""

import re
from datetime import datetime
from typing import NamedTuple

from dashboard.access.tokens import links
from dashboard.models import ShareLink
from dashboard.presentation.wording import MINUTE, number_of

_LINK = re.compile(  # what templates escape has no such tag
    r'<a (?=[^<>]*+>)[^<>]*?href="/[^"<>]*"[^<>]*+>((?:[^<]++|<(?!a |/a>))*+)</a>'
)
_KINDS = {links.TIMELINE: "timeline", links.INCIDENT: "incident", links.EMBEDDED: "embedded timeline"}


class LinkRow(NamedTuple):
    """A share link in words."""

    number: int
    kind: str
    name: str  # of the recording or cluster
    page: str  # the address of the page for people who sign in
    prefix: str
    made: str
    used: str
    expires: str
    over: str  # why it is not accepted any more; "" while it is


def row(link: ShareLink, now: datetime) -> LinkRow:
    until = links.expiry(link)
    page = f"/sources/{link.source_id}/"
    expired = until <= now
    over = "" if links.lives(link) else "not accepted: whoever made it may not share it now"
    return LinkRow(
        number=link.pk,
        kind=_KINDS[ShareLink.Kind(link.kind)],
        name=link.source.name,
        page=f"{page}incidents/{link.incident}/" if link.incident else f"{page}{'?' if link.query else ''}{link.query}",
        prefix=link.prefix,
        made=f"created {link.created:{MINUTE}} by {link.created_by}",
        used=_used(link),
        expires=f"{'expired' if expired else 'expires'} {until:{MINUTE}}",
        over="expired" if expired else over,
    )


def without_links(html: str) -> str:
    """Return a page with the words of its links to other pages of Causeline, but not the links."""
    return _LINK.sub(r"<span>\1</span>", html)


def _used(link: ShareLink) -> str:
    if link.last_used is None:
        return "not opened yet"
    return f"opened {number_of(link.used, 'time')}, last {link.last_used:{MINUTE}}"

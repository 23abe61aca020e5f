"""Describe the sessions of people with accounts."""

import math
from datetime import timedelta
from typing import NamedTuple

from dashboard.models import SignIn
from dashboard.presentation.wording import MINUTE, number_of

_WAYS = {"password": "with a password", "totp": "with a password and a code", "oidc": "with single sign-on"}
# What browsers call themselves, in an order in which the first that is found is right: Edge also says Chrome.
_BROWSERS = {"Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "Chrome": "Chrome", "Safari": "Safari"}
_SYSTEMS = {"Windows": "Windows", "Android": "Android", "iPhone": "iPhone", "iPad": "iPad", "Mac OS": "macOS"}


class SessionRow(NamedTuple):
    number: int
    browser: str
    agent: str  # all that the browser says that it is
    here: bool  # whether it is the session that the page is shown in
    began: str
    used: str


def row(session: SignIn, *, here: bool) -> SessionRow:
    where = f" from {session.address}" if session.address else ""
    return SessionRow(
        number=session.pk,
        browser=_browser(session.agent),
        agent=session.agent,
        here=here,
        began=f"signed in {session.began:{MINUTE}} {_WAYS.get(session.way, '')}".strip(),
        used=f"last used {session.last_used:{MINUTE}}{where}",
    )


def whole_minutes(time: timedelta) -> str:
    """Return a time as "30 minutes", or "" for none."""
    minutes = int(time.total_seconds() // 60)
    return number_of(minutes, "minute") if minutes else ""


def waiting(time: timedelta) -> str:
    """Return how long somebody has to wait: in seconds up to a minute, then in minutes, rounded up."""
    seconds = math.ceil(time.total_seconds())
    if seconds <= 60:
        return number_of(seconds, "second")
    return f"{math.ceil(seconds / 60)} minutes"


def _browser(agent: str) -> str:
    """Return what most likely is meant, since browsers say many names: "Firefox on Linux"."""
    browser = next((name for sign, name in _BROWSERS.items() if sign in agent), "")
    system = next((name for sign, name in {**_SYSTEMS, "Linux": "Linux"}.items() if sign in agent), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or agent.partition("/")[0][:40] or "An unknown program"

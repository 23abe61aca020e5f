"""Read who somebody is from the headers of a proxy that people have signed in at, such as oauth2-proxy.

Only the addresses in CAUSELINE_SIGN_IN_PROXIES may send these headers. They are taken out of every request and every
WebSocket before anything else sees it, so no other code can believe them. There is no session: a program behind the
proxy that keeps no cookies leaves nothing behind.
"""

import ipaddress
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.utils import timezone

from dashboard.access.signing_in import people
from dashboard.access.trail import change_log

_NAMES = {
    b"x-forwarded-user": "subject",
    b"x-forwarded-preferred-username": "name",
    b"x-forwarded-email": "email",
    b"x-forwarded-groups": "groups",
}
_GIVEN = "causeline.proxied"  # the key of the ASGI scope
_AGAIN = timedelta(hours=8)  # without a request, after which the next one is logged as a sign-in
_ROUGHLY = timedelta(hours=1)


class Given(NamedTuple):
    """What the headers of a request say of the person."""

    subject: str = ""
    name: str = ""
    email: str = ""
    groups: str = ""  # separated by commas


class TakeHeaders:
    """Take the headers out of each request, and keep them if one of the proxies sent them.

    It has to be the outermost one, so that the address is that of the connection, not one from X-Forwarded-For.
    """

    def __init__(self, application: Any) -> None:
        self._application = application
        self._proxies = [ipaddress.ip_network(each) for each in settings.SIGN_IN_PROXIES]

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] in {"http", "websocket"}:
            found = [(name, value) for name, value in scope["headers"] if name in _NAMES]
            if found:
                scope = {**scope, "headers": [each for each in scope["headers"] if each[0] not in _NAMES]}
                # A header that comes twice may be one that a browser has sent past the proxy: none is believed then.
                if self._believes(scope) and len({name for name, _ in found}) == len(found):
                    scope[_GIVEN] = Given(**{_NAMES[name]: value.decode("utf-8", "replace") for name, value in found})
        await self._application(scope, receive, send)

    def _believes(self, scope: Mapping[str, Any]) -> bool:
        try:
            address = ipaddress.ip_address((scope.get("client") or ("",))[0])
        except ValueError:  # a socket of this machine has a path
            return False
        mapped = getattr(address, "ipv4_mapped", None) or address
        return any(mapped in network for network in self._proxies)


def says(scope: Mapping[str, Any]) -> bool:
    """Return whether a proxy says who sends this request."""
    given: Given | None = scope.get(_GIVEN)
    return bool(settings.LOGIN_REQUIRED and given and (given.subject or given.email))


def user_of(scope: Mapping[str, Any]) -> User | AnonymousUser:
    """Return the account of the person whom the proxy names, which is made at the first request. Whoever was
    deactivated is nobody."""
    given: Given = scope[_GIVEN]
    subject = given.subject or given.email
    held = SocialAccount.objects.select_related("user").filter(provider=people.PROXY, uid=subject[:200]).first()
    if held is None or held.extra_data != given._asdict():
        try:
            user = people.account_of(
                people.Identity(
                    provider=people.PROXY,
                    subject=subject,
                    name=given.name or given.email or subject,
                    email=given.email,
                    full_name="",
                    groups=[each.strip() for each in given.groups.split(",")],
                    prefix="proxy",
                )
            )
        except people.Unknown:
            return AnonymousUser()
        SocialAccount.objects.filter(provider=people.PROXY, uid=subject).update(extra_data=given._asdict())
    else:
        user = held.user
    if not user.is_active:
        return AnonymousUser()
    _note(user, scope)
    return user


def _note(user: User, scope: Mapping[str, Any]) -> None:
    """Log the first request in some hours as a sign-in. Between requests, the time of the last one is kept by hour."""
    now = timezone.now()
    unseen = now - user.last_login if user.last_login else _AGAIN
    if unseen >= _AGAIN:
        address = str((scope.get("client") or ("",))[0])
        change_log.note("sign in", way="proxy", **{"by": user.username, "from": address})
    if unseen >= _ROUGHLY:
        User.objects.filter(pk=user.pk).update(last_login=now)

"""Sign people in with an OpenID Connect provider, by the library django-allauth.

allauth sends browsers to the provider with a state and a code challenge (PKCE), and exchanges the code. This module
adds what allauth does not do: the signature and the nonce of the ID token are checked, the provider's documents are
cached, and accounts are made by `people`, not by allauth's own pages, which are not served.
"""

import secrets
import time
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit

import jwt
import requests
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.crypto import constant_time_compare

from dashboard.access.signing_in import people, sessions
from dashboard.access.trail import change_log

_KINDS = {"RS256": "RSA", "ES256": "EC"}  # the algorithms of ID tokens that are accepted, and their kind of key
SECONDS = 5.0  # that the provider may leave a connection silent
CACHED = 600.0  # seconds for which the provider's documents are used again
_AGAIN = 10.0  # seconds between two times that the keys are fetched because one is not known
_LEEWAY = 60.0  # seconds by which the clocks may differ
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_ASKED_FOR = 3_600  # seconds for which the session of somebody who is sent to the provider is kept


class Adapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """Know the provider's addresses, and check what it answers."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request, settings.OIDC_ISSUER)

    @property
    def openid_config(self) -> dict[str, Any]:
        return discovered()

    def get_callback_url(self, request: HttpRequest, app: object) -> str:
        return request.build_absolute_uri(reverse("oidc_callback"))

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **kwargs: Any) -> Any:
        """Return allauth's record of the person, whose data are the claims of the ID token and of the user info."""
        sent = kwargs["response"].get("id_token")
        if not isinstance(sent, str):
            raise OAuth2Error("The provider has sent no ID token.")
        claims = claims_of(sent, app.client_id)
        if not people.identifies(claims["sub"]):
            raise OAuth2Error("The subject of the ID token is empty, too long, or has characters that are not printed.")
        if self.openid_config.get("userinfo_endpoint"):
            claimed = self._fetch_user_info(token.token)
            if not isinstance(claimed, dict) or claimed.get("sub") != claims["sub"]:
                raise OAuth2Error("The user info is about somebody else than the ID token.")
            claims = {**claimed, **claims}
        login = self.get_provider().sociallogin_from_response(request, claims)
        login.claims, login.id_token = claims, sent
        return login


class Provider(OpenIDConnectProvider):  # type: ignore[misc]
    """The provider of CAUSELINE_OIDC_ISSUER."""

    def get_oauth2_adapter(self, request: HttpRequest) -> Adapter:
        return Adapter(request)

    def extract_extra_data(self, data: object) -> dict[str, Any]:
        """Return nothing: allauth would store it, and what is needed of it is in the account."""
        return {}


class SocialAccountAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """allauth asks this class what to do with a person, and how to reach the provider."""

    def get_requests_session(self) -> requests.Session:
        """Return a session that waits only so long, and follows no redirects."""
        session = requests.Session()
        limited = partial(session.request, timeout=SECONDS, allow_redirects=False)
        session.request = limited  # type: ignore[method-assign]
        session.get = partial(limited, "GET")  # type: ignore[method-assign]
        return session

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Sign the person in, and answer the request here: allauth's own ways of making accounts are not used."""
        claims, state = sociallogin.claims, sociallogin.state
        if not constant_time_compare(str(claims.get("nonce", "")), str(state.get("nonce", ""))):
            raise ImmediateHttpResponse(refused(request, "The answer of the provider belongs to another sign-in."))
        raise ImmediateHttpResponse(_signed_in(request, claims, sociallogin.id_token, state.get("next") or "/"))

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, exception: Any = None, extra_context: Any = None
    ) -> None:
        why = str(exception) if isinstance(exception, OAuth2Error) else type(exception).__name__ if exception else error
        change_log.note("sign-in failed", way="oidc", why=why, **{"from": change_log.address(request)})
        raise ImmediateHttpResponse(
            refused(request, f"{settings.OIDC_NAME} did not let you in, or its answer could not be used.")
        )


def configured() -> bool:
    """Return whether people can sign in with a provider."""
    return bool(settings.LOGIN_REQUIRED and settings.OIDC_ISSUER)


def begin(request: HttpRequest, wanted: str) -> HttpResponse:
    """Send a browser to the provider. It comes back to the callback, and from there goes to the page `wanted`."""
    nonce = secrets.token_urlsafe(24)
    if not request.user.is_authenticated:
        request.session.set_expiry(_ASKED_FOR)
    try:
        answer: HttpResponse = (
            Adapter(request)
            .get_provider()
            .redirect(request, "login", next_url=wanted, auth_params={"nonce": nonce}, nonce=nonce)
        )
    except (OAuth2Error, requests.RequestException) as error:
        change_log.note("sign-in failed", way="oidc", why=_reason(error), **{"from": change_log.address(request)})
        return refused(request, f"{settings.OIDC_NAME} cannot be reached now, or is not set up correctly.", status=502)
    return answer


complete = OAuth2CallbackView.adapter_view(Adapter)  # the view of the callback


def refused(request: HttpRequest, sentence: str, status: int = 403) -> HttpResponse:
    """Return the page that says why somebody was not signed in."""
    return render(request, "not_signed_in.html", {"sentence": sentence}, status=status)


def way_out(request: HttpRequest, id_token: str) -> str:
    """Return the address at which the provider signs the person out, too; "" if it offers none.

    `id_token` tells the provider who it is about; without it, the provider may ask.
    """
    try:
        address = str(discovered().get("end_session_endpoint") or "")
    except (OAuth2Error, requests.RequestException):
        return ""
    if not address or not _is_safe(address):
        return ""
    about = {
        "client_id": SocialAccountAdapter(request).get_app(request, settings.OIDC_ISSUER).client_id,
        "post_logout_redirect_uri": request.build_absolute_uri(reverse("login")),
    }
    about |= {"id_token_hint": id_token} if id_token else {}
    return f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(about)}"


def claims_of(id_token: str, client_id: str) -> dict[str, Any]:
    """Return the claims of an ID token whose signature, issuer, audience and times are right. Raise OAuth2Error."""
    try:
        header = jwt.get_unverified_header(id_token)
        if header.get("alg") not in _KINDS:
            raise OAuth2Error(f"The ID token is signed with {str(header.get('alg'))[:20]}, not with RS256 or ES256.")
        claims: dict[str, Any] = jwt.decode(
            id_token,
            _key(header.get("kid"), header["alg"]),
            algorithms=[header["alg"]],
            audience=client_id,
            issuer=discovered()["issuer"],
            leeway=_LEEWAY,
            options={"require": ["exp", "iat", "iss", "aud", "sub"]},
        )
    except jwt.PyJWTError as error:
        raise OAuth2Error(f"The ID token is not valid ({type(error).__name__}).") from None
    if claims.get("azp", client_id) != client_id:
        raise OAuth2Error("The ID token was issued to another client.")
    return claims


def discovered() -> dict[str, Any]:
    """Return the provider's discovery document. Raise OAuth2Error or requests.RequestException."""
    address = f"{settings.OIDC_ISSUER}/.well-known/openid-configuration"
    found = _document(address)
    if str(found.get("issuer", "")).rstrip("/") != settings.OIDC_ISSUER:
        _documents.pop(address, None)
        raise OAuth2Error(f"The provider says that it is {str(found.get('issuer'))[:200]}, not CAUSELINE_OIDC_ISSUER.")
    for name in _ENDPOINTS:
        if not _is_safe(str(found.get(name, ""))):
            raise OAuth2Error(f"The provider's {name} is missing, or is not an https address.")
    return found


def forget() -> None:
    """Fetch the provider's documents again when they are needed next."""
    _documents.clear()


_documents: dict[str, tuple[float, dict[str, Any]]] = {}  # by address: when it was fetched, and what it said


def _document(address: str, newer_than: float = CACHED) -> dict[str, Any]:
    """Return a JSON document of the provider that was fetched less than so many seconds ago."""
    now = time.monotonic()
    fetched, document = _documents.get(address, (0.0, {}))
    if document and now - fetched < newer_than:
        return document
    with SocialAccountAdapter().get_requests_session() as session:
        answer = session.get(address)
    if answer.status_code != 200:
        raise OAuth2Error(f"{address[:200]} answered {answer.status_code}.")
    document = answer.json()
    if not isinstance(document, dict):
        raise OAuth2Error(f"{address[:200]} has not answered with a JSON object.")
    _documents[address] = now, document
    return document


def _key(name: str | None, algorithm: str) -> jwt.PyJWK:
    """Return the provider's key of this name. A token may leave out the name if there is
    one key. Keys that are not known are looked for again: providers change them."""
    for newer_than in (CACHED, _AGAIN):
        keys = _document(discovered()["jwks_uri"], newer_than).get("keys", [])
        signing = [
            each
            for each in (keys if isinstance(keys, list) else [])
            if isinstance(each, dict) and each.get("use", "sig") == "sig" and each.get("kty") == _KINDS[algorithm]
        ]
        named = [each for each in signing if each.get("kid") == name] if name is not None else signing
        if len(named) == 1:
            return jwt.PyJWK(named[0], algorithm)
    raise OAuth2Error("The ID token is signed with a key that the provider does not publish.")


def _is_safe(address: str) -> bool:
    """Return whether nobody between can change what is sent to an address of the provider."""
    scheme = urlsplit(address).scheme
    return scheme == "https" or (scheme == "http" and settings.OIDC_ISSUER.startswith("http:"))


def _signed_in(request: HttpRequest, claims: Mapping[str, Any], id_token: str, wanted: str) -> HttpResponse:
    groups = _groups(claims)
    if settings.OIDC_GROUPS and not set(groups) & set(settings.OIDC_GROUPS):
        _note_refusal(request, claims, "in none of the groups of CAUSELINE_OIDC_GROUPS")
        return refused(request, "You are in none of the groups whose members may sign in here.")
    name = str(claims.get("preferred_username") or claims.get("email") or claims["sub"])
    try:
        user = people.account_of(
            people.Identity(
                provider=settings.OIDC_ISSUER,
                subject=str(claims["sub"]),
                name=name,
                email=str(claims.get("email") or ""),
                full_name=str(claims.get("name") or ""),
                groups=groups,
                prefix="oidc",
            )
        )
    except people.Unknown as error:
        return refused(request, str(error))
    if not user.is_active:
        _note_refusal(request, claims, "the account was deactivated")
        return refused(request, "Your account was deactivated. An administrator can activate it.")
    request.session.set_expiry(None)
    sessions.begin(request, user, "oidc", id_token=id_token)
    return HttpResponseRedirect(wanted)


def _groups(claims: Mapping[str, Any]) -> list[str]:
    """Return the names of the person's groups. Some providers send a single one as a text."""
    given = claims.get(settings.OIDC_GROUPS_CLAIM)
    if isinstance(given, str):
        given = [given]
    return [each for each in given if isinstance(each, str)] if isinstance(given, list) else []


def _note_refusal(request: HttpRequest, claims: Mapping[str, Any], why: str) -> None:
    change_log.note(
        "sign-in refused", way="oidc", subject=claims["sub"], why=why, **{"from": change_log.address(request)}
    )


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, OAuth2Error) else type(error).__name__

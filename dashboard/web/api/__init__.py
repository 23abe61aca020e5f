"""The HTTP API. Answers have the types of `timeline.payloads`; errors are problem documents (RFC 9457)."""

from functools import cache
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.openapi.docs import Swagger
from ninja.utils import check_csrf

from dashboard import __version__
from dashboard.access import limits
from dashboard.access.roles import needs, policy
from dashboard.access.signing_in import rights
from dashboard.access.tokens import links as share_links
from dashboard.access.tokens import tokens
from dashboard.access.trail import change_log
from dashboard.web.api import (
    actors,
    alerts,
    annotations,
    changes,
    clusters,
    comparison,
    incidents,
    links,
    logs,
    objects,
    opening,
    receivers,
    routes,
    shares,
    silences,
    sources,
    uploads,
    usage,
    windows,
)
from dashboard.web.api.answers import problem
from timeline.models import Finding, Incident, Source, Track, Upload

_EMPTY = {b"", b"{}", b"null"}  # bodies that say nothing
_NO_FIELD = "The body has no such field"
_MOST = 10  # mistakes that an answer names
_LONGEST = 100  # characters of a name that an answer repeats
_GONE = "It was deleted, or the link is wrong."
_MISSING: dict[type[Exception], tuple[str, str]] = {
    policy.NotSeen: ("No such recording", _GONE),
    Source.DoesNotExist: ("No such recording", _GONE),
    Upload.DoesNotExist: ("No such upload", _GONE),
    Track.DoesNotExist: ("No such object", "The recording has no object with this number."),
    Finding.DoesNotExist: ("No such finding", _GONE),
    Incident.DoesNotExist: ("No such incident", "It is over and was explained, or the link is wrong."),
}
# The page about the API, the document that it reads, and the root that both are under.
_PAGES = {"openapi-view", "openapi-json", "api-root"}
_FORMS = {"application/x-www-form-urlencoded", "multipart/form-data"}


def _allowed(request: HttpRequest) -> bool:
    """Let in who may come in, and limit what is read for the request to what its user may see."""
    if not _admitted(request):
        return False
    policy.check(request)
    limits.limit(request)
    _understood(request)
    return True


def _admitted(request: HttpRequest) -> bool:
    """Let in signed-in users and programs. Requests that change something must come from pages of Causeline or carry
    the start-up token. Where a request carries an access token, that token alone decides, whoever is signed in."""
    if tokens.sent(request) is not None and not rights.by_script(request):
        return _with_token(request)
    if share_links.sent(request) is not None:
        return _shown(request)
    if not rights.admitted(request.user):
        return False
    _no_form(request)
    if not rights.by_script(request) and check_csrf(request):
        raise HttpError(403, "The request does not come from a page of Causeline, or the page is old: load it again.")
    return True


def _understood(request: HttpRequest) -> None:
    """Refuse a parameter that the operation does not know, and a body if it has none: what they say would be lost, and
    more might be read or changed than was asked for.

    Pages may read with parameters of a newer version: while processes are replaced, a page of one asks another.
    """
    match = request.resolver_match
    route = match.route if match else ""
    known, has_body = _operations().get((route, str(request.method).lower().replace("head", "get")), (None, True))
    of_a_page = request.method in needs.SAFE and request.headers.get("Sec-Fetch-Site") == "same-origin"
    unknown = [] if known is None or of_a_page else sorted(request.GET.keys() - known)
    if unknown:
        raise HttpError(422, f"{unknown[0][:_LONGEST]}: This operation has no such parameter.")
    if not has_body and request.method not in needs.SAFE and request.body.strip() not in _EMPTY:
        raise HttpError(422, "This operation takes no body. Nothing was changed.")


@cache
def _operations() -> dict[tuple[str, str], tuple[frozenset[str] | None, bool]]:
    """Return the parameters of each operation, by its route and method, and whether it takes a body; None instead of
    the parameters of an operation that takes any."""
    return {
        (_route_of(path), method): (_parameters(operation), "requestBody" in operation)
        for path, methods in api.get_openapi_schema()["paths"].items()
        for method, operation in methods.items()
    }


def _parameters(operation: dict[str, Any]) -> frozenset[str] | None:
    asked = [each for each in operation.get("parameters", ()) if each["in"] == "query"]
    takes_any = any("additionalProperties" in each["schema"] for each in asked)
    return None if takes_any else frozenset(each["name"] for each in asked)


def _route_of(path: str) -> str:
    """Return the route of Django for a path of an operation."""
    return path.removeprefix("/").replace("{", "<").replace("}", ">")


def _with_token(request: HttpRequest) -> bool:
    """Let a program read with its access token, within the token's limit, and change what its scope allows."""
    token = tokens.holder(request, "read")
    if token is None:
        return False
    if tokens.is_limited(token):
        match = request.resolver_match
        source = match.kwargs.get("source_id") if match else None
        need = needs.of_request(request)
        if source is None:
            if need is None or not need.limited:
                raise HttpError(
                    403, f"The access token reads only {tokens.limit_of(token)}, not lists over all sources."
                )
        elif not tokens.may_read(token, policy.number(source)):
            raise HttpError(403, f"The access token reads only {tokens.limit_of(token)}.")
    tokens.warn(token, request)
    request.user = tokens.reader_of(token)
    if request.method not in needs.SAFE:
        _no_form(request)
        request.__dict__["actor"] = request.user.get_username()  # who is logged
        if not tokens.answers(token, request):
            raise HttpError(403, "The scopes of the access token do not allow this.")
    change_log.about(request, token=token.pk)
    return True


def _no_form(request: HttpRequest) -> None:
    if request.content_type in _FORMS:
        raise HttpError(415, "Send the file itself as the body, with Content-Type: application/octet-stream.")


def _shown(request: HttpRequest) -> bool:
    """Let the scripts of a shared timeline read what its link allows."""
    link = share_links.opened(share_links.sent(request) or "", request.user)
    if link is None:
        return False
    if not share_links.may_ask(request, link):
        raise HttpError(403, "A shared timeline shows its own recording or cluster, and nothing else.")
    change_log.about(request, link=link.number or "")
    share_links.use(request, link)
    request.user = share_links.reader_of(link, request.user)
    return True


class _Docs(Swagger):
    """Show the page with the header and the colours of all pages. django-ninja's own page has no way back, and loads
    its scripts from elsewhere if it is no installed app."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        return render(request, "api.html", {"settings": self.settings | {"url": self.get_openapi_url(api, kwargs)}})


# The links of Swagger UI to single operations stand inside buttons, where a keyboard cannot use them. Operations show
# their schemas themselves, so these are not listed again.
_DOCS = _Docs({"deepLinking": False, "defaultModelsExpandDepth": -1})
api = NinjaAPI(title="Causeline", version=__version__, docs=_DOCS, docs_url="/docs", auth=_allowed)
_ROUTERS = (
    sources.router,
    clusters.router,
    windows.router,
    opening.router,
    incidents.router,
    links.router,
    annotations.router,
    changes.router,
    logs.router,
    silences.router,
    objects.router,
    actors.router,
    alerts.router,
    comparison.router,
    receivers.router,
    routes.router,
    shares.router,
    uploads.router,
    usage.router,
)
for router in _ROUTERS:
    api.add_router("", router)


@api.exception_handler(HttpError)
def _refused(request: HttpRequest, error: HttpError) -> HttpResponse:
    return problem(error.status_code, "Not possible", str(error))


@api.exception_handler(PermissionDenied)
def _forbidden(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
    return problem(403, "Not possible", str(error))


@api.exception_handler(AuthenticationError)
def _unknown(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    if tokens.sent(request) is not None:
        return problem(
            401, "The access token is not accepted", "It was revoked, has expired, or has not the scope read."
        )
    if share_links.sent(request) is not None:
        return problem(401, "This link is over", "Ask whoever shared it for a new one.")
    return problem(401, "You are signed out", rights.how_to_sign_in())


@api.exception_handler(ValidationError)
def _not_understood(request: HttpRequest, error: ValidationError) -> HttpResponse:
    where = "; ".join(
        f"{str(each['loc'][-1])[:_LONGEST]}: {_NO_FIELD if each['type'] == 'extra_forbidden' else each['msg']}"
        for each in error.errors[:_MOST]
    )
    return problem(422, "A parameter is not valid", where)


def _missing(request: HttpRequest, error: Any) -> HttpResponse:
    return problem(404, *next(said for kind, said in _MISSING.items() if isinstance(error, kind)))


for _kind in _MISSING:
    api.add_exception_handler(_kind, _missing)


def _declared_urls() -> Any:
    """Return the routes of the API, each with what its operations declare (see `dashboard.access.roles.needs`)."""
    operations: dict[str, dict[str, Any]] = {}
    for router in _ROUTERS:
        for path, view in router.path_operations.items():
            of_path = {method: each.view_func for each in view.operations for method in each.methods}
            operations.setdefault(_route_of(path), of_path)  # as Django takes the first of two
    made: Any = api.urls
    for each in made[0]:
        if found := operations.get(str(each.pattern)):
            needs.gather(each.callback, found)
        elif each.name in _PAGES:
            needs.to_read("signed in", action=None)(each.callback)
    return made


urls = _declared_urls()

"""The HTTP API. Answers have the types of `timeline.payloads`; errors are problem documents (RFC 9457)."""

from functools import cache

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.openapi.docs import ABS_TPL_PATH, Swagger
from ninja.utils import check_csrf

from dashboard import __version__
from dashboard.access import limits
from dashboard.access.roles import policy
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

# These keep to the limit of a token themselves, or show nothing of any source.
_WITHIN_LIMITS = {"api/rules", "api/resolve", "api/annotations", "api/sources"}
_ANY = {"api/resolve"}  # reads the labels of an alert from its parameters, whatever they are
_EMPTY = {b"", b"{}", b"null"}  # bodies that say nothing
_NO_FIELD = "The body has no such field"
_MOST = 10  # mistakes that an answer names
_LONGEST = 100  # characters of a name that an answer repeats
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
    of_a_page = request.method in policy.SAFE and request.headers.get("Sec-Fetch-Site") == "same-origin"
    unknown = [] if known is None or of_a_page or route in _ANY else sorted(request.GET.keys() - known)
    if unknown:
        raise HttpError(422, f"{unknown[0][:_LONGEST]}: This operation has no such parameter.")
    if not has_body and request.method not in policy.SAFE and request.body.strip() not in _EMPTY:
        raise HttpError(422, "This operation takes no body. Nothing was changed.")


@cache
def _operations() -> dict[tuple[str, str], tuple[frozenset[str], bool]]:
    """Return the parameters of each operation, by its route and method, and whether it takes a body."""
    return {
        (path.removeprefix("/").replace("{", "<").replace("}", ">"), method): (
            frozenset(each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"),
            "requestBody" in operation,
        )
        for path, methods in api.get_openapi_schema()["paths"].items()
        for method, operation in methods.items()
    }


def _with_token(request: HttpRequest) -> bool:
    """Let a program read with its access token, within the token's limit, and change what its scope allows."""
    token = tokens.holder(request, "read")
    if token is None:
        return False
    if tokens.is_limited(token):
        match = request.resolver_match
        source = match.kwargs.get("source_id") if match else None
        if source is None:
            if not match or match.route not in _WITHIN_LIMITS:
                raise HttpError(
                    403, f"The access token reads only {tokens.limit_of(token)}, not lists over all sources."
                )
        elif not tokens.may_read(token, policy.number(source)):
            raise HttpError(403, f"The access token reads only {tokens.limit_of(token)}.")
    tokens.warn(token, request)
    request.user = tokens.reader_of(token)
    if request.method not in policy.SAFE:
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
    """Load the scripts of the page from Causeline. django-ninja's own page loads them from elsewhere if it is no
    installed app."""

    template_cdn = str(ABS_TPL_PATH / "swagger.html")


api = NinjaAPI(title="Causeline", version=__version__, docs=_Docs(), docs_url="/docs", auth=_allowed)
for router in (
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
):
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


@api.exception_handler(policy.NotSeen)
def _not_seen(request: HttpRequest, error: policy.NotSeen) -> HttpResponse:
    return problem(404, "No such recording", "It was deleted, or the link is wrong.")


@api.exception_handler(ValidationError)
def _not_understood(request: HttpRequest, error: ValidationError) -> HttpResponse:
    where = "; ".join(
        f"{str(each['loc'][-1])[:_LONGEST]}: {_NO_FIELD if each['type'] == 'extra_forbidden' else each['msg']}"
        for each in error.errors[:_MOST]
    )
    return problem(422, "A parameter is not valid", where)


@api.exception_handler(Source.DoesNotExist)
def _no_source(request: HttpRequest, error: Source.DoesNotExist) -> HttpResponse:
    return problem(404, "No such recording", "It was deleted, or the link is wrong.")


@api.exception_handler(Upload.DoesNotExist)
def _no_upload(request: HttpRequest, error: Upload.DoesNotExist) -> HttpResponse:
    return problem(404, "No such upload", "It was deleted, or the link is wrong.")


@api.exception_handler(Track.DoesNotExist)
def _no_track(request: HttpRequest, error: Track.DoesNotExist) -> HttpResponse:
    return problem(404, "No such object", "The recording has no object with this number.")


@api.exception_handler(Finding.DoesNotExist)
def _no_finding(request: HttpRequest, error: Finding.DoesNotExist) -> HttpResponse:
    return problem(404, "No such finding", "It was deleted, or the link is wrong.")


@api.exception_handler(Incident.DoesNotExist)
def _no_incident(request: HttpRequest, error: Incident.DoesNotExist) -> HttpResponse:
    return problem(404, "No such incident", "It is over and was explained, or the link is wrong.")

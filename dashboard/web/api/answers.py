"""What all API operations share: checked parameters, JSON with an ETag, problem documents."""

from hashlib import blake2b
from typing import Annotated, Any

import orjson
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from ninja import Schema
from ninja.errors import HttpError
from pydantic import ConfigDict, Field

from dashboard.access.signing_in import rights
from dashboard.access.tokens import links
from dashboard.web.inputs import NOTE
from timeline.queries.filters import Number as Number
from timeline.queries.filters import Time as Time
from timeline.queries.filters import Words as Words

Identity = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]  # of an incident or a finding
Named = Annotated[str, Field(pattern=r"^[0-9a-f]{4,16}$")]  # of an incident: its identity, or how only that begins
Note = Annotated[str, Field(max_length=NOTE, pattern=r"^[^\x00]*$")]


class Asked(Schema):
    """The body of a request. Fields that it does not know are refused, because their meaning would be lost, and so are
    values of another type, such as a text for a number."""

    model_config = ConfigDict(extra="forbid", strict=True)


def json_response(request: HttpRequest, payload: Any, status: int = 200) -> HttpResponseBase:
    """Return the payload as JSON, or 304 if the client has it already. Whoever asks with a share link gets what links
    show of it."""
    body = orjson.dumps(links.public(payload) if links.of_request(request) else payload)
    etag = f'"{blake2b(body, digest_size=16).hexdigest()}"'
    answer = HttpResponse(body, status=status, content_type="application/json")
    answer["ETag"] = etag
    answer["Cache-Control"] = "private, no-cache"
    return get_conditional_response(request, etag=etag, response=answer) or answer


def in_order(start: int | None, end: int | None) -> None:
    """Raise HttpError if the range that a client asks for ends before it begins."""
    if start is not None and end is not None and start > end:
        raise HttpError(422, "start lies after end")


def only_its_owner(request: HttpRequest, owner: int | None) -> None:
    """Raise HttpError if the signed-in user may not change what the owner has begun to send."""
    if not rights.may_change(request.user, owner):
        raise HttpError(403, "Only the person who has begun it, or an administrator, can continue or cancel it.")


def problem(status: int, title: str, detail: str, **more: int) -> HttpResponse:
    body = {"title": title, "detail": detail, "status": status, **more}
    return HttpResponse(orjson.dumps(body), status=status, content_type="application/problem+json")

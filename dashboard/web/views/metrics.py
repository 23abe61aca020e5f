"""Prometheus scrapes this page. It is open to CAUSELINE_METRICS_TOKEN, and to whoever may see the other pages."""

import logging
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpResponse
from django.utils.crypto import constant_time_compare

from dashboard.access.roles import needs, policy
from dashboard.metrics import exposition

if TYPE_CHECKING:
    from django.http import HttpRequest

logger = logging.getLogger(__name__)


@needs.to_read("anybody", action=None)
def metrics(request: "HttpRequest") -> HttpResponse:
    """Answer with all metrics, with 401 to strangers, or with 503 while the database does not answer."""
    if not (_has_token(request) or policy.has(request.user, policy.VIEWER)):
        answer = HttpResponse(
            "Send the header Authorization: Bearer with the token of CAUSELINE_METRICS_TOKEN.\n",
            status=401,
            content_type="text/plain",
        )
        answer["WWW-Authenticate"] = "Bearer"
        return answer
    try:
        return HttpResponse(exposition.text(), content_type=exposition.CONTENT_TYPE)
    except DatabaseError as error:
        logger.warning("/metrics: the database does not answer: %s", error)
        return HttpResponse("The database does not answer.\n", status=503, content_type="text/plain")


def _has_token(request: "HttpRequest") -> bool:
    kind, _, given = request.headers.get("Authorization", "").partition(" ")
    token: str = settings.METRICS_TOKEN
    return bool(token) and kind.lower() == "bearer" and constant_time_compare(given.strip(), token)

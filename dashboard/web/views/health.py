"""Answer load balancers and container probes whether the process lives and whether it can serve.

Anybody may ask, so the answers say no more than that; the log says why.
"""

import logging
from typing import TYPE_CHECKING

from django.db import DatabaseError, connection
from django.http import HttpResponse

from dashboard.access.roles import needs

if TYPE_CHECKING:
    from django.http import HttpRequest


logger = logging.getLogger(__name__)


@needs.to_read("anybody", action=None)
def live(request: "HttpRequest") -> HttpResponse:
    """Answer if the process can. It asks no server: a restart would not bring a lost database back."""
    return HttpResponse("ok", content_type="text/plain")


@needs.to_read("anybody", action=None)
def health(request: "HttpRequest") -> HttpResponse:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        logger.warning("/healthz: the database does not answer: %s", error)
        return HttpResponse("not ok", status=503, content_type="text/plain")
    return HttpResponse("ok", content_type="text/plain")

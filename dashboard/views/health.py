"""Whether this process can serve: for load balancers and container probes."""

from typing import TYPE_CHECKING

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpResponse
from django.views.decorators.http import require_safe

if TYPE_CHECKING:
    from django.http import HttpRequest


@require_safe
@login_not_required
def health(request: "HttpRequest") -> HttpResponse:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return HttpResponse(f"database: {error}", status=503, content_type="text/plain")
    return HttpResponse("ok", content_type="text/plain")

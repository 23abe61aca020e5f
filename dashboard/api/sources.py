"""Recordings: what there is of each, and its end."""

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from ninja import Router

from dashboard.api.answers import Number, problem
from timeline import store
from timeline.models import Source

router = Router(tags=["sources"])


@router.delete("/sources/{source_id}", response={204: None})
def delete_source(request: HttpRequest, source_id: Number) -> HttpResponse:
    """Remove a recording and everything that was stored of it."""
    try:
        store.discard_source(Source.objects.get(pk=source_id, ready=True), patience=10)
    except OperationalError:
        return problem(409, "The recording is in use", "Something still reads or writes it. Try again in a moment.")
    return HttpResponse(status=204)

"""Connected clusters, and how the sources are doing that they feed. Nothing of their credentials is told."""

from django.http import HttpRequest, HttpResponseBase
from ninja import Router

from dashboard.access.rights import is_admin
from dashboard.web.api.answers import Number, json_response, problem
from timeline import queries
from timeline.payloads.clusters import ClustersPayload, SourceHealthPayload

router = Router(tags=["clusters"])


@router.get("/clusters", response=ClustersPayload)
def list_clusters(request: HttpRequest) -> HttpResponseBase:
    """All that are connected, by name, each with the health of the source that it feeds now.

    Only administrators are told `server`, `context` and `path`.
    """
    return json_response(request, {"clusters": queries.clusters(places=is_admin(request.user))})


@router.get("/sources/{source_id}/health", response=SourceHealthPayload)
def show_health(request: HttpRequest, source_id: Number) -> HttpResponseBase:
    """How far each watch of a live source is, where it has gaps, who watches it. 404 for a recording."""
    if (told := queries.health(source_id)) is None:
        return problem(404, "Not a live source", "No cluster feeds it: it is a recording.")
    return json_response(request, told)

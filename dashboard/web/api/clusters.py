"""Return connected clusters and the health of their sources, and no credentials."""

from django.http import HttpRequest, HttpResponseBase
from ninja import Router

from dashboard.access.roles import needs
from dashboard.access.signing_in.rights import is_editor
from dashboard.web.api.answers import Number, json_response, problem
from timeline.payloads.clusters import ClustersPayload, SourceHealthPayload
from timeline.queries.sources import clusters

router = Router(tags=["clusters"])


@router.get("/clusters", response=ClustersPayload)
@needs.to_read("viewer", action="list")
def list_clusters(request: HttpRequest) -> HttpResponseBase:
    """Return the connected clusters by name, each with the health of the source that it feeds now.

    Only editors of everything receive `server`, `context` and `path`.
    """
    return json_response(request, {"clusters": clusters.clusters(places=is_editor(request.user))})


@router.get("/sources/{source_id}/health", response=SourceHealthPayload)
@needs.to_read("viewer", action="see")
def show_health(request: HttpRequest, source_id: Number) -> HttpResponseBase:
    """Return how far each watch of a live source has got, its gaps, and the worker that watches it.

    A recording answers 404.
    """
    if (health := clusters.health(source_id)) is None:
        return problem(404, "Not a live source", "No cluster feeds it: it is a recording.")
    return json_response(request, health)

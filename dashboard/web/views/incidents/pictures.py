"""Send the picture of an incident as PNG, for messages and documents."""

import hashlib
from typing import TYPE_CHECKING

from django.conf import settings
from django.http import Http404, HttpResponse
from django.utils.cache import get_conditional_response, patch_cache_control

from dashboard.access.roles import needs
from dashboard.drawing.lettering import Letters
from dashboard.drawing.png import png
from dashboard.presentation.incident_pictures import drawing
from timeline.models import Finding, Incident, Source

if TYPE_CHECKING:
    from django.http import HttpRequest

    from dashboard.drawing.figures import Theme

_FRESH = 60  # seconds that a browser may show it without asking


@needs.to_read("viewer", action="see incident")
def show_incident_picture(request: "HttpRequest", source_id: int, identity: str) -> "HttpResponse":
    """Answer with the picture, in the colours of `?theme=dark` or else the light ones; with 304 if it is known."""
    letters = Letters(settings.PICTURE_FONTS)
    theme: Theme = "dark" if request.GET.get("theme") == "dark" else "light"
    try:
        drawn = drawing(source_id, identity, theme, letters)
    except (Source.DoesNotExist, Incident.DoesNotExist, Finding.DoesNotExist):
        raise Http404("No such incident.") from None
    etag = f'"{hashlib.sha256(drawn.encode()).hexdigest()[:32]}"'
    answer = get_conditional_response(request, etag=etag)
    if answer is None:
        answer = HttpResponse(png(drawn, letters), content_type="image/png", headers={"ETag": etag})
    patch_cache_control(answer, private=True, max_age=_FRESH)
    return answer

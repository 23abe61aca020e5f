"""Replace bidirectional control characters in pages, so that no text around them is reordered.

A name in a recording may contain them, and could make a sentence or a command look like another one. Text in Arabic or
Hebrew does not need them, and stays as it is.
"""

import re
from typing import TYPE_CHECKING

from django.utils.deprecation import MiddlewareMixin

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def shown(text: str) -> str:
    return _CONTROLS.sub("\ufffd", text)


class ReplaceBidiControls(MiddlewareMixin):
    """Replace these characters in every page."""

    def process_response(self, request: "HttpRequest", response: "HttpResponse") -> "HttpResponse":
        if not response.streaming and response.get("Content-Type", "").startswith("text/html"):
            response.content = shown(response.content.decode(response.charset))
        return response

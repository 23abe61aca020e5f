"""Answer requests that are not valid."""

from typing import TYPE_CHECKING

from django.core.exceptions import BadRequest
from django.shortcuts import render
from django.views import defaults

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


def bad_request(request: "HttpRequest", exception: Exception) -> "HttpResponse":
    """Show the message of a `BadRequest` that one of our views raised.

    The reasons for which Django itself refuses requests are not shown, which is its default.
    """
    if isinstance(exception, BadRequest):
        return render(request, "400.html", {"problem": str(exception)}, status=400)
    return defaults.bad_request(request, exception)

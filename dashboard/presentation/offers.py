"""Give templates the reasons why the reader of a page may not do something, so that pages do not offer it.

The answer is that of `dashboard.access.roles.policy`, which is asked about the very request that a form or a link would
send. Templates load this as a builtin library.
"""

from typing import Any

from django import template
from django.urls import resolve, reverse

from dashboard.access.roles import policy

register = template.Library()


@register.simple_tag(takes_context=True)
def refusal(context: Any, method: str, page: str, *arguments: object) -> str:
    """Return why the reader of the page may not send a request to a page; "" if the reader may (see `why_not`)."""
    return why_not(context["request"].user, method, page, *arguments)


def why_not(user: Any, method: str, page: str, *arguments: object) -> str:
    """Return why a user may not send a request with this method to a page; "" if the user may.

    The page is the name of a route with its arguments, or a path such as /api/uploads.
    """
    path = page if page.startswith("/") else reverse(page, args=arguments)
    return policy.refusal(user, resolve(path), method)

"""Show the catalogue of rules, each with the finding of its example."""

from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import render

from dashboard.access.roles import needs
from dashboard.presentation import catalogue
from dashboard.presentation.examples import example
from timeline.judge import rulebook
from timeline.judging.rulebook import settings

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@needs.to_read("signed in", action=None)
def rules(request: "HttpRequest") -> "HttpResponse":
    shown = [{"rule": rule, "example": example(rule)} for rule in rulebook()]
    return render(request, "rules.html", {"rules": shown})


@needs.to_read("signed in", action=None)
def rule(request: "HttpRequest", rule_id: str) -> "HttpResponse":
    book = rulebook()
    place = next((place for place, each in enumerate(book) if each.id == rule_id), None)
    if place is None:
        raise Http404(f"There is no rule {rule_id}.")
    shown = book[place]
    drawn = example(shown)
    context = {
        "rule": shown,
        "sections": catalogue.sections(shown),
        "needs": catalogue.needs(shown),
        "example": drawn,
        "why": catalogue.words(drawn.finding["why"]) if drawn else [],
        "settings": [setting for setting in settings.values() if setting.rule == shown.id],
        "before": book[place - 1] if place else None,
        "after": book[place + 1] if place + 1 < len(book) else None,
    }
    return render(request, "rule.html", context)

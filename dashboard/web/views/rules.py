"""Show the catalogue of rules, each with the finding of its example."""

from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.presentation.catalogue import needs, sections, words
from dashboard.presentation.examples import example
from timeline.judge import rulebook
from timeline.judging.rulebook import settings

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_safe
def rules(request: "HttpRequest") -> "HttpResponse":
    shown = [{"rule": rule, "example": example(rule)} for rule in rulebook()]
    return render(request, "rules.html", {"rules": shown})


@require_safe
def rule(request: "HttpRequest", rule_id: str) -> "HttpResponse":
    book = rulebook()
    place = next((place for place, each in enumerate(book) if each.id == rule_id), None)
    if place is None:
        raise Http404(f"There is no rule {rule_id}.")
    shown = book[place]
    drawn = example(shown)
    context = {
        "rule": shown,
        "sections": sections(shown),
        "needs": needs(shown),
        "example": drawn,
        "why": words(drawn.finding["why"]) if drawn else [],
        "settings": [setting for setting in settings.values() if setting.rule == shown.id],
        "before": book[place - 1] if place else None,
        "after": book[place + 1] if place + 1 < len(book) else None,
    }
    return render(request, "rule.html", context)

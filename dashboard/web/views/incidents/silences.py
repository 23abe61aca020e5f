"""On these pages people take incidents out of the lists for a while, and see which silences hold."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import transaction
from django.db.models import Q
from django.shortcuts import redirect, render
from django.utils import timezone

from dashboard.access.roles import needs
from dashboard.access.trail import change_log
from dashboard.presentation import incidents as words
from dashboard.web.inputs import person, text_of
from dashboard.web.views.incidents.lists import named_in
from timeline.core.numbers import whole_number
from timeline.models import Incident, Silence, Source, Symptom
from timeline.queries.incidents import filters
from timeline.queries.incidents.lists import current
from timeline.queries.people import silences as silences_queries
from timeline.storage.people import silences
from timeline.storage.permitted.limits import present

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.http import HttpRequest, HttpResponse, QueryDict

_LONGEST = 253  # characters of a matcher, as of a name in Kubernetes
_REASON = 2000
_MATCHERS = ("rule", "namespace", "owner", "actor")
_HOURS = {0.5: "30 minutes", 2: "2 hours", 8: "8 hours", 24: "1 day", 168: "1 week", 720: "30 days"}
_USUAL = 2
_SELECTED = 50  # incidents that are silenced at once, at most


class _Form(NamedTuple):
    """The fields as they were filled in."""

    source: Source | None  # its cluster, or this recording; None for all sources
    matchers: dict[str, str]
    reason: str
    hours: float


@needs.to_read("viewer", action="list")
@needs.to_change("responder", action="silence")
def show_silences(request: "HttpRequest") -> "HttpResponse":
    """List the silences, and expire one, which leads back to the incident on whose page it was done."""
    if request.method == "POST":
        number = whole_number(request.POST.get("silence", ""))
        if number is not None and silences.expire(number):
            change_log.about(request, silence=number)
        about = _about(request.POST)
        return redirect("incident", about.source_id, about.identity) if about else redirect("silences")
    held = [_row(each) for each in silences_queries.active()]
    ended = [_row(each) for each in silences_queries.ended()]
    return render(request, "silences.html", {"held": held, "ended": ended, "limited": not present().everything})


@needs.to_read("responder", action=None)
@needs.to_change("responder", action="silence")
def new_silence(request: "HttpRequest") -> "HttpResponse":
    """Show the form, filled in for an incident if the address names one, and create the silence."""
    about, given = _about(request.GET), request.POST if request.method == "POST" else request.GET
    form = _filled(given, _source(given))
    if about and request.method != "POST":
        form = _suggested(form, about)
    problem = ""
    if request.POST.get("act") == "silence":
        try:
            _create(request, form)
            return redirect("incident", about.source_id, about.identity) if about else redirect("silences")
        except ValueError as error:
            problem = str(error)
    number, titles = 0, list[str]()
    if any(form.matchers.values()):
        number, titles = silences_queries.would_silence(source=form.source, **form.matchers)
    choices = filters.choices(form.source.pk if form.source else None)
    context = {
        "about": about,
        "form": form,
        "of_source": form.source or _source(request.GET),
        "hours": list(_HOURS.items()),
        "choices": choices,
        "matches": number,
        "titles": titles,
        "more": number - len(titles),
        "problem": problem,
        "limited": not present().everything,
        "limits": {"matcher": _LONGEST, "reason": _REASON},
    }
    return render(request, "silence.html", context, status=400 if problem else 200)


@needs.to_read("responder", action=None)
@needs.to_change("responder", action="silence")
def silence_many(request: "HttpRequest") -> "HttpResponse":
    """Show the form that silences what was selected in a list of incidents, one silence for each, and create these."""
    keys = request.POST.getlist("incident")[:_SELECTED]
    chosen = _selected(keys)
    if not chosen:
        return redirect("incidents")
    form, problem = _filled(request.POST, None), ""
    suggested = [(each, _suggested(form._replace(source=each.source), each)) for each in chosen]
    distinct = {(each.source, *each.matchers.values()): (about, each) for about, each in reversed(suggested)}
    made = [(about, each) for about, each in reversed(distinct.values()) if any(each.matchers.values())]
    if request.POST.get("act") == "silence":
        try:
            with transaction.atomic():
                for _, each in made:
                    _create(request, each)
            return redirect("silences")
        except ValueError as error:
            problem = str(error)
    context = {
        "keys": keys,
        "silences": [{"title": about.title, **each._asdict()} for about, each in made],
        "apart": [about for about, each in suggested if not any(each.matchers.values())],
        "form": form,
        "hours": list(_HOURS.items()),
        "problem": problem,
        "most": _REASON,
    }
    return render(request, "silence_many.html", context, status=400 if problem else 200)


def _selected(keys: "Iterable[str]") -> list[Incident]:
    """Return the incidents that the rows of a list name, in their order, as far as they exist."""
    wanted = named_in(keys, None)
    condition = Q()
    for source, identities in wanted.items():
        condition |= Q(source=source, identity__in=identities)
    rows = Incident.objects.select_related("source__cluster").filter(condition, source__ready=True) if wanted else ()
    found = {(row.source_id, row.identity): row for row in rows}
    named = ((source, identity) for source, identities in wanted.items() for identity in identities)
    return [found[each] for each in named if each in found]


def _create(request: "HttpRequest", form: _Form) -> None:
    """Create a silence. Raises ValueError with a sentence for the person who filled in the form."""
    if not form.hours:
        raise ValueError("Choose how long the silence holds.")
    if not form.reason:
        raise ValueError("Give a reason: others see the silence, and have to know whether it may be ended.")
    made = silences.create(
        source=form.source,
        **form.matchers,
        reason=form.reason,
        by=person(request),
        expires=timezone.now() + timedelta(hours=form.hours),
    )
    change_log.about(request, silence=made.pk)


def _filled(given: "QueryDict", source: Source | None) -> _Form:
    matchers = {name: _text(given, name, _LONGEST) for name in _MATCHERS}
    chosen = given.get("hours", str(_USUAL))
    hours = next((each for each in _HOURS if str(each) == chosen), 0.0)
    everywhere = given.get("scope") == "all"
    return _Form(None if everywhere else source, matchers, _text(given, "reason", _REASON), hours)


def _suggested(form: _Form, about: Incident) -> _Form:
    """Return a form that matches incidents like this one: what all of its symptoms share."""
    of_it = Symptom.objects.filter(source=about.source_id, incident=about.identity)
    symptoms: list[Incident | Symptom] = [*of_it] or [about]
    actors = set.intersection(*(set(each.actors) for each in symptoms))
    owner = _shared(each.name for each in symptoms)
    matchers = {
        "rule": _shared(each.rule for each in symptoms),
        "namespace": _shared(each.namespace for each in symptoms),
        "owner": _literal(owner),
        "actor": "" if owner else min(actors, default=""),
    }
    return form._replace(matchers=matchers)


def _shared(texts: "Iterable[str]") -> str:
    """Return the text if these are all equal, else ""."""
    first, *others = {*texts}
    return "" if others else first


def _literal(name: str) -> str:
    """Return a glob for a name. Kubernetes allows neither * nor ? in names; a name with one is matched as a glob."""
    return name if len(name) <= _LONGEST else ""


def _text(given: "QueryDict", name: str, longest: int) -> str:
    return text_of(given, name)[:longest]


def _source(given: "QueryDict") -> Source | None:
    number = whole_number(given.get("source", ""))
    return Source.objects.select_related("cluster").filter(pk=number, ready=True).first() if number else None


def _about(given: "QueryDict") -> Incident | None:
    identity = given.get("incident", "").replace("\0", "")[:16]
    source = _source(given)
    found = Incident.objects.filter(source=source, identity=current(source.pk, identity)) if source else None
    return found.first() if found is not None else None


def _row(silence: Silence) -> dict[str, Any]:
    shown = silences_queries.payload(silence)
    if silence.cluster:
        where = f"cluster {silence.cluster.name}"
    else:
        where = f"recording {silence.source.name}" if silence.source else "all clusters and recordings"
    return {
        **shown,
        "where": where,
        "matchers": [(name, shown[name]) for name in _MATCHERS if shown[name]],  # type: ignore[literal-required]
        "created": words.written(shown["created"]),
        "until": words.written(shown["expires"]),
        "left": words.length(silence.expires - timezone.now()),
    }

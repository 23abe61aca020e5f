"""Tell a program where the link of an alert leads."""

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from ninja import Router
from ninja.errors import HttpError

from collectors.alerts.objects import LABELS
from dashboard.access.roles import needs
from dashboard.access.signing_in import rights
from dashboard.web import alert_links
from dashboard.web.api.answers import json_response
from timeline.core.entries import microseconds
from timeline.payloads.documents import timestamp
from timeline.payloads.links import LinkChoicePayload, LinkMatchPayload, ResolvedPayload
from timeline.queries.alerts import landing as landing_queries
from timeline.queries.alerts import lookup
from timeline.queries.alerts.lookup import Answer, LinkQuery, Match
from timeline.queries.filters import SourceIncidentFilter
from timeline.queries.incidents import lists
from timeline.queries.objects import lives

router = Router(tags=["alerts"])
_INCIDENTS = 10
_PARAMETERS = [
    {"name": name, "in": "query", "required": False, "schema": {"type": "string"}}
    for name in (*alert_links.ASKED, *LABELS)
]
# An alert may have any other label, too.
_PARAMETERS.append({"name": "labels", "in": "query", "schema": {"type": "object", "additionalProperties": True}})


@router.get("/resolve", response=ResolvedPayload, openapi_extra={"parameters": _PARAMETERS})
@needs.to_read("viewer", action="list", limited=True)
def resolve(request: HttpRequest) -> HttpResponseBase:
    """Return the object that a link of an alert means, with its incarnation and its incidents at that time.

    The parameters are those of `/go`. If no object fits, or several do, the status is 200, too: `match` is null,
    `choices` has those that fit, and `reason` says why. A parameter that cannot be read answers 422.
    """
    try:
        asked = alert_links.parse_link(request.GET)
    except alert_links.Problem as problem:
        raise HttpError(422, str(problem)) from None
    if (wanted := asked.wanted) is None:
        raise HttpError(422, f"The link names no object: give name=, uid=, ip= or {', '.join(LABELS)}.")
    answer = lookup.look_up(wanted, microseconds(timezone.now()), rights.readable(request))
    link = f"{reverse('go')}?{urlencode(asked.fields)}"
    payload: ResolvedPayload = {
        "link": request.build_absolute_uri(link),
        "match": None,
        "choices": [],
        "choices_total": 0,
        "reason": "",
        "alike": [],
        "clusters": [],
    }
    if answer.unknown:
        alike = [life for row in answer.unknown.alike for life in lives.lives([row], row.source_id)]
        for each in alike:
            each["url"] = request.build_absolute_uri(each["url"])
        payload |= {"reason": answer.unknown.message, "alike": alike, "clusters": list(answer.unknown.clusters)}
    elif answer.match and answer.match.target == wanted.targets[0]:
        payload["match"] = _match(request, answer.match, wanted)
    else:
        payload |= _choice(request, answer, wanted)
    return json_response(request, payload)


def _choice(request: HttpRequest, answer: Answer, wanted: LinkQuery) -> ResolvedPayload:
    found = [answer.match] if answer.match else answer.choice
    return {  # type: ignore[typeddict-item]
        "choices": [
            _found(request, each, landing_queries.address(each, wanted.at), alert_links.age(each, wanted.at))
            for each in found
        ],
        "choices_total": max(answer.total, len(found)),
        "reason": alert_links.why_a_choice(wanted, answer),
    }


def _match(request: HttpRequest, match: Match, wanted: LinkQuery) -> LinkMatchPayload:
    source, row = match.candidate.source, match.candidate.row
    landing = landing_queries.landing(match, wanted.at)
    named = SourceIncidentFilter(track=row.id, start=landing.start, end=landing.end)
    incidents = lists.incidents(source.pk, named, order="gravest", limit=_INCIDENTS)
    number, known = lookup.incarnations(row)
    sentence = alert_links.banner(source, row, wanted.at, microseconds(timezone.now()))
    return {
        **_found(request, match, landing.url, sentence),
        "incarnation": number,
        "incarnations": known,
        "incidents": [{**each, "url": request.build_absolute_uri(each["url"])} for each in incidents["incidents"]],
        "incidents_total": incidents["total"],
    }


def _found(request: HttpRequest, match: Match, url: str, sentence: str) -> LinkChoicePayload:
    (source, row, start, end), (relation, apart), _ = match
    life = lives.life(row, source.pk)
    return {
        "url": request.build_absolute_uri(url),
        "object_url": request.build_absolute_uri(life["url"]),
        "source": {
            "id": source.pk,
            "name": source.name,
            "cluster": source.cluster.name if source.cluster else None,
            "live": match.live,
        },
        "object": life["object"],
        "track": row.id,
        "start": timestamp(start),
        "end": None if end is None else timestamp(end),
        "relation": relation,
        "apart": apart,
        "sentence": sentence,
    }

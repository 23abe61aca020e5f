"""Show what a source observed of each kind, what each rule can judge, and what would improve that."""

from typing import TYPE_CHECKING, Any

from django.shortcuts import render

from dashboard.access import limits
from dashboard.access.roles import needs
from dashboard.presentation import wording
from dashboard.presentation.clusters import feeds
from dashboard.presentation.clusters import states as clusters
from dashboard.web.inputs import source_of
from timeline.core.entries import microseconds
from timeline.payloads import documents
from timeline.queries.sources import clusters as cluster_queries
from timeline.queries.sources import coverage as coverage_queries
from timeline.queries.sources import gaps
from timeline.queries.sources.feeds import feeds as feeds_of

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from timeline.payloads.clusters import SourceHealthPayload

_SKIPPED = 500  # files and reasons that are shown


@needs.to_read("viewer", action="see")
def show_coverage(request: "HttpRequest", source_id: int) -> "HttpResponse":
    source = source_of(source_id)
    coverage = coverage_queries.coverage(source_id)
    extent = (microseconds(source.first), microseconds(source.last)) if source.first and source.last else None
    skipped = wording.skipped((each["file"], each["line"], each["reason"]) for each in coverage["skipped"])
    health = cluster_queries.health(source_id)
    freed, freed_total = gaps.freed(source_id)
    context = {
        **(_live(health) if health else {}),
        "who": feeds.who(feeds_of(source_id)) if health else None,
        "source": {"id": source_id, "name": coverage["name"]},
        "outdated": wording.outdated(source),
        "part": limits.in_part(source_id),
        "span": wording.span(*extent) if extent else "nothing",
        "entries": wording.count(coverage["entries"]),
        "lack": wording.judgeable(coverage["rules"]),
        "remedies": [
            {"heading": heading, "text": "\n".join(lines), "copy": heading not in wording.SENTENCES}
            for heading, lines in wording.remedies(each["remedy"] for each in (*coverage["rules"], *coverage["links"]))
            if not (health and heading.startswith("With kubectl"))  # its kinds are chosen where it is connected
        ],
        "judged": wording.judged(coverage["rules"]),
        "provable": wording.provable(coverage["links"]),
        "coverage": wording.kinds(coverage),
        "freed": [{"since": wording.second_of(since), "until": wording.second_of(until)} for since, until in freed],
        "freed_more": wording.some(freed_total - len(freed)),
        "clocks": coverage["clocks"],
        "redacted": coverage["redacted"],
        "redacted_rows": wording.redacted_rows(coverage["redacted"]) if coverage["redacted"] else [],
        "withheld": wording.some(coverage["redacted"]["object"]) if coverage["redacted"] else "",
        "skipped": skipped[:_SKIPPED],
        "mostly_skipped": documents.mostly_skipped(coverage["mostly_skipped"])[:_SKIPPED],
        "skipped_more": wording.some(coverage["skipped_total"] - sum(len(each.lines) for each in skipped[:_SKIPPED])),
    }
    return render(request, "coverage.html", context)


def _live(health: "SourceHealthPayload") -> dict[str, Any]:
    """Return how far the watches of a cluster are, and what they missed."""
    return {
        "health": health,
        "state": health["state"],
        "word": clusters.WORDS[health["state"]],
        "lag": clusters.lag(health),
        "rate": clusters.rate(health),
        "streams": [clusters.stream(each, health["error"]) for each in health["streams"]],
        "missed": clusters.outages(health["gaps"]),
        "missed_more": wording.some(health["gaps_total"] - len(health["gaps"])),
    }

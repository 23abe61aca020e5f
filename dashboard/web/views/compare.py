"""Put the run that did not go well beside runs that went well, and let people choose these."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.http import Http404
from django.shortcuts import render

from dashboard.access.roles import needs
from dashboard.presentation import comparison, wording
from dashboard.web.places import in_place
from dashboard.web.runs import NotChosen, chosen, run_of
from dashboard.web.views.objects import when
from timeline.kinds import qualified
from timeline.models import Source, Track
from timeline.queries.objects import comparing, page
from timeline.queries.objects.alike import alike
from timeline.queries.objects.comparing import TooLarge
from timeline.queries.objects.lives import lives
from timeline.queries.objects.run_incidents import incidents_of_runs, incidents_of_sources
from timeline.queries.sources import extents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import HttpRequest, HttpResponse

    from timeline.queries.objects.comparing import Chosen

_SOURCES = 50  # the most sources that are offered


@needs.to_read("viewer", action="compare")
@in_place
def show_comparison(request: "HttpRequest") -> "HttpResponse":
    bad, good = request.GET.get("bad", ""), request.GET.getlist("good")
    try:
        if not good:
            return _choose(request, bad)
        fine, broken = chosen(good, bad)
        document = comparing.compare(fine, broken)
    except (NotChosen, TooLarge) as problem:
        return _choose(request, bad, str(problem))
    except (Source.DoesNotExist, Track.DoesNotExist):
        raise Http404("An object or a recording of this comparison does not exist.") from None
    alone, both = comparison.apart(document)
    context = {
        "document": document,
        "doubtful": _doubtful(fine, [each["label"] for each in document["good"]]),
        "alone": alone,
        "title": comparison.heading(document),
        "owners": [comparison.owner(each, broken.source) for each in both],
        "others": _address(broken, ()),
        "swapped": _address(fine[0], [broken]) if len(fine) == 1 else "",
        "api": f"/api{_address(broken, fine).replace('/compare/', '/compare')}",
    }
    return render(request, "compare.html", context)


def _address(bad: "Chosen", good: "Sequence[Chosen]") -> str:
    return f"/compare/?{urlencode([('bad', bad), *(('good', each) for each in good)])}"


def _doubtful(fine: "Sequence[Chosen]", labels: "Sequence[str]") -> list[str]:
    """Return a sentence about each of the good runs, with these labels, that had incidents."""
    tracks = [Track.objects.defer("lifeline").get(source=each.source, id=each.track) for each in fine if each.track]
    of_tracks, of_sources = incidents_of_runs(tracks), incidents_of_sources({each.source for each in fine})
    counts = [of_tracks[each.source, each.track] if each.track else of_sources[each.source] for each in fine]
    return [
        f"{label} is taken for a good run, but had {wording.number_of(count, 'incident')}."
        for count, label in zip(counts, labels, strict=True)
        if count
    ]


def _choose(request: "HttpRequest", bad: str, problem: str = "") -> "HttpResponse":
    """Let people choose the good runs of an object, or, without one, which sources to compare."""
    status = 400 if problem else 200
    wanted = None
    try:
        wanted = run_of(bad) if bad else None
    except NotChosen as error:
        problem, status = problem or str(error), 400
    context: dict[str, Any] = {"problem": problem, "bad": bad}
    if wanted is None or wanted.track is None:
        sources = extents.recent_sources(_SOURCES)
        counts = incidents_of_sources(each.id for each in sources)
        offered = sorted(((each, counts[each.id]) for each in sources), key=lambda pair: pair[1] > 0)
        bad_first = next((each.id for each, count in offered if count), None)
        context |= {"sources": offered, "chosen": wanted.source if wanted else bad_first}
        return render(request, "compare_choose.html", context, status=status)
    name = request.GET.get("name", "").replace("\0", "").strip()[:253]
    try:
        run = page.track(wanted.source, wanted.track)
        found = alike(wanted.source, wanted.track, name)
        counts_of = incidents_of_runs(found)
    except (Source.DoesNotExist, Track.DoesNotExist):
        raise Http404("The object does not exist. Its recording may have been deleted.") from None
    names = {each.id: each.name for each in extents.recent_sources(1_000)}
    rows: list[dict[str, Any]] = [
        {
            "value": f"{row.source_id}-{row.id}",
            "life": life,
            "when": when(life["start"], life["end"]),
            "where": names.get(row.source_id, "") if row.source_id != wanted.source else "",
            "incidents": counts_of[row.source_id, row.id],
            "again": life["object"]["name"] == run["object"]["name"],
        }
        for row in found
        for life in lives([row], row.source_id)
    ]
    rows.sort(key=lambda row: row["incidents"] > 0)
    clean = [row["value"] for row in rows if row["again"] and not row["incidents"]]
    kind = qualified(run["object"]["group"], run["object"]["kind"])
    context |= {
        "run": run,
        "kind": kind,
        "when": when(run["start"], run["end"]),
        "source": extents.source(wanted.source),
        "rows": rows,
        "taken": clean[: comparing.GOOD],
        "name": name,
        "most": comparing.GOOD,
    }
    return render(request, "compare_choose.html", context, status=status)

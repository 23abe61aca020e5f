"""Read baselines, which take what is known out of the lists until it gets worse."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from timeline.models import BaselineIncident, Incident

_WORSE = 200  # incidents that have got worse, which are listed


@dataclass(frozen=True)
class Baseline:
    """The baseline of a source as a whole."""

    at: datetime
    by: str
    incidents: int  # that are still in it
    worse: list[tuple[str, str, str]]  # the identity and title of each that has got worse, and in what way


def baseline(source_id: int) -> Baseline | None:
    """Return the baseline of a source; None without one."""
    rows = BaselineIncident.objects.filter(source=source_id)
    first = rows.order_by("at").first()
    if first is None:
        return None
    worse = dict(rows.exclude(ended="").order_by("identity").values_list("identity", "ended")[:_WORSE])
    titles = dict(Incident.objects.filter(source=source_id, identity__in=worse).values_list("identity", "title"))
    listed = [(identity, titles[identity], why) for identity, why in worse.items() if identity in titles]
    return Baseline(first.at, first.by, rows.filter(ended="").count(), listed)


def worse(source_id: int, identity: str) -> str:
    """Return why an incident came out of the baseline of its source; "" if it did not."""
    row = BaselineIncident.objects.filter(source=source_id, identity=identity).exclude(ended="").first()
    return f"It was in the baseline of {row.at:%Y-%m-%d %H:%M} UTC. {row.ended}" if row else ""


def baselines(sources: Collection[int], identities: Collection[str]) -> dict[tuple[int, str], BaselineIncident]:
    """Return those of these incidents that are in the baseline of their source, and have not got worse."""
    rows = BaselineIncident.objects.filter(source__in=sources, identity__in=identities, ended="")
    return {(row.source_id, row.identity): row for row in rows}

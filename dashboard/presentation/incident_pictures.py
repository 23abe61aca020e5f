"""Draw an incident for those who see no page: the picture of its gravest occurrence under its title."""

from dashboard.drawing import figures
from dashboard.drawing.lettering import Letters
from dashboard.drawing.pictures import Picture, steps_of
from dashboard.drawing.standalone import Heading, svg
from dashboard.presentation.incidents import numbers, when, where
from dashboard.presentation.wording import count, plural
from timeline.payloads.findings import IncidentRowPayload
from timeline.queries.incidents import finding as finding_page
from timeline.queries.incidents import lists


def drawing(source_id: int, identity: str, theme: figures.Theme, letters: Letters) -> str:
    """Return the picture of an incident as an SVG file. It is the same as long as the incident is.

    Raises Source.DoesNotExist, Incident.DoesNotExist and Finding.DoesNotExist.
    """
    incident = lists.incident(source_id, identity)
    worst, shown = finding_page.shown_of(source_id, incident)
    columns, start, end, more = finding_page.of_incident(source_id, incident, worst, shown)
    steps = steps_of(shown["proof"], worst["subject"], columns)
    drawn = Picture(columns, start, end, finding=shown["key"], steps=steps)
    origin = lists.origins([source_id])[source_id]
    heading = Heading(
        incident["title"],
        incident["severity"],
        [" · ".join([where(incident), when(incident, live=origin.live)])],
        incident["cause"],
        " · ".join(filter(None, ["Causeline", origin.name, _gravest_of(incident), "Times are in UTC"])),
        f"and {count(more)} more {plural('object', more)}" if more > 0 else "",
    )
    return svg(drawn, heading, theme, letters)


def _gravest_of(incident: IncidentRowPayload) -> str:
    counted = numbers(incident["occurrences"], incident["findings"])
    return f"The gravest of {counted}" if incident["occurrences"] > 1 else counted

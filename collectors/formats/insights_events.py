"""Read the Events of an archive of OpenShift's Insights operator (`events/<namespace>.json`).

It writes of each Event only the namespace, the time, the reason, the message and the type: neither its name nor the
object that it is about. So an Event becomes a line of a log.
"""

from collections.abc import Iterator

import msgspec

from collectors.formats import Format
from collectors.formats.json_items import items, outline
from collectors.formats.logs import LINES, line_of_text
from collectors.formats.stream import Recording, Skipped
from collectors.gate import reason_of
from collectors.normalise.log_lines import LogText
from timeline.core.bounds import FAULTS
from timeline.core.entries import LogLine, Observation, Place, Unknown
from timeline.kinds import seconds

_LEVELS = {"Normal": "info", "Warning": "warning"}


class _Event(msgspec.Struct, gc=False):
    """A CompactedEvent of the Insights operator."""

    lastTimestamp: str
    namespace: str = ""
    reason: str = ""
    message: str = ""
    type: str = ""


_event = msgspec.json.Decoder(_Event)


def sniff(head: bytes) -> bool:
    """Return whether a head is a list of Events without metadata."""
    places = outline(head)
    wanted = {("items", "*", field) for field in ("namespace", "lastTimestamp", "reason", "message")}
    return wanted <= places.keys() and ("items", "*", "metadata") not in places and ("kind",) not in places


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield a line of a log for each Event, and what was skipped."""
    for number, item in enumerate(items(recording, ("items", "*"))):
        if isinstance(item, Skipped):
            yield item
        elif number >= LINES:
            yield Skipped(recording.name, 0, f"is a log of which only the first {LINES} Events were read")
            return
        else:
            place = Place(recording.name, item.line)
            try:
                yield _line(_event.decode(item.data), place)
            except FAULTS as error:
                yield Skipped(recording.name, item.line, f"{item}: {reason_of(error)}")


def _line(event: _Event, place: Place) -> LogLine:
    """Return a line of a log. Raise ValueError if the Event states no time."""
    time = seconds(event.lastTimestamp)
    if time <= 0:
        raise ValueError("the Event states no time")
    text = f'{event.reason}: {event.message} namespace="{event.namespace}"'
    return line_of_text(LogText(time, Unknown.NOTHING, _LEVELS.get(event.type, ""), text, True), place.file, place)


FORMAT = Format("log of Events in an Insights archive", sniff, read)

"""Print records of the audit trail as lines of JSON."""

import sys
from datetime import datetime

from dashboard.access.trail import change_log, trail
from dashboard.access.trail.actions import ACTIONS
from dashboard.cli.output import NotWritable, writing_standard_output
from dashboard.cli.terminal import give_up
from dashboard.web.timestamps import parsed
from timeline.core.entries import moment
from timeline.core.numbers import whole_number

REFUSALS = (NotWritable,)


def show(
    *,
    since: str = "",
    until: str = "",
    who: str = "",
    action: str = "",
    source: str = "",
) -> None:
    """Print who did and saw what in Causeline, as one JSON object on each line."""
    given = {"since": since, "until": until, "who": who, "action": action, "source": source}
    if action and action not in ACTIONS:
        give_up(f"There is no action {action}. There are: {', '.join(sorted(ACTIONS))}.")
    number = whole_number(source)
    if source and number is None:
        give_up("--source has to be a number, as in the address of the timeline.")
    wanted = trail.Wanted(
        who=who, action=action, source=number, since=_time("since", since), until=_time("until", until)
    )
    options = " ".join(f"--{name}={text}" for name, text in given.items() if text)
    change_log.note_command("export trail", options=options)
    with writing_standard_output():
        for piece in trail.lines(wanted):
            sys.stdout.buffer.write(piece)


def _time(name: str, text: str) -> datetime | None:
    try:
        return moment(parsed(text)) if text else None
    except ValueError as error:
        give_up(f"--{name}: {error}")

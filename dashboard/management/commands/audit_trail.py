"""Do the work of `causeline audit-trail`: print records as lines of JSON."""

import sys
from datetime import datetime
from typing import Any, NoReturn

from django.core.management.base import CommandParser

from dashboard.access.trail import change_log, trail
from dashboard.access.trail.actions import ACTIONS
from dashboard.cli.analyze import writing_standard_output
from dashboard.cli.servers.trail import OPTIONS, add_arguments
from dashboard.cli.terminal import say
from dashboard.management.base import BaseCommand
from dashboard.web.timestamps import parsed
from timeline.core.entries import moment
from timeline.core.numbers import whole_number
from timeline.core.printable import plain


class Command(BaseCommand):
    help = "Print who did and saw what in Causeline, as one JSON object on each line."

    def add_arguments(self, parser: CommandParser) -> None:
        add_arguments(parser)

    def handle(self, **options: Any) -> None:
        if (action := options["action"]) and action not in ACTIONS:
            _give_up(f"There is no action {action}. There are: {', '.join(sorted(ACTIONS))}.")
        source = whole_number(options["source"])
        if options["source"] and source is None:
            _give_up("--source has to be a number, as in the address of the timeline.")
        wanted = trail.Wanted(
            who=options["who"],
            action=action,
            source=source,
            since=_time("since", options["since"]),
            until=_time("until", options["until"]),
        )
        given = " ".join(f"--{name}={options[name]}" for name in OPTIONS if options[name])
        change_log.note_command("export trail", options=given)
        with writing_standard_output():
            for piece in trail.lines(wanted):
                sys.stdout.buffer.write(piece)


def _time(name: str, text: str) -> datetime | None:
    try:
        return moment(parsed(text)) if text else None
    except ValueError as error:
        _give_up(f"--{name}: {error}")


def _give_up(words: str) -> NoReturn:
    say(plain(words))
    sys.exit(2)

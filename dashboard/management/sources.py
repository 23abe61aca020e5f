"""Find the recording that somebody names on the command line."""

import sys

from dashboard.cli.terminal import say
from timeline.core.printable import plain
from timeline.models import Source


def named(text: str) -> Source:
    """Return the source with this name or number. If several have the name, return the newest."""
    shown = Source.objects.filter(ready=True).order_by("pk")
    found = shown.filter(name=text).last() or (shown.filter(pk=int(text)).last() if text.isdecimal() else None)
    if found is None:
        names = ", ".join(sorted(set(shown.values_list("name", flat=True)[:20]))) or "none"
        say(plain(f"There is no recording {text}. There are: {names}."))
        sys.exit(2)
    return found

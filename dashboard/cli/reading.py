"""Read recordings for the commands that judge them without a server."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from dashboard import environment
from dashboard.cli.terminal import GaveUp, Progress, give_up, say
from timeline.core.printable import escaped, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@contextmanager
def reading() -> Iterator[Progress]:
    """Set thresholds and redaction as the environment says, and yield the line that shows how much was read.

    Ends the command with 2, and the reason, where a recording or a setting cannot be used, and with 130 after Ctrl-C.
    """
    from collectors.formats import NotARecording

    progress = Progress(sys.stderr)
    try:
        environment.rule_settings()
        environment.redaction(keeps=False)
        yield progress
    except (NotARecording, ValueError, OSError, environment.SettingError) as error:
        progress.end()
        give_up(str(error))
    except KeyboardInterrupt:
        raise GaveUp(130) from None
    finally:
        progress.end()


def accepted(mostly_skipped: Iterable[str], *, allowed: bool) -> bool:
    """Return whether a result counts: most of each input could be read, or that is not asked for. Say so if not."""
    sentences = [*mostly_skipped]
    for sentence in sentences:
        say(plain(sentence))
    if not sentences or allowed:
        return True
    say("most of the input could not be read; --allow-skipped accepts the result all the same")
    return False


def print_json(document: Any) -> None:
    import orjson  # late: most commands print none

    print(escaped(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()))


def leave(status: int) -> NoReturn:
    """End the process without freeing its memory, which would take a tenth of the time of a large recording."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)

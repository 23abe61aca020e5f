"""Write to a terminal: its width, its colours, and the characters that must not reach it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import textwrap
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, TextIO

from timeline.core.printable import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from collectors.formats import AnyReading

_COLOURS = {"error": "31;1", "warning": "33;1", "info": "36", "title": "1", "quiet": "2"}
_COMMAND = re.compile(r"`[^`]*`")
_ASCII = str.maketrans({"≈": "~", "≤": "<=", "–": "-", "→": "->"})  # the signs of a duration that have to stay readable
KEPT = "\0"  # stands for a space at which no line is broken


def say(text: str) -> None:
    """Print a message to standard error; standard output is for results."""
    print(f"causeline: {text}", file=sys.stderr, flush=True)


class GaveUp(SystemExit):
    """A command cannot be carried out, which was said; its code is the exit status."""


def give_up(words: str, status: int = 2) -> NoReturn:
    """Print why a command cannot be carried out, and raise GaveUp with the exit status."""
    say(plain(words))
    raise GaveUp(status)


class Terminal:
    """Write to a stream, with colours if it is a terminal that supports them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.width = min(120, max(40, shutil.get_terminal_size((100, 24)).columns))
        self._plain = {} if "utf" in (stream.encoding or "utf-8").lower() else _ASCII
        self._colours = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def paint(self, text: str, colour: str) -> str:
        return f"\033[{_COLOURS[colour]}m{text}\033[0m" if self._colours else text

    def line(self, text: str = "") -> None:
        print(text.translate(self._plain), file=self._stream)

    def wrapped(self, text: str, indent: str, hanging: str = "", colour: str = "") -> None:
        """Wrap text at the terminal's width. A command in backticks stays in one line, to be copied."""
        whole = _COMMAND.sub(lambda found: found[0].replace(" ", KEPT), text)
        for line in textwrap.wrap(
            whole,
            self.width,
            initial_indent=indent,
            subsequent_indent=indent + hanging,
            break_on_hyphens=False,
            break_long_words=False,
        ):
            shown = line.replace(KEPT, " ")
            self.line(self.paint(shown, colour) if colour else shown)


class StatusLine:
    """Write a line on a terminal again and again, and nothing elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = stream.isatty()

    def show(self, text: str) -> None:
        if self._shown:
            print(f"\r\033[K{text}", end="", file=self._stream, flush=True)

    def end(self) -> None:
        self.show("")


class Progress(StatusLine):
    """Show on a terminal how much was read."""

    def __call__(self, reading: AnyReading, entries: int) -> None:
        share = f"{100 * reading.bytes_read // reading.bytes_total} % · " if reading.bytes_total else ""
        self.show(f"{share}{entries} changes read")


@contextmanager
def stopped_by_signals(words: str, at_once: Callable[[], None]) -> Iterator[threading.Event]:
    """Yield an event that the first SIGINT or SIGTERM sets, after these words; the second one calls `at_once`."""
    stop = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            at_once()
        stop.set()
        say(words)

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def confirmed(sentences: list[str], otherwise: str = "") -> bool:
    """Show the sentences and ask whether to go on. Without a terminal there is nobody to ask: the answer is yes, or no
    with the sentence `otherwise`."""
    if not sys.stdin.isatty():
        if otherwise:
            say(otherwise)
        return not otherwise
    terminal = Terminal(sys.stderr)
    for each in sentences:
        terminal.wrapped(plain(each), "")
    print("Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")

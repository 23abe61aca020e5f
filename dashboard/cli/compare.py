"""Compare recordings, or owners in them, without a server. Modules are imported late, to start quickly."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dashboard import environment
from dashboard.cli import arguments
from dashboard.cli.output import writing_standard_output
from dashboard.cli.reading import accepted, print_json, reading
from dashboard.cli.terminal import Progress, Terminal, say
from timeline.core.printable import plain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from collectors.analysis import Analysis
    from timeline.comparing.lives import Run
    from timeline.comparing.tracks import Bodies
    from timeline.history.lifelines import Track
    from timeline.history.world.world import World
    from timeline.payloads.comparison import ComparisonPayload, OwnerComparisonPayload, StepPayload

_SHOWN = 12  # the most differences of one owner and one type that the table shows
_OWNER = re.compile(r"(?:(?P<namespace>[^/#]*)/)?(?P<kind>[^/#]+)/(?P<name>[^/#]+)(?:#(?P<number>-?[1-9]\d{0,5}))?")


class NotComparable(ValueError):
    """The command cannot be carried out. The message says why and what to do."""


class Owner(NamedTuple):
    """An owner as it is named on the command line."""

    text: str
    namespace: str
    kind: str
    name: str
    number: int | None  # which incarnation of the name, from 1; negative from the last one; None if it is not given


class _Input(NamedTuple):
    name: str
    analysis: Analysis
    bodies: Bodies


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "compare",
        help="say what differs between runs of the same work that went well and one that did not",
        epilog="Exit status: 0 nothing differs, 1 something differs, 2 input or command not understood, or most of an "
        "input skipped.",
    )
    command.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a recording, an archive or a folder of them, for each run; the last one is the run that did not go well",
    )
    command.add_argument(
        "--owner",
        action="append",
        default=[],
        metavar="NS/KIND/NAME",
        help="compare only this object and what it owns; may be repeated, with one FILE or with as many; #2 after the"
        " name means its second incarnation",
    )
    command.add_argument(
        "--output",
        choices=["table", "json"],
        default="table",
        help="a table to read, or the comparison document (%(default)s)",
    )
    arguments.allow_skipped(command)
    command.set_defaults(run=compare)


def compare(options: argparse.Namespace) -> int:
    """Compare runs, the last of which is the bad one, and print what differs.

    Return the exit status: 0 nothing differs, 1 something differs, 2 the input or the command is not understood.
    """
    with reading() as progress:
        owners = [owner_named(text) for text in options.owner]
        _check(options.files, owners)
        inputs = [_read(name, owners, progress) for name in options.files]
        document = _compared(inputs, owners)
    options.analysis = inputs  # keeps the worlds alive until the process ends: see `reading.leave`
    with writing_standard_output():
        if options.output == "json":
            print_json(document)
        else:
            show(document, Terminal(sys.stdout))
    if not accepted(
        (sentence for each in inputs for sentence in each.analysis.mostly_skipped), allowed=options.allow_skipped
    ):
        return 2
    return 1 if document["differences"] else 0


def owner_named(text: str) -> Owner:
    found = _OWNER.fullmatch(text)
    if found is None:
        raise NotComparable(f"{text[:100]!r} names no owner. Write namespace/kind/name, such as shop/Job/report.")
    number = found["number"]
    return Owner(text, found["namespace"] or "", found["kind"], found["name"], int(number) if number else None)


def _check(files: Sequence[str], owners: Sequence[Owner]) -> None:
    """Raise NotComparable unless files and owners make at least two runs."""
    if len(owners) > 1 and len(files) not in (1, len(owners)):
        raise NotComparable(
            f"{len(files)} files and {len(owners)} owners: give one file, or one file for each owner, or one owner."
        )
    if len(files) == 1 and not owners:
        raise NotComparable("One recording is nothing to compare with. Name two recordings, or owners in it (--owner).")


def _read(name: str, owners: Sequence[Owner], progress: Progress) -> _Input:
    from collectors.analysis import analyse
    from timeline.comparing.tracks import Bodies

    bodies = Bodies({owner.namespace for owner in owners})
    return _Input(name, analyse([(Path(name), name)], environment.limits(), progress, observe=bodies.add), bodies)


def _compared(inputs: Sequence[_Input], owners: Sequence[Owner]) -> ComparisonPayload:
    from timeline.comparing.comparison import compare_owners, compare_recordings
    from timeline.comparing.tracks import recording_run

    if not owners:
        whole = [recording_run(each.analysis.world, each.analysis.findings, each.bodies, each.name) for each in inputs]
        return compare_recordings(whole[:-1], whole[-1])
    if len(inputs) == len(owners) == 1:
        runs = _every_incarnation(inputs[0], owners[0])
    elif len(inputs) == 1:
        runs = [_run(inputs[0], owner, owner.text) for owner in owners]
    elif len(owners) == 1:
        runs = [_run(each, owners[0], each.name) for each in inputs]
    else:
        pairs = zip(inputs, owners, strict=True)
        runs = [_run(each, owner, f"{owner.text} in {each.name}") for each, owner in pairs]
    return compare_owners(runs[:-1], runs[-1])


def _every_incarnation(given: _Input, owner: Owner) -> list[Run]:
    lives = lives_of(given.analysis.world, owner, given.name)
    if owner.number is not None or len(lives) < 2:
        raise NotComparable(
            f"{given.name} has one {owner.text}, which is nothing to compare with. Name a second owner or recording."
        )
    return [_track_run(given, track, f"{owner.text}#{number}") for number, track in enumerate(lives, 1)]


def _run(given: _Input, owner: Owner, label: str) -> Run:
    lives = lives_of(given.analysis.world, owner, given.name)
    at = len(lives) - 1 if owner.number is None else owner.number - 1 if owner.number > 0 else len(lives) + owner.number
    if not 0 <= at < len(lives):
        raise NotComparable(f"{given.name}: {owner.text} has {len(lives)} incarnation{'' if len(lives) == 1 else 's'}.")
    if owner.number is None and len(lives) > 1:
        say(f"{given.name}: {owner.text} has {len(lives)} incarnations, and the last is compared; #1 names the first")
    return _track_run(given, lives[at], label)


def _track_run(given: _Input, track: Track, label: str) -> Run:
    from timeline.comparing.tracks import owner_run

    return owner_run(given.analysis.world, track, given.analysis.findings, given.bodies, label)


def lives_of(world: World, owner: Owner, file: str) -> Sequence[Track]:
    """Return the incarnations of an owner. Raises NotComparable if there are none, or several kinds of this name."""
    from timeline.kinds import kind_of

    names = {}
    for track in world.tracks():
        ref = track.ref
        if (ref.namespace, ref.name) != (owner.namespace, owner.name):
            continue
        if kind_of(ref.group, ref.kind).is_meant(owner.kind):
            names[track.name] = world.incarnations(track.name)
    if not names:
        raise NotComparable(f"{file}: no {owner.kind} {owner.name} was observed in {owner.namespace or 'the cluster'}.")
    if len(names) > 1:
        which = " and ".join(sorted(f"{name.kind}.{name.group}" for name in names))
        raise NotComparable(f"{file}: {owner.text} may mean {which}. Write the kind with its group.")
    return next(iter(names.values()))


def show(document: ComparisonPayload, terminal: Terminal) -> None:
    """Print a comparison as text."""
    from dashboard.presentation.comparison import apart, title

    good = ", ".join(plain(run["label"]) for run in document["good"])
    terminal.wrapped(f"Good: {good}", "", "      ")
    terminal.wrapped(f"Bad:  {plain(document['bad']['label'])}", "", "      ")
    terminal.line()
    alone, both = apart(document)
    if document["common"]:
        terminal.line(terminal.paint("In many owners", "title"))
        for each in document["common"]:
            terminal.wrapped(f"· {plain(each['text'])}", "    ", "  ")
        terminal.line()
    for owner in both:
        _show_owner(owner, terminal, steps=len(document["owners"]) == 1 and not document["alike"])
    for heading, owners in alone.items():
        terminal.line(terminal.paint(heading, "title"))
        for owner in owners:
            terminal.line(f"  · {plain(owner['role'])}")
        terminal.line()
    if document["more_owners"]:
        terminal.line(f"{document['more_owners']} more owners differ.")
    for note in document["notes"]:
        terminal.wrapped(plain(note), "", colour="quiet")
    count, alike = len(document["owners"]) + document["more_owners"], document["alike"]
    among = f" in {count} owners" if count > 1 else ""
    if alike and not (alike == 1 and len(document["owners"]) == 1):
        among += (
            f"; {alike} owner{' does' if alike == 1 else 's do'} not differ{' otherwise' if document['common'] else ''}"
        )
    words = title(document)
    terminal.line(f"{words[0].upper()}{words[1:]}{among}.")


def _show_owner(owner: OwnerComparisonPayload, terminal: Terminal, *, steps: bool) -> None:
    from dashboard.presentation.comparison import HEADINGS

    terminal.line(terminal.paint(plain(owner["role"]), "title"))
    for type, heading in HEADINGS.items():
        texts = [each["text"] for each in owner["differences"] if each["type"] == type]
        if texts:
            terminal.line(f"  {heading}")
        for text in texts[:_SHOWN]:
            terminal.wrapped(f"· {plain(text)}", "    ", "  ")
        if len(texts) > _SHOWN:
            terminal.line(f"    … and {len(texts) - _SHOWN} more; --output json has them")
    if steps and owner["steps"]:
        _show_steps(owner["steps"], terminal)
    terminal.line()


def _show_steps(steps: Sequence[StepPayload], terminal: Terminal) -> None:
    from dashboard.presentation.comparison import after

    rows = [(plain(each["step"]), *after(each), each["differs"]) for each in steps]
    wide = max(len(name) for name, *_ in rows)
    middle = max(len(good) for _, good, *_ in rows)
    terminal.line(f"  Steps, and the time since the first one{' ' * max(0, wide - 37)}")
    terminal.line(terminal.paint(f"    {'':<{wide}}  {'good':<{middle}}  this run", "quiet"))
    for name, good, bad, differs in rows:
        line = f"  {'≠' if differs else ' '} {name:<{wide}}  {good:<{middle}}  {bad}"
        terminal.line(terminal.paint(line, "warning") if differs else line)

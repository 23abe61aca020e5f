"""`causeline pull`: fetch the audit log of a time window from a log store.

The store is read by this process. With `--to`, nothing else is needed; otherwise the records are imported by the
command `import` once all of them are here.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard import environment
from dashboard.cli.record import duration
from dashboard.cli.servers.beside import Commands, leaves_root, perform_beside
from dashboard.cli.terminal import StatusLine, confirmed, give_up, say, stopped_by_signals
from dashboard.services import ServiceError
from timeline.core import times
from timeline.core.entries import moment
from timeline.core.printable import plain

if TYPE_CHECKING:
    import argparse
    import threading
    from collections.abc import Callable

    from collectors.stores.kinds import Cost, Kind, Store, Window
    from collectors.stores.pulling import Progress

STORES = ("cloudwatch", "cloud-logging", "log-analytics", "loki", "elasticsearch", "s3")


_STOPPED = 130  # the exit status


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add(
        "pull",
        help="fetch the audit log of a time window from a log store",
        epilog="Exit status: 0 pulled, 1 the servers failed, 2 the store refuses or the command is not understood, "
        "130 stopped; the same command goes on.",
    )
    command.add_argument("--from", dest="store", required=True, choices=STORES, help="the kind of the log store")
    command.add_argument(
        "--cluster",
        metavar="C",
        help="the cluster whose log it is; if it is connected under this name, the log is added to what is watched",
    )
    command.add_argument("--since", metavar="T", help="the begin: a time, such as 2026-11-21T07:52:00Z, or 2h ago")
    command.add_argument("--until", metavar="T", default="", help="the end, which does not belong to it (now)")
    command.add_argument(
        "--set",
        dest="fields",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="a field of the store; @FILE as the value reads it from a file; may be repeated",
    )
    command.add_argument("--to", metavar="FILE", help="write the records to this file, packed if it ends in .zst")
    command.add_argument("--as-recording", metavar="NAME", help="import them as a recording of this name")
    command.add_argument("--dry-run", action="store_true", help="say what it would cost, and pull nothing")
    command.add_argument("--yes", action="store_true", help="do not ask before it begins")
    command.add_argument("--fields", dest="show_fields", action="store_true", help="list the fields of the store")
    command.set_defaults(run=pull)


def pull(options: argparse.Namespace) -> int:
    """Return the exit status: 0 pulled, 1 the servers failed, 2 the store refuses, 130 stopped."""
    from collectors.stores import all_kinds
    from collectors.stores.pulling import finish

    kind = all_kinds()[options.store]
    if options.show_fields:
        return _show_fields(kind)
    if not options.cluster or not options.since:
        give_up("pull needs --cluster and --since.")
    if options.to and options.as_recording:
        give_up("--to writes a file, and --as-recording imports: leave one of them out.")
    with stopped_by_signals("stopping after this step; Ctrl-C again stops at once", lambda: os._exit(_STOPPED)) as stop:
        progress = _pulled(kind, options, stop)
    if progress is None:
        return 0
    path = _path(options)
    say(f"pulled {progress.records:,} records, {_size(progress.bytes)}")
    for example in progress.examples:
        say(f"  not read: {plain(example)}")
    if progress.skipped > len(progress.examples):
        say(f"  and {progress.skipped - len(progress.examples):,} more were not read")
    if options.to:
        finish(path)
        return 0
    return _import(options, path, progress)


def _pulled(kind: Kind, options: argparse.Namespace, stop: threading.Event) -> Progress | None:
    """Pull the window into a file, and return how it went; None for a dry run. Raises GaveUp."""
    from collectors.stores.kinds import StoreRefused, configured, open_store
    from collectors.stores.patience import Stopped, patiently
    from collectors.stores.pulling import Busy, Progress, fingerprint, unfinished
    from collectors.stores.pulling import pull as pull_into

    store: Store | None = None
    shown = _Shown()
    try:
        path = _path(options)
        values = configured(kind, _given(options.fields), options.cluster)
        asked = f"{options.since} {options.until}".strip()
        configuration = fingerprint(kind, {**values, "for": options.cluster})
        progress = unfinished(path)
        if progress is None:
            progress = Progress(kind.name, _window(options.since, options.until), configuration, asked)
        elif (progress.configuration, progress.asked) != (configuration, asked):
            raise StoreRefused(
                f"{path} is an unfinished pull of another window or store ({_words(progress)}). Finish it with the "
                f"command that began it, or delete {path} and {path}.cursor."
            )
        else:
            say(f"going on with {_words(progress)}: {progress.records:,} records are here")
        store = opened = open_store(kind, values)
        if not progress.done and not progress.pages:
            cost = patiently(lambda: opened.cost(progress.window), stop, say)
            say(f"{kind.label}, {_words(progress)}: {_cost(cost)}")
            if not (options.dry_run or options.yes or confirmed([], otherwise="--yes begins without asking.")):
                give_up("Nothing was pulled.")
        if options.dry_run:
            return None
        pull_into(store, path, progress, stop, shown)
        return progress
    except Stopped:
        shown.end()
        give_up("Stopped. The same command goes on from here.", _STOPPED)
    except (StoreRefused, Busy, OSError, environment.SettingError) as error:
        shown.end()
        give_up(str(error))
    finally:
        shown.end()
        if store:
            store.close()


def _import(options: argparse.Namespace, path: Path, progress: Progress) -> int:
    """Import what was pulled, and remove the file if that succeeds. Return the exit status."""
    from collectors.stores.pulling import finish

    if not progress.records:
        say("The window has no records, so there is nothing to import.")
        status = 0
    else:
        begin = moment(progress.window.since)
        where = (
            {"name": options.as_recording}
            if options.as_recording
            else {"cluster": options.cluster, "or_name": f"{options.cluster} {begin:%Y-%m-%d %H:%M}"}
        )
        given = {"files": [str(path)], **where}
        status = _in_child(options, lambda: perform_beside(options, "recordings.import_files", given, [str(path)]))
    if status == 0:
        path.unlink(missing_ok=True)
        finish(path)
    else:
        say(f"{path} keeps what was pulled; the same command tries the import again.")
    return status


def _in_child(options: argparse.Namespace, command: Callable[[], int]) -> int:
    """Return the exit status of a command. If it leaves root, its account could not remove the file that root has
    written, so it runs in a child."""
    if not leaves_root(options):
        return command()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        status = command()
    except (ServiceError, environment.SettingError) as error:
        say(str(error))
    finally:
        sys.stderr.flush()
        os._exit(status)


def _path(options: argparse.Namespace) -> Path:
    """Return the file for the records: the one that is named, or one in which they wait for their import. The same
    command has the same file."""
    if options.to:
        return Path(options.to)
    import hashlib

    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "causeline" / "pulls"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    words = "\0".join((options.store, options.cluster, options.since, options.until, *sorted(options.fields)))
    return folder / f"{options.store}-{hashlib.sha256(words.encode()).hexdigest()[:16]}.jsonl"


def _given(fields: list[str]) -> dict[str, str]:
    """Return the fields that the options set. Raise Refused."""
    from collectors.stores.kinds import MOST, StoreRefused

    given = {}
    for each in fields:
        name, equals, value = each.partition("=")
        if not equals:
            raise StoreRefused(f"--set takes FIELD=VALUE, not {each!r}.")
        if value.startswith("@"):
            try:
                with Path(value[1:]).open(encoding="utf-8") as file:
                    value = file.read(MOST + 1)
            except (OSError, UnicodeDecodeError) as error:
                raise StoreRefused(f"{value[1:]} cannot be read: {error}.") from None
        given[name.strip()] = value
    return given


def _window(since: str, until: str) -> Window:
    """Return the window that two texts mean. Raise Refused."""
    from collectors.stores.kinds import StoreRefused, Window

    now = time.time_ns() // 1000
    window = Window(_instant(since, now), _instant(until, now) if until else now)
    if window.since >= window.until:
        raise StoreRefused(f"The window ends before it begins: {_range(window)}.")
    if window.until > now:
        raise StoreRefused("The window ends in the future.")
    return window


def _instant(text: str, now: int) -> int:
    """Return microseconds since 1970 of a time, or of a duration before now. Raise Refused."""
    from collectors.stores.kinds import StoreRefused

    try:
        return now - round(duration(text) * 1e6)
    except ValueError:
        pass
    try:
        return times.instant(text)
    except times.NoTime:
        raise StoreRefused(
            f"{text!r} is not a time with its zone, such as 2026-11-21T07:52:00Z, nor a duration, such as 10m or 2h."
        ) from None


def _cost(cost: Cost) -> str:
    read = (
        f"about {_size(cost.scanned)} are read" if cost.scanned is not None else "how many bytes are read is not known"
    )
    records = f", {cost.records:,} records" if cost.records is not None else ""
    return f"{read}{records}. {cost.note}".strip()


def _show_fields(kind: Kind) -> int:
    for field in kind.fields:
        notes = [
            field.label + (f": {field.help}" if field.help else ""),
            *(["required"] if field.required and not field.default else []),
            *([f"one of {', '.join(field.choices)}"] if field.choices else []),
            *([f"default {field.default}"] if field.default else []),
            *([f"or ${field.variable}"] if field.variable else []),
        ]
        print(f"{field.name}\t{'; '.join(notes)}")
    return 0


class _Shown(StatusLine):
    """Show on a terminal how far a pull has come; elsewhere say only why nothing comes."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self._said = ""

    def __call__(self, progress: Progress) -> None:
        if progress.waiting and progress.waiting != self._said:
            self.end()
            say(plain(progress.waiting))
        self._said = progress.waiting
        reached = f" · up to {_clock(progress.reached)}" if progress.reached else ""
        self.show(f"{progress.records:,} records · {_size(progress.bytes)}{reached}")


def _words(progress: Progress) -> str:
    return _range(progress.window)


def _range(window: tuple[int, int]) -> str:
    return f"{_clock(window[0])} to {_clock(window[1])}"


def _clock(time: int) -> str:
    return f"{moment(time):%Y-%m-%d %H:%M:%S} UTC"


def _size(count: int) -> str:
    from dashboard.presentation import wording  # late: the command's help does not need it

    return wording.size(count)

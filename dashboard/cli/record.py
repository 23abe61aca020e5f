"""`causeline record`: watch a cluster and write one file, without servers and a database."""

from __future__ import annotations

import re
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard import environment
from dashboard.cli.terminal import StatusLine, say, stopped_by_signals
from timeline.core.printable import plain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from collectors.recorder import Recorder
    from collectors.watch.output import RecordingFile
    from collectors.watch.server.api import Api
    from collectors.watch.streams.resources import Resource
    from dashboard.cli.servers.beside import Commands


_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_STOPPING = "stopping: the watches finish in a few seconds; Ctrl-C again stops at once"
_SHOWN = 12  # the most kinds, gaps or resources that a line names


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add(
        "record",
        help="watch a cluster without a server and a database, and write its changes to one file",
        epilog="Exit status: 0 recorded, 1 the cluster cannot be reached or read, 2 not writable, or not understood.",
    )
    command.add_argument("-o", "--output", required=True, metavar="FILE", help="a new file, packed if it ends in .zst")
    command.add_argument(
        "--kubeconfig", metavar="F", help="the kubeconfig of the cluster (KUBECONFIG, or ~/.kube/config)"
    )
    command.add_argument(
        "--context", default="", metavar="C", help="the context of the kubeconfig (its current context)"
    )
    command.add_argument(
        "--in-cluster", action="store_true", help="use the ServiceAccount of the Pod in which this runs"
    )
    command.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="R",
        help="also watch this resource, as kubectl names it: crontabs.example.com, '*.example.com'; may be repeated",
    )
    command.add_argument(
        "--exclude", action="append", default=[], metavar="R", help="do not watch this resource; may be repeated"
    )
    command.add_argument("--namespace", metavar="NS", help="watch only this namespace (all namespaces)")
    command.add_argument(
        "--for",
        dest="duration",
        type=duration,
        metavar="T",
        help="stop after this time, such as 90s, 10m or 1h30m (Ctrl-C)",
    )
    command.add_argument(
        "--source", metavar="NAME", help="write what Causeline has observed of this connected cluster instead"
    )
    command.set_defaults(run=record)


def duration(text: str) -> float:
    """Return the seconds of 90s, 10m or 1h30m. Raises ValueError."""
    found = _DURATION.fullmatch(text)
    if not text or found is None:
        raise ValueError(text)
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(hours * 3600 + minutes * 60 + seconds)


def record(options: argparse.Namespace) -> int:
    """Record a cluster into a file.

    Return the exit status: 0 recorded, 1 the cluster cannot be reached or read, 2 the command is not understood, or the
    file cannot be written.
    """
    from collectors.recorder import Recorder  # late: the command's help does not need it
    from collectors.watch.output import RecordingFile
    from collectors.watch.server.failures import ApiError
    from dashboard.cli.output import NotWritable, writable

    if options.source:
        from dashboard.cli.servers.recordings import export

        return export(options, options.source, "recording", options.output)
    path = Path(options.output)
    try:
        environment.redaction()
        limits = environment.limits()
        writable(path, [])
        api = _api(options)
        output = RecordingFile(path)
    except (NotWritable, OSError, environment.SettingError) as error:
        exists = isinstance(error, FileExistsError)
        say(f"{path} already exists, and record does not overwrite it." if exists else str(error))
        return 2
    except ApiError as error:
        say(plain(str(error)))
        return 1
    recorder = Recorder(
        api,
        output,
        include=options.include,
        exclude=options.exclude,
        namespace=options.namespace or "",
        limits=limits,
    )
    line = StatusLine(sys.stderr)
    with stopped_by_signals(_STOPPING, _interrupt) as stop:
        timer = threading.Timer(options.duration or 0, stop.set)
        try:
            say(f"recording {plain(api.host)} into {path}; Ctrl-C ends it")
            if options.duration:
                timer.daemon = True
                timer.start()
            recorder.run(stop, lambda recorder: line.show(f"{_length(recorder)} · {_states(recorder)}"))
        except ApiError as error:
            path.unlink()
            say(plain(str(error)))
            return 1
        except KeyboardInterrupt:
            pass
        finally:
            timer.cancel()
            line.end()
    return _summary(recorder, output)


def _interrupt() -> None:
    raise KeyboardInterrupt  # stop at once: the file lacks at most its last second


def _api(options: argparse.Namespace) -> Api:
    """Return the API of the cluster that the options name. Raises ApiError."""
    from collectors.watch.server.api import Api
    from collectors.watch.server.kubeconfig import default_paths

    if options.in_cluster:
        return Api.in_cluster()
    paths = [Path(options.kubeconfig).expanduser().absolute()] if options.kubeconfig else default_paths()
    return api_by_kubeconfig(paths, options.context)


def api_by_kubeconfig(paths: Sequence[Path], context: str) -> Api:
    """Return the API of a cluster. Raises ApiError.

    The kubeconfig is the caller's own. As with kubectl, all files and programs that it names may be used.
    """
    from collectors.watch.server.api import Api
    from collectors.watch.server.files import Allowed
    from collectors.watch.server.kubeconfig import own

    everywhere = Allowed(None)
    return Api.from_kubeconfig(lambda: own(paths, everywhere).reduced(context, everywhere.read, programs=True))


def _length(recorder: Recorder) -> str:
    seconds = int(time.monotonic() - recorder.began)
    return f"{sum(recorder.entries.values())} changes in {seconds // 60} min {seconds % 60} s"


def _states(recorder: Recorder) -> str:
    states = [state for state, _ in list(recorder.states.values())]
    failing = f" · {count} failing" if (count := states.count("failing")) else ""
    return f"{states.count('watching')} of {len(states)} watches{failing}"


def _summary(recorder: Recorder, output: RecordingFile) -> int:
    """Print what was recorded and what was not. Return the exit status."""
    from dashboard.presentation.wording import size

    if recorder.ended:
        say(plain(recorder.ended))
    if not recorder.marks:
        output.path.unlink()
        say("Nothing could be recorded.")
    else:
        say(f"{output.path} is written: {_length(recorder)}, {size(output.size)}")
        _say_list("recorded", [f"{count} {kind}" for kind, count in recorder.entries.most_common()])
    for resource, (state, why) in sorted(recorder.states.items()):
        if why and state in ("forbidden", "missing", "failing"):
            _say_list(f"not recorded: {resource.name}" if state != "failing" else f"{resource.name} was failing", [why])
        elif why:
            _say_list(resource.name, [why])
    for lack in recorder.missing:
        _say_list(f"not recorded: {lack.resource}", [lack.why])
    _say_list("gaps", [f"{_clock(gap.since)} to {_clock(gap.time)}: {gap.reason}" for gap in recorder.gaps], "; ")
    late = sorted(
        each.name for each in recorder.resources if _watched(recorder, each) and each not in recorder.complete
    )
    _say_list("the last changes may be missing for", late)
    if not recorder.marks:
        return 1
    say(f"`causeline analyze {output.path}` judges it, and `causeline import` imports it")
    return 2 if recorder.ended.startswith("The file") else 0


def _watched(recorder: Recorder, resource: Resource) -> bool:
    return recorder.states.get(resource, ("", ""))[0] in ("watching", "failing")


def _say_list(what: str, things: list[str], between: str = ", ") -> None:
    if things:
        more = f"{between}and {len(things) - _SHOWN} more" if len(things) > _SHOWN else ""
        say(f"  {what}: {plain(between.join(things[:_SHOWN]) + more)}")


def _clock(since_1970: int) -> str:
    from timeline.core.entries import moment

    return moment(since_1970).strftime("%H:%M:%S UTC")

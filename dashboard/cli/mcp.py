"""Answer an agent over MCP on standard input and output. Modules are imported late, to start quickly."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from collectors.extras import missing
from dashboard import environment
from dashboard.cli.servers import address
from dashboard.cli.servers.beside import Commands, data_dir_of
from dashboard.cli.terminal import say

if TYPE_CHECKING:
    import argparse

    from dashboard.agents.api import Caller
    from dashboard.agents.reader import Reader


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add(
        "mcp",
        help="answer an agent over MCP, on standard input and output: from a running Causeline, or from recordings",
        epilog="A running Causeline is the one at CAUSELINE_URL, with the token in CAUSELINE_ACCESS_TOKEN or in the "
        "file that CAUSELINE_ACCESS_TOKEN_FILE names, or else the one on this machine. Exit status: 0 the client has "
        "gone, 1 no Causeline is known, or the extra `mcp` is not installed, 2 the input is not understood.",
    )
    command.add_argument("files", nargs="*", metavar="FILE", help="a recording, an archive or a folder of them")
    command.set_defaults(run=mcp)


def mcp(options: argparse.Namespace) -> int:
    """Answer from files, or from a running Causeline, until the client closes standard input.

    Return the exit status: 0 closed, 1 no Causeline is known or runs, or the extra is not installed, 2 the input is not
    understood.
    """
    if why := missing("mcp", "causeline mcp", "mcp"):
        say(why)
        return 1
    reader = _of_files(options.files) if options.files else _of_server(options)
    if isinstance(reader, int):
        return reader
    import anyio

    from dashboard.agents.tools import server

    try:
        anyio.run(server(reader).run_stdio_async)
    except KeyboardInterrupt:
        return 130
    return 0


def _of_files(files: list[str]) -> Reader | int:
    from collectors.analysis import analyse
    from collectors.formats import NotARecording
    from dashboard.agents.recordings import Recordings

    if "-" in files:
        say("Standard input is where the client of MCP writes: name files.")
        return 2
    try:
        environment.rule_settings()
        environment.redaction()
        limits = environment.limits()
        paths = [(Path(name).absolute(), name) for name in files]
        analysis = analyse(paths, limits, intents=True)
    except (NotARecording, OSError) as error:
        say(str(error))
        return 2
    for sentence in analysis.mostly_skipped:
        say(sentence)
    if analysis.nothing:
        say(analysis.nothing)
        return 2
    gc.freeze()  # the world has no reference cycles, so the garbage collector need not search it
    return Recordings(paths, limits, analysis)


def _of_server(options: argparse.Namespace) -> Reader | int:
    from dashboard.agents.api import Api

    caller = _caller(options)
    if caller is None:
        say(
            "No Causeline is known: set CAUSELINE_URL to its address and CAUSELINE_ACCESS_TOKEN, or start one on this "
            "machine with `causeline up`, or name recordings."
        )
        return 1
    return Api(lambda: caller)


def _caller(options: argparse.Namespace) -> Caller | None:
    """Return where Causeline is, from the environment, or else the one that runs on this machine; None without any."""
    from dashboard.agents.api import Caller

    token = environment.text("CAUSELINE_ACCESS_TOKEN", "")
    url = environment.web_address()
    if not url:
        url = address.announced_by_another(data_dir_of(options))
        token = token or parse_qs(urlsplit(url).query).get("token", [""])[0]
    if not url:
        return None
    parts = urlsplit(url)
    return Caller(f"{parts.scheme}://{parts.netloc}", f"Bearer {token}" if token else "")

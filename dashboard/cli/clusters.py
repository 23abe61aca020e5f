"""The subcommands that connect clusters and let them go; what needs Django runs in a process of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.cli import serve

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser) -> None:
    """The subcommands, with their arguments."""
    command = commands.add_parser(
        "connect",
        parents=[shared],
        help="watch a cluster from now on, or print what it has to grant for that",
        epilog="Exit status: 0 connected, 1 the cluster or the servers failed, 2 it cannot be done so.",
    )
    aim = command.add_mutually_exclusive_group(required=True)
    aim.add_argument("--name", metavar="N", help="what the cluster is called here")
    aim.add_argument("--print-rbac", action="store_true", help="print the manifest of what it has to grant, and end")
    add_arguments(command)
    command.set_defaults(run=connect)
    command = commands.add_parser("clusters", parents=[shared], help="list the connected clusters, and how they do")
    command.add_argument(
        "--renew-secrets", action="store_true", help="encrypt stored credentials anew, with the first key"
    )
    command.set_defaults(run=show)
    command = commands.add_parser("disconnect", parents=[shared], help="watch a cluster no longer")
    command.add_argument("cluster", metavar="NAME")
    command.add_argument("--delete", action="store_true", help="delete what was seen of it, too")
    command.set_defaults(run=disconnect)
    for act, what in (("pause", "watch a cluster no longer until it is resumed"), ("resume", "watch it again")):
        command = commands.add_parser(act, parents=[shared], help=what)
        command.add_argument("cluster", metavar="NAME")
        command.set_defaults(run=act_on, act=act)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """How a cluster is reached, and what of it is watched."""
    command.add_argument("--kubeconfig", metavar="F", help="its credentials (KUBECONFIG, or ~/.kube/config)")
    command.add_argument("--context", default="", metavar="C", help="which of its contexts (the current one)")
    command.add_argument("--in-cluster", action="store_true", help="the cluster that Causeline itself runs in")
    command.add_argument(
        "--by-path",
        action="store_true",
        help="store no credentials: read the file anew on each machine with workers, from folders that "
        "CAUSELINE_KUBECONFIG_DIRS allows; programs that it names (exec) run",
    )
    for name, what in (("include", "watch this besides"), ("exclude", "do not watch this")):
        command.add_argument(
            f"--{name}", action="append", default=[], metavar="R", help=f"{what}, such as jobs.batch.volcano.sh"
        )
    command.add_argument("--keep-days", type=int, metavar="N", help="forget what is older (CAUSELINE_KEEP_DAYS)")
    command.add_argument(
        "--keep-bytes", type=int, metavar="N", help="forget the oldest beyond this size (CAUSELINE_KEEP_BYTES)"
    )
    command.add_argument(
        "--unchecked", action="store_true", help="connect without asking the cluster, which only workers may reach"
    )


def connect(options: argparse.Namespace) -> int:
    """Exit status: 0 connected or printed, 1 the cluster cannot be reached, 2 it cannot be done so."""
    if options.print_rbac:
        return _print_rbac(options)
    reads = []
    if not options.in_cluster:
        usual = os.environ.get("KUBECONFIG", "").partition(os.pathsep)[0] or "~/.kube/config"
        path = Path(options.kubeconfig or usual).expanduser().absolute()
        options.kubeconfig = str(path)  # the command may run with another home
        if path.is_file() and not options.by_path:  # by path, workers have to be able to read it
            reads.append(str(path.parent))
    return serve.run_beside(options, "clusters", "connect", f"--name={options.name}", *_given(options), reads=reads)


def _given(options: argparse.Namespace) -> Iterator[str]:
    for name in ("kubeconfig", "context", "keep_days", "keep_bytes"):
        if (value := getattr(options, name)) not in (None, ""):
            yield f"--{name.replace('_', '-')}={value}"
    for name in ("in_cluster", "by_path", "unchecked"):
        if getattr(options, name):
            yield f"--{name.replace('_', '-')}"
    for name in ("include", "exclude"):
        yield from (f"--{name}={each}" for each in getattr(options, name))


def _print_rbac(options: argparse.Namespace) -> int:
    from collectors.watch import rbac  # late: only this needs it here

    print(rbac.manifest(options.include, options.exclude), end="")
    return 0


def show(options: argparse.Namespace) -> int:
    return serve.run_beside(options, "clusters", "renew-secrets" if options.renew_secrets else "list")


def disconnect(options: argparse.Namespace) -> int:
    """Exit status: 0 done, 2 there is no such cluster."""
    delete = ["--delete"] if options.delete else []
    return serve.run_beside(options, "clusters", "disconnect", *delete, "--", options.cluster)


def act_on(options: argparse.Namespace) -> int:
    """Exit status: 0 done, 2 there is no such cluster."""
    return serve.run_beside(options, "clusters", options.act, "--", options.cluster)

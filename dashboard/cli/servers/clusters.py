"""Connect and disconnect clusters, delete recordings, and undo both. What needs Django runs in a process of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.cli.servers import retention, serve

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser) -> None:
    """Add the subcommands with their arguments."""
    command = commands.add_parser(
        "connect",
        parents=[shared],
        help="connect a cluster, or print the rights that Causeline needs in it",
        epilog="Exit status: 0 connected, 1 the cluster or the servers failed, 2 the options are not possible.",
    )
    aim = command.add_mutually_exclusive_group(required=True)
    aim.add_argument("--name", metavar="N", help="the name of the cluster in Causeline")
    aim.add_argument(
        "--print-rbac", action="store_true", help="print the manifest with the rights that Causeline needs, and stop"
    )
    add_arguments(command)
    command.set_defaults(run=connect)
    command = commands.add_parser("clusters", parents=[shared], help="list the connected clusters and their state")
    command.add_argument(
        "--renew-secrets", action="store_true", help="encrypt the stored credentials again, with the first key"
    )
    command.set_defaults(run=show)
    command = commands.add_parser(
        "disconnect", parents=[shared], help="stop watching a cluster, and delete its credentials"
    )
    command.add_argument("cluster", metavar="NAME")
    command.add_argument("--delete", action="store_true", help="also delete what was observed of the cluster")
    command.add_argument("--yes", action="store_true", help="do not ask first")
    command.set_defaults(run=disconnect)
    command = commands.add_parser(
        "delete",
        parents=[shared],
        help="delete a recording; `undo` restores it within a minute",
        epilog="Exit status: 0 deleted, 1 the servers failed, 2 no such recording, or it was kept.",
    )
    command.add_argument("source", metavar="SOURCE", help="the name of the recording, or its number as in its address")
    command.add_argument("--yes", action="store_true", help="do not ask first")
    command.set_defaults(run=delete)
    command = commands.add_parser(
        "undo",
        parents=[shared],
        help="restore a recording or a cluster that was deleted less than a minute ago",
        epilog="Exit status: 0 restored, 1 the servers failed, 2 it is too late.",
    )
    command.add_argument("name", nargs="?", metavar="NAME", help="of the recording or cluster (the latest deletion)")
    command.set_defaults(run=undo)
    for act, what in (
        ("pause", "stop watching a cluster until it is resumed"),
        ("resume", "watch a paused cluster again"),
    ):
        command = commands.add_parser(act, parents=[shared], help=what)
        command.add_argument("cluster", metavar="NAME")
        command.set_defaults(run=act_on, act=act)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options that say how a cluster is reached and what is watched."""
    command.add_argument(
        "--kubeconfig", metavar="F", help="the credentials of the cluster (KUBECONFIG, or ~/.kube/config)"
    )
    command.add_argument(
        "--context", default="", metavar="C", help="the context of the kubeconfig (its current context)"
    )
    command.add_argument("--in-cluster", action="store_true", help="connect the cluster in which Causeline itself runs")
    command.add_argument(
        "--collector",
        action="store_true",
        help="a collector inside the cluster watches it and sends what it observes (causeline collect)",
    )
    command.add_argument(
        "--by-path",
        action="store_true",
        help="store no credentials: each machine with workers reads the file itself, from folders that "
        "CAUSELINE_KUBECONFIG_DIRS allows; programs that the file names (exec) run",
    )
    for name, what in (("include", "also watch this resource"), ("exclude", "do not watch this resource")):
        command.add_argument(
            f"--{name}", action="append", default=[], metavar="R", help=f"{what}, such as jobs.batch.volcano.sh"
        )
    command.add_argument(
        "--namespace",
        action="append",
        default=[],
        metavar="NS",
        help="watch this namespace only; may be repeated (all namespaces, which needs rights in the whole cluster)",
    )
    for name, what in retention.KEPT.items():
        command.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="N", help=what)
    command.add_argument(
        "--write-events",
        action="store_true",
        help="let routes write Events about incidents into the cluster; with --print-rbac, the rights for that",
    )
    command.add_argument(
        "--unchecked", action="store_true", help="connect without a check, for a cluster that only workers can reach"
    )


def connect(options: argparse.Namespace) -> int:
    """Connect a cluster, or print the rights that Causeline needs in it.

    Return the exit status: 0 connected or printed, 1 the cluster cannot be reached, 2 the options are not possible.
    """
    if options.print_rbac:
        return _print_rbac(options)
    reads = []
    if not (options.in_cluster or options.collector):
        usual = os.environ.get("KUBECONFIG", "").partition(os.pathsep)[0] or "~/.kube/config"
        path = Path(options.kubeconfig or usual).expanduser().absolute()
        options.kubeconfig = str(path)  # the command may run with another home
        if path.is_file() and not options.by_path:  # with --by-path, workers have to be able to read it
            reads.append(str(path.parent))
    return serve.run_beside(options, "clusters", "connect", f"--name={options.name}", *_given(options), reads=reads)


def _given(options: argparse.Namespace) -> Iterator[str]:
    for name in ("kubeconfig", "context", *retention.KEPT):
        if (value := getattr(options, name)) not in (None, ""):
            yield f"--{name.replace('_', '-')}={value}"
    for name in ("in_cluster", "collector", "by_path", "write_events", "unchecked"):
        if getattr(options, name):
            yield f"--{name.replace('_', '-')}"
    for name in ("include", "exclude", "namespace"):
        yield from (f"--{name}={each}" for each in getattr(options, name))


def _print_rbac(options: argparse.Namespace) -> int:
    from collectors.watch import rbac  # imported here, because other commands do not need it

    manifest = rbac.manifest(
        options.include, options.exclude, namespaces=options.namespace, events=options.write_events
    )
    print(manifest, end="")
    return 0


def show(options: argparse.Namespace) -> int:
    return serve.run_beside(options, "clusters", "renew-secrets" if options.renew_secrets else "list")


def disconnect(options: argparse.Namespace) -> int:
    """Stop watching a cluster and delete its credentials. Return the exit status: 2 if there is no such cluster."""
    delete = [*(["--delete"] if options.delete else []), *(["--yes"] if options.yes else [])]
    return serve.run_beside(options, "clusters", "disconnect", *delete, "--", options.cluster)


def delete(options: argparse.Namespace) -> int:
    """Delete a recording. Return the exit status: 0 deleted, 2 no such recording, or it was kept."""
    yes = ["--yes"] if options.yes else []
    return serve.run_beside(options, "deletions", "delete", *yes, "--", options.source)


def undo(options: argparse.Namespace) -> int:
    """Restore what was deleted less than a minute ago. Return the exit status: 0 restored, 2 it is too late."""
    return serve.run_beside(options, "deletions", "undo", "--", *([options.name] if options.name else []))


def act_on(options: argparse.Namespace) -> int:
    """Pause or resume the watching of a cluster. Return the exit status: 2 if there is no such cluster."""
    return serve.run_beside(options, "clusters", options.act, "--", options.cluster)

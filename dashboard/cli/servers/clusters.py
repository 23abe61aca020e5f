"""Declare the commands that connect, list, pause and disconnect clusters."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.cli.servers.beside import Commands, given, perform_beside
from dashboard.cli.servers.retention import KEPT

if TYPE_CHECKING:
    import argparse


def add(commands: Commands) -> None:
    """Declare the commands and their options."""
    command = commands.add(
        "connect",
        "clusters.connect",
        help="connect a cluster, or print the rights that Causeline needs in it",
        epilog="Exit status: 0 connected, 1 the cluster or the servers failed, 2 the options are not possible.",
    )
    aim = command.add_mutually_exclusive_group(required=True)
    aim.add_argument("--name", metavar="N", help="the name of the cluster in Causeline")
    aim.add_argument(
        "--print-rbac", action="store_true", help="print the manifest with the rights that Causeline needs, and stop"
    )
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
    for name, what in KEPT.items():
        command.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="N", help=what)
    command.add_argument(
        "--write-events",
        action="store_true",
        help="let routes write Events about incidents into the cluster; with --print-rbac, the rights for that",
    )
    command.add_argument(
        "--unchecked", action="store_true", help="connect without a check, for a cluster that only workers can reach"
    )

    command.set_defaults(run=connect)
    command = commands.add("clusters", "clusters.show", help="list the connected clusters and their state")
    command.add_argument(
        "--renew-secrets", action="store_true", help="encrypt the stored credentials again, with the first key"
    )
    command = commands.add(
        "disconnect", "clusters.disconnect", help="stop watching a cluster, and delete its credentials"
    )
    command.add_argument("cluster", metavar="NAME")
    command.add_argument("--delete", action="store_true", help="also delete what was observed of the cluster")
    command.add_argument("--yes", action="store_true", help="do not ask first")
    for act, what in (
        ("pause", "stop watching a cluster until it is resumed"),
        ("resume", "watch a paused cluster again"),
    ):
        command = commands.add(act, f"clusters.{act}", help=what)
        command.add_argument("cluster", metavar="NAME")


def connect(options: argparse.Namespace) -> int:
    """Connect a cluster, or print the rights that Causeline needs in it.

    Return the exit status: 0 connected or printed, 1 the cluster cannot be reached, 2 the options are not possible.
    """
    if options.print_rbac:
        return _print_rbac(options)
    chosen = given(options)
    del chosen["print_rbac"]
    reads = []
    if not (options.in_cluster or options.collector):
        usual = os.environ.get("KUBECONFIG", "").partition(os.pathsep)[0] or "~/.kube/config"
        path = Path(options.kubeconfig or usual).expanduser().absolute()
        chosen["kubeconfig"] = str(path)  # the command may run with another home
        if path.is_file() and not options.by_path:  # with --by-path, workers have to be able to read it
            reads.append(str(path.parent))
    return perform_beside(options, "clusters.connect", chosen, reads)


def _print_rbac(options: argparse.Namespace) -> int:
    from collectors.watch import rbac  # imported here, because other commands do not need it

    manifest = rbac.manifest(
        options.include, options.exclude, namespaces=options.namespace, events=options.write_events
    )
    print(manifest, end="")
    return 0

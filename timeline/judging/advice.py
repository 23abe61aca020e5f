"""Divide the advice of a finding into steps, in the order in which to take them. It does no I/O.

A rule gives its advice as lines of text. A line may begin with the name of its step (`Look: `, `Stop: `, …); a line
without one belongs to the same step as the line before it. Commands are in `backticks`, ready to be copied. To look
changes nothing; to stop has a command that does.
"""

import re
import shlex
from collections.abc import Iterable
from typing import NamedTuple

from timeline.core.actors import Actor
from timeline.core.entries import ObjectRef

STEPS = ("Look", "Stop", "Clean", "Prevent", "Verify")
_STEP = re.compile(rf"({'|'.join(STEPS)}): ")
_COMMAND = re.compile("(kubectl|vcctl|watch|echo) ")
_NO_WORD = re.compile("^-|`")
_ACCOUNT = "system:serviceaccount:"


class Step(NamedTuple):
    """One step of the advice and its lines, without the name of the step in front of them."""

    name: str
    lines: list[str]


def steps(advice: Iterable[str]) -> list[Step]:
    """Return the steps of the advice, in the order of `STEPS`. Raises ValueError if the first line names no step."""
    by_name = lines_of(advice)
    return [Step(name, [line[0].upper() + line[1:] for line in by_name[name]]) for name in STEPS if name in by_name]


def lines_of(advice: Iterable[str]) -> dict[str, list[str]]:
    """Return the lines of the advice by their step, without the name of the step in front of them. Raises ValueError if
    the first line names no step."""
    by_name: dict[str, list[str]] = {}
    name = ""
    for line in advice:
        if step := _STEP.match(line):
            name = step[1]
        elif not name:
            raise ValueError(f"advice begins with no step: {line}")
        by_name.setdefault(name, []).append(line.removeprefix(f"{name}: "))
    return by_name


def commands(line: str) -> list[str]:
    """Return the commands in a line of advice. What else is in backticks, such as the name of a field, is none."""
    return [each for each in line.split("`")[1::2] if _COMMAND.match(each)]


def ordered(advice: Iterable[str]) -> tuple[str, ...]:
    """Return the lines of the advice without duplicates, in the order of their steps. Every line must name its step."""
    return tuple(sorted(dict.fromkeys(advice), key=lambda line: STEPS.index(line.partition(":")[0])))


def kubectl(namespace: str, words: str, *names: str) -> str:
    """Return a kubectl command in backticks. Each `{}` in `words` is replaced by one of `names`, quoted for the shell.
    `namespace` is "" for cluster-scoped objects. Names and kinds of recordings belong into `names`: nobody has checked
    that they are no shell commands."""
    command = words.format(*map(quoted, names)) if names else words
    return f"`kubectl {f'-n {quoted(namespace)} ' if namespace else ''}{command}`"


def quoted(name: str) -> str:
    """Return a name as one word for the shell, which is no option of a command and can stand between backticks."""
    return shlex.quote(_NO_WORD.sub("?", name))


def resource(ref: ObjectRef) -> str:
    """Return the name of an object's kind in the form that kubectl accepts, such as job.batch.volcano.sh."""
    return f"{ref.kind.lower()}.{ref.group}" if ref.group else ref.kind.lower()


def about(verb: str, ref: ObjectRef, options: str = "") -> str:
    """Return a kubectl command about one object, in backticks. `verb` is such as "describe"."""
    return kubectl(ref.namespace, f"{verb} {{}} {{}}{options}", resource(ref), ref.name)


def writers_of(ref: ObjectRef) -> str:
    """Return the kubectl command that shows an object with those who wrote its fields, in backticks."""
    return about("get", ref, " -o yaml --show-managed-fields")


def delete_pod(actor: Actor | None) -> str:
    """Return the command that ends the process of an actor; "" if its token does not tell in which Pod it runs."""
    if actor is None or not actor.pod or not actor.user.startswith(_ACCOUNT):
        return ""
    return kubectl(actor.user.removeprefix(_ACCOUNT).partition(":")[0], "delete pod {}", actor.pod)


def restart(actor: Actor | None) -> tuple[str, ...]:
    """Return the advice to restart an actor; () if its token does not tell in which Pod it runs."""
    if not (command := delete_pod(actor)):
        return ()
    return (f"Stop: if {actor} goes on, {command} ends its Pod; what owns the Pod starts it anew, with new copies.",)


def own_leases(workloads: Iterable[ObjectRef]) -> tuple[str, ...]:
    """Return the advice to give each of these workloads a Lease of its own; () if there are none."""
    edits = " and ".join(about("edit", each) for each in workloads)
    if not edits:
        return ()
    return (
        f"Stop: give each a Lease of its own: {edits}; for schedulers `--leader-elect-resource-name` with the name of "
        "the scheduler. The roles of their accounts have to allow these Leases.",
    )


def repair_lookups(pod: ObjectRef) -> tuple[str, ...]:
    """Return the advice on a Pod whose lookups of a Service may have failed."""
    return (
        f"Look: does it run, and did its lookups fail? {kubectl(pod.namespace, 'logs {} --all-containers', pod.name)}",
        f"Clean: if it has given up, {kubectl(pod.namespace, 'delete pod {}', pod.name)} lets its owner create another "
        "one. Find out first whether its owner would then restart the other Pods, too.",
    )


def touch_endpoints(service: ObjectRef) -> str:
    """Return the advice to touch the EndpointSlices of a Service that kube-vip has overlooked."""
    words = "annotate endpointslices -l kubernetes.io/service-name={} looked-at=again --overwrite"
    command = kubectl(service.namespace, words, service.name)
    return f"Stop: touch the EndpointSlices of the Service, so that kube-vip looks again: {command}."

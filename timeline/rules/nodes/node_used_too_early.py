"""A Pod that was bound to a node before the node could run it.

## What it sees

A Pod was bound to a node before the storage driver of one of its volumes had registered there, or before the node was
ready, and the kubelet then could not mount the volume, or could not set up the network of the Pod.

## Why it matters

The Pod waits on a node that cannot run it, while others could. The kubelet tries again with growing delays, so the
Pod starts late even once the driver is there, or is deleted as failed by its owner.

## Proof

The binding, the Event in which the kubelet names the driver that it misses, and the CSINode of the node: it did not
have the driver when the Pod was bound, and got it later. Without a driver: the Event about the network, and the Node,
which was not ready when the Pod was bound, and became ready later.

## Looks alike but is benign

- A driver that was registered when the Pod was bound, and that failed later.
- A node whose CSINode was not observed.
- Pods of DaemonSets, which prepare the node: they are bound to nodes that are not ready.

## What to do

Let the node have a taint until its drivers have registered, which the driver takes away.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from timeline.core.order import SECOND
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.findings import Effect, Finding, Part, Proof, occurrence
from timeline.judging.nodes.bindings import Binding, binding_of, node_ref
from timeline.judging.rulebook import rule
from timeline.judging.verdicts import Verdict, between, order_of, so_far, why

_DRIVER = re.compile(r"driver name (\S{1,253}) not found in the list of registered CSI drivers")


class _Lack(NamedTuple):
    """What a node did not have when a Pod was bound to it."""

    what: str
    event: Track  # in which the kubelet says so
    state: tuple[Track, Moment]  # the object that shows that it was not there
    came: Moment | None  # the moment of that object at which it was; None if it never was
    verdict: Verdict


@rule(
    "node-used-too-early",
    judges=("Pod",),
    needs=(
        need(line("Pod", verbs="state")),
        need(line("Event", verbs="create")),
        need(line("Pod", verbs="update status"), misses="Pods whose binding only a later write shows"),
        need(line("CSINode", verbs="state"), misses="drivers that had not registered"),
        need(line("CSINode", verbs="create"), misses="drivers of nodes whose CSINode was not logged before"),
        need(line("Node", verbs="status"), misses="nodes that were not ready"),
    ),
    incident="{subjects} were bound to nodes that could not run them yet",
    harm="{count} Pods bound to nodes that could not run them yet",
    times=True,
)
def judge(pod: Track, world: World) -> Iterator[Finding]:
    bound = binding_of(pod)
    if bound is None or _prepares(pod) or _ran_at_once(pod, bound):
        return
    lack = _lack(bound, pod, world)
    if lack is None:
        return
    ref, (shows, state), node = pod.ref, lack.state, bound.node
    proof = [
        Proof(f"bound to {node}", ref, bound.moment, Part.ACT),
        Proof(f"node without {lack.what}", shows.ref, state),
        Proof("kubelet says so", lack.event.ref, lack.event.first),
    ]
    if lack.came:
        proof.append(Proof(f"{lack.what} there", shows.ref, lack.came, Part.LATE))
    late = between(bound.moment, lack.came) if lack.came else so_far(bound.moment, world.no_later(lack.event.last.time))
    once = occurrence(
        *sorted(proof, key=lambda each: each.moment.at),
        headline=f"{{subjects}} was bound to {node} {late} before {lack.what} was there",
        plural="Pods",
        why=why(lack.verdict, bound.moment, lack.came) if lack.came else "Exact: the node does not have it yet.",
        effect=(Effect.POSSIBLE, f"{{names}} waited on a node without {lack.what}"),
        first=bound.moment.time,
        last=max(bound.moment.time, lack.came.time if lack.came else lack.event.last.time),
        interval=late,
        open=lack.came is None,
    )
    yield Finding(
        rule="node-used-too-early",
        subject=ref,
        other=node_ref(bound, world),
        verdict=lack.verdict,
        summary=f"Pod {ref.name} was bound to Node {node} {late} before {lack.what} was there",
        occurrences=(once,),
        measured=once,
        advice=(
            f"Look: {kubectl('', 'get csinode {} -o yaml', node)} and {kubectl('', 'describe node {}', node)}.",
            f"Stop: if the Pod still waits, delete it, so that it is bound again: "
            f"{kubectl(ref.namespace, 'delete pod {}', ref.name)}.",
            "Prevent: give new nodes a taint that the driver takes away once it has registered, such as "
            "`ebs.csi.aws.com/agent-not-ready:NoExecute` of the EBS driver.",
            f"Verify: {kubectl(ref.namespace, 'get pod {} -w', ref.name)} shows that it runs.",
        ),
    )


def _prepares(pod: Track) -> bool:
    return bool(pod.owner and pod.owner.kind in ("DaemonSet", "Node"))


def _ran_at_once(pod: Track, bound: Binding) -> bool:
    """Return whether a Pod ran so soon that the kubelet cannot have tried a second time."""
    ran = next((each for each in pod.moments if each.facts.phase == "Running"), None)
    return ran is not None and ran.time - bound.moment.time < SECOND // 2


def _lack(bound: Binding, pod: Track, world: World) -> _Lack | None:
    """Return what the node lacked, as the first Event says that shows it; None if nothing shows that."""
    events = (each for each in world.referrers(pod.name) if each.ref.kind == "Event")
    for event in sorted(events, key=lambda each: each.first.at):
        reason, message = (getattr(event.first.facts, name, "") for name in ("reason", "message"))
        if event.first.time < bound.moment.time or event.value("involved") is None:
            continue
        if reason == "FailedMount" and (named := _DRIVER.search(message)):
            name = Name("storage.k8s.io", "CSINode", "", bound.node)
            lack = _found(bound, event, f"driver {named[1]}", name, "drivers", named[1], world)
        elif reason in ("FailedCreatePodSandBox", "NetworkNotReady"):
            lack = _found(bound, event, "its network", Name("", "Node", "", bound.node), "ready", "True", world)
        else:
            continue
        if lack:
            return lack
    return None


def _found(bound: Binding, event: Track, what: str, name: Name, fact: str, value: str, world: World) -> _Lack | None:
    """Return what an Event says was missing, if the object of this name shows that it was when the Pod was bound."""
    lives = [each for each in world.incarnations(name, bound.moment.time) if each.first.time <= bound.moment.time]
    shown = [(lives[-1], each) for each in lives[-1].moments if each.time <= bound.moment.time] if lives else []
    if not shown or shown[-1][1].facts is None or value in getattr(shown[-1][1].facts, fact, ()):
        return None
    shows, state = shown[-1]
    later = (each for each in shows.moments if each.at > state.at and each.facts is not None)
    came = next((each for each in later if value in getattr(each.facts, fact, ())), None)
    verdict = order_of(bound.moment, came) if came else Verdict.EXACT
    return _Lack(what, event, (shows, state), came, verdict) if verdict else None

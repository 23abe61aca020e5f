"""Find the changes of an object that somebody meant: what people and their tools set, what a rollout did about it, and
conditions that went bad. It does no I/O.

Heartbeats, status updates, Leases, Events and the ordinary work of the controllers of Kubernetes on what they own are
not among them. Each change is known from the states of one object in commit order, so the order of arrival does not
matter.
"""

from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache

import msgspec

from timeline.core.entries import Change, Entry, Intent, ObjectRef
from timeline.core.intent import has_intent, is_bad, is_tag
from timeline.history.lifelines import Moment, Track, public_uid
from timeline.history.world.world import World
from timeline.kinds import qualified


class Verb(StrEnum):
    """What somebody did to an object."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    WRITTEN = "written"  # the recording does not show what it changed
    STEP = "step"  # a controller carried out a step of a rollout
    WORSENED = "worsened"  # a condition went bad


class Detail(msgspec.Struct, frozen=True, gc=False):
    """One aspect that a change set. A value is None where the aspect was not there."""

    aspect: str  # "image web", "replicas", "finalizers", …
    before: str | None
    after: str | None


class IntentChange(msgspec.Struct, frozen=True, gc=False):
    """One change that somebody meant. Times are microseconds since 1970, UTC."""

    ref: ObjectRef
    verb: Verb
    time: int  # the drawn time
    earliest: int  # the bounds of the commit; the latest is None where nothing bounds it
    latest: int | None
    grade: int  # 0 changes what runs, 1 changes how much of it runs, 2 seldom breaks anything
    wide: bool  # it can concern every object of the cluster
    details: tuple[Detail, ...] = ()
    actor: str = ""
    user_agent: str = ""
    alone: bool = True  # no other write can have made the change; else the author is that of the last write
    revision: str = ""  # "" where the recording does not show it
    owner: ObjectRef | None = None  # the controller that owns the object


# Programs of Kubernetes and of Volcano that carry out what others want.
_CONTROLLERS = (
    "kube-controller-manager", "kube-scheduler", "kube-apiserver", "kubelet", "kube-proxy", "cloud-controller-manager",
    "vc-controller-manager", "vc-scheduler", "cluster-autoscaler", "coredns",
)  # fmt: skip
_ACCOUNTS = ("system:kube-", "system:node:", "system:apiserver", "system:serviceaccount:kube-system:")
# Programs with which people and pipelines write, by the beginning of their names.
_BY_HAND = ("kubectl", "helm", "argocd", "kustomize", "flux", "oc/", "k9s", "lens", "terraform", "pulumi", "mozilla")
_WIDE_GROUPS = frozenset(
    {
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "policy.networking.k8s.io",
        "node.k8s.io",
    }
)
_WIDE_KINDS = frozenset(
    {"Node", "ClusterRole", "ClusterRoleBinding", "PriorityClass", "StorageClass", "IngressClass", "GatewayClass",
     "CSIDriver", "RuntimeClass", "ClusterPolicy", "DeviceClass"}
)  # fmt: skip
# Names of workloads and ConfigMaps on which all Pods depend, in kube-system or a namespace of their own.
_WIDE_NAMES = (
    "coredns", "kube-dns", "node-local-dns", "nodelocaldns", "kube-proxy", "cilium", "calico", "canal", "flannel",
    "kube-flannel", "weave", "antrea", "aws-node", "azure-cni", "kindnet", "multus", "kube-router", "ovn", "ovs",
    "metrics-server",
)  # fmt: skip
_WIDE_CARRIERS = frozenset({"Deployment", "DaemonSet", "ConfigMap", "Service"})
_GIVEN = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default"), ("Service", "kubernetes")}
_STRONG = frozenset(
    {"image", "command", "data", "binaryData", "environment", "selector", "podSelector", "taints", "unschedulable",
     "field", "template", "nodeSelector", "namespaceSelector", "objectSelector", "restart"}
)  # fmt: skip
_OF_CONTROLLERS = frozenset({"Node", "Namespace", "PersistentVolume", "PersistentVolumeClaim", "Service", "Pod"})


def intent_changes(track: Track, world: World) -> list[IntentChange]:
    """Return the changes of an object that somebody meant, in commit order."""
    ref = track.ref
    if ref.kind == "Pod" and not ref.group:
        # Most writes of Pods are the ordinary work of controllers and nodes.
        meant = any(is_by_hand(moment.entry.user_agent) for moment in track.moments)
    else:
        meant = has_intent(ref.group, ref.kind)
    return list(_changes(track, world)) if meant else []


def _changes(track: Track, world: World) -> Iterator[IntentChange]:
    state: Intent | None = None  # what was wanted last, as far as it was observed
    unseen: list[Moment] = []  # the writes since then that do not show what they changed
    before: Moment | None = None
    deleting = False
    for moment in track.moments:
        entry = moment.entry
        known = scaled(state, entry)
        if entry.change is Change.CREATED:
            if _is_meant(track, entry):
                yield _change(track, moment, Verb.CREATED)
            elif _is_step(track):
                yield _change(track, moment, Verb.STEP, details=_replicas(None, known))
        elif not deleting and (entry.change is Change.DELETED or moment.facts.deleting):
            if before is None and entry.change is not Change.DELETED:
                pass  # its deletion began before the source
            elif _is_meant(track, entry):
                yield _change(track, moment, Verb.DELETED, since=before)
        elif known is not None and state is not None and known is not state and known != state:
            yield from _differences(track, moment, state, known, unseen, before, world)
        elif known is None and entry.change is Change.MODIFIED and _is_unknown_write(track, entry):
            if is_by_hand(entry.user_agent):
                yield _change(track, moment, Verb.WRITTEN)
            unseen.append(moment)
        deleting = deleting or moment.facts.deleting
        if known is not None:
            state, unseen = known, []
        before = moment


def scaled(state: Intent | None, entry: Entry) -> Intent | None:
    """Return what is wanted of an object after a write of it; None if the write does not show that.

    A write of its subresource `scale` shows the number of replicas alone. `state` is what was wanted before.
    """
    if entry.action != "scale" or entry.intent is None:
        return entry.intent
    return None if state is None else tuple(sorted({**dict(state), **dict(entry.intent)}.items()))


def _differences(
    track: Track,
    moment: Moment,
    state: Intent,
    known: Intent,
    unseen: list[Moment],
    before: Moment | None,
    world: World,
) -> Iterator[IntentChange]:
    """Yield the change from one state to the next, and apart from it the conditions that went bad."""
    details = list(_details(state, known))
    conditions = [each for each in details if each.aspect.startswith("condition ")]
    wanted = [each for each in details if not each.aspect.startswith("condition ")]
    worse = [each for each in conditions if each.after and is_bad(each.aspect, each.after)]
    worse = [each for each in worse if each.before is None or not is_bad(each.aspect, each.before)]
    # A condition that begins bad is the ordinary start of an object that is not ready yet.
    worse = [each for each in worse if each.before is not None or not is_bad(each.aspect, "Unknown")]
    if worse:
        yield _change(track, moment, Verb.WORSENED, details=tuple(worse))
    if _is_step(track):
        if steps := _replicas(state, known):
            yield _change(track, moment, Verb.STEP, details=steps)
        return
    if moment.action == "status":  # which can only show what an earlier write has changed
        if wanted := [each for each in wanted if each.aspect not in ("finalizers", "ownerReferences")]:
            yield _change(
                track, moment, Verb.CHANGED, tuple(wanted), since=unseen[0] if unseen else before, alone=False
            )
        return
    if is_controller(moment.actor, moment.user_agent):
        wanted = [each for each in wanted if _counts_of_controllers(track, each)]
    if wanted:
        alone = not unseen and (before is None or world.unbroken(before, moment, track))
        since = None if alone else (unseen[0] if unseen else before)
        yield _change(track, moment, Verb.CHANGED, details=tuple(wanted), since=since, alone=alone)


def _details(state: Intent, known: Intent) -> Iterator[Detail]:
    """Yield the aspects that differ, without labels and annotations: programs change these for their own purposes."""
    old, new = dict(state), dict(known)
    for aspect in sorted(old.keys() | new.keys()):
        if old.get(aspect) != new.get(aspect) and not is_tag(aspect):
            yield Detail(aspect, old.get(aspect), new.get(aspect))


def _replicas(state: Intent | None, known: Intent | None) -> tuple[Detail, ...]:
    return tuple(each for each in _details(state or (), known or ()) if each.aspect == "replicas")


def _change(
    track: Track,
    moment: Moment,
    verb: Verb,
    details: tuple[Detail, ...] = (),
    since: Moment | None = None,
    alone: bool = True,
) -> IntentChange:
    earliest, latest = moment.committed
    if since is not None and not alone:
        earliest = min(earliest, since.committed[0])
    known = verb is not Verb.CHANGED or moment.action != "status"
    return IntentChange(
        track.ref,
        verb,
        moment.time,
        earliest,
        latest,
        _grade(track, verb, details),
        is_wide(track.ref),
        details,
        moment.actor if known else "",
        moment.user_agent if known else "",
        alone,
        "" if moment.entry.resource_version is None else str(moment.entry.resource_version),
        _owner(track),
    )


def _owner(track: Track) -> ObjectRef | None:
    if not (owner := track.owner):
        return None
    return ObjectRef(owner.group, owner.version, owner.kind, track.ref.namespace, owner.name, owner.uid)


def _grade(track: Track, verb: Verb, details: tuple[Detail, ...]) -> int:
    if verb in (Verb.CREATED, Verb.STEP):
        return 2
    if verb is Verb.DELETED:
        return 2 if track.ref.kind in ("Job", "Pod") else 0
    if verb is Verb.WORSENED:
        return 0 if is_wide(track.ref) else 2
    names = {each.aspect.partition(" ")[0] for each in details}
    if names == {"taints"} or names == {"finalizers"}:  # a taint that comes harms, and a finalizer that goes
        harms = any(_items(each.after) - _items(each.before) for each in details if each.aspect == "taints")
        harms = harms or any(_items(each.before) - _items(each.after) for each in details if each.aspect != "taints")
        return 0 if harms and names == {"taints"} else 1 if harms else 2
    return 0 if names & _STRONG else 1


def _items(text: str | None) -> set[str]:
    return {*(text or "").split(", ")} - {""}


def _is_meant(track: Track, entry: Entry) -> bool:
    """Return whether a creation or deletion is more than a controller's work on what it owns or always provides."""
    if track.owner or track.ref.kind == "Pod":
        by_hand = is_by_hand(entry.user_agent)
        return by_hand and (not track.owner or entry.change is not Change.CREATED)
    if (track.ref.kind, track.ref.name) in _GIVEN:
        return is_by_hand(entry.user_agent)
    return track.ref.kind == "Node" or not is_controller(entry.actor, entry.user_agent)


def _is_step(track: Track) -> bool:
    """Return whether the object is how a Deployment carries out a rollout."""
    return bool(track.owner) and qualified(track.ref.group, track.ref.kind) == "ReplicaSet"


def _is_unknown_write(track: Track, entry: Entry) -> bool:
    """Return whether a write may have changed what somebody wants, although the recording does not show it."""
    if entry.action in ("status", "binding", "eviction", "token"):
        return False
    return public_uid(track.ref) != "" or entry.facts is None


def _counts_of_controllers(track: Track, detail: Detail) -> bool:
    """Return whether an aspect that a controller of Kubernetes set is worth showing: an autoscaler's replicas or a
    taint, but not what controllers fill in."""
    name = detail.aspect.partition(" ")[0]
    if name in ("finalizers", "ownerReferences", "data", "binaryData", "field"):
        return False
    return name != "spec" or track.ref.kind not in _OF_CONTROLLERS


@lru_cache(10_000)
def is_controller(actor: str, user_agent: str) -> bool:
    """Return whether an account or program of Kubernetes itself made a request, which carries out what others want."""
    return actor.startswith(_ACCOUNTS) or user_agent.startswith(_CONTROLLERS)


@lru_cache(10_000)
def is_by_hand(user_agent: str) -> bool:
    """Return whether a request was made by a program that people and pipelines write with."""
    return user_agent.lower().startswith(_BY_HAND)


def is_wide(ref: ObjectRef) -> bool:
    """Return whether a change of an object can concern every object of the cluster."""
    if ref.namespace:
        return ref.kind in _WIDE_CARRIERS and ref.name.startswith(_WIDE_NAMES)
    return ref.group in _WIDE_GROUPS or ref.kind in _WIDE_KINDS

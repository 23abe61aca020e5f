"""The columns that kubectl shows for each kind. Ages are relative to the recording's time. It does no I/O."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from timeline.kinds import seconds

Document = dict[str, Any]


class Column(NamedTuple):
    name: str
    cell: Callable[[Document, int], Any]  # the value for an object at a time in µs
    wide: bool = False  # shown only with -o wide


def columns_of(kind: tuple[str, str]) -> Sequence[Column]:
    """Return the columns for a kind, which is given as (group, kind)."""
    name, age = Column("Name", lambda document, now: document["metadata"].get("name", "")), Column("Age", _age)
    own = _KINDS.get(kind, ())
    ages = () if kind[1] == "Event" else (age,)
    names = () if kind[1] == "Event" else (name,)
    return (*names, *(each for each in own if not each.wide), *ages, *(each for each in own if each.wide))


def _age(document: Document, now: int) -> str:
    return _age_text(document["metadata"].get("creationTimestamp"), now)


def _age_text(time: Any, now: int) -> str:
    """Return the time since a timestamp as kubectl writes it: 42s, 3m7s, 25h, 12d."""
    if not time:
        return "<unknown>"
    past = max(0, (now - seconds(time)) // 1_000_000)
    if past < 120:
        return f"{past}s"
    minutes, rest = divmod(past, 60)
    if minutes < 10:
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours, rest = divmod(minutes, 60)
    if hours < 8:
        return f"{hours}h{rest}m" if rest else f"{hours}h"
    return f"{hours}h" if hours < 48 else f"{hours // 24}d"


def _at(document: Any, path: str, otherwise: Any = "") -> Any:
    """Return the value at a path such as "status.phase"; `otherwise` if there is none."""
    for name in path.split("."):
        document = document.get(name) if isinstance(document, dict) else None
    return otherwise if document is None else document


def _field(name: str, path: str, otherwise: Any = "", *, wide: bool = False) -> Column:
    """Return a column with the value at a path."""
    return Column(name, lambda document, now: _at(document, path, otherwise), wide)


def _of(name: str, part: str, whole: str) -> Column:
    """Return a column such as "2/3": the value at one path of that at another."""
    return Column(name, lambda document, now: f"{_at(document, part, 0)}/{_at(document, whole, 0)}")


def _pod_status(pod: Document, now: int) -> str:
    """Return the reason why a container waits or has ended, else the phase."""
    text = _at(pod, "status.reason") or _at(pod, "status.phase", "Unknown")
    for container in _at(pod, "status.containerStatuses", []):
        state = container.get("state") or {}
        reason = _at(state, "waiting.reason") or _at(state, "terminated.reason")
        text = reason or text
    return "Terminating" if _at(pod, "metadata.deletionTimestamp") else text


def _pod_ready(pod: Document, now: int) -> str:
    ready = sum(bool(each.get("ready")) for each in _at(pod, "status.containerStatuses", []))
    return f"{ready}/{len(_at(pod, 'spec.containers', []))}"


def _pod_restarts(pod: Document, now: int) -> int:
    return sum(each.get("restartCount", 0) for each in _at(pod, "status.containerStatuses", []))


def _ports(service: Document, now: int) -> str:
    ports = _at(service, "spec.ports", [])
    return ",".join(f"{each['port']}/{each.get('protocol', 'TCP')}" for each in ports) or "<none>"


def _external(service: Document, now: int) -> str:
    if _at(service, "spec.type") != "LoadBalancer":
        return ",".join(_at(service, "spec.externalIPs", [])) or "<none>"
    document = _at(service, "status.loadBalancer.ingress", [])
    return ",".join(each.get("ip") or each.get("hostname", "") for each in document) or "<pending>"


def _node_status(node: Document, now: int) -> str:
    ready: Document = next((each for each in _at(node, "status.conditions", []) if each.get("type") == "Ready"), {})
    text = {"True": "Ready", "False": "NotReady"}.get(ready.get("status", ""), "Unknown")
    return f"{text},SchedulingDisabled" if _at(node, "spec.unschedulable") else text


def _addresses(slices: Document, now: int) -> str:
    found = [address for each in _at(slices, "endpoints", None) or () for address in each.get("addresses", ())]
    return ",".join(found[:3]) + (f" + {len(found) - 3} more..." if len(found) > 3 else "") or "<unset>"


def _job_status(job: Document, now: int) -> str:
    done = [each["type"] for each in _at(job, "status.conditions", []) if each.get("status") == "True"]
    return next((each for each in ("Complete", "Failed", "Suspended") if each in done), "Running")


def _event_seen(event: Document, now: int) -> str:
    times = ("series.lastObservedTime", "lastTimestamp", "deprecatedLastTimestamp", "eventTime")
    return _age_text(next(filter(None, (_at(event, path) for path in times)), None), now)


def _event_object(event: Document, now: int) -> str:
    about = event.get("involvedObject") or event.get("regarding") or {}
    return f"{about.get('kind', '').lower()}/{about.get('name', '')}"


_EVENT = (
    Column("Last Seen", _event_seen),
    _field("Type", "type"),
    _field("Reason", "reason"),
    Column("Object", _event_object),
    Column("Message", lambda document, now: (document.get("message") or document.get("note") or "").strip()),
    _field("Name", "metadata.name", wide=True),
)
_READY = _of("Ready", "status.readyReplicas", "spec.replicas")
_KINDS: dict[tuple[str, str], Sequence[Column]] = {
    ("", "Pod"): (
        Column("Ready", _pod_ready),
        Column("Status", _pod_status),
        Column("Restarts", _pod_restarts),
        _field("IP", "status.podIP", "<none>", wide=True),
        _field("Node", "spec.nodeName", "<none>", wide=True),
    ),
    ("", "Service"): (
        _field("Type", "spec.type", "ClusterIP"),
        _field("Cluster-IP", "spec.clusterIP", "<none>"),
        Column("External-IP", _external),
        Column("Port(s)", _ports),
    ),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "Namespace"): (_field("Status", "status.phase"),),
    ("", "Node"): (Column("Status", _node_status), _field("Version", "status.nodeInfo.kubeletVersion")),
    ("", "ConfigMap"): (Column("Data", lambda document, now: len(document.get("data") or ())),),
    ("", "PersistentVolumeClaim"): (
        _field("Status", "status.phase"),
        _field("Volume", "spec.volumeName"),
        _field("Capacity", "status.capacity.storage"),
        _field("StorageClass", "spec.storageClassName"),
    ),
    ("", "PersistentVolume"): (
        _field("Capacity", "spec.capacity.storage"),
        _field("Status", "status.phase"),
        _field("Claim", "spec.claimRef.name"),
    ),
    ("apps", "Deployment"): (
        _READY,
        _field("Up-to-date", "status.updatedReplicas", 0),
        _field("Available", "status.availableReplicas", 0),
    ),
    ("apps", "ReplicaSet"): (
        _field("Desired", "spec.replicas", 0),
        _field("Current", "status.replicas", 0),
        _field("Ready", "status.readyReplicas", 0),
    ),
    ("apps", "StatefulSet"): (_READY,),
    ("apps", "DaemonSet"): (
        _field("Desired", "status.desiredNumberScheduled", 0),
        _field("Current", "status.currentNumberScheduled", 0),
        _field("Ready", "status.numberReady", 0),
    ),
    ("batch", "Job"): (Column("Status", _job_status), _of("Completions", "status.succeeded", "spec.completions")),
    ("batch", "CronJob"): (_field("Schedule", "spec.schedule"), _field("Suspend", "spec.suspend", False)),
    ("batch.volcano.sh", "Job"): (
        _field("Status", "status.state.phase"),
        _field("MinAvailable", "status.minAvailable", 0),
        _field("Runnings", "status.running", 0),
    ),
    ("scheduling.volcano.sh", "PodGroup"): (
        _field("Status", "status.phase"),
        _field("MinMember", "spec.minMember", 0),
        _field("Runnings", "status.running", 0),
    ),
    ("scheduling.volcano.sh", "Queue"): (_field("State", "status.state"),),
    ("coordination.k8s.io", "Lease"): (_field("Holder", "spec.holderIdentity"),),
    ("discovery.k8s.io", "EndpointSlice"): (
        _field("AddressType", "addressType"),
        Column("Endpoints", _addresses),
    ),
}

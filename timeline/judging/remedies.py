"""This pure module says what to record so that a rule can judge: lines of an audit policy, and kubectl commands."""

from timeline.core.entries import Level

POLICY = "In the audit policy: "
WATCHES = f"{POLICY}- {{level: Metadata, verbs: [list, watch]}}"
REQUESTS = f"{WATCHES}\n{POLICY}- {{level: RequestResponse, verbs: [create, update, patch, delete, deletecollection]}}"
LOGS = "kubectl logs --timestamps --prefix -n NAMESPACE POD > POD.log"
IMPORT_AGAIN = "Import the same audit log again, into the same recording."
_GROUPS = {
    "Job": "batch",
    "Lease": "coordination.k8s.io",
    "EndpointSlice": "discovery.k8s.io",
    "Deployment": "apps",
    "StatefulSet": "apps",
    "DaemonSet": "apps",
    "ReplicaSet": "apps",
    "PriorityClass": "scheduling.k8s.io",
}


def group_of(kind: str) -> str:
    """Return the API group of a qualified kind: "batch" for "Job", "batch.volcano.sh" for "Job.batch.volcano.sh"."""
    name, _, group = kind.partition(".")
    return group or _GROUPS.get(name, "")


def resource_of(kind: str) -> str:
    """Return the resource of a kind, formed as Kubernetes does it: "endpointslices" for "EndpointSlice".

    A log without bodies does not name the kinds of custom resources; then the kind is the resource itself.
    """
    name = kind.lower()
    if name in ("endpoints", kind):
        return name
    if name.endswith(("s", "x", "ch")):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") and name[-2:-1] not in "aeiou" else f"{name}s"


def remedy(kind: str, watching: bool) -> str:
    """Return how to record a kind that was not observed: the command of a watch if `watching`, else a line of an audit
    policy."""
    advise = watch_command if watching else policy_line
    return advise(group_of(kind), resource_of(kind.partition(".")[0]))


def policy_line(group: str, resource: str, level: Level = Level.FULL) -> str:
    """Return the line of an audit policy that logs the writes of a resource."""
    resources = f'{{group: "{group}", resources: ["{resource}", "{resource}/*"]}}'
    verbs = "verbs: [create, update, patch, delete, deletecollection]"
    return f"{POLICY}- {{level: {level.value}, {verbs}, resources: [{resources}]}}"


def watch_command(group: str, resource: str) -> str:
    """Return the command that watches a resource."""
    name = f"{resource}.{group}" if group else resource
    return f"kubectl get {name} -A -w --output-watch-events --show-managed-fields -o json"

"""Write what to record so that a rule can judge: lines of an audit policy, and kubectl commands. It does no I/O."""

from timeline.core.entries import WRITES, Level
from timeline.kinds import resource_of

POLICY = "In the audit policy: "
KEPT_OUT = "No audit policy should"
WATCHES = f"{POLICY}- {{level: Metadata, verbs: [list, watch]}}"
WHOLE_POLICY = "causeline policy > policy.yaml"
LOGS = "kubectl logs --timestamps --prefix -n NAMESPACE POD > POD.log"
IMPORT_AGAIN = "Import the same audit log again, into the same recording."
PRIVATE = (("", "configmaps"), ("", "secrets"), ("oauth.openshift.io", "*"), ("route.openshift.io", "routes"))
"""What holds credentials by its nature, and is never logged with its content: (API group, resource or "*")."""
_SUBRESOURCES = {  # through which objects are written, besides their status
    "deployments": ("scale",),
    "pods": ("binding", "ephemeralcontainers", "eviction", "resize"),
    "replicasets": ("scale",),
    "statefulsets": ("scale",),
}
WITHOUT_STATUS = frozenset(
    {"endpoints", "endpointslices", "leases", "networkpolicies", "priorityclasses", "serviceaccounts", "storageclasses"}
)
"""Resources whose objects have no status, and therefore no such subresource."""
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


def remedy(kind: str, watching: bool) -> str:
    """Return how to record a kind that was not observed: the command of a watch if `watching`, else a line of an audit
    policy."""
    advise = watch_command if watching else policy_line
    return advise(group_of(kind), resource_of(kind.partition(".")[0]))


def policy_line(group: str, resource: str, level: Level = Level.FULL) -> str:
    """Return the line of an audit policy that logs the writes of a resource; a sentence if none should."""
    if is_private(group, resource) and level is not Level.METADATA:
        return f"{KEPT_OUT} log the content of {resource}, which may hold credentials."
    names, verbs = ", ".join(f'"{each}"' for each in written(group, resource)), f"verbs: [{', '.join(WRITES)}]"
    return f'{POLICY}- {{level: {level.value}, {verbs}, resources: [{{group: "{group}", resources: [{names}]}}]}}'


def is_private(group: str, resource: str) -> bool:
    """Return whether objects hold credentials by their nature."""
    return any(group == each and name in (resource, "*") for each, name in PRIVATE)


def written(group: str, resource: str) -> tuple[str, ...]:
    """Return the resource, and its subresources through which the object is written; not those that run commands."""
    whole = resource.partition("/")[0]
    if not whole or whole == "events":
        return (whole,)
    status = () if whole in WITHOUT_STATUS else ("status",)
    known = _SUBRESOURCES.get(whole, ()) if "." not in group or group.endswith(".k8s.io") else ()
    return (whole, *(f"{whole}/{each}" for each in (*status, *known)))


def watch_command(group: str, resource: str) -> str:
    name = f"{resource}.{group}" if group else resource
    return f"kubectl get {name} -A -w --output-watch-events --show-managed-fields -o json"

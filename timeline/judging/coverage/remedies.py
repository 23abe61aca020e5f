"""Write what to record so that a rule can judge: lines of an audit policy, and kubectl commands. It does no I/O."""

from timeline.core.entries import WRITES, Level
from timeline.kinds import group_of, of_resource, resource_of

POLICY = "In the audit policy: "
KEPT_OUT = "No audit policy should"
WATCHES = f"{POLICY}- {{level: Metadata, verbs: [list, watch]}}"
WHOLE_POLICY = "causeline policy > policy.yaml"
LOGS = "kubectl logs --timestamps --prefix -n NAMESPACE POD > POD.log"
IMPORT_AGAIN = "Import the same audit log again, into the same recording."
PRIVATE = (("", "configmaps"), ("", "secrets"), ("oauth.openshift.io", "*"), ("route.openshift.io", "routes"))
"""What holds credentials by its nature, and is never logged with its content: (API group, resource or "*")."""


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
    known = of_resource(group, whole)
    return (whole, *(f"{whole}/{each}" for each in (known.subresources if known else ("status",) if whole else ())))


def watch_command(group: str, resource: str) -> str:
    name = f"{resource}.{group}" if group else resource
    return f"kubectl get {name} -A -w --output-watch-events --show-managed-fields -o json"

"""Keep one copy of values that many events of one log repeat, such as names and references. It does no I/O."""

from collectors.normalise import owner
from collectors.normalise.audit_event import AuditEvent, ObjectReference, client_of
from timeline.core.bounds import check_names
from timeline.core.entries import Client, ObjectRef, Owner
from timeline.kinds import Kind, Metadata, kind_of


class _Texts(dict[str, str]):
    """One copy of each of many texts."""

    def __missing__(self, text: str) -> str:
        if len(self) >= _TEXTS:
            self.clear()
        self[text] = text
        return text


class Interner:
    """Keep one copy of each object reference, owner, client and text of one log, and the kinds the log names. Begin
    anew when there are too many, since the objects of a long log come and go."""

    def __init__(self) -> None:
        self.text = _Texts().__getitem__  # it returns the first copy of an equal text
        self._refs: dict[str, ObjectRef] = {}
        self._owners: dict[str, Owner | None] = {}
        self._clients: dict[tuple[bytes, bytes], Client] = {}
        self.kind_names: dict[tuple[str, str], str] = {}  # (group, resource) -> kind, as the log names it

    def ref(self, ref: ObjectReference, kind: str, metadata: Metadata) -> ObjectRef:
        """Return the reference to the object of an event. Raise ValueError as `check_names` does."""
        uid, name = metadata.uid or ref.uid, ref.name or metadata.name or ""
        # API servers log the name of a Namespace as its namespace, too.
        namespace = "" if kind == "Namespace" and not ref.apiGroup else ref.namespace
        known = self._refs.get(key := uid or f"{kind}.{ref.apiGroup}/{namespace}/{name}")
        if (
            known is None
            or known.name != name
            or known.kind != kind
            or known.namespace != namespace
            or known.version != ref.apiVersion
            or known.group != ref.apiGroup
        ):
            check_names(ref.apiGroup, ref.apiVersion, kind, namespace, name, uid)
            text = self.text
            known = ObjectRef(
                text(ref.apiGroup),
                text(ref.apiVersion),
                kind,
                text(namespace),
                name,
                uid,
            )
            if kind != "Event":  # most Events occur only once
                if len(self._refs) >= _REFS:
                    self._refs.clear()
                self._refs[key] = known
        return known

    def owner(self, metadata: Metadata) -> Owner | None:
        """Return the owner in this metadata as `normalise.owner` does."""
        references = metadata.ownerReferences
        if not references:
            return None
        uid = references[0].uid
        if len(references) > 1 or not uid:
            return owner(metadata)
        known = self._owners.get(uid)
        if known is None:
            if len(self._owners) >= _REFS:
                self._owners.clear()
            known = self._owners[uid] = owner(metadata)
        return known

    def client(self, event: AuditEvent) -> Client:
        """Return the client of an event as `client_of` does."""
        key = bytes(event.sourceIPs), bytes(event.user.extra)
        if key not in self._clients:
            if len(self._clients) == _CLIENTS:
                self._clients.clear()
            self._clients[key] = client_of(event)
        return self._clients[key]

    def kind(self, group: str, resource: str) -> Kind | None:
        """Return the kind of a built-in resource; None for any other."""
        name = _KINDS.get((group, resource))
        return kind_of(group, name) if name else None


_REFS = 50_000  # how many references to objects are kept, about 15 MB
_TEXTS = 50_000  # how many texts are kept
_CLIENTS = 10_000  # how many clients are kept; each new token of a Pod looks like another one
_KINDS = {
    ("", "pods"): "Pod",
    ("", "services"): "Service",
    ("", "endpoints"): "Endpoints",
    ("", "events"): "Event",
    ("", "configmaps"): "ConfigMap",
    ("", "secrets"): "Secret",
    ("", "serviceaccounts"): "ServiceAccount",
    ("", "namespaces"): "Namespace",
    ("", "nodes"): "Node",
    ("", "persistentvolumes"): "PersistentVolume",
    ("", "persistentvolumeclaims"): "PersistentVolumeClaim",
    ("", "replicationcontrollers"): "ReplicationController",
    ("", "resourcequotas"): "ResourceQuota",
    ("apps", "deployments"): "Deployment",
    ("apps", "replicasets"): "ReplicaSet",
    ("apps", "statefulsets"): "StatefulSet",
    ("apps", "daemonsets"): "DaemonSet",
    ("apps", "controllerrevisions"): "ControllerRevision",
    ("batch", "jobs"): "Job",
    ("batch", "cronjobs"): "CronJob",
    ("batch.volcano.sh", "jobs"): "Job",
    ("scheduling.volcano.sh", "podgroups"): "PodGroup",
    ("scheduling.volcano.sh", "queues"): "Queue",
    ("coordination.k8s.io", "leases"): "Lease",
    ("discovery.k8s.io", "endpointslices"): "EndpointSlice",
    ("events.k8s.io", "events"): "Event",
    ("networking.k8s.io", "networkpolicies"): "NetworkPolicy",
    ("networking.k8s.io", "ingresses"): "Ingress",
    ("policy", "poddisruptionbudgets"): "PodDisruptionBudget",
    ("storage.k8s.io", "storageclasses"): "StorageClass",
    ("apiextensions.k8s.io", "customresourcedefinitions"): "CustomResourceDefinition",
    ("apiregistration.k8s.io", "apiservices"): "APIService",
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): "MutatingWebhookConfiguration",
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): "ValidatingWebhookConfiguration",
    ("autoscaling", "horizontalpodautoscalers"): "HorizontalPodAutoscaler",
    ("scheduling.k8s.io", "priorityclasses"): "PriorityClass",
    ("rbac.authorization.k8s.io", "roles"): "Role",
    ("rbac.authorization.k8s.io", "rolebindings"): "RoleBinding",
    ("rbac.authorization.k8s.io", "clusterroles"): "ClusterRole",
    ("rbac.authorization.k8s.io", "clusterrolebindings"): "ClusterRoleBinding",
}
"""The kinds of resources whose writes may answer without naming a kind (deletions, level Metadata)."""

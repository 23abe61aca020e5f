"""Name the kinds of Kubernetes and Volcano that need no file of their own: at most their metadata and status are read.
The file of a kind takes precedence."""

from timeline.kinds import Kind
from timeline.kinds._stated import StatedFacts, StatedShape, stated

_RBAC = "rbac.authorization.k8s.io"

KINDS = (
    Kind("", "ConfigMap", "cm", "Config", subresources=()),
    Kind("", "Secret", "sec", "Config", subresources=(), watched=False),
    Kind("", "ServiceAccount", "sa", "Config", subresources=()),
    Kind("", "ReplicationController", "rc", "Other", subresources=("status", "scale")),
    Kind("", "ResourceQuota", "quota", "Other"),
    Kind("apps", "ControllerRevision", "rev", "Other", subresources=(), watched=False),
    Kind("batch", "CronJob", "cj", "Jobs"),
    Kind("networking.k8s.io", "NetworkPolicy", "netpol", "Network", subresources=()),
    Kind("networking.k8s.io", "Ingress", "ing", "Network", StatedShape, StatedFacts, stated),
    Kind("scheduling.k8s.io", "PriorityClass", "pc", "Cluster", subresources=(), namespaced=False),
    Kind("scheduling.volcano.sh", "Queue", "queue", "Groups", aliases=("q",), namespaced=False),
    Kind("storage.k8s.io", "StorageClass", "sc", "Cluster", subresources=(), namespaced=False),
    Kind(_RBAC, "Role", "role", "Cluster", subresources=(), watched=False),
    Kind(_RBAC, "RoleBinding", "rb", "Cluster", subresources=(), watched=False),
    Kind(_RBAC, "ClusterRole", "cr", "Cluster", subresources=(), namespaced=False, watched=False),
    Kind(_RBAC, "ClusterRoleBinding", "crb", "Cluster", subresources=(), namespaced=False, watched=False),
)

"""Write the RBAC manifests with the least permissions that Causeline needs in a cluster. It does no I/O."""

from collections.abc import Collection, Iterable, Sequence

from collectors.watch.streams.resources import default_resources

NAME = "causeline"
_NEVER = "secrets"
_VERBS = "get, list, watch"


def groups_of(resources: Iterable[str]) -> dict[str, list[str]]:
    """Return the resources by API group: "jobs.batch.volcano.sh" is `jobs` of `batch.volcano.sh`."""
    found: dict[str, list[str]] = {}
    for each in resources:
        resource, _, group = each.partition(".")
        names = found.setdefault(group, [])
        if resource not in names:
            names.append(resource)
    return {group: sorted(found[group]) for group in sorted(found)}


def manifest(
    include: Iterable[str],
    exclude: Collection[str],
    namespace: str = NAME,
    *,
    namespaces: Sequence[str] = (),
    events: bool = False,
) -> str:
    """Return YAML of a ServiceAccount that may list and watch, and of its token.

    It may list and watch the default and the included resources, without the excluded ones, in the whole cluster. If
    `namespaces` are given, it may do so in each of these by a Role and a RoleBinding, and nothing in others. With
    `events`, it may also write Events.
    """
    named = [
        each for each in (*default_resources(), *include) if each not in exclude and each.partition(".")[0] != _NEVER
    ]
    rules = "".join(
        f'  - apiGroups: ["{group}"]\n    resources: [{", ".join(map(_quoted, names))}]\n    verbs: [{_VERBS}]\n'
        for group, names in groups_of(named).items()
    )
    if events:
        rules += '  - apiGroups: [""]\n    resources: [events]\n    verbs: [create, get, patch]\n'
    writes = "It writes Events about incidents, and nothing else" if events else "It never writes"
    where = f" in {', '.join(namespaces)} only" if namespaces else ""
    words = {"name": NAME, "namespace": namespace, "rules": rules}
    granted = "".join(_IN_NAMESPACE.format(**words, granted=each) for each in namespaces)
    account = _ACCOUNT.format(**words, where=where, writes=writes)
    return account + (granted or _IN_CLUSTER.format(**words)) + _TOKEN.format(**words)


def _quoted(name: str) -> str:
    return f'"{name}"' if "*" in name else name


def steps(namespace: str = NAME) -> str:
    """Return shell commands that make a kubeconfig of the manifest."""
    return _STEPS.format(name=NAME, namespace=namespace)


_ACCOUNT = """\
# What Causeline needs of a cluster: to list and watch these kinds{where}. {writes}, and never reads Secrets.
apiVersion: v1
kind: Namespace
metadata:
  name: {namespace}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {name}
  namespace: {namespace}
---
"""

_IN_CLUSTER = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {name}
rules:
{rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {name}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {name}
subjects:
  - kind: ServiceAccount
    name: {name}
    namespace: {namespace}
---
"""

_IN_NAMESPACE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {name}
  namespace: {granted}
rules:
{rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {name}
  namespace: {granted}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {name}
subjects:
  - kind: ServiceAccount
    name: {name}
    namespace: {namespace}
---
"""

_TOKEN = """\
# Its token does not run out. Delete this Secret to take it back; leave it out where Causeline runs inside the cluster.
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  name: {name}
  namespace: {namespace}
  annotations:
    kubernetes.io/service-account.name: {name}
"""

_STEPS = """\
# 1. As an administrator of the cluster, apply the manifest.
kubectl apply -f {name}-rbac.yaml

# 2. Make a kubeconfig of the cluster's address and of the token that the manifest asks for.
umask 077
until kubectl get secret -n {namespace} {name} -o 'jsonpath={{.data.token}}' | grep -q .; do sleep 1; done
export KUBECONFIG_NEW={name}.kubeconfig
kubectl get secret -n {namespace} {name} -o 'jsonpath={{.data.ca\\.crt}}' | base64 -d > {name}-ca.crt
kubectl config --kubeconfig "$KUBECONFIG_NEW" set-cluster {name} --embed-certs --certificate-authority {name}-ca.crt \\
  --server "$(kubectl config view --minify -o 'jsonpath={{.clusters[0].cluster.server}}')"
kubectl config --kubeconfig "$KUBECONFIG_NEW" set-credentials {name} \\
  --token "$(kubectl get secret -n {namespace} {name} -o 'jsonpath={{.data.token}}' | base64 -d)"
kubectl config --kubeconfig "$KUBECONFIG_NEW" set-context {name} --cluster {name} --user {name}
kubectl config --kubeconfig "$KUBECONFIG_NEW" use-context {name}

# 3. Connect.
causeline connect --name prod --kubeconfig "$KUBECONFIG_NEW"
"""

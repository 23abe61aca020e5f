"""Write the files that let an API server say by itself who changed something: a kubeconfig and a policy for its audit
webhook, or the manifest of an admission webhook. It does no I/O."""

import json
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator

from collectors.watch.rbac import NAME, groups_of
from collectors.watch.streams.resources import default_resources
from timeline.judge import rulebook
from timeline.judging.coverage.policies import plan, text
from timeline.kinds import of_resource

AUDIT_PATH, ADMISSION_PATH = "/api/audit/events", "/api/admission/"
# Of ConfigMaps, watches show only the metadata, so nothing could be recognised.
LEFT_OUT = frozenset({"secrets", "events", "events.events.k8s.io", "leases.coordination.k8s.io", "configmaps"})


def audit_policy() -> str:
    """Return the policy for `--audit-policy-file`: what the rules need that judge connected clusters."""
    return text(plan([rule for rule in rulebook() if not rule.recordings]))


def kubeconfig(address: str, token: str, authority: str = "") -> str:
    """Return the kubeconfig for `--audit-webhook-config-file`.

    `address` is that of Causeline, such as https://causeline.example.com, and `authority` the PEM of the certificate
    authority that signed its certificate; "" if the API server's system knows it.
    """
    trust = f"\n      certificate-authority-data: {_encoded(authority)}" if authority else ""
    where = json.dumps(address.rstrip("/") + AUDIT_PATH)
    return _KUBECONFIG.format(name=NAME, where=where, trust=trust, token=json.dumps(token))


def admission_manifest(
    address: str,
    token: str,
    authority: str = "",
    *,
    include: Iterable[str] = (),
    exclude: Collection[str] = (),
    namespace: str = NAME,
) -> str:
    """Return YAML of the admission webhook; `address` and `authority` are as for `kubeconfig`.

    It is asked about the default and the included resources, without the excluded ones and those that are left out, and
    not in kube-system nor in `namespace`, in which Causeline runs.
    """
    named = [each for each in (*default_resources(), *include) if each not in exclude and each not in LEFT_OUT]
    rules = "".join(
        f'      - apiGroups: ["{group}"]\n        apiVersions: ["*"]\n        operations: [CREATE, UPDATE, DELETE]\n'
        f"        resources: [{', '.join(json.dumps(one) for one in _with_status(group, names))}]\n"
        for group, names in groups_of(named).items()
    )
    trust = f"\n      caBundle: {_encoded(authority)}" if authority else ""
    where = json.dumps(address.rstrip("/") + ADMISSION_PATH + token)
    return _ADMISSION.format(name=NAME, where=where, trust=trust, rules=rules, own=json.dumps(namespace))


def _with_status(group: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the resources, each with its subresource `status` if it has one; other subresources write no object."""
    for name in names:
        yield name
        known = of_resource(group, name)
        if known is None or "status" in known.subresources:
            yield f"{name}/status"


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


_KUBECONFIG = """\
# For --audit-webhook-config-file of the API server. An API server sends the token only over https.
apiVersion: v1
kind: Config
current-context: {name}
clusters:
  - name: {name}
    cluster:
      server: {where}{trust}
contexts:
  - name: {name}
    context: {{cluster: {name}, user: {name}}}
users:
  - name: {name}
    user:
      token: {token}
"""

_ADMISSION = """\
# It tells Causeline who asks for a change. Every answer is yes, and if none comes, the API server goes on without.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: {name}
webhooks:
  - name: who.{name}.example.com
    admissionReviewVersions: [v1]
    clientConfig:
      url: {where}{trust}
    failurePolicy: Ignore
    matchPolicy: Equivalent
    sideEffects: None
    timeoutSeconds: 1
    namespaceSelector:
      matchExpressions:
        - {{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, {own}]}}
    rules:
{rules}"""

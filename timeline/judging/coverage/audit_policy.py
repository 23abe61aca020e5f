"""An audit policy of Kubernetes: which requests the API server logs, and how much of each. It does no I/O.

The structs have the fields of `Policy` of `audit.k8s.io/v1`, and lines match as in the API server:
https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/
https://github.com/kubernetes/apiserver/blob/master/pkg/audit/policy/checker.go
"""

from typing import Literal, NamedTuple

import msgspec

PolicyLevel = Literal["None", "Metadata", "Request", "RequestResponse"]
Stage = Literal["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"]


class Attributes(NamedTuple):
    """What the API server knows of a request when it chooses the line of the policy. `resource` is "" if the request is
    not about a resource, such as one for /healthz."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""  # "" also for objects that have none, and for requests about all namespaces
    name: str = ""  # as it stands in the address, in which a creation names nothing
    user: str = ""
    groups: tuple[str, ...] = ()  # of the user
    path: str = ""  # without the parameters


class Resources(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """Resources of one API group: `GroupResources` in Kubernetes.

    "*" stands for all; as a group, older API servers refuse it.
    """

    group: str = ""
    resources: tuple[str, ...] = ()  # "pods", "pods/status", "pods/*", "*/status", "*"; all of the group if empty
    resource_names: tuple[str, ...] = ()

    def match(self, asked: Attributes) -> bool:
        """Return whether a request is about one of these resources."""
        if self.group not in (asked.group, "*"):
            return False
        if not self.resources:
            return True
        if self.resource_names and asked.name not in self.resource_names:
            return False
        matching = {"*", asked.resource, f"{asked.resource}/*"}
        if asked.subresource:
            whole = f"{asked.resource}/{asked.subresource}"
            matching = {"*", whole, f"*/{asked.subresource}", f"{asked.resource}/*"}
        return any(each in matching for each in self.resources)


class PolicyLine(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """One line of a policy: `PolicyRule` in Kubernetes. An empty field does not limit it."""

    level: PolicyLevel
    users: tuple[str, ...] = ()
    user_groups: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    resources: tuple[Resources, ...] = ()
    namespaces: tuple[str, ...] = ()
    urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")
    omit_stages: tuple[Stage, ...] = ()
    omit_managed_fields: bool | None = None

    def match(self, asked: Attributes) -> bool:
        """Return whether the line is about a request."""
        if (self.users and asked.user not in self.users) or (self.verbs and asked.verb not in self.verbs):
            return False
        if self.user_groups and not set(self.user_groups) & set(asked.groups):
            return False
        if self.namespaces or self.resources:
            if not asked.resource or (self.namespaces and asked.namespace not in self.namespaces):
                return False
            return not self.resources or any(each.match(asked) for each in self.resources)
        return not self.urls or (not asked.resource and any(_is_path(asked.path, each) for each in self.urls))


def _is_path(path: str, pattern: str) -> bool:
    return path == pattern or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


class Policy(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A policy. The first line that matches a request decides, and a request that no line matches is not logged."""

    api_version: Literal["audit.k8s.io/v1"]
    kind: Literal["Policy"]
    rules: tuple[PolicyLine, ...]
    omit_stages: tuple[Stage, ...] = ()
    omit_managed_fields: bool = False

    def deciding(self, asked: Attributes) -> int | None:
        """Return the number of the line that decides about a request, counted from 0; None if none matches."""
        return next((number for number, line in enumerate(self.rules) if line.match(asked)), None)

    def omits(self, line: PolicyLine, stage: str) -> bool:
        """Return whether events of a stage are left out of what a line logs."""
        return stage in self.omit_stages or stage in line.omit_stages

    def omits_managed_fields(self, line: PolicyLine) -> bool:
        """Return whether the bodies that a line logs come without managedFields."""
        return self.omit_managed_fields if line.omit_managed_fields is None else line.omit_managed_fields

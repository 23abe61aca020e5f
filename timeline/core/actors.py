"""Find out who sent a request: which process, and which part of it. It does no I/O.

An API server that watches and a controller that writes may be one process under two user agents, and two replicas are
two processes under one. The audit log tells processes apart by the Pod to which their token is bound; without such a
token, by address and program, which several processes may share.
"""

import re
from functools import lru_cache
from typing import NamedTuple, Protocol

from timeline.core.entries import WRITER, Client, ObjectRef, writer

KIND = "Actor"
_OF_MANY = {"leader-election", "metadata-informers", "shared-informers"}  # parts that many programs have
# What clients send as their user agent that do not set one of their own.
_LIBRARIES = {"Go-http-client", "OpenAPI-Generator", "Kubernetes", "Mozilla", "okhttp", "python-requests", "node-fetch"}
_SERVICE_ACCOUNT, _NODE = "system:serviceaccount:", "system:node:"
_SHORT = re.compile(
    r"(?:(?P<program>[^ ]{1,200}(?: of [^ ]{1,200})?) \()?"
    r"(?:kubelet on (?P<node>[^ ()]{1,253})|(?P<namespace>[a-z0-9-]{1,63})/(?P<account>[a-z0-9.-]{1,253}))\)?"
)


class Sent(Protocol):
    """What an audit log shows of the sender of a request."""

    @property
    def actor(self) -> str: ...
    @property
    def user_agent(self) -> str: ...
    @property
    def client(self) -> Client | None: ...


class Actor(NamedTuple):
    """One part of one process, such as the Job controller of a controller manager."""

    process: str  # the UID of its Pod, else its address and program; equal for all parts of a process
    component: str  # "job-controller", or the program where its user agent names no part
    pod: str  # the name of its Pod; "" if its token is not bound to one
    user_agent: str
    user: str

    @property
    def bound(self) -> bool:
        """Return whether the process is surely one: only the token of a Pod shows that."""
        return bool(self.pod)

    def __str__(self) -> str:
        return f"{self.component} in Pod {self.pod}" if self.pod else self.component

    @property
    def ref(self) -> ObjectRef:
        """Return the actor in the form in which findings name objects: named by its user agent, or by its user."""
        return ObjectRef("", "", KIND, "", self.user_agent or self.user, self.process)


def actor_of(sent: Sent) -> Actor | None:
    """Return who sent a request in an audit log; None if nothing in the log says that."""
    if not sent.client and not sent.user_agent and not sent.actor:
        return None
    client = sent.client or Client()
    program, component = _parts(sent.user_agent)
    named = component or program or sent.actor.rpartition(":")[2]
    process = client.pod_uid or f"{client.address} {program or sent.actor}"
    return Actor(process, named, client.pod, sent.user_agent, sent.actor)


@lru_cache(1024)
def _parts(user_agent: str) -> tuple[str, str]:
    """Return the program that a user agent names, and the part of it if it names one.

    Programs of Kubernetes write "<program>/<version> (<platform>) kubernetes/<commit>/<part>", where the part may be
    the account that it has for this part: "system:serviceaccount:kube-system:job-controller".
    """
    words = user_agent.split()
    if not words:
        return "", ""
    program = words[0].partition("/")[0]
    last = words[-1].split("/")
    if len(words) < 2 or len(last) < 3 or last[0] != "kubernetes":
        return program, ""
    component = last[-1].rpartition(":")[2]
    return program, f"{component} of {program}" if component in _OF_MANY else component


def named(account: str | None, user_agent: str | None) -> str:
    """Return who made a change, the program before its account: "kubectl (admin)".

    It is the account alone if the user agent names no program, only a library that many programs send with, or the same
    as the account; the program alone if there is no account; "" if neither is known.
    """
    return _named(writer(account, ""), (user_agent or "")[:WRITER])


@lru_cache(4096)  # as of `timeline.core.entries.writer`
def _named(account: str, user_agent: str) -> str:
    program, component = _parts(user_agent)
    name = writer(component or program, "")
    if account and (not name or name in _LIBRARIES or name == account):
        return account
    return f"{name} ({account})" if account else name


def is_called(name: str, called: str) -> bool:
    """Return whether somebody whom `named` calls `name` is called so, or has an account of that name; also as `short`
    writes them."""
    return any(each == name or name.endswith(f" ({each})") for each in (called, written_out(called)))


def written_out(called: str) -> str:
    """Return a name that `short` may have shortened with the whole name of its account: for "argocd (ops/deployer)",
    "argocd (system:serviceaccount:ops:deployer)"."""
    found = _SHORT.fullmatch(called)
    if not found:
        return called
    account = _NODE + found["node"] if found["node"] else f"{_SERVICE_ACCOUNT}{found['namespace']}:{found['account']}"
    return f"{found['program']} ({account})" if found["program"] else account


def short(name: str) -> str:
    """Return what `named` returned in the words of a list: without an account that says the same as the program, and
    with the namespace and name of a service account ("argocd (ops/deployer)")."""
    program, _, account = name.removesuffix(")").partition(" (")
    if not account:
        return _short_account(name)
    if account.rpartition(":")[2] == program:
        return program
    if program == "kubelet" and account.startswith(_NODE):
        return _short_account(account)
    return f"{program} ({_short_account(account)})"


def _short_account(account: str) -> str:
    if account.startswith(_NODE):
        return f"kubelet on {account.removeprefix(_NODE)}"
    return account.removeprefix(_SERVICE_ACCOUNT).replace(":", "/") if account.startswith(_SERVICE_ACCOUNT) else account

"""Find out who sent a request: which process, and which part of it. It does no I/O.

An API server that watches and a controller that writes may be one process under two user agents, and two replicas are
two processes under one. The audit log tells processes apart by the Pod to which their token is bound; without such a
token, by address and program, which several processes may share.
"""

from functools import lru_cache
from typing import NamedTuple, Protocol

from timeline.core.entries import Client, ObjectRef

KIND = "Actor"
_OF_MANY = {"leader-election", "metadata-informers", "shared-informers"}  # parts that many programs have


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
    if component in _OF_MANY:
        component = f"{component} of {program}"
    named = component or program or sent.actor.rpartition(":")[2]
    process = client.pod_uid or f"{client.address} {program or sent.actor}"
    return Actor(process, named, client.pod, sent.user_agent, sent.actor)


@lru_cache(1024)
def _parts(user_agent: str) -> tuple[str, str]:
    """Return the program that a user agent names, and the part of it if it names one.

    Programs of Kubernetes write "<program>/<version> (<platform>) kubernetes/<commit>/<part>".
    """
    words = user_agent.split()
    if not words:
        return "", ""
    program = words[0].partition("/")[0]
    last = words[-1].split("/")
    return program, last[-1] if len(words) > 1 and len(last) > 2 and last[0] == "kubernetes" else ""

"""Check whether a cluster can be reached, and which resources may be watched in it."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import orjson

from collectors.watch.server.bodies import SMALL_BYTES
from collectors.watch.server.failures import ApiError, Forbidden, safe_text
from collectors.watch.server.failures import Missing as Absent
from collectors.watch.streams.resources import Resource, Target, resources, targets
from timeline.judge import rulebook
from timeline.kinds import qualified

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from collectors.watch.server.api import Api
    from collectors.watch.streams.resources import Missing

VERBS = ("list", "watch")
_EVENTS = Resource("", "v1", "Event", "events", True)
_WRITING = ("create", "patch")
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_VERSION = re.compile(r"v[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}(?:[-+.][0-9A-Za-z][0-9A-Za-z.+-]{0,60})?")
_AT_ONCE = 8  # reviews that are requested at the same time


class Grant(NamedTuple):
    """Whether one resource may be watched."""

    resource: str  # as kubectl names it, such as "jobs.batch"
    kind: str  # as rules name it, such as "batch/Job"
    refused: tuple[str, ...]  # the verbs of those asked about, such as "list" and "watch", that are not allowed
    reason: str  # the cluster's reason
    namespace: str = ""  # the only namespace that was asked about; "" for all of them


class AffectedRule(NamedTuple):
    """A rule that cannot judge everything because a kind is not visible."""

    rule: str
    title: str
    kinds: tuple[str, ...]
    wholly: bool  # whether it cannot judge anything


class AccessReport(NamedTuple):
    """The result of a check of one cluster."""

    version: str  # such as "v1.34.1"; "" if the cluster does not answer
    problem: str  # a sentence that says why the check failed; "" if it did not
    grants: tuple[Grant, ...] = ()
    missing: tuple[Missing, ...] = ()  # resources that the cluster does not serve
    reviews_refused: str = ""  # why access reviews are not allowed; "" if they are
    events: Grant | None = None  # whether Events may be written; None if that was not asked

    @property
    def refused(self) -> list[Grant]:
        """Return the resources that may not be listed or watched."""
        return [each for each in self.grants if each.refused]

    @property
    def affected_rules(self) -> list[AffectedRule]:
        """Return the rules that lack a refused resource."""
        return affected_rules({each.kind for each in self.refused})


def check(
    api: Api,
    include: Sequence[str],
    exclude: Sequence[str],
    namespaces: Sequence[str] = (),
    *,
    events: bool = False,
) -> AccessReport:
    """Connect to a cluster, and ask for each resource whether it may be listed and watched in these namespaces, or in
    all if none is given. With `events`, also ask whether Events may be written in all namespaces.

    The reviews are SelfSubjectAccessReviews of authorization.k8s.io/v1. Failures are in the report's `problem`.
    """
    version = ""
    try:
        version = _version(orjson.loads(api.get("/version", most=SMALL_BYTES)).get("gitVersion"))
        served, missing = resources(api, include, exclude)
        wanted = [target for each in served for target in targets(each, namespaces)]
        return _granted(api, version, wanted, tuple(missing), events=events)
    except ApiError as error:
        return AccessReport(version, str(error))
    except (ValueError, AttributeError):
        return AccessReport(version, "The server at this address is not a Kubernetes API server.")


def may_write_events(api: Api) -> Grant:
    """Return whether Events may be created and changed in all namespaces. Raise ApiError."""
    return _grant(api, Target(_EVENTS), _WRITING)


def _granted(
    api: Api, version: str, wanted: list[Target], missing: tuple[Missing, ...], *, events: bool
) -> AccessReport:
    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            grants = tuple(pool.map(lambda each: _grant(api, each), wanted))
        writing = may_write_events(api) if events else None
    except (Forbidden, Absent) as error:
        return AccessReport(version, "", missing=missing, reviews_refused=str(error))
    return AccessReport(version, "", grants, missing, events=writing)


def _grant(api: Api, target: Target, verbs: Sequence[str] = VERBS) -> Grant:
    resource, namespace = target
    refused, reason = [], ""
    for verb in verbs:
        attributes = {"group": resource.group, "version": resource.version, "resource": resource.resource, "verb": verb}
        if namespace:
            attributes["namespace"] = namespace
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
        answer = api.post(_REVIEWS, orjson.dumps({**review, "spec": {"resourceAttributes": attributes}}))
        status = orjson.loads(answer).get("status") or {}
        if not status.get("allowed"):
            refused.append(verb)
            reason = reason or _text(status.get("reason")) or _text(status.get("evaluationError"))
    name = f"{resource.resource}.{resource.group}" if resource.group else resource.resource
    return Grant(name, qualified(resource.group, resource.kind), tuple(refused), reason, namespace)


def _version(value: object) -> str:
    """Return a version that has the form of one: the server could be another one, whose texts are nobody's business."""
    return value if isinstance(value, str) and _VERSION.fullmatch(value) else "unknown"


def _text(value: object) -> str:
    """Return a text of the answer in a form that is safe to show."""
    return safe_text(value) if isinstance(value, str) else ""


def affected_rules(unseen: Collection[str]) -> list[AffectedRule]:
    """Return the rules that lack some of these kinds."""
    affected = []
    for rule in rulebook():
        kinds = tuple(kind for kind in rule.kinds if kind in unseen)
        essential = [need.lines for need in rule.needs if not need.misses]
        named = [[kind for line in lines for kind in line.kinds] for lines in essential if not lines[0].others]
        if kinds:
            wholly = any(of_need and not set(of_need) - set(kinds) for of_need in named)
            affected.append(AffectedRule(rule.id, rule.title, kinds, wholly))
    return affected

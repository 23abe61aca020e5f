"""This module checks whether a cluster can be reached, and which resources may be watched in it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import orjson

from collectors.watch.bodies import SMALL_BYTES
from collectors.watch.failures import ApiError, Forbidden, safe_text
from collectors.watch.failures import Missing as Absent
from collectors.watch.resources import resources
from timeline.judge import rulebook
from timeline.kinds import qualified

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from collectors.watch.api import Api
    from collectors.watch.resources import Missing, Resource

VERBS = ("list", "watch")
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_AT_ONCE = 8  # questions


class Grant(NamedTuple):
    """Whether one resource may be watched."""

    resource: str  # as kubectl takes it
    kind: str  # as rules name it
    refused: tuple[str, ...]  # verbs; none where it may be
    reason: str  # what the cluster says to that


class AffectedRule(NamedTuple):
    """A rule that cannot say what it could, for lack of a kind."""

    rule: str
    title: str
    kinds: tuple[str, ...]
    wholly: bool  # it cannot judge at all


class AccessReport(NamedTuple):
    """What a cluster answers."""

    version: str  # "v1.34.1"; "" where it does not answer
    problem: str  # why it does not, or why it cannot be asked on, a sentence
    grants: tuple[Grant, ...] = ()
    missing: tuple[Missing, ...] = ()  # what it does not serve
    reviews_refused: str = ""  # why nobody may ask what may be watched

    @property
    def refused(self) -> list[Grant]:
        return [each for each in self.grants if each.refused]

    @property
    def affected_rules(self) -> list[AffectedRule]:
        return affected_rules({each.kind for each in self.refused})


def check(api: Api, include: Sequence[str], exclude: Sequence[str]) -> AccessReport:
    """Reaches it, and asks of each resource whether it may be listed and watched in all namespaces."""
    version = ""
    try:
        version = _text(orjson.loads(api.get("/version", most=SMALL_BYTES)).get("gitVersion")) or "unknown"
        served, missing = resources(api, include, exclude)
        return _granted(api, version, served, tuple(missing))
    except ApiError as error:
        return AccessReport(version, str(error))
    except (ValueError, AttributeError):
        return AccessReport(version, "What answers there is no Kubernetes API server.")


def _granted(api: Api, version: str, served: list[Resource], missing: tuple[Missing, ...]) -> AccessReport:
    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            grants = tuple(pool.map(lambda each: _grant(api, each), served))
    except (Forbidden, Absent) as error:
        return AccessReport(version, "", missing=missing, reviews_refused=str(error))
    return AccessReport(version, "", grants, missing)


def _grant(api: Api, resource: Resource) -> Grant:
    refused, reason = [], ""
    for verb in VERBS:
        attributes = {"group": resource.group, "version": resource.version, "resource": resource.resource, "verb": verb}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
        answer = api.post(_REVIEWS, orjson.dumps({**review, "spec": {"resourceAttributes": attributes}}))
        status = orjson.loads(answer).get("status") or {}
        if not status.get("allowed"):
            refused.append(verb)
            reason = reason or _text(status.get("reason")) or _text(status.get("evaluationError"))
    name = f"{resource.resource}.{resource.group}" if resource.group else resource.resource
    return Grant(name, qualified(resource.group, resource.kind), tuple(refused), reason)


def _text(value: object) -> str:
    """Return a text of an answer as it may be shown."""
    return safe_text(value) if isinstance(value, str) else ""


def affected_rules(unseen: Collection[str]) -> list[AffectedRule]:
    """The rules that lack some of these kinds."""
    affected = []
    for rule in rulebook():
        kinds = tuple(kind for kind in dict.fromkeys((*rule.needs, *rule.any_of)) if kind in unseen)
        if kinds:
            wholly = bool(set(rule.needs) & set(kinds)) or not set(rule.any_of) - set(kinds)
            affected.append(AffectedRule(rule.id, rule.title, kinds, wholly))
    return affected

"""Find out whether the resourceVersions of two kinds come from one counter.

A kind is listed between two lists of a reference kind. If both share a counter, the kind's resourceVersion lies between
those of the reference. One failure disproves it; many passes in a busy cluster confirm it.
"""

from collections.abc import Iterator, Sequence

from collectors.watch.server.api import Api
from collectors.watch.server.failures import ApiError
from collectors.watch.streams.decoding import Malformed, page_of
from collectors.watch.streams.resources import Resource
from timeline.core.entries import Mark, MarkType
from timeline.kinds import qualified

_REFERENCE = "pods"  # pods change often, and every cluster has them
_REFERENCES = 3  # reference kinds that are tried at most


def calibrate(api: Api, resources: Sequence[Resource], namespace: str = "") -> Iterator[Mark]:
    """Yield one mark for each kind that can be listed now.

    If most kinds do not share the counter of the reference, the reference may be the exception, so another one is
    tried.
    """
    references = sorted(resources, key=lambda each: each.name != _REFERENCE)[:_REFERENCES]
    best: list[Mark] = []
    for reference in references:
        marks = list(_compared(api, reference, [each for each in resources if each is not reference], namespace))
        if _together(marks) > _together(best) or not best:
            best = marks
        if 2 * _together(marks) >= len(marks):
            break
    yield from best


def _together(marks: list[Mark]) -> int:
    """Return how many kinds share the counter of the reference."""
    return sum(mark.what is MarkType.TOGETHER for mark in marks)


def _compared(api: Api, reference: Resource, others: Sequence[Resource], namespace: str) -> Iterator[Mark]:
    """Yield the mark of each kind, which is listed between two lists of the reference."""
    before = _revision(api, reference, namespace)
    together: Resource | None = None
    for other in others:
        between = _revision(api, other, namespace)
        after = _revision(api, reference, namespace)
        if before is not None and between is not None and after is not None and before <= after:
            passes = before <= between <= after
            together = together or (other if passes else None)
            yield _mark(other, MarkType.TOGETHER if passes else MarkType.APART, api.now(), between, reference)
        before = after
    if together:
        yield _mark(reference, MarkType.TOGETHER, api.now(), before, together)


def _revision(api: Api, resource: Resource, namespace: str) -> int | None:
    """Return the resourceVersion of a list, from a request for only one of its objects; None if it cannot be listed."""
    try:
        return page_of(api.get(resource.path(namespace if resource.namespaced else ""), limit=1)).revision
    except (ApiError, Malformed):
        return None


def _mark(resource: Resource, what: MarkType, time: int, revision: int | None, other: Resource) -> Mark:
    group, version, kind, *_ = resource
    return Mark(group, version, kind, what, time, revision, other=qualified(other.group, other.kind))

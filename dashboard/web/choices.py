"""Offer clusters and recordings to choose from in a form, and find what was chosen."""

from django.core.exceptions import ObjectDoesNotExist

from timeline.core.numbers import whole_number
from timeline.models import Cluster, Source

_RECORDINGS = 100  # of the newest
_Choices = list[tuple[str, str]]  # the value of each choice, and what it is called


def offered() -> dict[str, _Choices]:
    """Return the "clusters" by name, and the newest "recordings"."""
    newest = Source.objects.filter(ready=True, cluster=None).order_by("-created", "-pk").values_list("pk", "name")
    return {
        "clusters": [(f"cluster-{each.pk}", each.name) for each in Cluster.objects.order_by("name")],
        "recordings": [(f"source-{number}", name) for number, name in newest[:_RECORDINGS]],
    }


def chosen(value: str) -> Cluster | Source | None:
    """Return what a choice means; None for an empty one. Raise ObjectDoesNotExist if it does not exist any more."""
    if not value:
        return None
    sort, _, number = value.partition("-")
    at = whole_number(number) or 0
    if sort == "cluster":
        return Cluster.objects.get(pk=at)
    if sort == "source":
        return Source.objects.get(pk=at, ready=True, cluster=None)
    raise ObjectDoesNotExist

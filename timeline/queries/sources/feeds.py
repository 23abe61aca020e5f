"""Read how API servers say by themselves who changed something, and what was added in files."""

from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, Max, Min, Sum
from django.db.models.functions import Coalesce

from timeline.core.entries import moment
from timeline.models import ActorFeed, Cluster, Upload, Way


class Feed(NamedTuple):
    """How one way flows. The counts are those of `timeline.models.ActorFeed`."""

    way: str
    since: datetime
    last: datetime
    batches: int
    events: int
    repeated: int
    unread: int
    late: int
    dropped: int
    added: int
    problem: str
    problem_at: datetime | None


class Missed(NamedTuple):
    """A time in which changes came without who made them, although others of their kind do not."""

    since: datetime
    until: datetime
    changes: int


class Feeds(NamedTuple):
    """Everything that says who made the changes of a source, besides what its watches show."""

    feeds: list[Feed]  # the audit log first
    files: int  # uploads that were added
    files_since: datetime | None
    files_last: datetime | None
    files_added: int
    compared: dict[str, tuple[int, int]]  # by kind: changes with who made them, and without
    missed: list[Missed]  # the newest first


def feeds(source_id: int) -> Feeds:
    """Return what flows to a source. Everything is empty for a recording."""
    rows = list(ActorFeed.objects.filter(source=source_id).order_by("-way"))
    added = Upload.objects.filter(source=source_id, cluster__isnull=False, state=Upload.State.DONE)
    files = added.aggregate(
        count=Count("pk"), since=Min("created"), last=Max("created"), added=Coalesce(Sum("entries"), 0)
    )
    compared: dict[str, tuple[int, int]] = {}
    for row in rows:
        for kind, (known, unknown) in row.compared.items():
            before = compared.get(kind, (0, 0))
            compared[kind] = before[0] + known, before[1] + unknown
    gaps = sorted((tuple(gap) for row in rows for gap in row.gaps), reverse=True)
    return Feeds(
        [Feed(*(getattr(row, name) for name in Feed._fields)) for row in rows if row.batches or row.problem],
        files["count"],
        files["since"],
        files["last"],
        files["added"],
        compared,
        [Missed(moment(since), moment(until), changes) for since, until, changes in gaps],
    )


def feeds_of_cluster(cluster_id: int) -> Feeds:
    """Return what flows to the present source of a cluster."""
    source = Cluster.objects.filter(pk=cluster_id).values_list("source", flat=True).first()
    return feeds(source or 0)


AUDIT, ADMISSION = Way.AUDIT.value, Way.ADMISSION.value

"""Add to a live source what was read from audit logs, or sent by API servers, and wait for its worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from collectors.watch.storing.dividing import Dividing
from timeline import pipeline
from timeline.core.entries import Entry, Request
from timeline.history.lifelines import Name, name_of
from timeline.models import Way
from timeline.storage.entries import additions, inbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from timeline.core.entries import Observation
    from timeline.models import Addition, AuditBatch
    from timeline.storage.live import Live


class ForeignLog(Exception):
    """An added log is of another cluster. The world in memory has learned it by then, but nothing of it is stored."""


def add_part(live: Live, part: Addition, hold: Callable[[], None], dividing: Dividing | None = None) -> None:
    """Commit a part of an audit log and remove it, in one transaction. `hold` raises if the source is not held.

    If it fails repeatedly, `dividing` commits it bit by bit. What happened before the time that the world remembers is
    left out, and counts as skipped. Raise ForeignLog if the log turns out to be of another cluster; then `live` must
    not be used any more.
    """

    def take() -> None:
        hold()
        additions.remove(part)

    new = 0

    def commit(batch: Sequence[Observation], whole: bool) -> None:
        nonlocal new
        new = pipeline.follow(live, batch, renew=take if whole else hold).entries

    dividing = dividing or Dividing()
    observed = list(additions.observations(part))
    batch = dividing.kept(_recent(observed, live.world.remembered, live.source.namespaces))
    try:
        whole = dividing.commit(("part", part.upload_id, part.number), batch, commit)
    except pipeline.TwoClusters as error:
        additions.refuse(part.upload, "It is of another cluster: it has another Namespace kube-system.")
        raise ForeignLog(f"upload {part.upload_id} is of another cluster") from error
    additions.count(part, new, len(observed) - len(batch) if whole else 0)


def add_batches(live: Live, hold: Callable[[], None], dividing: Dividing | None = None) -> bool:
    """Commit batches of audit events that wait, in the transaction in which they are taken; return whether there were
    any. `hold` raises if the source is not held. If they fail repeatedly, `dividing` commits them bit by bit.

    What happened before the source began, or before the time that the world remembers, is left out and counted. A batch
    of another cluster is dropped. If batches contradict each other while the world does not know its own cluster yet,
    all of them are dropped, and ForeignLog is raised; then `live` must not be used any more.
    """
    dividing = dividing or Dividing()
    waiting = inbox.waiting(live.source, Way.AUDIT)
    if not waiting:
        return False
    read = {each.digest: list(additions.unpacked(bytes(each.lines or b""))) for each in waiting}
    own = {each.ref.uid for each in live.world.incarnations(_KUBE_SYSTEM) if each.ref.uid}
    foreign = [each for each in waiting if own and not _kube_systems(read[each.digest]) <= own]
    if foreign:
        _drop(live, foreign, sum(len(read[each.digest]) for each in foreign), hold)
    batches = [each for each in waiting if each not in foreign]
    if not batches:
        return True

    def take() -> None:
        hold()
        inbox.take(batches)

    def commit(part: Sequence[Observation], whole: bool) -> None:
        stored = live.source.stored
        with transaction.atomic():
            pipeline.follow(live, part, renew=take if whole else hold)
            late = len(observed) - len(recent) if whole else 0
            inbox.count_added(live.source, Way.AUDIT, added=live.source.stored - stored, late=late)

    observed = [each for batch in batches for each in read[batch.digest]]
    recent = _recent(observed, max(live.world.remembered, live.world.first), live.source.namespaces)
    try:
        dividing.commit(Way.AUDIT, dividing.kept(recent), commit)
    except pipeline.TwoClusters as error:
        _drop(live, batches, len(observed), hold)
        raise ForeignLog("audit events of another cluster were sent") from error
    return True


def _drop(live: Live, batches: Sequence[AuditBatch], observed: int, hold: Callable[[], None]) -> None:
    """Take batches of another cluster, and keep nothing of them."""
    with transaction.atomic():
        hold()
        inbox.take(batches)
        inbox.count_added(live.source, Way.AUDIT, added=0, late=observed, problem=_FOREIGN)


def _kube_systems(observed: Iterable[Observation]) -> set[str]:
    """Return the UIDs of the Namespace kube-system, which tell clusters apart."""
    entries = (each for each in observed if isinstance(each, Entry))
    return {each.ref.uid for each in entries if each.ref.uid and name_of(each.ref) == _KUBE_SYSTEM}


_KUBE_SYSTEM = Name("", "Namespace", "", "kube-system")
_FOREIGN = "Audit events of another cluster were sent: it has another Namespace kube-system. They were not kept."


def _recent(observed: Iterable[Observation], since: int, namespaces: Sequence[str]) -> list[Observation]:
    """Return the observations without what was received before a time, in microseconds since 1970, and without objects
    in other namespaces if only some of them are watched."""
    watched = {"", *namespaces}
    return [
        each
        for each in observed
        if not isinstance(each, Entry | Request)
        or (each.received >= since and (not namespaces or each.ref.namespace in watched))
    ]

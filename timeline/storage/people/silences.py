"""Write silences, which take incidents out of the lists until they expire."""

from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from timeline.models import Silence, Source
from timeline.storage import notify
from timeline.storage.permitted.limits import Permitted, answered

LONGEST = timedelta(days=366)
MOST = 200  # silences that hold at one time


def create(
    *,
    source: Source | None,
    rule: str,
    namespace: str,
    owner: str,
    actor: str,
    reason: str,
    by: str,
    expires: datetime,
) -> Silence:
    """Store a silence. That of a connected cluster holds for all its sources.

    Raises ValueError if it matches everything or what the present reader may not answer, has expired, or expires in
    more than a year, or if very many hold.
    """
    if Silence.objects.filter(expires__gt=timezone.now()).count() >= MOST:
        raise ValueError(f"{MOST} silences hold already. Expire one of them first.")
    if not (rule or namespace or owner or actor):
        raise ValueError("A silence needs a rule, a namespace, an owner or an actor: it would match everything.")
    if not timedelta() < expires - timezone.now() <= LONGEST:
        raise ValueError("A silence ends in the future, and within a year.")
    row = draft(source, rule, namespace, owner, actor)
    if not contains(answered(), row):
        if source is None:
            raise ValueError(
                "You are not a responder of all clusters and recordings. Choose the one that the silence is for."
            )
        names = ", ".join(sorted(answered().namespaces.get(source.pk, ())))
        raise ValueError(
            f"You are a responder of only some namespaces of {source.name}. Name one of them: {names}."
            if names
            else f"You are not a responder of {source.name}, so you cannot silence its incidents."
        )
    row.reason, row.by, row.expires = reason, by, expires
    row.save()
    notify.notify(incidents=1, namespaces=_namespaces(row))
    return row


def draft(source: Source | None, rule: str, namespace: str, owner: str, actor: str) -> Silence:
    """Return a silence that is not stored. One of a connected cluster is for all sources of the cluster."""
    of_cluster = source is not None and source.cluster_id is not None
    return Silence(
        cluster=source.cluster if source and of_cluster else None,
        source=None if of_cluster else source,
        rule=rule,
        namespace=namespace,
        owner=owner,
        actor=actor,
    )


def expire(number: int) -> bool:
    """End a silence now. Return whether it was in force until then, and the present reader may answer all that it
    matches."""
    row = Silence.objects.select_related("cluster").filter(pk=number, expires__gt=timezone.now()).first()
    if row is None or not contains(answered(), row):
        return False
    held = bool(Silence.objects.filter(pk=number, expires__gt=timezone.now()).update(expires=timezone.now()))
    notify.notify(incidents=1, namespaces=_namespaces(row))
    return held


def contains(seen: Permitted, silence: Silence) -> bool:
    """Return whether this has all that a silence can match. Who may answer all of it may make and end the silence; who
    sees all of it reads its reason."""
    if seen.everything or (silence.cluster_id is None and silence.source_id is None):
        return seen.everything
    if silence.cluster_id in seen.clusters or (silence.source_id and seen.sees_whole(silence.source_id)):
        return True
    of_it = Q(pk=silence.source_id) if silence.source_id else Q(cluster=silence.cluster_id)
    sources = Source.everything.filter(of_it).values_list("pk", flat=True)
    return any(seen.sees_whole(each) or silence.namespace in seen.namespaces.get(each, ()) for each in sources)


def _namespaces(silence: Silence) -> list[str] | None:
    """Return the namespaces that a silence is about; None for any."""
    return [silence.namespace] if silence.namespace else None

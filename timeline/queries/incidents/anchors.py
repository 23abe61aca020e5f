"""Find the object in a connected cluster that an incident is about."""

from typing import NamedTuple

from timeline.models import Cluster, Incident, Track


class Anchor(NamedTuple):
    """The latest incarnation of the object, as its cluster knows it."""

    cluster: Cluster
    api_version: str  # "apps/v1"
    kind: str
    namespace: str  # "" for cluster-scoped objects
    name: str
    uid: str  # "" if no observation has it


def anchor(source_id: int, identity: str) -> Anchor | None:
    """Return what an incident is about; None for a recording, or if it is about no object that was observed.

    An incident about something that is no object, such as an actor, is about the first root owner of its findings.
    """
    cluster = Cluster.objects.filter(sources=source_id).first()
    row = Incident.objects.filter(source=source_id, identity=identity).first()
    if cluster is None or row is None:
        return None
    named = Track.objects.filter(source=source_id, kind=row.kind, namespace=row.namespace, name=row.name)
    own = named.filter(group=row.group).order_by("-life", "-id").first()
    found = own or Track.objects.filter(source=source_id, id__in=row.roots[:1]).first()
    if found is None:
        return None
    version = "/".join(filter(None, [found.group, found.version]))
    return Anchor(cluster, version, found.kind, found.namespace, found.name, found.uid)

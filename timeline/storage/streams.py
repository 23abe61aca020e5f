"""Store the state of the watches of a live source, so that pages can show what is not watched."""

from django.db import transaction
from django.utils import timezone

from timeline.models import Source, Stream
from timeline.storage import notify


def write_stream_state(
    source: Source,
    resource: tuple[str, str, str, str, bool],
    state: Stream.State,
    error: str = "",
    *,
    namespace: str = "",
) -> None:
    """Store the state of the watch of a resource, which is (group, version, kind, plural, namespaced), in a namespace
    or in all."""
    group, version, kind, plural, namespaced = resource
    values = {"version": version, "kind": kind, "namespaced": namespaced, "state": state, "error": error}
    if error:
        values["error_at"] = timezone.now()
    with transaction.atomic():
        Stream.objects.update_or_create(
            source=source, group=group, resource=plural, namespace=namespace, defaults=values
        )
        if source.cluster_id:
            notify.notify(cluster=source.cluster_id)

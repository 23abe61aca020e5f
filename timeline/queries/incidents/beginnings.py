"""Find the object that an incident begins with, by which its lanes are ordered."""

from timeline.history.lifelines import Name
from timeline.judging.incidents.partition import beginning
from timeline.models import Finding, Incident, Track
from timeline.storage.judged.stored import read

_READ = 500  # the most findings in which the object is looked for


def focus(source_id: int, identity: str) -> int | None:
    """Return the root owner (`Track.root`) of what an incident begins with: of the Lease that was lost, or of the
    object that was missing, came late or was removed. If it begins with none of these, or if that was not observed, it
    is the root owner of what its gravest symptom is about. None if there is no such incident.
    """
    row = Incident.objects.filter(source=source_id, identity=identity).first()
    if row is None:
        return None
    found = Finding.objects.filter(Finding.of_incidents([identity]), source=source_id, withdrawn=False)
    connected = read(found.filter(pieces__isnull=False).order_by("first", "identity")[:_READ])
    begun = beginning((piece for each in connected for piece in each.pieces), identity)
    for name in filter(None, (begun, Name(row.group, row.kind, row.namespace, row.name))):
        named = Track.objects.filter(
            source=source_id, group=name.group, kind=name.kind, namespace=name.namespace, name=name.name
        )
        if (root := named.order_by("id").values_list("root", flat=True).first()) is not None:
            return root
    return next(iter(row.roots), None)

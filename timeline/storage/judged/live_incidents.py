"""The incidents of a live source: each commit looks only at the findings that it changes."""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping

from timeline import models
from timeline.payloads.incidents.members import Members, Part
from timeline.storage.judged import incidents

_KEPT = 100_000  # the most findings of incidents that are kept in memory, besides those of the latest incident


class LiveIncidents:
    """Keep the findings of the incidents of one live source that changed last."""

    def __init__(self, source: models.Source) -> None:
        self._source = source
        self._members: OrderedDict[str, Members] = OrderedDict()

    def write(
        self, changed: Mapping[str, Iterable[Part]], lost: Mapping[str, Collection[str]]
    ) -> tuple[list[str], list[str], dict[str, list[str]]]:
        """Write the incidents of findings that were stored, and of those that belong to another or to none now.

        Both have the identity of an incident as the key; `lost` has the identities of findings. Return the identities
        of the incidents that changed, and of those that are gone, and by identity the namespaces that they involved
        before.
        """
        touched = {*changed, *lost}
        rows = models.Incident.objects.filter(source=self._source, identity__in=touched)
        before = {row.identity: row for row in rows}
        unknown = [identity for identity in touched if not self._knows(identity, before.get(identity))]
        for identity in touched.difference(unknown):
            members = self._members[identity]
            for finding in lost.get(identity, ()):
                members.remove(finding)
            members.put(changed.get(identity, ()))
        self._members |= {each.id: each for each in incidents.read(self._source, unknown)}
        found = [self._members[identity] for identity in touched if self._members.get(identity)]
        changed_rows, gone = incidents.store(self._source, found, before)
        self._forget(touched)
        return changed_rows, gone, {row.identity: row.namespaces for row in before.values() if row.namespaces}

    def _knows(self, identity: str, stored: models.Incident | None) -> bool:
        """Return whether the findings of an incident are kept, and nobody else has changed them: retention deletes
        findings that are too old."""
        if members := self._members.get(identity):
            if stored and (stored.findings, stored.occurrences) == (len(members), len(members.times)):
                return True
            del self._members[identity]
        return False

    def _forget(self, touched: Iterable[str]) -> None:
        """Forget incidents that have no findings any more, and those that changed longest ago if there are many."""
        for identity in touched:
            if self._members.get(identity):
                self._members.move_to_end(identity)
            else:
                self._members.pop(identity, None)
        kept = sum(map(len, self._members.values()))
        while kept > _KEPT and len(self._members) > 1:
            kept -= len(self._members.popitem(last=False)[1])

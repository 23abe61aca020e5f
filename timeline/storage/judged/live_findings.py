"""Write the findings of a live source: store those that are new or changed, and withdraw those that no longer hold."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from timeline import models
from timeline.core.entries import moment
from timeline.history.lifelines import Key, name_of
from timeline.judge import settled
from timeline.judging.findings import Finding, Status
from timeline.payloads import documents
from timeline.payloads.incidents.symptoms import part
from timeline.storage.judged import findings
from timeline.storage.judged.live_incidents import LiveIncidents

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from timeline.history.world.world import World
    from timeline.payloads.findings import FindingPayload


class LiveFindings:
    """Keep the findings of one live source, as they were judged last."""

    def __init__(self, source: models.Source, world: World) -> None:
        self._source = source
        self._world = world
        self._known: dict[Key, dict[str, Finding]] = {}  # by the subject that was judged, and by identity
        self._subjects: dict[str, set[Key]] = {}  # by identity: the subjects with which a finding was found
        self._suspected: set[Key] = set()  # the subjects of suspected findings
        self._incidents = LiveIncidents(source)
        self._taken_over = False  # whether everything that was stored has been compared with what was judged

    def forget(self, subject: Key) -> None:
        """Forget the findings of a subject. Their rows in the database stay."""
        self._replace(subject, {})

    def about(self, subject: Key) -> Iterable[Finding]:
        """Return the findings with a subject that hold now."""
        return self._known.get(subject, {}).values()

    def known(self) -> Iterator[Finding]:
        """Yield the findings that hold now."""
        for of_subject in self._known.values():
            yield from of_subject.values()

    def _replace(self, subject: Key, now: dict[str, Finding]) -> None:
        """Keep these findings of a subject in place of the earlier ones."""
        before = self._known.pop(subject, {})
        for id in before.keys() - now.keys():
            self._subjects[id].discard(subject)
            if not self._subjects[id]:
                del self._subjects[id]
        for id in now:
            self._subjects.setdefault(id, set()).add(subject)
        if now:
            self._known[subject] = now
        if any(each.status is Status.SUSPECTED for each in now.values()):
            self._suspected.add(subject)
        else:
            self._suspected.discard(subject)

    def write(self, judged: dict[Key, list[Finding]]) -> dict[str, Any]:
        """Write what has changed; `judged` has the findings of each subject that was judged again.

        Return the keys of the rows of the list that changed as "findings", of those that are "gone", the identities of
        the incidents that changed, or are gone, as "incidents", and as "involved" the namespaces that each of these
        involved before, by key or identity. A browser that shows one whose namespaces have changed may not see it any
        more. "namespaces" has all namespaces that changed findings involve. Without these two, they are not known.
        """
        changed, lost = self._compare(judged)
        if not changed and not lost and self._taken_over:
            return {"findings": [], "gone": [], "incidents": [], "involved": {}, "namespaces": []}
        placed = self._incidents.place(changed.values(), lost)
        before = findings.where_shown(self._source, [*changed, *lost])
        written, stored = findings.put(self._source, self._world, changed.values(), placed.changed)
        findings.move(self._source, placed.moved)
        for each in lost.values():
            earlier = "" if each.status is Status.SUSPECTED else ", after it had been confirmed"
            until = f"{moment(self._world.last):%H:%M:%S} UTC"
            reason = f"Withdrawn{earlier}: what arrived up to {until} explains it."
            self._withdraw(each.id, documents.finding(each), reason)
        parts = {id: part(each) for id, each in stored.items()}
        if self._taken_over:
            touched = {key for each in before.values() for key in each.rows}
            touched |= {each["group"] for finding in stored.values() for each in finding.occurrences}
            involved = findings.involved(self._source, touched)
            keys, gone = findings.write_occurrences(self._source, touched, set(written))
            about, over, before_it = self._incidents.write(placed, parts, lost)
            moved = {"findings": keys, "gone": gone, "incidents": [*about, *over]}
            about_all = [*involved.values(), *before_it.values()]
            about_all += [each.namespaces for each in (*changed.values(), *lost.values())]
            return {**moved, "involved": {**involved, **before_it}, "namespaces": sorted({*chain(*about_all)})}
        self._taken_over = True
        keys, gone = findings.write_occurrences(self._source, changed=set(written))
        about, over, _ = self._incidents.write(placed, parts, lost)
        return {"findings": keys, "gone": gone, "incidents": [*about, *over]}

    def withdraw_older(self, judged: dict[Key, list[Finding]]) -> None:
        """Withdraw the stored findings of an older version of the rules that this version does not report.

        `judged` has the findings of all subjects that the world knows.
        """
        lives = {self._world.number(track) for track in self._world.tracks()}
        found = {each.id for of_subject in judged.values() for each in of_subject}
        stored = models.Finding.objects.filter(
            source=self._source, withdrawn=False, last__gte=moment(max(0, self._world.remembered))
        )
        failed = {rule for rule, _ in self._world.failures}  # what such a rule does not report may hold all the same
        stored = stored.exclude(identity__in=found).exclude(rule__in=failed)
        lost = [row for row in stored if lives.issuperset(row.tracks)]
        reason = "Withdrawn: a newer version of Causeline judged it again and does not find it."
        for row in lost:
            self._withdraw(row.identity, row.document, reason)

    def _compare(self, judged: dict[Key, list[Finding]]) -> tuple[dict[str, Finding], dict[str, Finding]]:
        """Return the findings that are new or changed, and those that no longer hold for any subject, by identity."""
        changed: dict[str, Finding] = {}
        lost: dict[str, Finding] = {}
        for key, of_subject in judged.items():
            before = self._known.get(key, {})
            now = {each.id: each for each in of_subject if each.id in before or self._is_judged(each)}
            changed.update((id, each) for id, each in now.items() if each != before.get(id))
            lost.update((id, each) for id, each in before.items() if id not in now)
            self._replace(key, now)
        # A finding that another subject has, too, is not lost.
        lost = {id: each for id, each in lost.items() if id not in self._subjects and self._is_remembered(each)}
        for key in self._suspected - judged.keys():
            known = self._known[key]
            again = {id: settled(each, self._world) for id, each in known.items() if each.status is Status.SUSPECTED}
            changed.update((id, each) for id, each in again.items() if each != known[id])
            self._replace(key, {**known, **again})
        return changed, lost

    def _is_judged(self, finding: Finding) -> bool:
        """Return whether a finding may be reported: nothing that could explain it was forgotten, or it was stored
        before anything was."""
        if finding.occurrences[-1].last >= self._world.remembered:
            return True
        stored = models.Finding.objects.filter(source=self._source, identity=finding.id, withdrawn=False)
        return stored.exists()

    def _is_remembered(self, finding: Finding) -> bool:
        """Return whether the world still knows the proof of a finding, so that its absence means that something has
        explained it."""
        proofs = (proof.ref for each in finding.occurrences for proof in each.proof)
        known = all(self._world.track((name_of(ref), ref.uid)) for ref in proofs)
        return known and finding.occurrences[-1].last >= self._world.remembered

    def _withdraw(self, identity: str, document: FindingPayload, reason: str) -> None:
        """Mark a stored finding as withdrawn. Its page remains for those who have its address."""
        withdrawn = {**document, "status": Status.WITHDRAWN.value, "status_reason": reason}
        row = models.Finding.objects.filter(source=self._source, identity=identity)
        row.update(withdrawn=True, document=withdrawn, part=None)

"""This module writes the findings of a live source: it stores those that are new or changed, and withdraws those that
no longer hold."""

from psycopg import sql

from timeline import models
from timeline.core.entries import moment
from timeline.history.lifelines import Key, name_of
from timeline.history.world import World
from timeline.judge import settled
from timeline.judging.findings import Finding, Status
from timeline.payloads import documents
from timeline.payloads.findings import FindingPayload
from timeline.storage import findings, incidents
from timeline.storage.copying import upsert


class LiveFindings:
    """This class keeps the findings of one live source, as they were judged last."""

    def __init__(self, source: models.Source, world: World) -> None:
        self._source = source
        self._world = world
        self._known: dict[Key, dict[str, Finding]] = {}  # by the subject that was judged, and by identity

    def forget(self, subject: Key) -> None:
        """Forget the findings of a subject. Their rows in the database stay."""
        self._known.pop(subject, None)

    def write(self, judged: dict[Key, list[Finding]]) -> dict[str, list[str]]:
        """Write what has changed; `judged` has the findings of each subject that was judged again.

        Return the keys of the rows of the list that changed as "findings", of those that are "gone", and the identities
        of the incidents that changed, or are gone, as "incidents".
        """
        changed, lost = self._compare(judged)
        if not changed and not lost:
            return {"findings": [], "gone": [], "incidents": []}
        rows = [findings.row_of(self._source, self._world, each) for each in changed.values()]
        written = upsert(sql.Identifier("timeline_finding"), findings.FINDING, ("source_id", "identity"), rows)
        for each in lost.values():
            before = "" if each.status is Status.SUSPECTED else ", after it had been confirmed"
            until = f"{moment(self._world.last):%H:%M:%S} UTC"
            reason = f"Withdrawn{before}: what arrived up to {until} explains it."
            self._withdraw(each.id, documents.finding(each), reason)
        rules = {each.rule for each in (*changed.values(), *lost.values())}
        keys, gone = findings.write_occurrences(self._source, rules, set(written))
        touched = {findings.incident_of(each) for each in (*changed.values(), *lost.values())}
        about, over = incidents.write(self._source, touched)
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
        lost = [row for row in stored.exclude(identity__in=found) if lives.issuperset(row.tracks)]
        reason = "Withdrawn: a newer version of Causeline judged it again and does not find it."
        for row in lost:
            self._withdraw(row.identity, row.document, reason)
        findings.write_occurrences(self._source, {row.rule for row in lost})
        incidents.write(self._source)

    def _compare(self, judged: dict[Key, list[Finding]]) -> tuple[dict[str, Finding], dict[str, Finding]]:
        """Return the findings that are new or changed, and those that no longer hold for any subject, by identity."""
        changed: dict[str, Finding] = {}
        lost: dict[str, Finding] = {}
        for key, of_subject in judged.items():
            before = self._known.pop(key, {})
            now = {each.id: each for each in of_subject if each.id in before or self._is_judged(each)}
            changed.update((id, each) for id, each in now.items() if each != before.get(id))
            lost.update((id, each) for id, each in before.items() if id not in now)
            if now:
                self._known[key] = now
        lost = {id: each for id, each in lost.items() if self._is_remembered(each)}
        for key, known in self._known.items():
            for id, each in known.items():
                lost.pop(id, None)  # another subject has it, too
                if key not in judged and each.status is Status.SUSPECTED:
                    again = settled(each, self._world)
                    if again != each:
                        changed[id] = known[id] = again
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
        row.update(withdrawn=True, document=withdrawn)

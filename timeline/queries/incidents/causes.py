"""Read what is behind a finding, with the tracks of the objects that prove it."""

from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict

from timeline.core.entries import microseconds
from timeline.models import FINDING_RANK, Finding, Track

if TYPE_CHECKING:
    from timeline.payloads.findings import CausePayload
    from timeline.payloads.objects import FindingPagePayload

_MOST = 5  # findings that are listed as caused by another one


class CauseOf(TypedDict):
    """The cause of a finding as its page shows it."""

    rule: str
    sentence: str
    proof: list[dict[str, Any]]  # each as `CauseProofPayload`, with its time `at` in µs, and `track`, which can be None
    finding: str  # the id of the finding of that rule about the same objects; "" if there is none
    summary: str  # of that finding


def cause_of(source_id: int, identity: str) -> CauseOf | None:
    """Return what is behind a finding; None where no cause is proven, or if there is no such finding."""
    found = Finding.objects.filter(source=source_id, identity=identity, withdrawn=False)
    cause: CausePayload | None = found.values_list("document__cause", flat=True).first()
    if cause is None:
        return None
    uids = {each["object"]["uid"] for each in cause["proof"]} - {""}
    of_uids = Track.objects.filter(source=source_id, uid__in=uids).exclude(family="Events")  # as the index of UIDs
    tracks = dict(of_uids.values_list("uid", "id"))
    proof = [
        {**each, "at": microseconds(datetime.fromisoformat(each["time"])), "track": tracks.get(each["object"]["uid"])}
        for each in cause["proof"]
    ]
    named = {each["track"] for each in proof}
    of_rule = Finding.objects.filter(source=source_id, rule=cause["rule"], withdrawn=False)
    reported = of_rule.none() if None in named else of_rule.filter(tracks__contains=sorted(named))
    first = reported.order_by(FINDING_RANK, "first", "identity").values_list("identity", "document__summary").first()
    finding, summary = first or ("", "")
    return {
        "rule": cause["rule"],
        "sentence": cause["sentence"],
        "proof": proof,
        "finding": finding,
        "summary": summary,
    }


def caused_by(source_id: int, finding: "FindingPagePayload") -> list[tuple[str, str]]:
    """Return the ids and summaries of the first findings whose cause is what this finding reports."""
    named = [each for each in (finding["subject"], finding["other"]) if each and each["uid"]]
    tracks = [each["track"] for each in finding["objects"] if each["role"] in ("subject", "other")]
    if len(named) < 2:
        return []
    found = Finding.objects.filter(
        source=source_id,
        withdrawn=False,
        tracks__overlap=tracks,
        document__cause__rule=finding["rule"],
        document__cause__proof__contains=[{"object": {"uid": each["uid"]}} for each in named],
    )
    return list(found.order_by(FINDING_RANK, "first", "identity").values_list("identity", "document__summary")[:_MOST])

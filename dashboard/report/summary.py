"""Write the beginning of a report: what it covers, a sentence over all incidents, and a paragraph for each."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dashboard.presentation import wording
from dashboard.presentation.changes_before import ChangeRow, rows
from dashboard.report.contents import Contents, Note
from timeline.core.actors import short
from timeline.core.durations import duration
from timeline.judging.incidents.subjects import distinct_title
from timeline.payloads.documents import timestamp
from timeline.payloads.findings import AcknowledgementPayload, CauseProofPayload, FindingGroupPayload
from timeline.payloads.incidents.making import InView

_ACTORS = 2
_NAMESPACES = 3
_EFFECTS = {"observed": "harm was observed", "possible": "harm is possible", "none": "no harm is expected"}


def counts(contents: Contents) -> str:
    """Return what the report shows: "1 incident · 13 symptoms · 50 findings", or "1 of 7 incidents · …"."""
    return " · ".join(
        _of(part, whole, word)
        for part, whole, word in (
            (contents.incidents_total, contents.incidents_of_source, "incident"),
            (contents.symptoms_total, contents.symptoms_of_source, "symptom"),
            (contents.findings_total, contents.findings_of_source, "finding"),
        )
    )


def _of(part: int, whole: int, word: str) -> str:
    if part == whole:
        return f"{wording.count(part)} {wording.plural(word, part)}"
    return f"{wording.count(part)} of {wording.count(whole)} {wording.plural(word, whole)}"


def scope(contents: Contents) -> list[str]:
    """Return sentences that say to what the report is narrowed, and how much is left out by that or by its limits."""
    found = []
    if contents.scope:
        words = "; ".join(f"{heading.lower()} {words.removeprefix('only ')}" for heading, words in contents.scope)
        found.append(f"This report is narrowed to: {words}.")
        if left := contents.incidents_of_source - contents.incidents_total:
            verb = "is" if left == 1 else "are"
            found.append(f"{wording.count(left)} {wording.plural('incident', left)} outside of that {verb} left out.")
    if left := contents.incidents_total - len(contents.incidents):
        listed = wording.count(len(contents.incidents))
        found.append(f"The {listed} most severe incidents are listed; {wording.count(left)} more are not.")
    return found


def beginning(contents: Contents) -> str:
    """Return a sentence over all incidents: how many there are, whether one goes on, and what the gravest did. Return
    "" if none did harm."""
    if not (grave := harmful(contents)):
        return ""
    did = f"{_course(grave[0], contents)}: {grave[0].incident['title']}."
    total, calm = contents.incidents_total, len(contents.incidents) - len(grave)
    if total == 1:
        return f"One incident, {did}"
    if len(grave) == 1 and total == len(contents.incidents):
        return f"{wording.count(total)} incidents, {wording.count(calm)} without harm. The other one, {did}"
    without = f"{wording.count(calm)} without harm, " if calm else ""
    return f"{wording.count(total)} incidents, {without}{_going_on(grave, contents)}. The gravest, {did}"


def _course(each: InView, contents: Contents) -> str:
    """Return whether an incident goes on, and for how long it did, which a title that names its root says."""
    lasted = each.incident["end"] - each.incident["start"]
    if not lasted or each.incident["root"]:
        return state(each, contents)
    if each.incident["state"] == "ongoing":
        return f"{state(each, contents)} and for {duration(lasted)} so far"
    return f"over after {duration(lasted)}"


def _going_on(grave: Sequence[InView], contents: Contents) -> str:
    """Return how many incidents with harm go on, as far as the report lists them."""
    listed = "" if len(contents.incidents) == contents.incidents_total else " of those that are listed"
    which = listed or (" of the others" if len(grave) < len(contents.incidents) else " of them")
    ongoing = sum(each.incident["state"] == "ongoing" for each in grave)
    if not ongoing:
        return f"none{which} ongoing"
    when = f"at {contents.made}" if contents.made else "when the recording ends"
    return f"{wording.count(ongoing)}{which} ongoing {when}"


def harmful(contents: Contents) -> list[InView]:
    """Return the listed incidents that are more than an info or may have done harm. The others are only counted."""
    return [each for each in contents.incidents if not _harmless(each)]


def harmless(contents: Contents) -> str:
    """Return how many of the listed incidents are left out of the summary; "" for none."""
    count = sum(map(_harmless, contents.incidents))
    more = "more " if count < len(contents.incidents) else ""
    return f"{wording.count(count)} {more}{wording.plural('incident', count)} without harm" if count else ""


def _harmless(each: InView) -> bool:
    return wording.harmless(each.incident["severity"], each.incident["effect"])


def sentence(each: InView, contents: Contents) -> str:
    """Return an incident in a paragraph: what happened, when, for how long, by whom, whether it goes on, and with what
    effect; and why, where a cause is proven."""
    incident = each.incident
    lasted = incident["end"] - incident["start"]
    length = f" ({duration(lasted)})" if lasted else ""
    seen = effect_text(each)
    if seen and incident["occurrences"] > 1:
        seen = f"for example: {seen}"
    harm = _EFFECTS[incident["effect"]] + (f" ({seen})" if seen else "")
    known = [harm, state(each, contents), acknowledged(each), silenced(each)]
    why = f" {because(each)} {incident['cause']}" if incident["cause"] else ""
    course = f"{when(each)}{length}, {who(each)}: {'; '.join(filter(None, known))}."
    return f"{incident['title']}. {course[:1].upper()}{course[1:]}{why}"


def cause_proof(each: InView) -> list[CauseProofPayload]:
    """Return the events that prove the cause of an incident, as far as the report shows the finding that has it."""
    findings = (finding for row in each.rows for finding in row["findings"])
    found = (finding["cause"]["proof"] for finding in findings if finding["id"] == each.incident["caused"])
    return next(found, [])


def effect_text(each: InView) -> str:
    """Return what is known of the effect: of all subjects of the gravest occurrence, if the report shows that."""
    effect = each.incident["effect"]
    return next((row["effect_text"] for row in each.rows if row["effect"] == effect), each.incident["effect_text"])


def when(each: InView) -> str:
    """Return when an incident happened, no more exactly than its proof tells: "at 2026-11-21 07:52:00.841 UTC"."""
    first, last = each.incident["start"], each.incident["end"]
    start, end = _instant(first, each.rows), _instant(last, each.rows)
    if each.incident["state"] == "ongoing":
        return f"since {start} UTC"
    if start == end:
        return f"at {start} UTC"
    return f"from {start} to {end[11:] if start[:10] == end[:10] else end} UTC"


def _instant(moment: int, rows: Iterable[FindingGroupPayload]) -> str:
    """Return day and time of a moment, to the second if no proof that the report shows has it."""
    time = timestamp(moment)
    proof = [each for row in rows for each in row["proof"]]
    exact = any(each["time"] == time for each in proof)
    return f"{time[:10]} {wording.proved(time, proof, 3) if exact else time[11:19]}"


def who(each: InView) -> str:
    """Return who wrote what went wrong."""
    actors = each.incident["actors"]
    more = f" and {wording.count(len(actors) - _ACTORS)} more" if len(actors) > _ACTORS else ""
    names = ", ".join(map(short, actors[:_ACTORS]))
    return f"written by {names}{more}" if names else "written by somebody whom no observation names"


def state(each: InView, contents: Contents) -> str:
    if each.incident["state"] == "ongoing":
        return f"ongoing at {contents.made}" if contents.made else "ongoing when the recording ends"
    return "over"


def acknowledged(each: InView) -> str:
    noted = each.incident["acknowledged"]
    return f"acknowledged by {noted['by'] or 'somebody'} at {clock(noted['at'])}" if noted else ""


def silenced(each: InView) -> str:
    known = each.incident["silenced"]
    if not known:
        return ""
    if known["until"] is None:
        return f"in the baseline that {known['by'] or 'somebody'} set, so it was known"
    return f"silenced by {known['by'] or 'somebody'} until {clock(known['until'])}, with the reason: {known['reason']}"


def clock(iso: str) -> str:
    """Return a time of day with its day, to the second: "2026-11-21 07:52:00 UTC"."""
    return f"{iso[:19].replace('T', ' ')} UTC"


def numbers(each: InView) -> str:
    """Return the counts of an incident: "13 symptoms · 50 findings", and of how many if the report has only a part."""
    incident = each.incident
    counted = [
        _of(each.symptoms, incident["symptoms_total"], "symptom"),
        _of(each.occurrences, incident["occurrences"], "occurrence"),
        _of(each.findings, incident["findings"], "finding"),
    ]
    if each.occurrences == incident["occurrences"]:
        del counted[1]
    return " · ".join(counted)


class Symptoms(NamedTuple):
    """List the symptoms of an incident as a report names them: the gravest ones, and how many more there are."""

    listed: Sequence[tuple[str, str]]  # severity and title, the gravest first
    more: int  # the number of those that are not listed


def symptoms(each: InView) -> Symptoms:
    """Return the symptoms of an incident; none of an incident of only one, whose title is that of the incident."""
    if each.incident["symptoms_total"] == 1:
        return Symptoms([], 0)
    places = _namespaces(each)
    listed = [
        (
            one["severity"],
            distinct_title(one["title"], one["anchor"]["namespace"], places) + " (silenced)" * one["silenced"],
        )
        for one in each.incident["symptoms"]
    ]
    return Symptoms(listed, each.symptoms - len(listed) if listed else 0)


def where(each: InView) -> str:
    """Return what an incident is about; of one with several symptoms, the namespaces of what these are about."""
    if each.incident["symptoms_total"] > 1:
        names = _namespaces(each) or ["cluster"]
        more = f" and {wording.count(len(names) - _NAMESPACES)} more" if len(names) > _NAMESPACES else ""
        return ", ".join(names[:_NAMESPACES]) + more
    anchor = each.incident["anchor"]
    return " / ".join(filter(None, [anchor["namespace"], f"{anchor['kind']} {anchor['name']}"]))


def because(each: InView) -> str:
    """Return the words before the proven cause of an incident, which is that of one of its symptoms."""
    return "Because" if each.incident["symptoms_total"] == 1 else "Behind one of its symptoms:"


class Noted(NamedTuple):
    """What somebody has noted of an incident: an acknowledgement, or a silence."""

    heading: str
    words: str


def notes(each: InView) -> list[Noted]:
    """Return who has acknowledged an incident or its findings, when and with which note, and what silences it."""
    found = []
    if noted := each.incident["acknowledged"]:
        found.append(Noted("Acknowledged", _noted(noted)))
    of_findings = {_noted(row["acknowledged"]): None for row in each.rows if row["acknowledged"]}
    found += [Noted("Finding acknowledged", words) for words in of_findings]
    if words := silenced(each):
        found.append(Noted("Silenced", words[0].upper() + words[1:]))
    return found


def _noted(noted: AcknowledgementPayload) -> str:
    note = f": {noted['note']}" if noted["note"] else ""
    return f"by {noted['by'] or 'somebody'} at {clock(noted['at'])}{note}"


def changes(each: InView, contents: Contents) -> list[ChangeRow]:
    """Return what changed before an incident, the likeliest to matter first."""
    found = contents.changes.get(each.incident["id"])
    return rows(found) if found else []


def author(note: Note) -> str:
    """Return who wrote the note of a report, and when, as far as it is known."""
    return ", ".join(filter(None, [note.by, note.at]))


def title(row: FindingGroupPayload, each: InView) -> str:
    """Return the summary of an occurrence, after its namespace in an incident of several namespaces."""
    return distinct_title(row["summary"], row["namespace"], _namespaces(each))


def _namespaces(each: InView) -> list[str]:
    return [namespace for namespace in each.incident["anchored_in"] if namespace]


def lasted(row: FindingGroupPayload) -> str:
    """Return when an occurrence began and ended: "2026-11-21 07:52:00.841 – 07:52:07.204", or one time for a moment."""
    start, end = _instant(row["start"], [row]), _instant(row["end"], [row])
    return start if start == end else f"{start} – {end[11:] if start[:10] == end[:10] else end}"


def nothing(contents: Contents) -> str:
    """Return why a report has no incident."""
    if contents.nothing:
        return contents.nothing
    if contents.incidents_of_source:
        return "Nothing in this part of the recording is an incident."
    return "No rule that can judge this recording found a violation."

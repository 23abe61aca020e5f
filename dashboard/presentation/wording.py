"""Write times, numbers, proof and advice for pages and reports. It makes no queries and no HTML."""

import itertools
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from dashboard.presentation.catalogue import Piece, words
from timeline.core.actors import named, short
from timeline.core.entries import Level
from timeline.judge import rulebook
from timeline.judging.advice import steps
from timeline.judging.coverage.judgeable import ANSWERS, Answer
from timeline.judging.coverage.links import JOINS
from timeline.judging.coverage.remedies import KEPT_OUT, POLICY, WHOLE_POLICY
from timeline.payloads.documents import timestamp
from timeline.payloads.findings import FindingPayload, LinkPayload, ProofPayload, RulePayload, SourceDocumentPayload

if TYPE_CHECKING:
    from timeline.queries.sources.extents import SourceRow

MINUTE = "%Y-%m-%d %H:%M UTC"  # how a datetime is written to the minute


def folder(files: Collection[str]) -> str:
    """Return the folder that all paths share. Pages name it once."""
    least, most = min(files, default=""), max(files, default="")
    shared = next((at for at, pair in enumerate(zip(least, most, strict=False)) if len(set(pair)) > 1), len(least))
    return least[: least.rfind("/", 0, shared) + 1]


def span(first: int, last: int) -> str:
    kept = -4 if first % 1_000_000 or last % 1_000_000 else -8  # no fraction if both are whole seconds
    start, end = (timestamp(time)[:kept].replace("T", " ") for time in (first, last))
    return f"{start} – {end[11:] if start[:10] == end[:10] else end}"


def count(number: int) -> str:
    return f"{number:,}"


def size(count: int) -> str:
    """Return a number of bytes for people: 4.3 GB."""
    for unit, power in (("TB", 4), ("GB", 3), ("MB", 2), ("kB", 1)):
        if count >= 1000**power:
            return f"{count / 1000**power:.1f} {unit}".replace(".0 ", " ")
    return f"{count} bytes"


def some(number: int) -> str:
    """Return the number, or nothing for zero."""
    return count(number) if number > 0 else ""


def plural(word: str, count: int) -> str:
    return word if count == 1 or word == "info" else f"{word}s"


def number_of(number: int, one: str, many: str = "") -> str:
    """Return how many there are of something: "3 findings"; `many` is the word for several, if it is no usual one."""
    return f"{count(number)} {many if many and number != 1 else plural(one, number)}"


def harmless(severity: str, effect: str) -> bool:
    """Return whether an incident did no harm: its severity is info and it had no effect. Lists count such incidents
    and do not show them, so that they do not hide the others."""
    return severity == "info" and effect == "none"


def often(finding: FindingPayload) -> str:
    first, last = (proved(finding[end], finding["proof"]) for end in ("first_time", "last_time"))
    return f"{count(finding['count'])} in all, from {first} to {last}"


def proof(proof: ProofPayload, folder: str) -> dict[str, str]:
    earliest, latest = proof["earliest"], proof["latest"]
    file = (proof["file"] or "").removeprefix(folder)
    return {
        "role": proof["role"],
        "iso": proof["time"],
        "earliest": earliest or "",
        "begun": earliest if earliest and _whole(earliest, latest) else proof["time"],
        "time": instant(proof["time"], earliest, latest),
        "interval": interval(earliest, latest) if earliest and latest else "",
        "since": instant(earliest, earliest, None) if earliest and not latest else "",
        "revision": proof["resource_version"] or "",
        "actor": proof["actor"] or "",
        "agent": proof["user_agent"] or "",
        "who": short(named(proof["actor"], proof["user_agent"])),
        "audit_id": proof["audit_id"] or "",
        "place": f"{file}:{proof['line']}" if proof["line"] else file,
    }


def interval(earliest: str, latest: str) -> str:
    """Return an interval such as 07:52:00.841106 – .849006. A shared second is written once."""
    if _whole(earliest, latest):
        return f"{clock(earliest)[:8]} – {_next_second(latest)}"
    shared = len("2026-11-21T07:52:00") if earliest[:19] == latest[:19] else len("2026-11-21T")
    return f"{clock(earliest)} – {latest[shared:-1]}"


def clock(iso: str) -> str:
    return iso[11:-1]


def instant(time: str, earliest: str | None, latest: str | None, digits: int = 6) -> str:
    """Return the time of a change with no more digits than its clock gives: a whole second as such, and several as
    "07:52:31–07:52:33". `earliest` and `latest` are the interval of its commit. `instant` in time.js does the same."""
    if not earliest or not _whole(earliest, latest):
        return clock(time)[: 9 + digits]
    if not latest:
        return clock(time)[:8]
    least, most = datetime.fromisoformat(earliest).replace(microsecond=0), _next_second(latest)
    one = f"{least + timedelta(seconds=1):%H:%M:%S}" == most
    return f"{least:%H:%M:%S}" if one else f"{least:%H:%M:%S}–{most}"


def _whole(earliest: str, latest: str | None) -> bool:
    """Return whether the time is known only to a second or worse."""
    least = datetime.fromisoformat(earliest)
    return datetime.fromisoformat(latest) - least >= timedelta(seconds=1) if latest else least.microsecond == 0


def _next_second(iso: str) -> str:
    """Return this time if it is a whole second, else the next whole second."""
    time = datetime.fromisoformat(iso)
    return f"{time + timedelta(microseconds=-time.microsecond % 1_000_000):%H:%M:%S}"


def proved(time: str, proof: Iterable[ProofPayload], digits: int = 6) -> str:
    """Return the clock of a time of a finding, as precise as the event of its proof at that time."""
    known = ((each["earliest"], each["latest"]) for each in proof if each["time"] == time)
    return instant(time, *next(known, (None, None)), digits)


def lack(answers: Collection[Answer]) -> str:
    """Say how many rules cannot judge, or only in part, from their answers; "" if all can."""
    blind, partly = (sum(each == answer for each in answers) for answer in ("cannot", "part"))
    parts = [f"{blind} of {len(answers)} rules cannot judge this recording"] if blind else []
    if partly:
        some = f"{partly}" if blind else f"{partly} of {len(answers)} rules"
        parts.append(f"{some} can judge it only in part")
    return ", ".join(parts)


def judgeable(rules: Collection[RulePayload]) -> str:
    """Say what rules can judge. Readers of some namespaces get no rules, because what was observed of the others
    decides, too."""
    if not rules:
        return "what rules can judge is shown to readers of the whole recording only"
    return lack([each["answer"] for each in rules]) or "every rule can judge it in full"


_UNSEEN, _FILES = "What stays unseen", "With more files"
SENTENCES = (_UNSEEN, _FILES)
"""The headings of remedies that are sentences, and no lines to copy."""


def remedies(texts: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Return the remedies under their headings, each line once: lines to copy, or `SENTENCES`."""
    headings: dict[str, list[str]] = {}
    found = dict.fromkeys(line for each in texts for line in each.splitlines())
    for remedy in found:
        if remedy.replace(Level.METADATA, Level.FULL, 1) in found.keys() - {remedy}:
            continue  # another line logs more of the same
        if remedy == WHOLE_POLICY:
            heading = "For an audit log, the policy for --audit-policy-file of the API server"
        elif remedy.startswith(POLICY):
            heading = "In the audit policy, among its first rules (causeline policy prints a whole one)"
        elif remedy.startswith("kubectl"):
            heading = "With kubectl, each into a file of its own, and all of them analysed together"
        elif remedy.startswith(KEPT_OUT):
            heading = _UNSEEN
        else:
            heading = _FILES
        headings.setdefault(heading, []).append(remedy.removeprefix(POLICY))
    return list(headings.items())


_TONES: dict[Answer, str] = {"can": "good", "part": "", "cannot": "partial"}


def judged(rules: Iterable[RulePayload]) -> list[dict[str, Any]]:
    """Return for each rule what it can judge, and why."""
    titles = {rule.id: rule.title for rule in rulebook()}
    return [
        {
            "rule": each["rule"],
            "title": titles.get(each["rule"], ""),
            "answer": ANSWERS[each["answer"]],
            "tone": _TONES[each["answer"]],
            "unsure": each["verdict"] == "inconclusive",
            "why": each["why"],
            "remedies": each["remedy"].splitlines(),
        }
        for each in rules
    ]


def provable(links: Iterable[LinkPayload]) -> list[dict[str, Any]]:
    """Return for each sort of links what they join to one cause, and how far they can be proven."""
    return [
        {
            "title": each["title"],
            "joins": each["joins"],
            "answer": JOINS[each["answer"]],
            "tone": _TONES[each["answer"]],
            "why": each["why"],
            "remedies": each["remedy"].splitlines(),
        }
        for each in links
    ]


def joined(links: Iterable[LinkPayload]) -> list[tuple[str, str]]:
    """Return each answer to whether links can be found, with the sorts of links that it is about."""
    titles: dict[str, list[str]] = {}
    for each in links:
        titles.setdefault(each["answer"], []).append(each["title"][:1].lower() + each["title"][1:])
    return [
        (f"{words[:1].upper()}{words[1:]} to one cause", ", ".join(titles[answer]))
        for answer, words in JOINS.items()
        if answer in titles
    ]


_REDACTED = {
    "name": ("value whose name says that it is a credential", "values whose names say that they are credentials"),
    "form": ("text that has the form of a credential", "texts that have the form of a credential"),
    "copy": ("copy of a whole object", "copies of whole objects"),
    "pattern": ("text that matches a pattern of the operator", "texts that match a pattern of the operator"),
    "time": (
        "text that was too long, or would have taken too long to search for credentials",
        "texts that were too long, or would have taken too long to search for credentials",
    ),
}


def redacted_rows(counts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what was redacted and how often. The same value counts in every change that contains it."""
    return [(words[counts[kind] != 1], count(counts[kind])) for kind, words in _REDACTED.items() if counts.get(kind)]


def redacted(counts: Mapping[str, Any]) -> str:
    """Return what was redacted, as a sentence."""
    rows = redacted_rows(counts)
    return f"Redacted: {'; '.join(f'{number} {words}' for words, number in rows)}." if rows else "Redacted: nothing."


def kinds(coverage: SourceDocumentPayload) -> list[dict[str, str]]:
    """Return a row about what was observed of each kind."""
    return [
        {
            "name": f"{row['resource']}.{row['group']}" if row["group"] else row["resource"],
            "level": row["level"],
            "state": "one moment" if row["level"] == "list" else "complete" if row["complete"] else "with gaps",
            "where": ", ".join(namespaces),
            "good": "yes" if row["complete"] else "",
            "begun": "known" if row["from_list"] else "not known",
            "holes": some(row["holes"]),
            "entries": count(changes),
        }
        for row, changes, namespaces in zip(
            coverage["coverage"],
            coverage["changes"],
            coverage.get("namespaces") or [[]] * len(coverage["coverage"]),
            strict=True,
        )
    ]


class Skip(NamedTuple):
    """The lines of one file that were skipped for one reason."""

    file: str
    reason: str
    lines: list[int]  # 0 stands for a whole file

    @property
    def line_numbers(self) -> str:
        lines = [count(number) for number in self.lines if number]
        more = f" and {count(len(lines) - _LINES)} more" if len(lines) > _LINES else ""
        return ", ".join(lines[:_LINES]) + more


def skipped(skips: Iterable[tuple[str, int, str]]) -> list[Skip]:
    """Group skipped lines by file and reason; whole files come first."""
    alike: dict[tuple[str, str], list[int]] = {}
    for file, line, reason in sorted(skips, key=lambda each: (each[1] > 0, each)):
        alike.setdefault((file, reason), []).append(line)
    return [Skip(file, reason, lines) for (file, reason), lines in alike.items()]


_LINES = 8  # line numbers that are shown for each reason


def outdated(source: "SourceRow") -> str:
    """Return a warning if an older version of the rules judged the source; "" otherwise."""
    if not source.outdated:
        return ""
    warning = "An older version of Causeline judged this, and may state times more exactly than they are known."
    if source.is_live:
        return f"{warning} It is judged again as soon as the cluster is watched again."
    if source.given_up:
        return f"{warning} Judging it again has failed; the worker’s log says why. Import the files anew."
    return f"{warning} It is judged again in the background."


class Step(NamedTuple):
    """One step of the advice, as lines of pieces. A command has an id on its page; other pieces have ""."""

    name: str
    lines: list[list[tuple[Piece, str]]]


def advice(lines: Collection[str]) -> list[Step]:
    """Return the advice step by step."""
    numbers = itertools.count(1)

    def named(piece: Piece) -> tuple[Piece, str]:
        return piece, f"command-{next(numbers)}" if piece.code and piece.text.startswith(_PROGRAMS) else ""

    return [Step(step.name, [[named(piece) for piece in words(line)] for line in step.lines]) for step in steps(lines)]


_PROGRAMS = ("kubectl ", "vcctl ", "watch ", "echo ")


def second_of(moment: int) -> str:
    """Return day and time of microseconds since 1970 to the second."""
    return timestamp(moment)[:19].replace("T", " ")


def clock_of(moment: int) -> str:
    """Return day and time of microseconds since 1970, without a fraction for a whole second."""
    day, _, time = timestamp(moment)[:-1].partition("T")
    return f"{day} {time.rstrip('0').rstrip('.') if time.endswith('000000') else time}"

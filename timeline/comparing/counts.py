"""Find objects that are missing or too many, other last phases, and other findings. It does no I/O."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from timeline.comparing.alignment import Aligned
from timeline.comparing.differences import difference, good_runs, listed
from timeline.comparing.lives import Life, Tree
from timeline.comparing.roles import Member, Role, counted
from timeline.payloads.comparison import DifferencePayload

_NUMBER = re.compile(r"\d+")


def numbers(aligned: Aligned) -> Iterator[DifferencePayload]:
    """Yield the roles that have fewer or more objects than in every good run. Kinds that a run did not observe are left
    out."""
    for role in aligned.every_role:
        if not role.path or not _observed(aligned, role) or any(tree.cut for tree in (*aligned.good, aligned.bad)):
            continue
        good = [len(each.get(role, ())) for each in aligned.good_roles]
        bad = len(aligned.bad_roles.get(role, ()))
        if bad > max(good):
            yield _too_many(aligned, role, good, bad)
        elif bad < min(good):
            yield _too_few(aligned, role, good, bad)


def _observed(aligned: Aligned, role: Role) -> bool:
    """Return whether all runs observed the kind of these objects, and the kinds of the objects between them and the
    owner."""
    every = (*aligned.good_kinds, aligned.bad_kinds)
    return all((group, kind) in kinds for group, kind, _ in role.path for kinds in every)


def _too_many(aligned: Aligned, role: Role, good: Sequence[int], bad: int) -> DifferencePayload:
    places = {member.place for each in aligned.good_roles for member in each.get(role, ())}
    members = aligned.bad_roles[role]
    extra = [member.life for member in members if member.place not in places] or [each.life for each in members]
    sure = all(kinds[role.kind] for kinds in aligned.good_kinds if role.kind)
    text = f"There {'was' if bad == 1 else 'were'} {counted(role, bad)}, {_range(good)}."
    if not sure:
        text += (
            " Not every change of this kind was observed in the good runs, so some may only not have been seen there."
        )
    return _number("extra", aligned, role, text, good, bad, extra, sure=sure)


def _too_few(aligned: Aligned, role: Role, good: Sequence[int], bad: int) -> DifferencePayload:
    places = {member.place for member in aligned.bad_roles.get(role, ())}
    missing = [
        member.life
        for members in aligned.good_roles[:1]
        for member in members.get(role, ())
        if member.place not in places
    ]
    sure = bool(role.kind and aligned.bad_kinds[role.kind])
    text = f"There {'was' if bad == 1 else 'were'} {counted(role, bad)}, {_range(good)}."
    if not sure:
        text += " Not every change of this kind was observed in this run, so some may only not have been seen."
    return _number("missing", aligned, role, text, good, bad, missing, sure=sure)


def _number(
    type: str,
    aligned: Aligned,
    role: Role,
    text: str,
    good: Sequence[int],
    bad: int,
    lives: Iterable[Life],
    *,
    sure: bool,
) -> DifferencePayload:
    return difference(
        "extra" if type == "extra" else "missing",
        aligned.label(role),
        f"number of {counted(role, 2, bare=True)}",
        text,
        good=[str(each) for each in sorted(set(good))],
        bad=[str(bad)],
        good_runs=len(good),
        of_runs=len(good),
        sure=sure,
        lives=lives,
    )


def _range(good: Sequence[int]) -> str:
    least, most = min(good), max(good)
    if not most:
        return f"none in {'the' if len(good) == 1 else 'any'} good run"
    if len(good) == 1:
        return f"{least} in the good run"
    return f"{least} in each good run" if least == most else f"{least}–{most} in the good runs"


def outcomes(aligned: Aligned) -> Iterator[DifferencePayload]:
    """Yield the last phases that objects have in the bad run and in no good run."""
    for role, members in sorted(aligned.bad_roles.items()):
        known = [each[role] for each in aligned.good_roles if role in each]
        if not known:
            continue
        good = {_form(member) for each in known for member in each}
        new = [member for member in members if member.life.outcome and _form(member) not in good]
        by_phase = Counter(member.life.outcome for member in new)
        there = sorted({member.life.outcome for each in known for member in each if member.life.outcome})
        if not there:
            continue
        for phase in sorted(by_phase):
            lives = [member.life for member in new if member.life.outcome == phase]
            name = aligned.label(role)
            which = f"The {name}" if len(members) == 1 else f"{len(lives)} of {counted(role, len(members))}"
            text = f"{which} ended as {phase}; in the {good_runs(known)} as {listed(there)}."
            yield difference(
                "outcome",
                name,
                f"last phase of {name}",
                text,
                good=there,
                bad=[phase],
                good_runs=len(known),
                of_runs=len(known),
                lives=lives,
            )


def _form(member: Member) -> str:
    """Return the last phase without numbers, so that "2 active" and "3 active" are one phase."""
    return _NUMBER.sub("#", member.life.outcome)


def findings(aligned: Aligned) -> Iterator[DifferencePayload]:
    """Yield the rules with more findings than in any good run, and those that found something in all good runs and not
    in the bad one."""
    good = [_by_rule(tree) for tree in aligned.good]
    bad = _by_rule(aligned.bad)
    for rule in sorted({*bad, *(rule for each in good for rule in each)}):
        counts, count = [each.get(rule, []) for each in good], bad.get(rule, [])
        most, least = max(map(len, counts)), min(map(len, counts))
        if len(count) > most:
            there = _range([len(each) for each in counts])
            text = f"{count[0]}. {len(count)} finding{'s' if len(count) > 1 else ''} of {rule}, {there}."
        elif not count and least:
            text = f"No finding of {rule}, which has findings in {'the' if len(good) == 1 else 'each'} good run."
        else:
            continue
        yield difference(
            "finding",
            aligned.root_label,
            rule,
            text,
            good=sorted({each for one in counts for each in one}),
            bad=count,
            good_runs=len(good),
            of_runs=len(good),
        )


def _by_rule(tree: Tree) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for each in sorted(tree.findings):
        found[each.rule].append(each.summary)
    return found

"""Find what was written by other programs than in the good runs, and fields with other values. It does no I/O."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from timeline.comparing.alignment import Aligned
from timeline.comparing.differences import difference, good_runs, listed
from timeline.comparing.lives import Life, may_be_one
from timeline.comparing.roles import Member, Role
from timeline.payloads.comparison import DifferencePayload

_VALUES = 3  # a field with more values than these within one good run, and in half of its objects, is not compared
_NOT_SET = frozenset(["not set"])


def writers(aligned: Aligned) -> Iterator[DifferencePayload]:
    """Yield the programs that did what other programs did in all good runs, each with everything of that sort that it
    did.

    Two names that may be of one program are no difference.
    """
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[Role, str, int]]] = defaultdict(list)
    for role, members in sorted(aligned.bad_roles.items()):
        known = [_deeds(each[role]) for each in aligned.good_roles if role in each]
        here = _deeds(members)
        for deed in sorted(here):
            there = [each[deed] for each in known if deed in each]
            before = set().union(*there)
            new = {each for each in here[deed] if not any(may_be_one(each, other) for other in before)}
            if there and new:
                found[tuple(sorted(new)), tuple(sorted(before))].append((role, deed, len(there)))
    for (new_ones, known_ones), deeds in found.items():
        what = [f"{aligned.label(role)} {deed}" for role, deed, _ in deeds]
        runs = max(number for *_, number in deeds)
        text = f"{', '.join(what)} by {listed(new_ones)}; in the {good_runs(range(runs))} by {listed(known_ones)}."
        yield difference(
            "actor",
            aligned.label(deeds[0][0]),
            ", ".join(what),
            text,
            good=known_ones,
            bad=new_ones,
            good_runs=runs,
            of_runs=runs,
            lives=[
                member.life
                for role, deed, _ in deeds
                for member in aligned.bad_roles[role]
                if any((deed, one) in member.life.writers for one in new_ones)
            ],
        )


def _deeds(members: Iterable[Member]) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for member in members:
        for deed, actor in member.life.writers:
            found[deed].add(actor)
    return found


def specs(aligned: Aligned) -> Iterator[DifferencePayload]:
    """Yield the fields that have other values than in all good runs. Fields that vary among the good runs, or among the
    objects of one, are left out."""
    for role, members in sorted(aligned.bad_roles.items()):
        known = [_read(each[role]) for each in aligned.good_roles if role in each]
        here = _read(members)
        known = [each for each in known if each]
        if not here or not known:
            continue
        whole = all(life.spec.whole for each in (*known, here) for life in each if life.spec)
        none = not any(life.spec.whole for each in (*known, here) for life in each if life.spec)
        if not whole and not none:
            continue  # objects can only be compared with objects
        good, bad = [_values(each) for each in known], _values(here)
        for path in sorted({*bad, *(path for each in good for path in each)}):
            if not _varies(path, good, known):
                yield from _field(aligned, role, path, [each.get(path, _NOT_SET) for each in good], bad, here)


def _read(members: Iterable[Member]) -> list[Life]:
    return [member.life for member in members if member.life.spec and member.life.spec.values]


def _values(lives: Iterable[Life]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for life in lives:
        for path, values in life.spec.values.items() if life.spec else ():
            found[path] |= values
    return {path: frozenset(values) for path, values in found.items()}


def _varies(path: str, good: Sequence[Mapping[str, frozenset[str]]], lives: Sequence[Sequence[Life]]) -> bool:
    """Return whether a field has no value in common in all good runs, or very many values within one of them."""
    values = [each.get(path, _NOT_SET) for each in good]
    if not frozenset.intersection(*values):
        return True
    return any(len(each) > max(_VALUES, len(of) // 2) for each, of in zip(values, lives, strict=True))


def _field(
    aligned: Aligned,
    role: Role,
    path: str,
    good: Sequence[frozenset[str]],
    bad: Mapping[str, frozenset[str]],
    lives: Sequence[Life],
) -> Iterator[DifferencePayload]:
    known, here = frozenset().union(*good), bad.get(path, _NOT_SET)
    new = sorted(here - known)
    lost = not frozenset.intersection(*good) & here
    if not new and not lost:
        return
    name = aligned.label(role)
    shown = new or sorted(here)
    there = sorted(known)
    text = f"{path} of the {name} is {listed(shown)}; in the {good_runs(good)} {listed(there)}."
    yield difference(
        "spec",
        name,
        path,
        text,
        good=there,
        bad=shown,
        good_runs=len(good),
        of_runs=len(good),
        lives=[life for life in lives if life.spec and set(shown) & life.spec.values.get(path, _NOT_SET)],
    )

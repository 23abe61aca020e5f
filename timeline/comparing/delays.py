"""Find steps that took much longer, or much shorter, than in all good runs, where the clocks bound that. It does no
I/O."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from timeline.comparing.alignment import Aligned
from timeline.comparing.differences import difference
from timeline.comparing.lives import WORDS, Life, Step, Tree, between
from timeline.comparing.roles import Role, Roles
from timeline.core.durations import Length
from timeline.payloads.comparison import DifferencePayload

_TIMES = 2  # how many times as long as the longest of the good runs
_LEAST = 100_000  # µs by which it has to differ

# The steps from which a step is measured, the nearest one first; a creation is measured from that of the owner.
_SINCE = {
    "scheduled": ("created",),
    "started": ("scheduled", "created"),
    "ready": ("started", "scheduled", "created"),
    "address": ("created",),
    "finished": ("started", "created"),
    "deleted": ("deleting", "finished", "created"),
}

_Interval = tuple[Role, str, str]  # from which step to which, of a role; from "owner" for a creation


def slower(aligned: Aligned) -> Iterator[DifferencePayload]:
    """Yield the intervals that were at least twice as long, or half as long, as in every good run."""
    good = [_intervals(tree, roles) for tree, roles in zip(aligned.good, aligned.good_roles, strict=True)]
    bad = _intervals(aligned.bad, aligned.bad_roles)
    for interval in sorted(bad):
        longest = [_longest(each[interval].values()) for each in good if interval in each]
        here = _longest(bad[interval].values())
        if not longest or here.most is None:
            continue
        least, most = min(each.least for each in longest), max(each.most or 0 for each in longest)
        if any(each.most is None for each in longest) or not most:
            continue
        if here.least >= _TIMES * most and here.least - most >= _LEAST:
            yield _difference(aligned, interval, bad[interval], here, Length(least, most), len(longest), longer=True)
        elif here.most * _TIMES <= least and least - here.most >= _LEAST:
            yield _difference(aligned, interval, bad[interval], here, Length(least, most), len(longest), longer=False)


def _intervals(tree: Tree, run: Roles) -> Mapping[_Interval, Mapping[str, Length]]:
    """Return the length of each interval of each object, by the key of the object."""
    found: dict[_Interval, dict[str, Length]] = defaultdict(dict)
    by_key = {life.key: life for life in tree.lives}
    for role, members in run.items():
        for member in members:
            life = member.life
            steps = {step.what: step for step in life.steps}
            for what, step in steps.items():
                since, before = _before(what, steps, life, by_key, tree.root)
                if before and (length := between(before, step)) is not None:
                    found[role, since, what][life.key] = length
    return found


def _before(
    what: str, steps: Mapping[str, Step], life: Life, by_key: Mapping[str, Life], root: Life
) -> tuple[str, Step | None]:
    """Return the name of the step from which a step is measured, and that step."""
    if what == "created" and life.relation != "owned":
        return "", None
    if what != "created":
        since = next((each for each in _SINCE.get(what, ()) if each in steps), "")
        return since, steps.get(since)
    owner = by_key.get(life.parent, root)
    return "owner", next((step for step in owner.steps if step.what == "created" and owner is not life), None)


def _longest(lengths: Iterable[Length]) -> Length:
    """Return the bounds of the longest of these lengths."""
    each = list(lengths)
    return Length(max(one.least for one in each), max(one.most or 0 for one in each))


def _difference(
    aligned: Aligned,
    interval: _Interval,
    lengths: Mapping[str, Length],
    here: Length,
    there: Length,
    runs: int,
    *,
    longer: bool,
) -> DifferencePayload:
    role, since, what = interval
    most = here.most or 0
    ratio = here.least / (there.most or 1), most / there.least if there.least else None
    name = aligned.label(role)
    times = f" ({_times(*ratio)})" if longer else ""
    if since == "owner":
        which = f"The latest {name}" if len(lengths) > 1 else f"The {name}"
        took = f"{which} was created {here} after its owner"
    else:
        which = f"The slowest {name}" if len(lengths) > 1 else f"The {name}"
        took = f"{which} took {here} from {WORDS.get(since, since)} to {WORDS.get(what, what)}"
    text = f"{took}{times}; in the {'good runs' if runs > 1 else 'good run'} {there}."
    slowest = max(lengths, key=lambda key: (lengths[key].least, key))
    lives = [life for life in aligned.bad.lives if life.key == slowest]
    subject = f"{name} {WORDS.get(since, since)} → {WORDS.get(what, what)}"
    return difference(
        "delay",
        name,
        subject,
        text,
        good=[str(there)],
        bad=[str(here)],
        good_runs=runs,
        of_runs=runs,
        ratio=ratio,
        good_seconds=there,
        bad_seconds=here,
        lives=lives,
    )


def _times(least: float, most: float | None) -> str:
    """Return a ratio as text, with no more digits than are known."""
    if most is None:
        return f"at least {_rounded(least)} times as long"
    if most - least <= most / 5:
        return f"≈ {_rounded((least + most) / 2)} times as long"
    return f"{_rounded(least)}–{_rounded(most)} times as long"


def _rounded(ratio: float) -> str:
    return f"{float(f'{ratio:.2g}'):g}" if ratio < 1e6 else "a million or more"

"""Print an audit policy for the rules that one wants. Modules are imported late, to start quickly."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard import environment
from dashboard.cli.output import writing_standard_output
from dashboard.cli.reading import accepted
from dashboard.cli.terminal import say
from timeline.core.printable import plain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from collectors.sampling import Prediction, Size
    from timeline.judging.coverage.policies import Plan
    from timeline.judging.rulebook import Rule

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_HOUR = 3_600_000_000  # µs
_SHORTEST = 10_000_000  # µs that a sample shows at least if a rate is concluded from it
_FEWEST = 10  # entries from which a rate is concluded


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "policy",
        help="print the audit policy that rules need, and how much it would log",
        epilog="Exit status: 0 printed, 2 command or sample not understood, or most of the sample skipped.",
    )
    command.add_argument("rules", nargs="*", metavar="RULE", help="a rule, such as service-gap (all rules)")
    command.add_argument(
        "--sample",
        nargs="+",
        default=[],
        metavar="FILE",
        help="an audit log of the cluster, of any level: say how much the policy would have logged of it",
    )
    command.add_argument(
        "--namespace",
        action="append",
        default=[],
        metavar="NS",
        help="log only what is in this namespace, or in none; may be repeated",
    )
    command.add_argument(
        "--allow-skipped", action="store_true", help="accept the figures even if most lines of the sample were skipped"
    )
    command.set_defaults(run=policy)


def policy(options: argparse.Namespace) -> int:
    """Print an audit policy, and what it would have logged of a sample.

    Return the exit status: 0 printed, 2 the command or the sample is not understood, or most of it was skipped.
    """
    from collectors.formats import NotARecording
    from timeline.judge import rulebook
    from timeline.judging.coverage.policies import plan, text

    try:
        rules = _rules(options.rules)
        planned = plan(rules, _namespaces(options.namespace), rulebook())
        if not planned.logs:
            raise ValueError("; ".join(f"{each.rule} {each.why}" for each in planned.reach) + ".")
        if not options.sample:
            with writing_standard_output():
                print(text(planned), end="")
            return 0
        prediction = _prediction(planned, [(Path(name), name) for name in options.sample])
    except (NotARecording, ValueError, OSError, environment.SettingError) as error:
        say(plain(str(error)))
        return 2
    except KeyboardInterrupt:
        return 130
    return _print(planned, prediction, options)


def _rules(ids: Iterable[str]) -> list[Rule]:
    """Return the rules with these ids, or all. Raise ValueError for an id that no rule has."""
    from collectors.analysis import choose
    from timeline.judge import rulebook

    choose([], list(ids), ())
    return [rule for rule in rulebook() if not ids or rule.id in ids]


def _namespaces(names: Iterable[str]) -> list[str]:
    """Return the namespaces. Raise ValueError for a name that no namespace can have."""
    for name in names:
        if not _NAMESPACE.fullmatch(name):
            raise ValueError(f"{name[:80]!r} cannot be the name of a namespace.")
    return list(dict.fromkeys(names))


def _prediction(planned: Plan, inputs: list[tuple[Path, str]]) -> Prediction:
    """Return what a policy would have logged of a sample. Raise ValueError if no event of it can be used."""
    from collectors.formats import audit_events
    from collectors.sampling import predict

    prediction = predict(planned.policy, audit_events(inputs, environment.limits()))
    if not prediction.sample.entries:
        reasons = "".join(f" The first reason: {each}." for each in prediction.skips.all()[:1])
        raise ValueError(f"{', '.join(name for _, name in inputs)}: there is no audit event in it.{reasons}")
    return prediction


def _print(planned: Plan, prediction: Prediction, options: argparse.Namespace) -> int:
    from timeline.judging.coverage.policies import text
    from timeline.payloads.documents import mostly_skipped

    with writing_standard_output():
        print(text(planned, [*_of_sample(prediction)], dict(_of_lines(planned, prediction))), end="")
    if skipped := prediction.skips.count:
        first = prediction.skips.all()[0]
        say(plain(f"{skipped} lines of the sample were skipped. The first: {first}"))
    skips = mostly_skipped(prediction.skips.mostly_skipped())
    return 0 if accepted(skips, allowed=options.allow_skipped) else 2


def _of_sample(prediction: Prediction) -> Iterator[str]:
    """Yield what is said about the sample, and about the whole policy."""
    from dashboard.presentation.wording import span
    from timeline.core.durations import duration

    sample, length = prediction.sample, prediction.length
    if length:
        start, end = prediction.stretches[0][0], max(end for _, end in prediction.stretches)
        apart = len(prediction.stretches)
        within = f" in {apart} stretches of time" if apart > 1 else ""
        yield f"The sample shows {duration(length)}{within}, {span(start, end)} UTC: {_counted(sample, length)}."
    else:
        yield f"The sample has {_counted(sample, 0)}, and shows no length of time."
    if length < _SHORTEST:
        yield "It is too short for a rate."
    yield f"Of the same requests, this policy logs {_counted(prediction.total, length)}."
    yield "Sizes are of JSON that is not compressed. What the sample's own policy leaves out is not in the figures."
    if _SHORTEST <= length < _HOUR:
        yield "The figures for an hour assume that it is like the sample, which is shorter."


def _of_lines(planned: Plan, prediction: Prediction) -> Iterator[tuple[int, str]]:
    """Yield what the lines of the policy log of the sample, by the number of the line."""
    from timeline.judging.coverage.remedies import is_private

    lines = zip(planned.policy.rules, prediction.lines, prediction.seen, strict=True)
    for number, (line, size, seen) in enumerate(lines):
        if line.level == "None":
            continue
        if not size.entries:
            yield number, "The sample has no such request: there was none, or its policy leaves it out."
            continue
        named = [(group.group, each) for group in line.resources for each in group.resources if "/" not in each]
        lacking = [each for each in named if each not in seen and not is_private(*each)]
        unseen = [f"{name}.{group}" if group else name for group, name in lacking]
        without = f" The sample has none about {', '.join(unseen)}." if unseen else ""
        yield number, f"In the sample {_counted(size, prediction.length)}.{without}"


def _counted(size: Size, length: int) -> str:
    """Return the number of entries and their size, in the sample and in an hour, and what is estimated of it."""
    from dashboard.presentation.wording import count
    from dashboard.presentation.wording import size as written

    least = "at least " if size.bare else ""
    whole = f"about {written(_rounded(size.size, 2))}" if size.estimated else written(round(size.size))
    said = f"{count(size.entries)} {'entry' if size.entries == 1 else 'entries'}, {least}{whole}"
    if size.estimated:
        said += f" (about {written(_rounded(size.estimated, 2))} estimated from other bodies of these resources)"
    if size.bare:
        said += f", without the bodies of {count(size.bare)}, of whose kind the sample has none"
    if length >= _SHORTEST and size.entries >= _FEWEST:
        digits = 2 if size.entries >= _FEWEST**2 else 1  # as many as so many entries carry
        entries, hourly = (_rounded(number * _HOUR / length, digits) for number in (size.entries, size.size))
        said += f"; in an hour about {count(entries)} entries, {least}about {written(hourly)}"
    return said


def _rounded(number: float, digits: int) -> int:
    """Return a number rounded to its first digits."""
    whole = round(number)
    return round(whole, digits - len(str(whole)))

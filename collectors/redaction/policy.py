"""Hold what the operator adds to redaction: own patterns of credentials, and to keep no objects. It does no I/O.

A pattern is a Python regular expression whose time is bounded, because its repetitions are limited. A process calls
`use` once, when it starts, before it reads anything.
"""

import re
from collections.abc import Callable
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

_MOST = 512  # times that any part of a pattern may repeat
_WAYS = 2048  # ways to match at one place, at worst
_AHEAD = 4096  # characters that a pattern may look ahead
_REPEATS = (constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT)


class PatternError(ValueError):
    """A pattern cannot be used. The message says why."""


class Policy(NamedTuple):
    """The operator's settings of redaction."""

    patterns: tuple[str, ...] = ()
    strict: bool = False  # keep no objects, only the facts that the rules read


class Pattern(NamedTuple):
    """A pattern of the operator that can be used."""

    compiled: re.Pattern[str]
    reach: int  # characters from where a match begins that may decide whether it is one


_current = Policy()
_patterns: tuple[Pattern, ...] = ()
_forget: list[Callable[[], None]] = []


def on_policy_change(forget: Callable[[], None]) -> None:
    """Register a function that clears a cache when another policy is used."""
    _forget.append(forget)


def current() -> Policy:
    """Return the policy in use."""
    return _current


def patterns() -> tuple[Pattern, ...]:
    """Return the operator's patterns, compiled."""
    return _patterns


def use(policy: Policy) -> None:
    """Redact by this policy from now on. Raise PatternError if a pattern of it cannot be used."""
    global _current, _patterns
    _patterns = tuple(map(checked, policy.patterns))
    _current = policy
    for forget in _forget:
        forget()


def checked(pattern: str) -> Pattern:
    """Return the compiled pattern. Raise PatternError if it is invalid or its time cannot be bounded."""
    try:
        compiled = re.compile(pattern)
        parsed = parser.parse(pattern)
        ways = _ways(parsed)
    except (re.error, RecursionError, OverflowError) as error:
        raise PatternError(f"it is not a regular expression: {error}") from None
    if compiled.search(""):
        raise PatternError("it matches the empty text, and so everything")
    if ways > _WAYS:
        raise PatternError(
            f"a text could make it try {ways} ways to match at each place, and {_WAYS} are allowed; give fewer"
            " repetitions, and the others an upper bound, such as [a-z0-9]{8,40}"
        )
    return Pattern(compiled, min(parsed.getwidth()[1], _MOST * _MOST) + _AHEAD)


def _ways(parsed: Any) -> int:
    """Return how many ways there are to match at one place, at worst. Raise PatternError if there is no bound."""
    ways = 1
    for operation, argument in parsed:
        ways = min(ways * _ways_of(operation, argument), 10**9)
    return ways


def _ways_of(operation: Any, argument: Any) -> int:
    if operation in _REPEATS:
        least, most, inner = argument
        if _MOST < most < constants.MAXREPEAT:
            raise PatternError(f"something in it may repeat {most} times, and {_MOST} are allowed")
        if most == constants.MAXREPEAT:
            raise PatternError(f"something in it may repeat without end; give it an upper bound, such as {{1,{_MOST}}}")
        own = _ways(inner)
        return int(min((most - least + 1) * own ** min(most, 40), 10**9))
    if operation is constants.SUBPATTERN:
        return _ways(argument[-1])
    if operation is constants.ATOMIC_GROUP:
        return _ways(argument)
    if operation is constants.BRANCH:
        return sum(_ways(each) for each in argument[1])
    if operation in (constants.ASSERT, constants.ASSERT_NOT):
        return _ways(argument[1])
    if operation in (constants.GROUPREF, constants.GROUPREF_EXISTS):
        raise PatternError("it refers back to a group, which takes a time that cannot be bounded")
    return 1

"""Format objects as YAML with sorted keys, and the difference between two revisions, within a bound on the work of one
answer. It does no I/O."""

import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, Literal, NamedTuple

import yaml

from timeline.core.values import decoded

STEPS = 600_000  # that one answer may cost at most, if nothing else is said
SHOWN = 3000  # the most lines of a difference that a page shows
_CONTEXT = 2  # the number of unchanged lines that are shown around a change
_WIDE = 100_000  # so wide that no line is wrapped: a change could otherwise move the wrapping of unchanged text
_PAIRS = 100_000  # pairs of equal lines from which on lines that are often repeated are no places to begin a match
# What some work takes, in steps, as it was measured:
_OF_VALUE = 4  # to write a value or a key as YAML
_OF_LINE = 12  # to show a line on a page
_BYTES = 100  # bytes that are read or written in one step
_PAIRED = 8  # pairs of equal lines, or lines, that are compared in one step
_SPLIT = 4  # lines into which a text is split in one step
_SORTED = 2  # lines whose places are found in one step


class _Dumper(yaml.CSafeDumper):
    """Write texts of several lines as blocks, and never use YAML aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


Sign = Literal["+", "-", " ", "@"]


class Line(NamedTuple):
    """A line of a difference. Its kind says whether it was added (+), removed (-) or is unchanged, or whether it is the
    path of the lines that follow (@)."""

    kind: Sign
    text: str


class TooLarge(Exception):
    """To format or to compare objects costs more than an answer may cost."""


class Work:
    """How much work formatting and comparing objects may still take for one answer, in steps. A step is about a
    microsecond of a processor. Counted steps, unlike a clock, give the same answer on a busy machine."""

    def __init__(self, steps: int = STEPS) -> None:
        self._left = steps
        self._texts: dict[tuple[bytes, bool, bool], list[str]] = {}

    def spend(self, steps: int) -> None:
        """Count what is about to be done. Raise TooLarge, and count nothing, if that is more than is left."""
        if steps > self._left:
            raise TooLarge
        self._left -= steps

    @contextmanager
    def half(self) -> Iterator[None]:
        """Let the context cost half of what is left, so that objects which are too large leave something for others."""
        kept = self._left - self._left // 2
        self._left -= kept
        try:
            yield
        finally:
            self._left += kept

    def lines(self, body: bytes, *, managed_fields: bool = False, revision: bool = True) -> list[str]:
        """Return the lines of an object as YAML (see `as_yaml`). Each text is made once, as a page compares most with
        both the one before and the one after. Raise TooLarge."""
        key = body, managed_fields, revision
        if key not in self._texts:
            text = as_yaml(body, self, managed_fields=managed_fields, revision=revision)
            self.spend(text.count("\n") // _SPLIT)
            self._texts[key] = text.splitlines()
        return self._texts[key]


def as_yaml(body: bytes, work: Work, *, managed_fields: bool = False, revision: bool = True) -> str:
    """Return an object, given as JSON, as YAML. `managed_fields` and `revision` say whether metadata.managedFields and
    metadata.resourceVersion are included. Raise TooLarge."""
    work.spend(len(body) // _BYTES)
    content = decoded(body)
    if isinstance(content, dict) and isinstance(metadata := content.get("metadata"), dict):
        left_out = [*([] if managed_fields else ["managedFields"]), *([] if revision else ["resourceVersion"])]
        content["metadata"] = {key: value for key, value in metadata.items() if key not in left_out}
    _count(content, work)
    return yaml.dump(content, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=_WIDE, default_flow_style=False)


def _count(content: Any, work: Work) -> None:
    """Count what it costs to write a value as YAML, which indents each line by two spaces for each level."""
    waiting = [(content, 0)]
    while waiting:
        value, depth = waiting.pop()
        indents = 2 * depth
        if isinstance(value, dict):
            work.spend(len(value) * (2 * _OF_VALUE + indents // _BYTES))
            waiting += [(each, depth + 1) for each in value.values()]
        elif isinstance(value, list):
            work.spend(len(value) * (_OF_VALUE + indents // _BYTES))
            waiting += [(each, depth + 1) for each in value]
        elif isinstance(value, str):
            work.spend(value.count("\n") * indents // _BYTES)


def whole(body: bytes, work: Work) -> list[Line]:
    """Return the lines of an object, given as JSON. Raise TooLarge."""
    with work.half():
        lines = work.lines(body)
        work.spend(min(len(lines), SHOWN) * _OF_LINE)
        return [Line(" ", text) for text in lines]


def change(before: bytes, after: bytes, work: Work, *, managed_fields: bool = False) -> list[Line]:
    """Return the difference between two revisions of an object, both JSON, without that of the resourceVersion. Raise
    TooLarge."""
    with work.half():
        old, new = (work.lines(body, managed_fields=managed_fields, revision=False) for body in (before, after))
        return difference(old, new, work)


def difference(old: Sequence[str], new: Sequence[str], work: Work) -> list[Line]:
    """Return the difference between two YAML texts, with some unchanged lines around each change. Each part begins with
    its path in the object. Raise TooLarge."""
    work.spend((len(old) + len(new)) // _PAIRED)
    most = min(len(old), len(new))
    first = next((at for at in range(most) if old[at] != new[at]), most)
    last = next((at for at in range(most - first) if old[-1 - at] != new[-1 - at]), most - first)
    first, last = max(0, first - _CONTEXT), max(0, last - _CONTEXT)
    between, beside = old[first : len(old) - last], new[first : len(new) - last]
    work.spend((len(between) + len(beside)) // _SORTED)
    groups = list(_Matcher(between, beside, work).get_grouped_opcodes(_CONTEXT))
    paths = _paths(new, [first + group[0][3] for group in groups])
    found = [line for group, path in zip(groups, paths, strict=True) for line in _part(group, path, between, beside)]
    work.spend(min(len(found), SHOWN) * _OF_LINE)
    return found


class _Matcher(difflib.SequenceMatcher[str]):
    """Count each search for the longest match before it is made: there may be as many searches as lines, and each looks
    at all pairs of equal lines. Many pairs are avoided by what difflib calls `autojunk`."""

    b2j: dict[str, list[int]]  # the places of each line in the new text

    def __init__(self, old: Sequence[str], new: Sequence[str], work: Work) -> None:
        super().__init__(None, old, new, autojunk=False)
        self._work = work
        self._count(old)
        if self._costs[-1] > _PAIRS:
            super().__init__(None, old, new, autojunk=True)
            self._count(old)

    def _count(self, old: Sequence[str]) -> None:
        self._costs = [0, *accumulate(1 + len(self.b2j.get(line, ())) for line in old)]

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> difflib.Match:
        end = len(self._costs) - 1 if ahi is None else ahi
        self._work.spend(10 + (self._costs[end] - self._costs[alo]) // _PAIRED)
        return super().find_longest_match(alo, ahi, blo, bhi)


def _part(
    group: list[tuple[str, int, int, int, int]], path: str, old: Sequence[str], new: Sequence[str]
) -> Iterator[Line]:
    if path:
        yield Line("@", path)
    for tag, start, end, from_, to in group:
        if tag == "equal":
            yield from (Line(" ", text) for text in new[from_:to])
            continue
        yield from (Line("-", text) for text in old[start:end])
        yield from (Line("+", text) for text in new[from_:to])


def _paths(lines: Sequence[str], places: Sequence[int]) -> Iterator[str]:
    """Yield the path of the keys above each of these lines, in ascending order, such as "status.conditions"."""
    above: list[tuple[int, str]] = []  # the column and the name of each key that the next line may be below
    at, path = 0, ""
    for place in places:
        for line in lines[at : place + 1]:
            bare = line.lstrip()
            if not bare:
                continue
            begin = len(line) - len(bare)
            is_item = bare.startswith("- ")  # it may begin in the column of the key of its list
            while above and above[-1][0] >= begin + is_item:
                above.pop()
            path = ".".join(name for _, name in above)
            if line.endswith(":"):
                above.append((begin + 2 * is_item, bare.removeprefix("- ").rstrip(":")))
        at = place + 1
        yield path

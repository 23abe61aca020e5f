"""This pure module formats objects as YAML with sorted keys, and the difference between two revisions."""

import difflib
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec
import yaml

_CONTEXT = 2  # the number of unchanged lines that are shown around a change
_WIDE = 100_000  # so wide that no line is wrapped: a change could otherwise move the wrapping of unchanged text


class _Dumper(yaml.CSafeDumper):
    """This dumper writes texts of several lines as blocks, and never uses YAML aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


Sign = Literal["+", "-", " ", "@"]


class Line(NamedTuple):
    """This is a line of a difference. Its kind says whether it was added (+), removed (-) or is unchanged, or whether
    it is the path of the lines that follow (@)."""

    kind: Sign
    text: str


def as_yaml(body: bytes, *, managed_fields: bool = False, revision: bool = True) -> str:
    """Return an object, given as JSON, as YAML. `managed_fields` and `revision` say whether metadata.managedFields and
    metadata.resourceVersion are included."""
    decoded = msgspec.json.decode(body)
    if isinstance(decoded, dict) and isinstance(metadata := decoded.get("metadata"), dict):
        left_out = [*([] if managed_fields else ["managedFields"]), *([] if revision else ["resourceVersion"])]
        decoded["metadata"] = {key: value for key, value in metadata.items() if key not in left_out}
    return yaml.dump(decoded, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=_WIDE, default_flow_style=False)


def change(before: bytes, after: bytes, *, managed_fields: bool = False) -> list[Line]:
    """Return the difference between two revisions of an object, both JSON, without that of the resourceVersion."""
    old, new = (as_yaml(body, managed_fields=managed_fields, revision=False) for body in (before, after))
    return difference(old, new)


def difference(before: str, after: str) -> list[Line]:
    """Return the difference between two YAML texts, with some unchanged lines around each change. Each part begins with
    its path in the object."""
    old, new = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [line for group in matcher.get_grouped_opcodes(_CONTEXT) for line in _part(group, old, new)]


def _part(group: list[tuple[str, int, int, int, int]], old: list[str], new: list[str]) -> Iterator[Line]:
    if path := _path(new, group[0][3]):
        yield Line("@", path)
    for tag, start, end, from_, to in group:
        if tag == "equal":
            yield from (Line(" ", text) for text in new[from_:to])
            continue
        yield from (Line("-", text) for text in old[start:end])
        yield from (Line("+", text) for text in new[from_:to])


def _path(lines: list[str], at: int) -> str:
    """Return the path of the keys above a line, such as "status.conditions"."""
    keys: list[str] = []
    column = _column(lines[at]) if at < len(lines) else 0
    for line in reversed(lines[: at + 1]):
        item, own = len(line) - len(line.lstrip()), _column(line)
        if own < column and line.endswith(":"):
            keys.append(line.strip().removeprefix("- ").rstrip(":"))
            column = own
        if own == column != item:
            column = item + 1  # a list item begins here; the key of the list may be in the same column
    return ".".join(reversed(keys))


def _column(line: str) -> int:
    """Return the column in which the key of a line begins."""
    bare = line.lstrip()
    return len(line) - len(bare) + (2 if bare.startswith("- ") else 0)

"""Print which credentials of a maintained list are not recognised, by their form or the name of their issuer.

    python -m deploy.check_forms gitleaks.toml [FILE …]

FILE is gitleaks' config/gitleaks.toml, or source in which expressions are raw strings, as in the plugins of
detect-secrets and the detectors of trufflehog. For each expression that a credential with letters of its own matches,
the script makes up such a credential, and names the expression if redaction leaves it as it is. What is missing belongs
into `collectors/redaction/forms.py`. Only facts are taken from such lists: how a credential begins, and how long it is.
"""

import random
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from collectors.redaction.objects import clean_text

_FEWEST = 3  # letters that a credential needs of its own to be recognised by its form
_SHORTEST = 12  # characters of a credential
_LONGER = 12  # characters that a part without a greatest length has more than it must
_RAW = re.compile(r"`([^`\n]{8,})`|\br'([^'\n]{8,})'|\br\"([^\"\n]{8,})\"")
_GO = (("[[:alnum:]]", "[A-Za-z0-9]"), (r"\z", r"\Z"), (r"\x60", "`"), ("(?-i:", "(?:"), ("(?i:", "(?:"), ("(?i)", ""))
_LETTERS = "abcdefghjkmnpqrstuvwxyz"
_ANY = f"{_LETTERS}{_LETTERS.upper()}0123456789"


def expressions(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each expression in a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        for rule in tomllib.loads(text)["rules"]:
            yield rule["id"], rule.get("regex", "")
    else:
        for match in _RAW.finditer(text):
            yield path.stem, next(filter(None, match.groups()))


def credential_of(expression: str) -> str | None:
    """Return a made-up credential that matches; None if the expression has no letters of its own, or is unreadable."""
    for go, python in _GO:
        expression = expression.replace(go, python)
    try:
        parsed = parser.parse(expression)
    except (re.error, OverflowError):
        return None
    group = next(_groups(parsed), parsed)
    letters = [letter for letter in _own_letters(group) if letter.isalnum()]
    return "".join(_made_up(group, random.Random(expression))) if len(letters) >= _FEWEST else None


def _groups(parsed: Any) -> Iterator[Any]:
    """Yield the groups that capture something with letters of their own, the first and outermost one first."""
    for operation, argument in parsed:
        if operation is constants.SUBPATTERN:
            if argument[0] is not None and len("".join(_own_letters(argument[-1]))) >= _FEWEST:
                yield argument[-1]
            yield from _groups(argument[-1])
        elif operation in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            yield from _groups(argument[-1])


def _own_letters(parsed: Any) -> Iterator[str]:
    """Yield the letters that every match has."""
    for operation, argument in parsed:
        if operation is constants.LITERAL:
            yield chr(argument)
        elif operation is constants.SUBPATTERN:
            yield from _own_letters(argument[-1])
        elif operation is constants.BRANCH:
            yield from min(("".join(_own_letters(each)) for each in argument[1]), key=len)
        elif operation in (constants.MAX_REPEAT, constants.MIN_REPEAT) and argument[0]:
            yield from _own_letters(argument[-1])


def _made_up(parsed: Any, chance: random.Random) -> Iterator[str]:
    """Yield the pieces of a text that matches."""
    for operation, argument in parsed:
        if operation is constants.LITERAL:
            yield chr(argument)
        elif operation is constants.IN:
            allowed = re.compile(_class(argument))
            yield chance.choice([each for each in f"{_ANY}-_=.+/ " if allowed.fullmatch(each)] or ["x"])
        elif operation is constants.ANY:
            yield "."
        elif operation is constants.SUBPATTERN:
            yield from _made_up(argument[-1], chance)
        elif operation is constants.BRANCH:
            yield from _made_up(next(filter(_is_equals_sign, argument[1]), chance.choice(argument[1])), chance)
        elif operation in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            times = argument[0] if argument[1] < constants.MAXREPEAT else argument[0] + _LONGER
            for _ in range(times):
                yield from _made_up(argument[-1], chance)


def _is_equals_sign(parsed: Any) -> bool:
    return [*parsed] == [(constants.LITERAL, ord("="))]


def _class(parts: Any) -> str:
    """Return a class of letters as an expression."""
    text = ""
    for operation, argument in parts:
        if operation is constants.NEGATE:
            text += "^"
        elif operation is constants.LITERAL:
            text += re.escape(chr(argument))
        elif operation is constants.RANGE:
            text += f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}"
        elif operation is constants.CATEGORY:
            text += {"DIGIT": r"\d", "WORD": r"\w", "SPACE": r"\s"}.get(str(argument).removeprefix("CATEGORY_"), r"\S")
    return f"[{text}]"


def main(paths: list[str]) -> int:
    if not paths:
        print(__doc__)
        return 2
    missing = checked = 0
    for path in map(Path, paths):
        for name, expression in expressions(path):
            credential = credential_of(expression)
            if credential is None or len(credential) < _SHORTEST:
                continue
            checked += 1
            if clean_text(text := f"see {credential} there") == text:
                missing += 1
                print(f"{name}: {credential[:60]}  {expression[:120]}")
    print(f"{missing} of {checked} forms are not recognised")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Find the level that a line of a log states, in any of the notations that programs use. It does no I/O."""

import re

_TOKENS = 6  # words and brackets behind a time among which the level is searched
_WORDS = 3  # of these, words without brackets
LEVELS = {
    **dict.fromkeys(("trace", "trc", "trce", "verbose", "finer", "finest"), "trace"),
    **dict.fromkeys(("debug", "dbg", "debu", "dbug", "fine", "level"), "debug"),  # zap writes Level(-4)
    **dict.fromkeys(("info", "inf", "information", "informational", "notice", "note", "config", "log"), "info"),
    **dict.fromkeys(("warn", "wrn", "warning"), "warning"),
    **dict.fromkeys(("error", "err", "erro", "eror", "severe", "fail"), "error"),
    **dict.fromkeys(("fatal", "ftl", "fata", "critical", "crit", "panic", "pani", "pnc", "dpanic"), "fatal"),
    **dict.fromkeys(("alert", "emerg", "emergency"), "fatal"),
    **{"t": "trace", "d": "debug", "i": "info", "n": "info", "w": "warning", "e": "error", "c": "fatal", "f": "fatal"},
    **{"p": "fatal", "a": "info", "u": "info"},  # the last two stand for "any" and "unknown" in Ruby
}
# What is a level without brackets, too.
_BARE = {"trace", "debug", "info", "warn", "warning", "error", "fatal", "panic"}
_IN_CAPITALS = {"config", "fine", "finer", "finest", "level", "log", "note", "verbose"}  # what else is mostly no level
_NUMBERS = ("debug", "trace", "debug", "info", "warning", "error", "fatal")  # the tens, as Bunyan and pino count them
PRIORITIES = ("fatal", "fatal", "fatal", "error", "warning", "info", "info", "debug")  # as syslog counts them
DECORATION = re.compile(r"(?:[\s\]):|]|-(?=\s))*+")  # between a time and what follows it
_TOKEN = re.compile(
    r"[\s|:,#*-]{0,80}+"
    r"(?:\[([^\[\]]{0,80})\]|<([^<>]{0,40})>|\(([^()]{0,80})\)|\{([^{}]{0,80})\}|([^\s\[\](){}<>|,:]{1,80}))"
)
_WORD = re.compile(r"([A-Za-z]{3,13})(?:[+-]\d{1,3})?(?:/[\w.-]{1,80})?")  # INFO, DEBUG-4 (slog), INFO/Process (Celery)
_LETTER = re.compile(r"\s{0,8}([TDINWECF])(?: \| |  (?=[A-Z-]))")  # of capnslog and of MongoDB
_LETTERS = re.compile(r"[A-Za-z]{1,13}")
_AFTER_LEVEL = re.compile(r"[\]>):]{0,3}\s*+(?:[-|:]{1,3}\s++)*+")


def level_of(text: str) -> str:
    """Return the level that a word such as WARN stands for; "" if it stands for none."""
    word = _LETTERS.match(text)
    return LEVELS.get(word[0].lower(), "") if word else ""


def level_in(value: object, *, priority: bool) -> str:
    """Return the level that a field holds as a word or as a number, which may be a `priority` of syslog."""
    if isinstance(value, str):
        if not (value.isdecimal() and len(value) < 3):
            return level_of(value)
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return ""
    if priority:
        return PRIORITIES[value] if 0 <= value < len(PRIORITIES) else ""
    if value <= 0:  # as zap and slog count: 0 is info
        return "debug" if value else "info"
    return _NUMBERS[value // 10] if 10 <= value < 70 else ""


def levelled(rest: str) -> tuple[str, str]:
    """Return the level that stands among the first words of the rest of a line, or "", and the text without it."""
    if letter := _LETTER.match(rest):
        return level_of(letter[1]), rest[letter.end() :]
    at = words = 0
    for number in range(_TOKENS):
        token = _TOKEN.match(rest, at)
        if token is None or token.lastindex is None:
            break
        bare = token.lastindex == 5
        inner = token[token.lastindex]
        word = _WORD.fullmatch(inner if bare else inner.strip().rpartition(":")[2])
        level = LEVELS.get(word[1].lower()) if word else None
        if word and level:
            before, after = rest[: token.start()], rest[token.end() :]
            if _is_level(word[1], bare, first=not number, ended=after[:1]):
                if bare and word[1].islower() and after[:1] == " ":  # it may also be the first word of the text
                    break_at = DECORATION.match(rest)
                    return level, rest[break_at.end() :] if break_at else rest
                end = _AFTER_LEVEL.match(after)
                text = after[end.end() :] if end else after
                before = before.lstrip(" \t:|-]),").rstrip(" \t:|-,#")
                return level, f"{before} {text}" if before else text
        words += bare
        if words == _WORDS:
            break
        at = token.end()
    begin = DECORATION.match(rest)
    return "", rest[begin.end() :] if begin else rest


def _is_level(word: str, bare: bool, *, first: bool, ended: str) -> bool:
    """Return whether a word that is the name of a level is meant as one where it stands."""
    if word.isupper():
        return True
    if not bare:
        return word.lower() not in _IN_CAPITALS or word.istitle()
    return first and (word.lower() in _BARE or (ended == ":" and word.lower() not in _IN_CAPITALS))

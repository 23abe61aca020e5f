"""This pure module finds credentials in text that only white space separates from their names."""

import re
from collections.abc import Iterator

from collectors.redaction.named_values import NAME, element
from collectors.redaction.values import Span, harmless, value_at
from timeline.core.secret_names import Grade, grade, word_set

_SPACED = re.compile(NAME + r"(?>[ \t]+)(?:(?i:as|by|to|is)[ \t]+)?(?=\\*[\"'])")
_OPTION = re.compile(r"(?<![\w.-])(?P<name>--?[A-Za-z](?>[\w.-]{0,200}))[ \t]+(?![-|&;<>\s])")
_DIRECTIVE = re.compile(r"(?m)^[ \t]*(?P<name>(?>[\w./-]{1,200}))[ \t]+(?=[^\s=:])")
_SET = re.compile(  # as in `proxy_set_header NAME value` and `user me insecure-password value`
    r"(?P<set>(?<![\w-])(?:proxy_set_header|add_header|fastcgi_param|[Ss]et[Ee]nv|set|env)[ \t]+)?"
    + NAME
    + r"(?>[ \t]+)(?P<is>(?:is|was|are)[ \t]+)?(?=[^\s=:\"'{}|>-])"
)
_PASS_LAST = re.compile(r"(?i)(?:^|[_-])(?:pass(?:w(?:or)?d|phrase)?|pw|pwd|key)$")
_BLOCK_OF = re.compile(NAME + r"[\"']?(?>[ \t]*)(?=\{)")  # variable "password" { … }
_KEYWORDS = re.compile(  # phrases of netrc, SQL and PowerShell that a value follows
    r"(?i)\b(?:login|user|username|account)[ \t]+\S{1,200}\s+password[ \t]+"
    r"|\bidentified[ ](?:with[ ]\S{1,60}[ ])?by[ ]+(?:password[ ]+)?"
    r"|\bconvertto-securestring[ ]+(?:-string[ ]+)?|\bencrypted[ ]password[ ]+"
)
_KEYWORD_HINT = re.compile(r"(?i)password|identified|securestring")
_SPOKEN_NAMES = word_set(  # words that messages use of objects: secret "db" not found
    "secret secrets token tokens credential credentials webhook auth authorization authentication session cookie "
    "signature license bearer kubeconfig"
)


def space_separated_values(text: str) -> Iterator[Span]:
    """Yield the places of values that only white space separates from their names."""
    for match in _OPTION.finditer(text) if "-" in text else ():
        secret_option = grade(match["name"]) and not text.startswith(("[", "{"), match.end())
        if secret_option and (span := value_at(text, match.end(), line=False, block=False, whole=True)):
            yield span
    if '"' in text or "'" in text:
        for match in _SPACED.finditer(text):
            if (
                match["name"].lower() not in _SPOKEN_NAMES
                and grade(match["name"])
                and not match["name"].startswith("-")
            ):
                span = value_at(text, match.end(), line=False, block=False, whole=False)
                if span and not _is_spoken_of(text, span.end):
                    yield span
    for match in _SET.finditer(text):
        if grade(match["name"]) and (match["set"] or _PASS_LAST.search(match["name"])):
            span = value_at(text, match.end(), line=False, block=False, whole=False)
            if span and (match["set"] or not _is_word(text[span.start : span.end], match["is"])):
                yield span
    for match in _BLOCK_OF.finditer(text) if "{" in text else ():
        if grade(match["name"]) == Grade.WHOLE and (
            span := value_at(text, match.end(), line=False, block=False, whole=True)
        ):
            yield span
    for match in _KEYWORDS.finditer(text) if _KEYWORD_HINT.search(text) else ():
        if span := value_at(text, match.end(), line=False, block=False, whole=True):
            yield span
    if "<" in text and "</" in text:
        yield from _attributed(text)
    multiline = text.count("\n")
    for match in _DIRECTIVE.finditer(text):
        if grade(match["name"]):
            end = text.find("\n", match.end())
            end = end if end >= 0 else len(text)
            value = text[match.end() : end].strip()
            if harmless(value.rstrip(";")) or value.startswith(("[redacted", "-", "|", ">")):
                continue
            alone = not any(letter.isspace() for letter in value)
            not_a_word = not value.isalpha()
            if (alone and (multiline or not_a_word)) and not (
                match["name"].lower() in _SPOKEN_NAMES and not not_a_word
            ):
                yield Span(match.end(), end)


def _is_word(word: str, spoken: str | None) -> bool:
    """Return whether the text after a name is a word of a sentence. `spoken` is the verb between them."""
    word = word.strip("\"'`.,;:!?()")
    if not spoken:
        return word.isalpha()
    return not any(map(str.isdigit, word)) or not any(map(str.isalpha, word))


_OBJECT_OF = re.compile(
    r"[\"'\\]{0,4}[ ]?:?[ ]?(?:not found|is forbidden|already exists|does not|is invalid|in namespace|of )"
)


def _is_spoken_of(text: str, end: int) -> bool:
    return _OBJECT_OF.match(text, end) is not None


_ATTRIBUTED = re.compile(r"<(?:[\w-]{1,60}:)?([\w.-]{1,200})\s[^<>]{0,1000}(?<!/)>")


def _attributed(text: str) -> Iterator[Span]:
    """Yield the places of the content of XML elements that have attributes."""
    for match in _ATTRIBUTED.finditer(text):
        if grade(match[1]) and (span := element(text, match[1], match.end())):
            yield span

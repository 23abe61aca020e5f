"""Find credentials in text that only white space separates from their names. It does no I/O."""

import re
from collections.abc import Callable, Iterator

from collectors.redaction.budget import spend
from collectors.redaction.forms import is_random
from collectors.redaction.named_values import LATTER, NAME, Elements
from collectors.redaction.values import LETTER, Span, harmless, has, value_at
from timeline.core.secret_names import Grade, grade, letters, word_set

_SPACED = re.compile(NAME + r"(?>[ \t]+)(?:(?i:as|by|to|is)[ \t]+)?(?=\\*[\"'])")
_OPTION = re.compile(rf"(?<![\w.-])(?P<name>--?[^\W\d_](?>[{LETTER}]{{0,200}}))[ \t]+(?![-|&;<>\s])")
_DIRECTIVE = re.compile(r"(?m)^[ \t]*(?P<name>(?>[\w./-]{1,200}))[ \t]+(?=[^\s=:])")
_SET = re.compile(  # as in `proxy_set_header NAME value` and `user me insecure-password value`
    r"(?P<set>(?<![\w-])(?:proxy_set_header|add_header|fastcgi_param|[Ss]et[Ee]nv|setx|env|ENV|ARG"
    r"|set(?:[ \t]+-\w{1,4}){0,2})[ \t]+)?" + NAME + r"(?>[ \t]+)(?P<is>(?:is|was|are)[ \t]+)?(?=[^\s=:\"'{}|>-])"
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
_OBJECT_OF = re.compile(
    r"[\"'\\]{0,4}[ ]?:?[ ]?(?:not found|is forbidden|already exists|does not|is invalid|in namespace|of )"
)
_ATTRIBUTED = re.compile(r"<(?:[\w-]{1,60}:)?([\w.-]{1,200})\s[^<>]{0,1000}(?<!/)>")
_LONGEST_WORD = 100  # characters


def space_separated_values(text: str) -> Iterator[Span]:
    """Yield the places of values that only white space separates from their names."""
    if has(text, "-"):
        yield from _values(text, _OPTION, _of_option)
    if has(text, '"', "'"):
        yield from _values(text, _SPACED, _in_quotes)
    yield from _mentioned(text)
    yield from _values(text, _SET, _of_setting)
    if has(text, "{"):
        yield from _values(text, _BLOCK_OF, _of_block)
    if _KEYWORD_HINT.search(text):
        yield from _values(text, _KEYWORDS, _of_phrase)
    if has(text, "</"):
        elements = Elements(text)
        yield from _values(text, _ATTRIBUTED, lambda _, match: _of_element(elements, match))
    yield from _values(text, _DIRECTIVE, _of_directive)


def _values(text: str, names: re.Pattern[str], value: Callable[[str, re.Match[str]], Span | None]) -> Iterator[Span]:
    """Yield the places of the values after the names that an expression finds, except those in the value before."""
    done = 0
    spend(len(text))
    for match in names.finditer(text):
        spend()
        if match.end() >= done and (span := value(text, match)):
            yield span
            done = span.end


def _of_option(text: str, match: re.Match[str]) -> Span | None:
    if not grade(match["name"]) or text.startswith(("[", "{"), match.end()):
        return None
    return value_at(text, match.end(), line=False, block=False, whole=True)


def _in_quotes(text: str, match: re.Match[str]) -> Span | None:
    name = match["name"]
    if name.lower() in _SPOKEN_NAMES or not grade(name) or name.startswith("-"):
        return None
    span = value_at(text, match.end(), line=False, block=False, whole=False)
    return span if span and not _OBJECT_OF.match(text, span.end) else None


def _of_setting(text: str, match: re.Match[str]) -> Span | None:
    if not grade(match["name"]) or not (match["set"] or _PASS_LAST.search(match["name"])):
        return None
    span = value_at(text, match.end(), line=False, block=False, whole=False)
    return span if span and (match["set"] or not _is_word(text[span.start : span.end], match["is"])) else None


def _of_block(text: str, match: re.Match[str]) -> Span | None:
    if grade(match["name"]) != Grade.WHOLE:
        return None
    return value_at(text, match.end(), line=False, block=False, whole=True)


def _of_phrase(text: str, match: re.Match[str]) -> Span | None:
    return value_at(text, match.end(), line=False, block=False, whole=True)


def _of_element(elements: Elements, match: re.Match[str]) -> Span | None:
    """Return the place of the content of an XML element that has attributes."""
    return elements.content(match.end(), match[1]) if grade(match[1]) else None


def _of_directive(text: str, match: re.Match[str]) -> Span | None:
    """Return the place of the rest of a line that a name begins, if it is one word and not one of a sentence."""
    name = match["name"]
    if not grade(name):
        return None
    end = text.find("\n", match.end())
    end = end if end >= 0 else len(text)
    value = text[match.end() : end].strip()
    if harmless(value.rstrip(";")) or value.startswith(("[redacted", "-", "|", ">")):
        return None
    if value.isalpha() and ("\n" not in text or name.lower() in _SPOKEN_NAMES):
        return None
    return Span(match.end(), end) if len(value.split(maxsplit=1)) == 1 else None


_MENTION = re.compile(NAME + r"(?=[\"'`)\]|*]{0,4}[ \t\0(\[])")
_WORD = re.compile(r"(?<![\w./:+-])[\wA-Za-z0-9!#$%^&*+=~-]{8,128}+(?![\w/:@]|\.\w)")
_EASTERN = r"\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # letters of Thai, Chinese, Japanese and Korean
_GLUED = re.compile(
    rf"(?<![{_EASTERN}])([{_EASTERN}]{{2,30}}+)[ \t:\]\"']{{0,4}}([\w!#-&*-.=?@^~+-]{{6,128}}+)", re.ASCII
)
_NEAR = 60  # characters after the mention of a credential in which it may be
_ENDS = re.compile(r"[\r\n;]|[.!?][ \t]")


def _mentioned(text: str) -> Iterator[Span]:
    """Yield the places of credentials that a sentence mentions, as in `password for admin: x`."""
    if not any(is_random(match[0]) for match in _WORD.finditer(text)):
        return
    done = 0
    for match in _MENTION.finditer(text):
        if match.end() >= done and _is_mentioned(match["name"], text, match.start()):
            for span in _random_words(text, match.end()):
                yield span
                done = span.end


def values_after_letters(text: str) -> Iterator[Span]:
    """Yield the places of values right after names in scripts that have no blanks between words."""
    for match in _GLUED.finditer(text):
        if grade(match[1]) == Grade.WHOLE and not harmless(match[2]):
            yield Span(*match.span(2))


def _is_mentioned(name: str, text: str, start: int) -> bool:
    """Return whether a sentence speaks of a credential by this name, or by this name and the word before it."""
    if grade(name) == Grade.WHOLE:
        return True
    if letters(name) not in LATTER:
        return False
    before = text[max(0, start - 40) : start].split()[-2:]
    return any(grade("_".join((*before[at:], name))) == Grade.WHOLE for at in range(len(before)))


def _random_words(text: str, at: int) -> Iterator[Span]:
    """Yield the words soon after a place, in the same sentence, that letters and digits form by chance."""
    ends = _ENDS.search(text, at, at + _NEAR)
    for match in _WORD.finditer(text, at, min(len(text), (ends.start() if ends else at + _NEAR) + 128)):
        if match.start() >= (ends.start() if ends else at + _NEAR):
            return
        if is_random(match[0]):
            yield Span(*match.span())


def _is_word(word: str, spoken: str | None) -> bool:
    """Return whether the text after a name is a word of a sentence. `spoken` is the verb between them."""
    if len(word) > _LONGEST_WORD:
        return False
    word = word.strip("\"'`.,;:!?()")
    if not spoken:
        return word.isalpha()
    return not any(map(str.isdigit, word)) or not any(map(str.isalpha, word))

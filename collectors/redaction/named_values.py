"""This pure module finds credentials in text by the name before them, as in `name=value` or `"name": "value"`."""

import re
from bisect import bisect_left

from collectors.redaction.values import Span, harmless, value_at, word_at
from timeline.core.secret_names import Grade, grade, word_set

NAME = r"(?<![\w.$/-])(?P<name>[\w.$/-]++)"
_NAMED = re.compile(
    NAME + r"(?P<quote>(?>(?:\\*[\"'`]|&quot;|&#34;|%22|\\+u0022)?))(?>\)?\]?[ \t]*)"
    r"(?P<sep>::?=|：|===?|=>|=|:(?!//)|>|%3[dDaA]|\\+(?:u003|x3)[dDaAeE]|\((?=\\*[\"'])"
    r"|,(?=[ \t]*(?:<<)?\\*[\"'])|\r?\n[ \t]*:(?=[ \t]))"
)
_BETWEEN = r"[\s\"'\\,;]{0,60}(?:-[ \t]+)?"
_PAIRED = re.compile(
    rf"{_BETWEEN}[\"'\\]{{0,8}}(?:value|values|val|v|content|data|default|string|stringvalue|text)[\"'\\]{{0,8}}"
    r"[ \t]*(?:=>|[:=])",
    re.IGNORECASE,
)
_NAMES_IT = re.compile(
    rf"{_BETWEEN}[\"'\\]{{0,8}}(?:name|key|k|id|property|field|header)[\"'\\]{{0,8}}[ \t]*[:=][ \t]*", re.I
)
# Of XML: the end of one element and the start of the next.
_ENTRY = re.compile(r"(?:[\s\"'][^<>]{0,300})?>|</[\w:.-]{1,100}>\s{0,200}<[\w:.-]{1,100}>")
_NAMING = word_set("name n key k id property field header param parameter variable var setting option attribute")
_VALUING = frozenset(["value", "val", "v", "content", "data", "default"])
_HEADERS = frozenset(["authorization", "proxy-authorization", "cookie", "set-cookie", "x-auth-token"])
_QUERIED = word_set("key sig code auth p pw s hash h k sid ticket assertion x-amz-credential awsaccesskeyid")
_LINE_START = re.compile(  # what may come before the first name of a line
    r"[ \t]*(?:(?:-[ \t]+)+)?(?:(?:export|set|setx|env|ENV|ARG|const|let|var|public|private|static|final|String|string"
    r"|global|local|declare|readonly|&)[ \t]+){0,3}[#;?\"'$<@!*+]{0,3}[ \t]*"
)
_TYPED = re.compile(r"[ ]*&?[\w<>?.]{1,40}[ ]?=[ ]?(?=[\"'])")  # val password: String = "x"


def clean_named_values(text: str) -> str:
    """Return the text without the values of names, as in `name=value`, `"name": "value"`, `<name>value</name>`."""
    parts, done, at = list[str](), 0, 0
    multiline, elements = "\n" in text, Elements(text)
    while match := _NAMED.search(text, at):
        at = match.end()
        span = _span(text, match, multiline, elements)
        if span and span.start >= done:
            parts += text[done : span.start], span.mask
            done = span.end
            at = max(at, done)
    return "".join((*parts, text[done:])) if parts else text


def _span(text: str, match: re.Match[str], multiline: bool, elements: "Elements") -> Span | None:
    """Return the place of the credential after this match; None if there is none."""
    name, sep, at = match["name"], match["sep"].lstrip(), match.end()
    start = match.start()
    lower = name.lower()
    sensitivity = grade(name)
    if lower in _NAMING and sep not in "(,":
        if span := _paired_value(text, at, start, elements):
            return span
    elif lower in _VALUING and (span := _paired_value_before(text, at)):
        return span
    if (
        not sensitivity
        and lower.lstrip("$") in _QUERIED
        and sep in "=%3D"
        and text[start - 1 : start] in ("?", "&", ";")
    ):
        sensitivity = Grade.SCALAR
    if not sensitivity:
        return None
    if sep == ">":
        return (
            elements.content(at, name) if text[start - 1 : start] in ("<", ":") and not _closes(text, start) else None
        )
    if sep == "," and text[start - 1 : start] == "{" and text.startswith("<<", at + 1):  # Erlang: {name, <<"x">>}
        return value_at(text, at + 3, line=False, block=False, whole=False)
    if sep == ",":
        quoted = match["quote"] and text[max(0, start - 10) : start].rstrip("\"'`\\").endswith("(")
        return value_at(text, at, line=False, block=False, whole=False) if quoted else None
    if sep == "(":
        return value_at(text, at, line=False, block=False, whole=False)
    begins = text.rfind("\n", max(0, start - 200), start) + 1 or (0 if start < 200 else start)
    leads = _LINE_START.fullmatch(text, begins, start) is not None
    block = leads and multiline and sep in (":", "：")
    line = leads and (sep in (":", "：") or (multiline and sep in ("=", ":=") and not _is_shell(text, at)))
    if sep == ":" and (typed := _TYPED.match(text, at)):
        at = typed.end()
    header = sep == ":" and lower in _HEADERS and not block
    return value_at(text, at, line=line, block=block, whole=sensitivity == Grade.WHOLE, header=header)


def _closes(text: str, at: int) -> bool:
    """Return whether the name at a place, which may have a prefix, is that of the end of an XML element."""
    return text[at] == "/" or text.startswith("</", text.rfind("<", max(0, at - _PREFIX), at))


_PREFIX = 60  # characters
_SHELL_LENGTH = 256  # characters of a value and the name after it
_SHELL = re.compile(
    r"[^\s\"'&|;]*[ \t]*[;&|]{1,2}[ \t]|[^\s\"']*[ \t]+[\w.-]{1,100}=|[^\s\"']*;[\w ]{1,60}=|[^\s\"']*&[\w.-]{1,60}="
)


def _is_shell(text: str, at: int) -> bool:
    """Return whether other assignments or commands follow the value on its line, as in a shell command."""
    return _SHELL.match(text, at, at + _SHELL_LENGTH) is not None


def _paired_value(text: str, at: int, start: int, elements: "Elements") -> Span | None:
    """Return the place of the value in `name: password, value: x`, in any notation.

    `at` is where the text after the name begins, and `start` where the name begins.
    """
    while at < len(text) and text[at] in " \t":
        at += 1
    if text.startswith(("<", ">"), at):
        return None
    word, end = word_at(text, at)
    if text[max(0, start - 1) : start] in ("<", ":"):  # <name>password</name> <value>x</value>
        word, end = word.partition("<")[0], at + len(word.partition("<")[0])
    if not word or not grade(word):
        return None
    if match := _PAIRED.match(text, end):
        return value_at(text, match.end(), line="\n" in match[0], block=False, whole=True)
    open_tag = text.rfind("<", max(0, start - 300), start)
    if open_tag > text.rfind(">", max(0, start - 300), start) and (match := _ENTRY.match(text, end)):
        return elements.content(match.end())
    if match := _ENTRY.match(text, end):
        return elements.content(match.end()) if match[0].startswith("</") else None
    return None


def _paired_value_before(text: str, at: int) -> Span | None:
    """Return the place of the value in `value: x, name: password`, in any notation."""
    while at < len(text) and text[at] in " \t":
        at += 1
    _, end = word_at(text, at)
    match = _NAMES_IT.match(text, end) if end > at else None
    if match is None:
        return None
    word, _ = word_at(text, match.end())
    if not word or not grade(word):
        return None
    return value_at(text, at, line=False, block=False, whole=True)


_END = re.compile(r"</(?:[\w.-]*+:)?+([\w.$/-]*+)")


class Elements:
    """This class knows where the XML elements of a text end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: list[int] | None = None
        self._by_name: dict[str, list[int]] = {}

    def content(self, at: int, name: str = "") -> Span | None:
        """Return the place of the content that begins there, of an element of this name or of any, up to the end of the
        text if it is not closed; None if it is harmless.
        """
        if self._ends is None:
            self._ends = []
            for match in _END.finditer(self._text):
                self._ends.append(match.start())
                self._by_name.setdefault(match[1], []).append(match.start())
        end = len(self._text)
        for ends in (self._by_name.get(name, ()), self._ends):
            if (place := bisect_left(ends, at)) < len(ends):
                end = ends[place]
                break
        return None if harmless(self._text[at:end]) else Span(at, end)

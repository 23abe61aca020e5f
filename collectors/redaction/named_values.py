"""Find credentials in text by the name before them, as in `name=value` or `"name": "value"`. It does no I/O."""

import re
from bisect import bisect_left

from collectors.redaction.budget import spend
from collectors.redaction.roles import CONTEXTS, DEPENDENT, PARENTS, is_environment, may_hold_more, naming, valuing
from collectors.redaction.values import LETTER, Span, harmless, value_at, word_at
from timeline.core.masks import BY_FORM
from timeline.core.secret_names import Grade, grade, letters, names_issuer, word_set

NAME = rf"(?<![{LETTER}])(?P<name>[{LETTER}]++)"
_NAMED = re.compile(
    NAME + r"(?P<quote>(?>(?:\\*[\"'`]|&quot;|&#34;|%22|\\+u0022)?))(?>[)\]}*]{0,3}[ \t]*)"
    r"(?>(?:As[ \t]+)?(?:[Ss]tring|str|[Ss]ecure[Ss]tring)(?:\[\])?[ \t]*(?==))?"  # a type, as in BASIC and Bicep
    r"(?P<sep>::(?=[ \t])|::?=|===?|=>|->|[?+|~]=|<<<|=|:(?!//)|>|%3[dDaA]|\\+(?:u003|x3)[dDaAeE]|\((?=\\*[\"'])"
    r"|\.[ \t](?=\\*\")|;(?=s:\d{1,6}:\")|,(?=[ \t]*(?:<<)?\\*[\"'])|\r?\n[ \t]*:(?=[ \t]))"
)
_BETWEEN = r"[\s\"'\\,;]{0,60}(?:-[ \t]+)?"
_BESIDE = re.compile(  # the name of a field beside another one
    rf"{_BETWEEN}[\"'\\]{{0,8}}(?P<name>[\w.-]{{1,60}}+)[\"'\\]{{0,8}}[ \t]*(?:=>|[:=])[ \t]*"
)
_LINE_NAME = re.compile(r"[^\W_][\w -]{0,60}[^\W_](?=\r?\n)")  # of several words, up to the end of the line
_BODY = re.compile(r"\r?\n\r?\n")  # what begins the value of a field of a form
_ATTRIBUTE = re.compile(r"[^<>]{0,200}?\s(?i:value|content)[ ]?=[ ]?")  # of an element of HTML
# Of XML: the end of one element and the start of the next.
_ENTRY = re.compile(r"(?:[\s\"'][^<>]{0,300})?>|</[\w:.-]{1,100}>\s{0,200}<[\w:.-]{1,100}>")
_HEADERS = word_set("authorization proxyauthorization cookie setcookie xauthtoken")
_QUERIED = word_set(
    "key sig code auth p pw s hash h k sid ticket assertion xamzcredential xgoogcredential awsaccesskeyid"
)
_LINE_START = re.compile(  # what may come before the first name of a line
    r"[ \t]*+(?:-[ \t]++)*+(?:(?:export|set|setx|env|ENV|ARG|const|let|var|public|private|static|final|String|string"
    r"|global|local|declare|readonly|&)[ \t]++){0,3}+[#;?\"'$<@!*+]{0,3}+[ \t]*+"
)
_TYPED = re.compile(r"[ ]*&?[\w<>?.]{1,40}[ ]?=[ ]?(?=[\"'])")  # val password: String = "x"


def clean_named_values(text: str) -> str:
    """Return the text without the values of names, as in `name=value`, `"name": "value"`, `<name>value</name>`."""
    parts, done, at = list[str](), 0, 0
    multiline, elements = "\n" in text, Elements(text)
    contexts = frozenset(name for known, names in CONTEXTS.items() if known in text for name in names)
    while match := _NAMED.search(text, at):
        spend()
        at = match.end()
        span = _span(text, match, multiline, elements, contexts)
        if span and span.start >= done:
            parts += text[done : span.start], span.mask
            done = span.end
            at = max(at, done)
    return "".join((*parts, text[done:])) if parts else text


def _span(
    text: str, match: re.Match[str], multiline: bool, elements: "Elements", contexts: frozenset[str]
) -> Span | None:
    """Return the place of the credential after this match; None if there is none."""
    name, sep, at = match["name"], match["sep"].lstrip(), match.end()
    start = match.start()
    plain = letters(name)
    sensitivity = grade(name)
    if sep not in "(," and (of := naming(name)) is not None:
        if span := _paired_value(text, at, start, of, elements):
            return span
    elif (by := valuing(name)) is not None and (span := _paired_value_before(text, at, by)):
        return span
    if not sensitivity:
        sensitivity = _by_what_is_around(text, name, sep, start, contexts)
    if not sensitivity and is_environment(name) and _opens(text, at, sep):
        sensitivity = Grade.WHOLE
    if not sensitivity and names_issuer(name) and (issued := _ISSUED.match(text, at)):
        return Span(*issued.span("value"), BY_FORM)
    if not sensitivity:
        return None
    if sensitivity == Grade.SCALAR and may_hold_more(name) and _opens(text, at, sep):
        sensitivity = Grade.WHOLE
    if sep == ">":
        return (
            elements.content(at, name) if text[start - 1 : start] in ("<", ":") and not _closes(text, start) else None
        )
    if sep == "," and text[start - 1 : start] == "{" and text.startswith("<<", at + 1):  # Erlang: {name, <<"x">>}
        return value_at(text, at + 3, line=False, block=False, whole=False)
    if sep == ",":
        quoted = match["quote"] and text[max(0, start - 10) : start].rstrip("\"'`\\ ").endswith(("(", "["))
        return value_at(text, at, line=False, block=False, whole=False) if quoted else None
    if sep.startswith(";"):  # serialised by PHP: s:8:"password";s:1:"x"
        return value_at(text, text.index('"', at), line=False, block=False, whole=False)
    if sep == "=>" and (shown := _SHOWN.match(text, at)):
        at = shown.end()
    if sep == "(":
        return value_at(text, at, line=False, block=False, whole=False)
    begins = text.rfind("\n", max(0, start - 200), start) + 1 or (0 if start < 200 else start)
    leads = _LINE_START.fullmatch(text, begins, start) is not None
    block = leads and multiline and sep == ":"
    line = leads and (sep == ":" or (multiline and sep in ("=", ":=") and not _is_shell(text, at)))
    if sep == ":" and (typed := _TYPED.match(text, at)):
        at = typed.end()
    header = sep == ":" and plain in _HEADERS and not block
    return value_at(text, at, line=line, block=block, whole=sensitivity == Grade.WHOLE, header=header)


def _closes(text: str, at: int) -> bool:
    """Return whether the name at a place, which may have a prefix, is that of the end of an XML element."""
    return text[at] == "/" or text.startswith("</", text.rfind("<", max(0, at - _PREFIX), at))


_PREFIX = 60  # characters
_SHELL_LENGTH = 256  # characters of a value and the name after it
_ISSUED = re.compile(  # letters and digits by chance, as after the name of their issuer
    r"[>|\s\"'`=,]{0,5}(?P<value>(?=[^\s\d]{0,40}\d)(?=[^\sA-Za-z]{0,40}[A-Za-z])[A-Za-z0-9+/=]{20,256}+)(?![\w.:@/+-])"
)
_SHOWN = re.compile(r"\s{1,40}(?:string\(\d{1,6}\)[ ])?(?=\")")  # what PHP shows of a variable
_OPENS = re.compile(r"[ \t]*(?:[\[{]|(?:#[^\n]{0,200})?\r?\n)")
LATTER = word_set(  # words that are only together with the words before them the name of a credential
    "key keys code phrase string number passe contrasena secreta secrete segreta privee privada privata acces acceso "
    "api sandi laluan khau khẩu المرور السر عبور chiave schlussel ключ доступа ключи"
)
_WORDS_BEFORE = re.compile(r"[^\W\d_]+")


def _by_what_is_around(text: str, name: str, sep: str, start: int, contexts: frozenset[str]) -> Grade:
    """Return what a name says about its value because of what is before it, or in the same text."""
    if name in contexts:
        return Grade.SCALAR
    plain = letters(name)
    if plain in _QUERIED and sep in "=%3D" and text[start - 1 : start] in ("?", "&", ";"):
        return Grade.SCALAR
    if plain not in LATTER:
        return Grade.PLAIN
    before = text[max(0, start - 40) : start]
    words = _WORDS_BEFORE.findall(before.rpartition("\n")[2])[-3:]
    if words and before.endswith((" ", "\t")):  # API key: x
        return max(
            (grade("".join(word.title() for word in (*words[at:], name))) for at in range(len(words))),
            default=Grade.PLAIN,
        )
    parent = _parent(text, start) if plain in DEPENDENT else ""
    return grade(f"{parent} {name}") if parent in PARENTS else Grade.PLAIN


_PARENT = re.compile(r"(?m)^([ \t]*)(?:- )?[\"']?([\w.-]{1,100})[\"']?[ \t]*:[ \t]*\r?$")


def _parent(text: str, start: int) -> str:
    """Return the name of the field of YAML that holds the one that begins there; "" if none is near."""
    begins = text.rfind("\n", max(0, start - 100), start) + 1
    indent = start - begins
    if not begins or text[begins:start].strip(" \t-\"'"):
        return ""
    parents = [match for match in _PARENT.finditer(text, max(0, begins - 400), begins) if len(match[1]) < indent]
    return parents[-1][2] if parents else ""


def _opens(text: str, at: int, sep: str) -> bool:
    """Return whether a list, a map or lines below follow a name."""
    return sep in (":", "=", "=>") and _OPENS.match(text, at) is not None


_SHELL = re.compile(
    r"[^\s\"'&|;]*[ \t]*[;&|]{1,2}[ \t]|[^\s\"']*[ \t]+[\w.-]{1,100}=|[^\s\"']*;[\w ]{1,60}=|[^\s\"']*&[\w.-]{1,60}="
)


def _is_shell(text: str, at: int) -> bool:
    """Return whether other assignments or commands follow the value on its line, as in a shell command."""
    return _SHELL.match(text, at, at + _SHELL_LENGTH) is not None


def _paired_value(text: str, at: int, start: int, of: str, elements: "Elements") -> Span | None:
    """Return the place of the value in `name: password, value: x`, in any notation.

    `at` is where the text after the name begins, `start` where the name begins, and `of` what is before its last word.
    """
    while at < len(text) and text[at] in " \t":
        at += 1
    if text.startswith(("<", ">"), at):
        return None
    word, end = word_at(text, at)
    if text[max(0, start - 1) : start] in ("<", ":"):  # <name>password</name> <value>x</value>
        end = text.find("<", at, at + 200)
        word = text[at:end] if end >= 0 else ""
    if line := _LINE_NAME.match(text, at):  # name: API Key
        word, end = line[0], line.end()
    if not word or not grade(word):
        return None
    if (body := _BODY.match(text, end)) and "form-data" in text[max(0, start - 80) : start]:
        return value_at(text, body.end(), line=True, block=False, whole=False)
    for _ in range(3):  # fields between the two
        match = _BESIDE.match(text, end)
        if match is None:
            break
        by = valuing(match["name"])
        if by is not None and (by == of or not by or not of):
            return value_at(text, match.end(), line="\n" in match[0], block=False, whole=True)
        _, end = word_at(text, match.end())
        if end == match.end() or naming(match["name"]) is not None:
            break
    open_tag = text.rfind("<", max(0, start - 300), start)
    if open_tag > text.rfind(">", max(0, start - 300), start):
        if match := _ATTRIBUTE.match(text, end):
            return value_at(text, match.end(), line=False, block=False, whole=False)
        if match := _ENTRY.match(text, end):
            return elements.content(match.end())
    if match := _ENTRY.match(text, end):
        return elements.content(match.end()) if match[0].startswith("</") else None
    return None


def _paired_value_before(text: str, at: int, by: str) -> Span | None:
    """Return the place of the value in `value: x, name: password`, in any notation. `by` is like `of` above."""
    while at < len(text) and text[at] in " \t":
        at += 1
    _, end = word_at(text, at)
    match = _BESIDE.match(text, end) if end > at else None
    if match is None or (of := naming(match["name"])) is None or (of and by and of != by):
        return None
    word, _ = word_at(text, match.end())
    if not word or not grade(word):
        return None
    return value_at(text, at, line=False, block=False, whole=True)


_END = re.compile(r"</(?:[\w.-]*+:)?+([\w.$/-]*+)")


class Elements:
    """Know where the XML elements of a text end."""

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

"""Find where a value ends that follows a name in text, whatever notation the text uses. It does no I/O."""

import re
from typing import NamedTuple

from collectors.redaction.budget import spend
from timeline.core.masks import BY_NAME
from timeline.core.secret_names import is_reference


class Span(NamedTuple):
    """A part of a text that is replaced by a mask."""

    start: int
    end: int
    mask: str = BY_NAME  # what replaces it


# Letters of a name, with the marks that belong to letters in the alphabets of India and its neighbours.
LETTER = r"\w.$/\u0300-\u036f\u0900-\u0dff\u0e00-\u0eff\u1780-\u17ff-"
_BLANK = re.compile(r"[ \t]*(?:!!?[\w/:.-]{0,60}[ \t]+)?")  # with the tag that YAML allows before a value
_BLOCK = re.compile(r"(?:[|>][-+0-9]{0,3})?[ \t]*(?:#[^\n]{0,1000}+)?\r?(?:\n|\Z)")
_QUOTE = re.compile(r"""(\\*)(\"\"\"|'''|["'`])|(?:&quot;|&#34;|%22|\\+u0022)""")
_HERE = re.compile(r"<<[-~]?[\"']?(\w{1,64})[\"']?[ \t]*+\r?\n")
_HERE_ENDS = re.compile(r"(?m)^[ \t]*+(\w++)")
_REFERENCE = r"(?:\$\{[\w.:]{1,200}\}|\$\([\w.]{1,200}\)|\{\{[^{}\n\"'`]{0,200}\}\}|<[\w-]{1,60}>)"
_REFERS = re.compile(rf"\\*[\"']?{_REFERENCE}\\*[\"']?(?=[\s,;&)}}\]<\"']|\\|\Z)")
_FOLDER = (
    r"etc|var|run|opt|home|usr|tmp|mnt|srv|root|secrets?|vault|data|config|certs?|app|proc|dev|pki|ssl|tls|keys?"
    r"|credentials"
)
_HARMLESS = re.compile(
    rf"(?i:true|false|yes|no|on|off|null|none|nil|undefined|~|\[\]|\{{\}}|\*{{1,64}}|x{{3,64}}|<nil>|<none>)"
    rf"|{_REFERENCE}|(?:file://)?/(?:{_FOLDER})(?:/[\w.@-]{{1,128}}){{1,16}}/?|\[redacted.*|[\w./-]{{1,200}}\.(?:pem|key|crt|cer|p12|pfx|jks|keytab)"
)
_LONGEST_HARMLESS = 2100  # characters; the longest is a path
_SPEAKS = re.compile(  # messages of the kubelet and the API server about objects
    r"(?:secrets?|configmaps?|object|serviceaccounts?|persistentvolumeclaims?|pods?|nodes?|services?|endpoints"
    r"|namespaces?|volumes?|references?)[ ](?:\\*[\"']|not\b|is\b|does\b|was\b|has\b)"
    r"|(?:failed|error|rpc error|timed out|context)\b"
)
_SCHEME = r"(?:(?i:bearer|basic|digest|token|apikey|api-key|negotiate|ntlm|plain|aws4-hmac-sha256|splunk|key)[ \t]+)?"
_ENDS = r"(?=[\s,;:)\]}>]|\Z)"
_NEXT = r"(?=\s|\Z|[\"']?[\w.-]{1,60}[\"']?[ ]?[=:])"
_BARE = re.compile(rf"{_SCHEME}(?:[^\s\"'`;&,<\\]++|[\"'`](?!{_ENDS})|[;&,](?!{_NEXT})|<(?!/)|\\(?![\"'nrtu\n]))++")
_LINE = re.compile(r"(?:[^\r\n\\]++|\\\r?\n|\\)*+")
_PARAMETERS = re.compile(r"(?i:digest|hawk|oauth|aws4-[\w-]{1,40})[ ]")  # schemes that are followed by several values
_HEADER = re.compile(r"[^\r\n\"'`\\]++")
_BRACKETS = re.compile(r"[\[\]{}()]|\\.|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"", re.DOTALL)
_PAIRS = {"[": "]", "{": "}", "(": ")"}
_FIELD = re.compile(r"(?:-[ \t]+)*[\"']?([\w./-]{1,200})[\"']?[ \t]*:(?:[ \t]+|$)")


def has(text: str, *hints: str) -> bool:
    """Return whether a text holds one of the hints, without which what follows changes nothing in it.

    Only speed depends on this: tests/unit/redaction/test_shortcuts.py checks that the result is the same if it is
    always True.
    """
    return any(hint in text for hint in hints)


def harmless(value: str) -> bool:
    """Return whether a value under a secret name is not secret: empty, a switch, or a reference to the credential."""
    value = value.strip()
    return not value or (len(value) <= _LONGEST_HARMLESS and _HARMLESS.fullmatch(value) is not None)


def value_at(text: str, at: int, *, line: bool, block: bool, whole: bool, header: bool = False) -> Span | None:
    """Return the place of the credential that begins there, after its name; None if there is none.

    `line`: its name begins the line, so it ends with the line. `block`: it may be in the lines below. `whole`: it may
    be a list or a map. `header`: it is in an HTTP header, and ends with its quotes.
    """
    blank = _BLANK.match(text, at)
    start = blank.end() if blank else at
    if start >= len(text) or _REFERS.match(text, start) or text.startswith("[redacted", start):
        return None
    if block and whole and (match := _BLOCK.match(text, start)):
        return _below(text, at, match.end())
    if text[start] in "\r\n":
        return None
    if header and _PARAMETERS.match(text, start) and (match := _LINE.match(text, start)):
        return Span(start, match.end())
    if header and (match := _HEADER.match(text, start)):
        return _unless_harmless(text, start, match.end())
    if text.startswith("<<", start) and (here := _HERE.match(text, start)):
        return _here(text, here)
    if quote := _QUOTE.match(text, start):
        return _quoted(text, quote)
    if text[start] in _PAIRS:
        if not whole:
            return None
        end = _balanced(text, start)
        rest = _BARE.match(text, end) if text[end : end + 1] not in (",", ";") else None
        return Span(start, rest.end() if rest else end)
    if _SPEAKS.match(text, start):
        return None
    if line:
        match = _LINE.match(text, start)
        end = match.end() if match else start
        if block and (more := _below(text, at, end + 1)) and more.start == end + 1:
            return Span(start, more.end, f"{BY_NAME}\n{more.mask}")
        return _unless_harmless(text, start, end)
    bare = _BARE.match(text, start)
    return _unless_harmless(text, start, bare.end()) if bare else None


def word_at(text: str, at: int) -> tuple[str, int]:
    """Return a short text that begins there, without its quotes, and where it ends; ("", at) if there is none."""
    if quote := _QUOTE.match(text, at):
        delimiter = quote[0]
        end = text.find(delimiter, quote.end(), quote.end() + 512)
        return (text[quote.end() : end], end + len(delimiter)) if end >= 0 else ("", at)
    bare = _BARE.match(text, at, at + 512)
    return (bare[0], bare.end()) if bare else ("", at)


def _unless_harmless(text: str, start: int, end: int) -> Span | None:
    return None if harmless(text[start:end].strip("\"', ;\\")) else Span(start, end)


def _quoted(text: str, quote: re.Match[str]) -> Span | None:
    """Return the place between quotes, which may be escaped themselves; up to the end if they are not closed."""
    delimiter, start = quote[0], quote.end()
    end = text.find(delimiter, start)
    while end > 0 and text[end - 1] == "\\" and delimiter[-1] in "\"'`" and _odd(text, start, end):
        end = text.find(delimiter, end + 1)  # this quote is escaped and belongs to the value
    while end >= 0 and delimiter == "'" and text.startswith("''", end):
        end = text.find(delimiter, end + 2)
    if end < 0:
        end = len(text)
    return None if harmless(text[start:end]) else Span(start, end)


def _here(text: str, opened: re.Match[str]) -> Span:
    """Return the place of the lines of a here-document (`<<EOF`), up to the word that ends it."""
    ends = (match.start() for match in _HERE_ENDS.finditer(text, opened.end()) if match[1] == opened[1])
    return Span(opened.end(), next(ends, len(text)), f"{BY_NAME}\n")


def _odd(text: str, start: int, end: int) -> bool:
    """Return whether an odd number of backslashes comes right before a place."""
    at = end
    while at > start and text[at - 1] == "\\":
        at -= 1
    return (end - at) % 2 == 1


def _balanced(text: str, start: int) -> int:
    """Return where a bracket is closed; the end of the text if it is not."""
    wanted: list[str] = []
    for match in _BRACKETS.finditer(text, start):
        letter = match[0]
        if letter in _PAIRS:
            wanted.append(_PAIRS[letter])
        elif wanted and letter == wanted[-1]:
            wanted.pop()
            if not wanted:
                return match.end()
    return len(text)


def _below(text: str, name: int, start: int) -> Span | None:
    """Return the place of the lines below a name that are indented deeper, or are the items of its list; None if none.

    `name` is where the name's text ends, and `start` where the next line begins.
    """
    begins = text.rfind("\n", 0, name) + 1
    head = text[begins:name]
    own = len(head) - len(head.lstrip(" \t"))
    dashes = head.lstrip(" \t").startswith("- ")
    at, lines = start, list[str]()
    end = start
    while at < len(text):
        spend()
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        row = text[at:stop].rstrip("\r")
        content = row.lstrip(" \t")
        indent = len(row) - len(content)
        if content and indent <= own and not (indent == own and content.startswith("- ") and not dashes):
            break
        lines.append(row[:indent] + _masked_line(content) if content else row)
        if content:
            end = stop
        at = stop + 1
    if end == start:
        return None
    kept = text[start:end].count("\n") + 1
    return Span(start, end, "\n".join(lines[:kept]))


def _masked_line(content: str) -> str:
    """Mask a line under a secret name, unless it only refers to the credential."""
    field = _FIELD.match(content)
    if field is None:
        return f"- {BY_NAME}" if content.startswith("- ") else BY_NAME
    value = content[field.end() :]
    if is_reference(field[1]) or harmless(value.strip("\"' ")):
        return content
    return content[: field.end()].rstrip() + " " + BY_NAME

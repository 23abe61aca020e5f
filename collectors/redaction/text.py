"""Pure: a text without credentials, in whatever it is written: JSON, YAML, INI, XML, a command, an address, a message.

The text is searched for a name, what separates it from its value, and the value; `timeline/core/secret_names.py` says
whether the name is one of a credential. The time that an expression takes grows no faster than the text: names are read
whole and not given back (atomic groups), and what repeats is bounded or cannot match otherwise.
"""

import re
from base64 import b64decode
from collections.abc import Iterator

from collectors.redaction import commands
from collectors.redaction.forms import decoded, without_forms
from collectors.redaction.policy import patterns
from collectors.redaction.values import Span, harmless, value_at, word_at
from timeline.core.masks import BY_FORM, BY_NAME, OWN
from timeline.core.secret_names import Grade, grade, word_set

_NAME = r"(?<![\w.$-])(?P<name>(?>[\w.$/-]{1,2000}))"
_NAMED = re.compile(
    _NAME + r"(?P<quote>(?>(?:\\*[\"'`]|&quot;|&#34;|%22|\\+u0022)?))(?>\)?\]?[ \t]*)"
    r"(?P<sep>::?=|：|===?|=>|=|:(?!//)|>|%3[dDaA]|\\+(?:u003|x3)[dDaAeE]|\((?=\\*[\"'])"
    r"|,(?=[ \t]*(?:<<)?\\*[\"'])|\r?\n[ \t]*:(?=[ \t]))"
)
_SPACED = re.compile(_NAME + r"(?>[ \t]+)(?:(?i:as|by|to|is)[ \t]+)?(?=\\*[\"'])")
_OPTION = re.compile(r"(?<![\w.-])(?P<name>--?[A-Za-z](?>[\w.-]{0,200}))[ \t]+(?![-|&;<>\s])")
_DIRECTIVE = re.compile(r"(?m)^[ \t]*(?P<name>(?>[\w./-]{1,200}))[ \t]+(?=[^\s=:])")
_SET = re.compile(  # proxy_set_header NAME value; user me insecure-password value
    r"(?P<set>(?<![\w-])(?:proxy_set_header|add_header|fastcgi_param|[Ss]et[Ee]nv|set|env)[ \t]+)?"
    + _NAME
    + r"(?>[ \t]+)(?P<is>(?:is|was|are)[ \t]+)?(?=[^\s=:\"'{}|>-])"
)
_PASS_LAST = re.compile(r"(?i)(?:^|[_-])(?:pass(?:w(?:or)?d|phrase)?|pw|pwd|key)$")
_BLOCK_OF = re.compile(_NAME + r"[\"']?(?>[ \t]*)(?=\{)")  # variable "password" { … }
_FURTHER = re.compile(  # what is no name and its value: of netrc, SQL, PowerShell; the value comes next
    r"(?i)\b(?:login|user|username|account)[ \t]+\S{1,200}\s+password[ \t]+"
    r"|\bidentified[ ](?:with[ ]\S{1,60}[ ])?by[ ]+(?:password[ ]+)?"
    r"|\bconvertto-securestring[ ]+(?:-string[ ]+)?|\bencrypted[ ]password[ ]+"
)
_FURTHER_HINT = re.compile(r"(?i)password|identified|securestring")
_BETWEEN = r"[\s\"'\\,;]{0,60}(?:-[ \t]+)?"
_PAIRED = re.compile(
    rf"{_BETWEEN}[\"'\\]{{0,8}}(?:value|values|val|v|content|data|default|string|stringvalue|text)[\"'\\]{{0,8}}"
    r"[ \t]*(?:=>|[:=])",
    re.IGNORECASE,
)
_NAMES_IT = re.compile(
    rf"{_BETWEEN}[\"'\\]{{0,8}}(?:name|key|k|id|property|field|header)[\"'\\]{{0,8}}[ \t]*[:=][ \t]*", re.I
)
_ENTRY = re.compile(r"(?:[\s\"'][^<>]{0,300})?>|</[\w:.-]{1,100}>\s{0,200}<[\w:.-]{1,100}>")  # of XML
_NAMING = word_set("name n key k id property field header param parameter variable var setting option attribute")
_VALUING = frozenset(["value", "val", "v", "content", "data", "default"])
_HEADERS = frozenset(["authorization", "proxy-authorization", "cookie", "set-cookie", "x-auth-token"])
_QUERIED = word_set("key sig code auth p pw s hash h k sid ticket assertion x-amz-credential awsaccesskeyid")
_SPOKEN = word_set(  # of which messages speak: secret "db" not found
    "secret secrets token tokens credential credentials webhook auth authorization authentication session cookie "
    "signature license bearer kubeconfig"
)
_LEADS = re.compile(  # what may stand in a line before the name that begins it
    r"[ \t]*(?:(?:-[ \t]+)+)?(?:(?:export|set|setx|env|ENV|ARG|const|let|var|public|private|static|final|String|string"
    r"|global|local|declare|readonly|&)[ \t]+){0,3}[#;?\"'$<@!*+]{0,3}[ \t]*"
)
_SEPARATES = re.compile(r"[=:：>%(@\s;]|\\u00|\\x3")
_USER = re.compile(
    r"(://|(?<![\w:/])//(?=[^\s/:@\"'<>]{1,200}:))(?:[^\s/\"'<>\\?#]{1,2000}|[^\s/:@\"'<>\\]{0,100}:(?!\d{1,5}[/?])[^\s\"'<>\\]{1,300})@(?!sha256:)"
)
_BARE_USER = re.compile(
    r"(?<![\w.:/@+-])([\w.+-]{1,64}:)(?!/)[^\s:@/\"'<>\\]{1,128}@(?=(?:tcp|unix|udp)\(|[\w.-]{1,253}(?::\d{1,5}|/\w))"
)
_ENCODED_USER = re.compile(r"(?i)(%3a%2f%2f)(?>(?:(?!%2f|%40)[^\s\"'<>&]){1,300})(%40)")
_JAAS = re.compile(r"(\buser_[\w.-]{1,128}[ ]?=[ ]?\\*[\"'])[^\"'\\\n]{1,500}")
_ACL = re.compile(r"(?m)(?:^[ \t]*user|(?i:ACL[ \t]+SETUSER))[ \t]+\S{1,200}[ \t][^\n]{1,2000}")  # of Redis
_ACL_PASSWORD = re.compile(r"(?<=[ \t][>#])[^\s\"']+")
_RUN_LENGTH = 24
_RUN = re.compile(rf"(?<![\w+/.-])[A-Za-z0-9+/]{{{_RUN_LENGTH},}}={{0,2}}(?![\w+/-])")
_ENTITY = re.compile(r"(&lt;([\w.:-]{1,200})&gt;)(?>[^&]{1,1000})(?=&lt;/)")
_SECRET_KIND = re.compile(r"(?<![\w-])kind[\"']?:[ \t]*[\"']?Secret(?![\w-])")
_SECRET_DATA = re.compile(r"(?<![\w.-])(?:stringData|data)[\"']?:")
_DOCUMENT = re.compile(r"(?m)^---")
_TYPED = re.compile(r"[ ]*&?[\w<>?.]{1,40}[ ]?=[ ]?(?=[\"'])")  # val password: String = "x"
_BEARER = re.compile(r"(?i)\b(bearer[ \t]+)(?!\[redacted)[\w.~+/-]+=*")
_BASIC = re.compile(r"(?i)\b(basic[ \t]+)([A-Za-z0-9+/]{6,4000}={0,2})(?![\w+/=])")
_USERLIST = re.compile(r'(?m)^("[^"\n]{1,128}"[ \t]+)"[^"\n]{1,1000}"')
_PGPASS = re.compile(
    r"(?<![\w.*:/-])([\w.*-]{1,253}:(?:\d{1,5}|\*):[\w.*-]{1,128}:[\w.*-]{1,128}:)[^\s\"'\\:]+(?![\w:])"
)


def clean(text: str) -> str:
    """The text without credentials. JSON is looked into by the caller before."""
    if not _SEPARATES.search(text):
        return known_by_themselves(text)
    clean = _replaced(text, _manifests(text)) if "Secret" in text and "ata" in text else text
    clean = _tables(clean) if "\n" in clean and ("," in clean or "\t" in clean or ";" in clean) else clean
    clean = _named(clean)
    if "&gt;" in clean:
        clean = _ENTITY.sub(lambda match: match[1] + BY_NAME if grade(match[2]) else match[0], clean)
    if " " in clean or "\t" in clean:
        clean = _replaced(clean, _spaced(clean))
        clean = commands.in_text(clean)
    if "@" in clean:
        clean = _USER.sub(rf"\1{BY_NAME}@", clean)
        clean = _BARE_USER.sub(rf"\1{BY_NAME}@", clean)
    if "%2F%2F" in clean or "%2f%2f" in clean:
        clean = _ENCODED_USER.sub(rf"\1{BY_NAME}\2", clean)
    if "LoginModule" in clean:
        clean = _JAAS.sub(rf"\1{BY_NAME}", clean)
    if " >" in clean:
        clean = _ACL.sub(lambda match: _ACL_PASSWORD.sub(BY_NAME, match[0]), clean)
    if "earer" in clean or "EARER" in clean:
        clean = _BEARER.sub(rf"\1{BY_NAME}", clean)
    if "asic" in clean or "ASIC" in clean:
        clean = _BASIC.sub(_basic, clean)
    if '" "' in clean or '"\t"' in clean:
        clean = _USERLIST.sub(rf'\1"{BY_NAME}"', clean)
    if clean.count(":") > 3:
        clean = _PGPASS.sub(rf"\1{BY_NAME}", clean)
    return known_by_themselves(clean)


def known_by_themselves(text: str) -> str:
    """The text without what has the form of a credential, or matches a pattern of the operator."""
    clean = without_forms(text)
    if (told := decoded(clean)) is not None and told != _inner(told):
        return BY_FORM
    if len(clean) >= _RUN_LENGTH:
        clean = _RUN.sub(_opened, clean)
    for pattern in patterns():
        clean = pattern.sub(OWN, clean)
    return clean


def _inner(told: str) -> str:
    """The same of what stood in Base64, without what stands in Base64 within it again."""
    inner = _named(told)
    inner = _replaced(inner, _spaced(inner))
    inner = _USER.sub(rf"\1{BY_NAME}@", inner)
    if (again := decoded(told)) is not None and len(again) < len(told) and again != _inner(again):
        return BY_FORM
    return without_forms(inner)


def _opened(match: re.Match[str]) -> str:
    """Base64 within a text: the mask where it says a credential."""
    told = decoded(match[0])
    return match[0] if told is None or told == _inner(told) else BY_FORM


def _basic(match: re.Match[str]) -> str:
    """Basic credentials are a user, a colon and a password in Base64; "Basic authentication" is none."""
    try:
        told = b64decode(match[2] + "=" * (-len(match[2]) % 4))
    except ValueError:
        return match[0]
    return match[1] + BY_NAME if b":" in told or any(letter.isdigit() for letter in match[2]) else match[0]


def _replaced(text: str, spans: Iterator[Span]) -> str:
    parts, at = list[str](), 0
    for span in sorted(spans):
        if span.start >= at:
            parts += text[at : span.start], span.mask
            at = span.end
    return "".join((*parts, text[at:])) if parts else text


def _manifests(text: str) -> Iterator[Span]:
    """The data of Secrets that are written in YAML."""
    if not _SECRET_KIND.search(text):
        return
    ends = [match.start() for match in _DOCUMENT.finditer(text)]
    for start, end in zip([0, *ends], [*ends, len(text)], strict=True):
        if _SECRET_KIND.search(text, start, end):
            while match := _SECRET_DATA.search(text, start, end):
                span = value_at(text, match.end(), line=False, block=True, whole=True)
                start = max(match.end(), span.end if span else 0)
                if span:
                    yield span


def _tables(text: str) -> str:
    """Lines of cells of which the first line tells the names: `user,password`."""
    head, _, rest = text.partition("\n")
    between = next((each for each in ",\t;" if each in head), "")
    names = head.rstrip("\r").split(between) if between and len(head) < 2000 else []
    if len(names) < 2 or not all(_COLUMN.fullmatch(name) for name in names):
        return text
    secret = {at for at, name in enumerate(names) if grade(name.strip("\"' "))}
    if not secret:
        return text
    rows = [head]
    for row in rest.split("\n"):
        cells = row.split(between)
        if len(cells) >= len(names):
            cells = [BY_NAME if at in secret and not harmless(cell) else cell for at, cell in enumerate(cells)]
        rows.append(between.join(cells))
    return "\n".join(rows)


_COLUMN = re.compile(r"[ ]?[\"']?[\w .-]{1,64}[\"']?[ ]?")


def _named(text: str) -> str:
    """Without the values of names, as `name=value`, `"name": "value"`, `<name>value</name>` and such."""
    parts, done, at = list[str](), 0, 0
    lines = "\n" in text
    while match := _NAMED.search(text, at):
        at = match.end()
        span = _span(text, match, lines)
        if span and span.start >= done:
            parts += text[done : span.start], span.mask
            done = span.end
            at = max(at, done)
    return "".join((*parts, text[done:])) if parts else text


def _span(text: str, match: re.Match[str], lines: bool) -> Span | None:
    """The credential that a match begins."""
    name, sep, at = match["name"], match["sep"].lstrip(), match.end()
    start = match.start()
    lower = name.lower()
    kind = grade(name)
    if lower in _NAMING and sep not in "(,":
        if span := _paired(text, at, start):
            return span
    elif lower in _VALUING and (span := _paired_before(text, at)):
        return span
    if not kind and lower.lstrip("$") in _QUERIED and sep in "=%3D" and text[start - 1 : start] in ("?", "&", ";"):
        kind = Grade.SCALAR
    if not kind:
        return None
    if sep == ">":
        return _element(text, name, at) if start and text[start - 1] in "<:" else None
    if sep == "," and text[start - 1 : start] == "{" and text.startswith("<<", at + 1):  # of Erlang: {name, <<"x">>}
        return value_at(text, at + 3, line=False, block=False, whole=False)
    if sep == ",":
        quoted = match["quote"] and text[max(0, start - 10) : start].rstrip("\"'`\\").endswith("(")
        return value_at(text, at, line=False, block=False, whole=False) if quoted else None
    if sep == "(":
        return value_at(text, at, line=False, block=False, whole=False)
    begins = text.rfind("\n", max(0, start - 200), start) + 1 or (0 if start < 200 else start)
    leads = _LEADS.fullmatch(text, begins, start) is not None
    block = leads and lines and sep in (":", "：")
    line = leads and (sep in (":", "：") or (lines and sep in ("=", ":=") and not _is_shell(text, at)))
    if sep == ":" and (typed := _TYPED.match(text, at)):
        at = typed.end()
    header = sep == ":" and lower in _HEADERS and not block
    return value_at(text, at, line=line, block=block, whole=kind == Grade.WHOLE, header=header)


_SHELL = re.compile(
    r"[^\s\"'&|;]*[ \t]*[;&|]{1,2}[ \t]|[^\s\"']*[ \t]+[\w.-]{1,100}=|[^\s\"']*;[\w ]{1,60}=|[^\s\"']*&[\w.-]{1,60}="
)


def _is_shell(text: str, at: int) -> bool:
    """Whether more follows in the line than the value."""
    return _SHELL.match(text, at) is not None


def _paired(text: str, at: int, start: int) -> Span | None:
    """The value of `name: password, value: x` in any notation; `at`: where the name's text begins."""
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
        return _element(text, "", match.end())
    if match := _ENTRY.match(text, end):
        return _element(text, "", match.end()) if match[0].startswith("</") else None
    return None


def _paired_before(text: str, at: int) -> Span | None:
    """The same where the value stands before the name."""
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


def _element(text: str, name: str, at: int) -> Span | None:
    """What stands in an element of XML; to the end where it is not closed."""
    end = text.find(f"</{name}" if name else "</", at)
    end = end if end >= 0 else text.find("</", at)
    end = end if end >= 0 else len(text)
    return None if harmless(text[at:end]) else Span(at, end)


def _spaced(text: str) -> Iterator[Span]:
    """The values that only a space separates from their names."""
    for match in _OPTION.finditer(text) if "-" in text else ():
        told = grade(match["name"]) and not text.startswith(("[", "{"), match.end())
        if told and (span := value_at(text, match.end(), line=False, block=False, whole=True)):
            yield span
    if '"' in text or "'" in text:
        for match in _SPACED.finditer(text):
            if match["name"].lower() not in _SPOKEN and grade(match["name"]) and not match["name"].startswith("-"):
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
    for match in _FURTHER.finditer(text) if _FURTHER_HINT.search(text) else ():
        if span := value_at(text, match.end(), line=False, block=False, whole=True):
            yield span
    if "<" in text and "</" in text:
        yield from _attributed(text)
    lines = text.count("\n")
    for match in _DIRECTIVE.finditer(text):
        if grade(match["name"]):
            end = text.find("\n", match.end())
            end = end if end >= 0 else len(text)
            value = text[match.end() : end].strip()
            if harmless(value.rstrip(";")) or value.startswith(("[redacted", "-", "|", ">")):
                continue
            alone = not any(letter.isspace() for letter in value)
            told = not value.isalpha()
            if (alone and (lines or told)) and not (match["name"].lower() in _SPOKEN and not told):
                yield Span(match.end(), end)


def _is_word(told: str, spoken: str | None) -> bool:
    """Whether a text that follows a name is a word of a sentence. `spoken`: the verb between them."""
    told = told.strip("\"'`.,;:!?()")
    if not spoken:
        return told.isalpha()
    return not any(map(str.isdigit, told)) or not any(map(str.isalpha, told))


_OBJECT_OF = re.compile(
    r"[\"'\\]{0,4}[ ]?:?[ ]?(?:not found|is forbidden|already exists|does not|is invalid|in namespace|of )"
)


def _is_spoken_of(text: str, end: int) -> bool:
    return _OBJECT_OF.match(text, end) is not None


_ATTRIBUTED = re.compile(r"<(?:[\w-]{1,60}:)?([\w.-]{1,200})\s[^<>]{0,1000}(?<!/)>")


def _attributed(text: str) -> Iterator[Span]:
    """Elements of XML that have attributes."""
    for match in _ATTRIBUTED.finditer(text):
        if grade(match[1]) and (span := _element(text, match[1], match.end())):
            yield span

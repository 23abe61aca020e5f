"""Remove credentials from text in any notation: JSON, YAML, INI, XML, commands, addresses, messages. It does no I/O.

It searches for a name, what separates it from its value, and the value; `timeline/core/secret_names.py` says whether
the name is one of a credential. Every expression takes time that grows no faster than the text: names are matched whole
without backtracking (atomic groups), and repetitions are bounded or cannot match otherwise.
"""

import re
from base64 import b64decode
from collections.abc import Iterator

from collectors.redaction import commands
from collectors.redaction.budget import LONGEST, OutOfTime, spend
from collectors.redaction.forms import decode_base64, without_forms
from collectors.redaction.named_values import clean_named_values
from collectors.redaction.policy import Pattern, patterns
from collectors.redaction.sections import values_in_sections
from collectors.redaction.spaced_values import space_separated_values, values_after_letters
from collectors.redaction.values import LETTER, Span, harmless, has, value_at
from timeline.core.masks import BY_FORM, BY_NAME, OWN, UNSEARCHED
from timeline.core.secret_names import folded, grade

_SEPARATES = re.compile(r"[=:>%(@\s;,]|\\u00|\\x3")
_USER = re.compile(
    r"(://|(?<![\w:/])//(?=[^\s/:@\"'<>]{1,200}:))(?:[^\s/\"'<>\\?#]{1,2000}@"
    r"|[^\s/:@\"'<>\\]{0,100}+:(?!\d{1,5}[/?])(?:(?:[^\s\"'<>\\@:]{1,300}+|:(?!//)){0,9}+@){1,5})(?!sha256:)"
)
_BARE_USER = re.compile(
    r"(?<![\w.:/@+-])([\w.+-]{1,64}:)(?!/)[^\s:@/\"'<>\\]{1,128}@(?=(?:tcp|unix|udp)\(|[\w.-]{1,253}(?::\d{1,5}|/\w))"
)
_ORACLE = re.compile(r"(jdbc:oracle:\w{1,8}:[\w.$#-]{1,128}/)[^\s/\"'@]{1,300}@")
_ENCODED_USER = re.compile(r"(?i)(%3a%2f%2f)(?>(?:(?!%2f|%40)[^\s\"'<>&]){1,300})(%40)")
_JAAS = re.compile(r"(\buser_[\w.-]{1,128}[ ]?=[ ]?\\*[\"'])[^\"'\\\n]{1,500}")
# Access control lists of Redis.
_ACL = re.compile(r"(?m)(?:^[ \t]*user|(?i:ACL[ \t]+SETUSER))[ \t]+\S{1,200}[ \t][^\n]{1,2000}")
_ACL_PASSWORD = re.compile(r"(?<=[ \t][>#])[^\s\"']+")
_RUN_LENGTH = 24
_PART = 16_384  # characters
_BASE64_RUN = re.compile(rf"(?<![\w+/.-])[A-Za-z0-9+/]{{{_RUN_LENGTH},}}={{0,2}}(?![\w+/-])")
_ENTITY = re.compile(r"(&lt;([\w.:-]{1,200})&gt;)(?>[^&]{1,1000})(?=&lt;/)")
_SECRET_KIND = re.compile(r"(?<![\w-])kind[\"']?:[ \t]*[\"']?Secret(?![\w-])")
_SECRET_DATA = re.compile(r"(?<![\w.-])(?:stringData|data)[\"']?:")
_DOCUMENT = re.compile(r"(?m)^---")
_BEARER = re.compile(r"(?i)\b(bearer[ \t]+)(?!\[redacted)[\w.~+/-]+=*")
_BASIC = re.compile(r"(?i)\b(basic[ \t]+)([A-Za-z0-9+/]{6,4000}={0,2})(?![\w+/=])")
_USERLIST = re.compile(r'(?m)^("[^"\n]{1,128}"[ \t]+)"[^"\n]{1,1000}"')
_PGPASS = re.compile(
    r"(?<![\w.*:/-])([\w.*-]{1,253}:(?:\d{1,5}|\*):[\w.*-]{1,128}:[\w.*-]{1,128}:)[^\s\"'\\:]+(?![\w:])"
)


def clean(text: str) -> str:
    """Return the text without credentials; the same text if it holds none. The caller has redacted text that is JSON.

    Of a text with a credential, letters and marks of other widths and shapes become the usual ones.
    """
    usual = folded(text)
    if len(usual) > LONGEST:
        raise OutOfTime  # a letter may stand for many
    cleaned = _clean(usual)
    return text if cleaned == usual else cleaned


def _clean(text: str) -> str:
    if not text.isascii():
        text = _replace(text, values_after_letters(text))
    if not _SEPARATES.search(text):
        return without_known_forms(text)
    clean = _replace(text, _secret_manifests(text)) if has(text, "Secret") else text
    clean = _clean_tables(clean) if has(clean, "\n") else clean
    clean = clean_named_values(clean)
    if has(clean, "]"):
        clean = _replace(clean, values_in_sections(clean))
    if has(clean, "&gt;"):
        clean = _ENTITY.sub(lambda match: match[1] + BY_NAME if grade(match[2]) else match[0], clean)
    if has(clean, " ", "\t", "\n", "\0", "{", "(", "["):
        clean = _replace(clean, space_separated_values(clean))
        clean = commands.clean_commands(clean)
    if has(clean, "@"):
        clean = _USER.sub(rf"\1{BY_NAME}@", clean)
        clean = _BARE_USER.sub(rf"\1{BY_NAME}@", clean)
        clean = _ORACLE.sub(rf"\1{BY_NAME}@", clean)
    if has(clean, "%2F", "%2f"):
        clean = _ENCODED_USER.sub(rf"\1{BY_NAME}\2", clean)
    if "LoginModule" in clean:  # elsewhere such a name says nothing
        clean = _JAAS.sub(rf"\1{BY_NAME}", clean)
    if has(clean, ">", "#"):
        clean = _ACL.sub(lambda match: _ACL_PASSWORD.sub(BY_NAME, match[0]), clean)
    if has(clean, " ", "\t"):
        clean = _BEARER.sub(rf"\1{BY_NAME}", clean)
        clean = _BASIC.sub(_basic, clean)
    if has(clean, '" ', '"\t'):
        clean = _USERLIST.sub(rf'\1"{BY_NAME}"', clean)
    if clean.count(":") > 3:
        clean = _PGPASS.sub(rf"\1{BY_NAME}", clean)
    spend(len(clean))
    return without_known_forms(clean)


def without_known_forms(text: str) -> str:
    """Return the text without what has the form of a credential, or matches a pattern of the operator."""
    if not text.isascii() and (usual := folded(text)) != text and (clean := without_known_forms(usual)) != usual:
        return clean
    clean = without_forms(text)
    try:
        if (decoded := decode_base64(clean)) is not None and decoded != _clean_decoded(decoded):
            return BY_FORM
        if len(clean) >= _RUN_LENGTH:
            clean = _BASE64_RUN.sub(_masked_base64, clean)
        for pattern in patterns():
            clean = _replace(clean, _matches(pattern, clean))
    except OutOfTime:
        return UNSEARCHED
    return clean


def _matches(pattern: Pattern, text: str) -> Iterator[Span]:
    """Yield what matches a pattern of the operator, which may take long for each character: part by part."""
    at, begins = 0, 0
    while begins < len(text):
        ends = begins + _PART
        spend(_PART)
        while (match := pattern.compiled.search(text, at, ends + pattern.reach)) and match.start() < ends:
            yield Span(*match.span(), OWN)
            at = max(match.end(), match.start() + 1)
        begins, at = max(ends, at), max(ends, at)


def _clean_decoded(decoded: str) -> str:
    """Clean a text that was decoded from Base64, and Base64 within it in the same way."""
    inner = clean_named_values(decoded)
    inner = _replace(inner, space_separated_values(inner))
    inner = _USER.sub(rf"\1{BY_NAME}@", inner)
    if (again := decode_base64(decoded)) is not None and len(again) < len(decoded) and again != _clean_decoded(again):
        return BY_FORM
    return without_forms(inner)


def _masked_base64(match: re.Match[str]) -> str:
    """Return the mask if this Base64 within a text holds a credential, else the Base64."""
    decoded = decode_base64(match[0])
    return match[0] if decoded is None or decoded == _clean_decoded(decoded) else BY_FORM


def _basic(match: re.Match[str]) -> str:
    """Mask Basic credentials: a user, a colon and a password in Base64. Leave words such as "Basic authentication"."""
    try:
        decoded = b64decode(match[2] + "=" * (-len(match[2]) % 4))
    except ValueError:
        return match[0]
    return match[1] + BY_NAME if b":" in decoded or any(letter.isdigit() for letter in match[2]) else match[0]


def _replace(text: str, spans: Iterator[Span]) -> str:
    parts, at = list[str](), 0
    for span in sorted(spans):
        if span.start >= at:
            parts += text[at : span.start], span.mask
            at = span.end
        at = max(at, span.end)  # what two of them have in common is replaced once
    return "".join((*parts, text[at:])) if parts else text


def _secret_manifests(text: str) -> Iterator[Span]:
    """Yield the places of the data of Secrets that are written in YAML."""
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


def _clean_tables(text: str) -> str:
    """Mask the columns of a table whose first line names them as credentials, as in `user,password`."""
    rule = _RULE.match(text)  # of a table that is drawn
    above, text = (rule[0], text[rule.end() :]) if rule else ("", text)
    head, newline, rest = text.partition("\n")
    between = next((each for each in "|,\t;" if each in head), "")
    names = head.rstrip("\r").split(between) if newline and between and len(head) < 2000 else []
    if len(names) < 2 or not all(_COLUMN.fullmatch(name) or not name.strip() for name in names):
        return above + text
    secret = {at for at, name in enumerate(names) if grade(name.strip("\"' "))}
    if not secret:
        return above + text
    rows = [above + head]
    for row in rest.split("\n"):
        spend(len(row))
        cells = row.split(between)
        if len(cells) >= len(names) and not _DRAWN.fullmatch(row):
            cells = [BY_NAME if at in secret and not harmless(cell) else cell for at, cell in enumerate(cells)]
        rows.append(between.join(cells))
    return "\n".join(rows)


_RULE = re.compile(r"[ \t]{0,20}\+[+=-]{1,2000}+\r?\n")
_DRAWN = re.compile(r"[ \t|:=+-]*+")
_COLUMN = re.compile(rf"[ ]?[\"']?[ {LETTER}]{{1,64}}[\"']?[ ]?")

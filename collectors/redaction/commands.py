"""Remove credentials from arguments and command lines. It does no I/O."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ahocorasick_rs import AhoCorasick

from collectors.redaction.budget import spend
from collectors.redaction.values import LETTER, harmless, has
from timeline.core.masks import BY_NAME
from timeline.core.secret_names import grade, word_set

_MYSQL = "mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlshow mysqlslap mysqlpump mycli mariadb mariadb-dump"
_MONGO = "mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat mongotop"
_LOGIN = "docker podman nerdctl helm buildah skopeo oras crane az oc argocd cf ibmcloud"
_LDAP = "ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd ldapcompare ldapmodrdn"
_OPTIONS = {  # program -> its short options that a credential follows
    **dict.fromkeys(_MYSQL.split(), ("-p",)),
    **dict.fromkeys(_MONGO.split(), ("-p",)),
    **dict.fromkeys(_LOGIN.split(), ("-p",)),
    **dict.fromkeys(_LDAP.split(), ("-w", "-s")),
    **dict.fromkeys(("redis-cli", "valkey-cli", "keydb-cli", "redis-benchmark", "memtier_benchmark"), ("-a",)),
    **dict.fromkeys(("sqlcmd", "bcp", "osql", "isql", "ipmitool", "zip", "unzip"), ("-P",)),
    **dict.fromkeys(("snmpget", "snmpwalk", "snmpset", "snmptrap"), ("-c", "-A", "-X")),
    **dict.fromkeys(("sshpass", "cypher-shell", "7z", "7za", "cqlsh", "rar", "unrar", "htpasswd"), ("-p",)),
    **dict.fromkeys(("beeline", "sqoop", "impala-shell"), ("-p", "-w")),
    **dict.fromkeys(("mosquitto_pub", "mosquitto_sub", "mosquitto_rr"), ("-P",)),
    **dict.fromkeys(("useradd", "usermod", "psexec", "racadm"), ("-p",)),
    **dict.fromkeys(("influx", "drone"), ("-t", "-p")),
    "ssh-keygen": ("-N", "-P"),
    "gitlab-runner": ("-r", "-t"),
    "openssl": ("-k", "-K", "-pass", "-passin", "-passout"),
    "curl": ("-b", "-E"),
}
PROGRAMS = frozenset(_OPTIONS)
_ATTACHED = frozenset([*_MYSQL.split(), "sshpass", "7z", "7za", "rar", "unrar", *_MONGO.split()])
_PORTS = word_set("psql ssh nc ncat mkdir cp tar install ps docker-compose unzip read test kill pkill lsof")
_USER = frozenset(
    ("-u", "-U", "--user", "--proxy-user", "--username", "--creds", "--src-creds", "--dest-creds", "--userpwd")
)
_LITERAL = frozenset(("--from-literal", "--docker-password", "--set-string", "--set"))
_WORDS_BEFORE = {  # word -> which word after it is a credential
    "set-initial-password": 1,
    "requirepass": 1,
    "masterauth": 1,
    "authtoken": 1,
    "add-authtoken": 1,
    "add_user": 2,
    "change_password": 2,
    "authenticate_user": 2,
    "AUTH": 1,
    "unseal": 1,
}
_PAIRS_BEFORE = {("vault", "login"): 1, ("alias", "set"): 4, ("host", "add"): 4, ("stats", "auth"): 1}
SECOND_WORDS = frozenset(second for _, second in _PAIRS_BEFORE)
_COMMANDS = frozenset(["vault", "mc", "redis-cli", "valkey-cli"])
_NAME = re.compile(rf"[{LETTER}]+")
_PORT = re.compile(r"[\d.:\[\]*]+(?:-\d+)?(?:/\w+)?|[./~$].*|\d+:\S*|")
_OTHER_PROGRAMS = ["wget", "vault", "mc", "rabbitmqctl", "kubectl", "ngrok", "neo4j-admin", "smbclient", "lftp"]
_PROGRAM_NAMES = "|".join(sorted([*_OPTIONS, *_OTHER_PROGRAMS], key=len, reverse=True))
_program_names = AhoCorasick(sorted([*_OPTIONS, *_OTHER_PROGRAMS]))
_PROGRAM = re.compile(rf"(?<![\w.-])(?:[\w.-]{{0,60}}/)?({_PROGRAM_NAMES})(?:\.exe)?(?=[ \t])")
_WORD = re.compile(r"""(?:[^\s"'|;&]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"|'[^']*+'|["'])++""", re.DOTALL)
_REST_OF_WORD = re.compile(r"""(?:[^\s'|;&]++|'[^']*+'|')++""")  # where no double quote closes another
_CLOSING = re.compile(r'(?<!\\)(?:\\\\)*+"')
_SHORT_OPTION = re.compile(
    r"(?<![\w.-])(--?[\w-]{1,60})(?:[ \t]+|=)([\"']?)([^\s\"']{1,200}:[^\s\"'/][^\s\"']{0,400})\2"
)


def base(word: str) -> str:
    """Return the name of the program that a word calls: redis-cli for /usr/bin/redis-cli."""
    return word.rpartition("/")[2].removesuffix(".exe")


def may_be_arguments(words: list[Any]) -> bool:
    """Return whether a list may hold arguments: an option, an assignment or a command is in it."""
    return any(
        isinstance(word, str)
        and (word[:1] == "-" or "=" in word or word in _WORDS_BEFORE or word in _COMMANDS or word[:3] == "/p:")
        for word in words
    )


def arguments(words: list[Any]) -> Iterator[tuple[Any, bool]]:
    """Yield each word, and whether it was masked; words that were not masked may still hold credentials as text."""
    named = [word for word in words if isinstance(word, str)]
    programs = {base(word) for word in named if word} & _OPTIONS.keys()
    takes_port = {base(word) for word in named[:2]} & _PORTS
    short = {option for program in programs for option in _OPTIONS[program]}
    attached = bool(programs & _ATTACHED)
    redis = any("redis" in word or "valkey" in word for word in named)
    if redis:
        short.add("-a")
    pending, words_left, before = "", 0, ""
    for word in words:
        if not isinstance(word, str):
            yield word, False
            pending = ""
            continue
        masked = _masked_word(word, pending, short, attached, bool(takes_port))
        if words_left:
            words_left -= 1
            if not words_left and not word.startswith("-"):
                masked = BY_NAME
        elif redis and word.upper() == "AUTH":
            words_left = (
                2 if words[-1] is not word and words[-2] is not word else 1
            )  # with the name of a user, or without
        elif word in _WORDS_BEFORE:
            words_left = _WORDS_BEFORE[word]
        elif before == "set" and grade(word):
            words_left = 1
        elif (before, word) in _PAIRS_BEFORE:
            words_left = _PAIRS_BEFORE[before, word]
        if word != "=" or not pending:  # in `--password = x` and `--password= x` the option is still pending
            option = word.removesuffix("=")
            pending = option if word.startswith(("-", "/p:")) and "=" not in option and not _is_text(word) else ""
        before = word
        yield (word, False) if masked is None else (masked, True)


COMMAND_LETTERS = word_set(  # in each text without options, brackets and quotes that `clean_commands` may change
    "fromliteral htpasswd initialpassword requirepass masterauth authtoken rocommunity rwcommunity sqlplus sqlcl expdp "
    "impdp sqlldr lftp authplain secret securestring vault statsauth mcaliasset mcconfighostadd adduser changepassword "
    "authenticateuser unseal vaultauth cargologin wandblogin snykauth nugetpush netuse snmpservercommunity connectto "
    "nickservidentify useradd keydbcli"
)


def concerns_other_words(word: str) -> bool:
    """Return whether a word may make another argument of its list a credential, or is itself one as an argument.

    Of two words that do so only together, it is enough that this is true of one.
    """
    option = word.removesuffix("=")
    return (
        base(word) in _OPTIONS
        or "redis" in word
        or "valkey" in word
        or word in _WORDS_BEFORE
        or word in SECOND_WORDS
        or option in _LITERAL
        or option in _USER
        or option == "-p"
        or bool(grade(option))
        or _masked_word(word, "", (), attached=False, takes_port=False) is not None
    )


def _masked_word(word: str, option: str, short: Iterable[str], attached: bool, takes_port: bool) -> str | None:
    """Return a word with its credential masked; None if it has none.

    `option` is the previous word if that is an option.
    """
    if option and not (word.startswith("-") and len(word) < 3):
        if option in _LITERAL and "=" in word:
            name, _, value = word.partition("=")
            return f"{name}={BY_NAME}" if option == "--from-literal" or (grade(name) and not harmless(value)) else None
        if option in _USER and _is_pair(word):
            return BY_NAME
        if not word.startswith("-") and not harmless(word):
            if option in short or (len(option) > 2 and grade(option)):
                return BY_NAME
            if option == "-p" and not takes_port and not _PORT.fullmatch(word):
                return BY_NAME
    name, equals, value = word.partition("=")
    if equals and _NAME.fullmatch(name):
        if name in _USER and _is_pair(value):
            return f"{name}={BY_NAME}"
        if name == "--from-literal":
            return f"{name}={value.partition('=')[0]}={BY_NAME}"
        if grade(name) and not harmless(value):
            return f"{name}={BY_NAME}"
    if (
        attached
        and word.startswith("-p")
        and len(word) > 2
        and not word.startswith("-p=")
        and not _PORT.fullmatch(word[2:])
    ):
        return f"-p{BY_NAME}"
    for each in short:
        if (
            attached is False
            and word.startswith(each)
            and len(word) > len(each) + 2
            and len(each) == 2
            and each == "-a"
        ):
            return f"{each}{BY_NAME}"
    if option == "" and word[:2] in ("-u", "-U") and len(word) > 4 and _is_pair(word[2:]):
        return f"{word[:2]}{BY_NAME}"
    if word.startswith("/p:") and len(word) > 3:
        return f"/p:{BY_NAME}"
    return None


def _is_text(word: str) -> bool:
    return any(letter.isspace() for letter in word)


def _is_pair(word: str) -> bool:
    """Return whether a word is a user and a password, and not the numbers of a user and a group, nor an address."""
    user, colon, password = word.partition(":")
    if not colon:
        user, colon, password = word.partition("%")
    numbers = user.isdigit() and password.isdigit() and len(password) < 7
    return bool(colon and password) and not numbers and not password.startswith("//") and not _is_text(user)


def clean_commands(text: str) -> str:
    """Return the text without the credentials in its command lines."""
    if has(text, "echo", "printf"):
        text = _PRINTED.sub(_printed, text)
    if has(text, "htpasswd"):
        text = _HTPASSWD.sub(rf"\1{BY_NAME}", text)
    parts, at, scanned, closing = list[str](), 0, 0, -1
    for match in _PROGRAM.finditer(text) if _names_program(text) else ():
        if match.start() < scanned:
            continue
        if closing < 0:
            closing = max((each.end() for each in _CLOSING.finditer(text)), default=0)
        tokens = list(_tokens(text, match.start(), closing))
        words = list(arguments([word for _, _, word in tokens]))
        for (start, end, _), (word, masked) in zip(tokens, words, strict=True):
            if masked:
                parts += text[at:start], word
                at = end
        scanned = tokens[-1][1] if tokens else match.end()
    text = "".join((*parts, text[at:])) if parts else text
    text = _SHORT_OPTION.sub(_user, text)
    for number in sorted(_phrases_in(text)):
        spend(len(text))
        text = _BEFORE_CREDENTIAL[number].sub(rf"\1{BY_NAME}", text)
    return text


# What comes right before a credential, and words: one is always in it. A blank stands for several, ~ for any word.
_PHRASES = (
    (
        r"\b(?:set-initial-password|requirepass|masterauth|(?:add-)?authtoken) ",
        "set-initial-password requirepass masterauth authtoken",
    ),
    (r"--from-literal(?: |=)[^\s=]{1,200}=", "from-literal"),
    (r"\br[ow]community6? ", "community"),
    (r"\bsnmp-server community ", "snmp-server"),
    (
        r"\b(?:sqlplus|sqlcl|expdp|impdp|sqlldr) (?:-\w{1,8} ){0,3}[\"']?[\w.$]{1,128}/",
        "sqlplus sqlcl expdp impdp sqlldr",
    ),
    (
        r"\b(?:(?i:connect|target) |userid=)[\w.$]{1,64}/(?=[^\s\"'/@]{1,128}@)",
        "connect CONNECT Connect target userid=",
    ),
    (r"\.LOGON [\w.-]{1,100}/[\w.-]{1,100},", ".LOGON"),
    (r"\bdb2 connect to ~ user ~ using ", "db2"),
    (r"\blftp (?:-u|--user) [^\s,]{1,200},", "lftp"),
    (r"\bAUTH PLAIN (?=[\w+/]{8})", "AUTH"),
    (r"(?m:^)AUTH (?!PLAIN|LOGIN)(?:[\w.-]{1,60} (?=[^\s\"';|&]))?", "AUTH"),
    (r"\b(?:redis|valkey|keydb)-cli(?: \S{1,60}){0,6}? (?:AUTH|auth) (?:[\w.-]{1,60} (?=[^\s\"';|&]))?", "-cli"),
    (r"\bsentinel auth-pass ~ ", "sentinel"),
    (r"\bgh secret set[^\n|;&]{0,200}?(?:--body|-b)(?:=| )", "secret"),
    (r"\bsecrets? (?:set|put|add|import) (?:-\S{1,40} ){0,3}[\w.-]{1,100}=", "secret"),
    (r"\bSecureString[^\n|;&]{0,200}?--value(?:=| )", "SecureString"),
    (r"\b(?:ssm put-parameter|keyvault secret set)[^\n|;&]{0,200}?--value(?:=| )", "put-parameter keyvault"),
    (r"\badd-(?:generic|internet)-password[^\n|;&]{0,200}? -w ", "add-generic-password add-internet-password"),
    (r"\bkeyring set[^\n|;&<]{0,100}<<<[ \t]*", "keyring"),
    (r"\bpulumi config set ~ (?=\S{1,300} --secret)", "pulumi"),
    (r"\bconfig set --secret ~ ", "--secret"),
    (r"\bvault kv (?:put|patch) ~ [\w.-]{1,100}=", "vault"),
    (r"\bvault (?:login|operator unseal|unseal|auth) ", "vault"),
    (r"\b(?:cargo|wandb) login ", "login"),
    (r"\bsnyk auth ", "snyk"),
    (r"\bpoetry config (?:pypi-token|http-basic)\.\S{1,60} (?:[\w.-]{1,60} (?=[^\s\"';|&]))?", "poetry"),
    (r"\bnuget push ~ (?!-)", "nuget"),
    (r"\bnuget push[^\n|;&]{0,200}? -k ", "nuget"),
    (r"\bsteamcmd [^\n|;&]{0,100}?\+login \S{1,100} ", "steamcmd"),
    (r"(?<!\S)-setcookie ", "-setcookie"),
    (r"\bwpa_passphrase \S{1,100} ", "wpa_passphrase"),
    (r"\betcdctl user add [^\s:]{1,60}:", "etcdctl"),
    (r"\bmc admin user add ~ ~ ", "mc"),
    (r"\brootpw (?:--\w{1,20} )?", "rootpw"),
    (r"\bnet user \S{1,100} (?=\S{1,100} /add)", "net"),
    (r"\bnet use ~ ~ (?=\S{1,200} /user)", "net"),
    (r"(?<!\S)/p(?:ass(?:word)?)?:", "/p"),
    (r"\b(?:enable|username \S{1,100}) (?:privilege \d{1,2} )?(?:secret|password) (?:\d )?", "secret password"),
    (r"\bNickServ[ \t]*:?IDENTIFY ", "NickServ"),
    (r"\blogin=[\w.@-]{1,64}:", "login="),
    (r"\bstats auth ", "stats"),
    (r"\bmc (?:alias set|config host add)(?: ~){3} ", "mc"),
    (r"\b(?:add_user|change_password|authenticate_user) ~ ", "_user _password"),
    (r"\bauth\([\"'][^\"'\n]{1,100}[\"'],[ ]?[\"']", "auth("),
    (r"\bcrypt\([ ]?'", "crypt("),
    (r"\b(?:PDO|mysqli|mysqli_connect)\([^()\n]{1,200}?,[ ]?['\"][^'\"\n]{0,100}['\"],[ ]?['\"]", "PDO mysqli"),
)
_BLANK_OR_WORD = re.compile(r"(?<!\[) |~")


def _before(phrase: str) -> re.Pattern[str]:
    """Return what finds a credential right after a phrase."""
    expression = _BLANK_OR_WORD.sub(lambda each: r"\S{1,200}" if each[0] == "~" else r"[ \t]++", phrase)
    return re.compile(rf"({expression})(?!-|\[redacted)[^\s\"';|&]+")


_BEFORE_CREDENTIAL = tuple(_before(phrase) for phrase, _ in _PHRASES)
_HINTS = [(hint, at) for at, (_, hints) in enumerate(_PHRASES) for hint in hints.split()]
_hints = AhoCorasick([hint for hint, _ in _HINTS])


def _names_program(text: str) -> bool:
    """Return whether a text may call a program whose arguments hold credentials."""
    return bool(_program_names.find_matches_as_indexes(text))


def _phrases_in(text: str) -> set[int]:
    """Return the numbers of the phrases that a text may hold."""
    found = _hints.find_matches_as_indexes(text, overlapping=True)
    return {_HINTS[hint][1] for hint, _, _ in found}


# Programs that read a credential from their input.
_READS = (
    r"-stdin\b|\bchpasswd"
    r"|\b(?:redis|valkey)-cli|\bkinit\b|\bsudo[ ](?:-\w{1,4}[ ]){0,3}-S|\bsu[ ]|\bcryptsetup\b"
    r"|\bload-key\b|\bpass[ ]insert|keystore[ ]add|\bkubeseal\b|\bsecrets?[ ](?:put|set|create)"
    r"|-with-token|\bsecret-tool\b|-passphrase-fd|\bvault[ ]|-password-file"
)
_PRINTED = re.compile(  # `echo` or `printf` into a program that reads a password, or into a file
    r"(\b(?:echo|printf)[ \t]+(?:-\w{1,5}[ \t]+|AUTH[ \t]+|'[^'\n%]{0,60}%s'[ \t]+){0,3})"
    r"(\"[^\"\n]{1,500}\"|'[^'\n]{1,500}'|[^\s|<>;&\"']{1,500})"
    rf"([ \t]*+(?:\|[^|;\n]{{0,200}}(?:{_READS})"
    r"|(?:\|[ \t]*(?:sudo[ ])?(?:tee[ \t]|base64[ \t]*>))?(?<=[>\t ])>{0,2}[ \t]*+([^\s;|&\"'>]{1,300})))"
)
_HTPASSWD = re.compile(
    r"(\bhtpasswd[ \t]+-[A-Za-z]{0,5}b[A-Za-z]{0,5}(?:[ \t]+[^\s;|&<>]{1,300}){1,3}[ \t]+)"
    r"(?!\[redacted|[-;|&<>])[^\s;|&<>\"']+(?=[\"']?[ \t]*(?:[;|&<>\r\n]|\Z))"
)


def _printed(match: re.Match[str]) -> str:
    """Mask a printed word if a program reads it as a password or its file has the name of a credential."""
    target, words = match[4], match[2].strip("\"'")
    if harmless(words) or words.startswith("$") or (target and not grade(target)):
        return match[0]
    return f"{match[1]}{BY_NAME}{match[3]}"


def _user(match: re.Match[str]) -> str:
    if match[1] not in _USER or not _is_pair(match[3]):
        return match[0]
    return match[0].replace(match[3], BY_NAME)


def _tokens(text: str, at: int, closing: int) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the text of each word of a command, up to the command's end.

    `closing` is where the last double quote of the text ends that may close another. None is looked for behind it, or
    each quote there would be followed to the end of the text.
    """
    while at < len(text):
        spend()
        start = at
        if match := _WORD.match(text, at, closing):
            at = match.end()
        if at >= closing and (match := _REST_OF_WORD.match(text, at)):
            at = match.end()
        if at == start:
            if text[at] in "|;&\n":
                return
            at += 1
            continue
        word = text[start:at]
        yield start, at, word.strip("\"'") if word[:1] in "\"'" else word

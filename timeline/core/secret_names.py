"""This module finds out whether the name of a field, variable or option marks its value as a credential. It is pure.

It has the only table of such names: `collectors/redaction` uses it to mask values, and the facts of custom resources
leave out values under such names. A name is split into its words (`dbPassword`, `DB_PASSWORD`, `db-password` and
`db.password` are all "db password"), so that look-alikes such as `monkey`, `compass` or `author` do not match. Names
whose last word shows that the value only refers to a credential, or describes one (`secretName`, `tokenTTL`,
`passwordPolicy`), do not match either.
"""

import re
import unicodedata
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise


class Grade(IntEnum):
    """This enumeration lists what a name can say about its value."""

    PLAIN = 0  # the name says nothing about the value
    SCALAR = 1  # a text or number under this name is a credential; a map or list is searched like any other
    WHOLE = 2  # everything under this name is a credential, except for references to credentials


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_STEMS = word_set(  # at any place in a name, and at the end of a longer word: PGPASSWORD, authtoken
    "password passwd passphrase passcode passwort kennwort wachtwoord contrasena secret token "
    "credential apikey accesskey privatekey secretkey "
    "authkey encryptionkey"
)
_LAST = word_set(  # only as the last word of a name
    "pass pw psw pswd pwd cred psk otp totp jwt dsn hmac connstr mnemonic netrc npmrc dockercfg dockerconfigjson "
    "connectionstring connstring connectionstr seedphrase recoverycode backupcode idrsa idecdsa iddsa ided pgpass "
    "requirepass masterauth bindpw rootpw adminpw userpw dbpw ldappw keytab cabundle authcode passkey fernet "
    "logincookie snmpcommunity rocommunity rwcommunity authpassword samlresponse samlassertion senha"
)
_LAST_SCALAR = word_set(  # also as the last word; a map under such a name holds other fields besides the credential
    "auth oauth authorization authentication session sessionid sid cookie signature sig pin salt webhook "
    "webhookurl bearer kubeconfig licence license communitystring"
)
_KEYS = word_set(  # before the word "key": these kinds of keys are credentials
    "access account activation admin aes age algolia anthropic api app application auth authentication azure "
    "backup bot ca certificate client connection consumer cookie cosmos crypto customer datadog decrypt decryption "
    "deploy device discord django dsa ec ecdsa ed encrypt encryption fernet flask function github "
    "gitlab google gpg hash "
    "hmac host ingest ingestion instrumentation integration jwt licence license mailgun maps master newrelic "
    "openai pgp preshared primary priv private product psk read recovery restic restuser rndc root routing rsa salt "
    "sas search secondary secret security seed sendgrid sentry server service session shared sign signing slack sops "
    "ssh ssl storage stripe subscription symmetric telegram tls transfer tsig twilio unseal user vault webhook wg "
    "wireguard wrapping write"
)
_REFERS = word_set(  # as the last word: the value names a credential, or describes it
    "account address age alg algorithm allowed annotation at audience backend char character checksum claim class "
    "comment complexity condition config configuration controller count created day delay deleted description dir "
    "directory disable disabled duration enable enabled encoding endpoint engine event exp expiration expire "
    "expired expiry field file filename fingerprint folder format found from generation generator group handler "
    "header help hint history host hostname hour id index interval invalid issuer item key kind label last len "
    "length lifetime limit list login manager map mapping max method min minute mode mount name namespace object "
    "operator optional option owner path period phase plugin policy port prefix projection property provider "
    "reason ref reference request require required resource retry review revision role rotated rotation schema "
    "scope second selector server service set setting size source state status store strategy strength suffix "
    "sync syncer target template time timeout timestamp title ttl type uid updated uri url user userid username "
    "uuid valid var variable version volume"
)
_TRAILING = word_set(  # words that do not change the meaning of a name when they are at its end
    "value val data string str text txt plain plaintext clear cleartext encoded base64 b64 raw old new current "
    "previous prev prod production dev development stage staging test default primary secondary json yaml yml "
    "toml conf cfg ini env properties xml pem der b hex content enc encrypted hash sha md5 bcrypt"
)
_COUNTED = word_set("max min num number total count limit prompt completion input output used remaining")
_DIGESTS = frozenset(["checksum", "hash", "sha", "sha256", "digest", "fingerprint"])
_NO_PASS = frozenset(["bypass", "compass", "encompass", "overpass", "surpass", "trespass", "underpass"])
_TAILS = word_set("key value val data string str text hash plain b64 base64 id")  # may follow a stem in one word
_ONLY_REFER = frozenset(  # names that would match by their words, but only refer to a credential
    {
        "auth-secret",
        "auth-tls-secret",
        "proxy-ssl-secret",
        "existingSecret",
        "existingSecretName",
        "imagePullSecret",
        "secretKeyRef",
        "secretObjects",
        "token-review",
    }
)
_ALL_SECRET = frozenset({"secureJsonData", "secureSettings", "secure_json_data", "secure_settings", "secretGenerator"})
_FOREIGN = ("contraseña", "пароль", "密码", "密碼", "パスワード", "비밀번호")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
_LONGEST = 512  # characters of a name


@lru_cache(20_000)
def grade(name: str) -> Grade:
    """Return what a name says about its value. Of a name with a prefix, such as `example.org/api-token`, the part after
    the last "/" counts."""
    name = name[-_LONGEST:]
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name)
        if any(each in name.lower() for each in _FOREIGN):
            return Grade.WHOLE
    first, _, last = name.strip("/").rpartition("/")
    if last in _ONLY_REFER:
        return Grade.PLAIN
    if last in _ALL_SECRET:
        return Grade.WHOLE
    words = _words(last)
    if first and words and all(word in _TRAILING for word in words):
        words = _words(first) + words
    return _grade(words, first)


def is_reference(name: str) -> bool:
    """Return whether the field of this name only names or describes a credential that a field beside it holds."""
    words = _words(name)
    return bool(words) and words[-1] in _REFERS and not grade(name)


def telling_letters() -> frozenset[str]:
    """Return pieces of text, in lower case, of which each name that is not PLAIN contains at least one, if everything
    but the letters of ASCII is left out of the name.

    So a text without them holds no such name, in whatever notation.
    """
    pieces = {*_STEMS, *_LAST, *_LAST_SCALAR, "key", "pass", "motdepasse", *(each.lower() for each in _ALL_SECRET)}
    for _ in range(2):  # three words at most are joined, and the plural of each word counts as its singular
        pieces |= {each[:at] + "s" + each[at:] for each in pieces for at in range(3, len(each))}
    return frozenset(pieces)


def _words(name: str) -> list[str]:
    return [_singular(word.lower()) for word in _WORD.findall(name)]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] != "s" else word


def _grade(words: list[str], before: str) -> Grade:
    if not words:
        return Grade.PLAIN
    end = len(words)
    while end > 1 and words[end - 1] in _TRAILING:
        end -= 1
    joined = {words[at] + words[at + 1] for at in range(len(words) - 1)}
    whole = any(map(_is_stem, words)) or any(map(_is_stem, joined)) or _has_key(words)
    last = words[end - 1]
    tail = words[end - 2] + last if end > 1 else last
    if "secretid" in (last, tail) or "sessionkey" in (last, tail):
        return Grade.WHOLE
    if "sessionid" in (last, tail) or tail == "webhookurl":
        return Grade.SCALAR
    if "".join(words[-3:]).endswith(("basicauthuser", "motdepasse")) or (whole and not _refers(words, before)):
        return Grade.WHOLE
    if (
        last in _LAST
        or tail in _LAST
        or "".join(words[-2:]) in _LAST
        or (last.endswith("pass") and last not in _NO_PASS)
    ):
        return Grade.WHOLE
    return Grade.SCALAR if last in _LAST_SCALAR or tail in _LAST_SCALAR else Grade.PLAIN


def _is_stem(word: str) -> bool:
    return any(
        word.endswith(stem) or (word.startswith(stem) and _goes_on(stem, word[len(stem) :]))
        for stem in _STEMS
        if stem in word
    )


def _goes_on(stem: str, rest: str) -> bool:
    """Return whether a word that begins with a stem is still a credential by what comes after the stem."""
    return rest not in _REFERS and (stem.startswith("pass") or rest in _TAILS)


def _has_key(words: list[str]) -> bool:
    """Return whether a name contains a key that is a credential, such as `apiKey`, unlike `publicKey` or `keyRef`."""
    return any(
        (word == "key" and at > 0 and words[at - 1] in _KEYS) or (word[:-3] in _KEYS and word.endswith("key"))
        for at, word in enumerate(words)
    ) or ("key", "material") in pairwise(words)


def _names_owners(words: list[str]) -> bool:
    """Return whether a name such as `passwordsByUser` says that its value holds credentials of several owners."""
    return any(word in ("by", "for") and _is_stem(before) for before, word in pairwise(words))


def _refers(words: list[str], before: str) -> bool:
    last = words[-1]
    if last == "key" and len(words) > 1 and words[-2] in _KEYS:
        return False  # secretKey, apiKey
    if last in _REFERS:
        return not _names_owners(words)
    if "checksum" in words or "fingerprint" in words or before in _DIGESTS:
        return True
    if _DIGESTS.intersection(words) and not any(word.startswith("pass") for word in words):
        return True  # secretHash only shows that a Secret changed; a passwordHash can be guessed at
    return "token" in words and words[0] in _COUNTED

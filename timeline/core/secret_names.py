"""Find out whether the name of a field, variable or option marks its value as a credential. It does no I/O.

It has the only table of such names: `collectors/redaction` uses it to mask values, and the facts of custom resources
leave out values under such names. Names are compared without their capitals, accents, separators and widths. A name is
split into its words (`dbPassword`, `DB_PASSWORD`, `db-password` and `db.password` are all "db password"), so that
look-alikes such as `monkey`, `compass` or `author` do not match. Names whose last word shows that the value only refers
to a credential, or describes one (`secretName`, `tokenTTL`, `passwordPolicy`), do not match either.
"""

import re
import unicodedata
from collections.abc import Callable
from enum import IntEnum
from functools import lru_cache, wraps
from itertools import accumulate, pairwise
from typing import TypeVar


class Grade(IntEnum):
    """What a name can say about its value."""

    PLAIN = 0  # the name says nothing about the value
    SCALAR = 1  # a text or number under this name is a credential; a map or list is searched like any other
    WHOLE = 2  # everything under this name is a credential, except for references to credentials


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_STEMS = word_set(  # at any place in a name, and at the end of a longer word: PGPASSWORD, authtoken
    "password passwd passphrase passcode passwort kennwort wachtwoord contrasena secret token "
    "credential apikey accesskey privatekey secretkey authkey encryptionkey zugangsdaten geheimnis "
    "motdepasse contrasenya contrasinal palavrapasse palavrachave senhasecreta clavesecreta "
    "parolachiave chiavesegreta losenord passord adgangskode kodeord salasana jelszo slaptazodis "
    "parool salasona lozinka zaporka nenosiri pasahitza lykilord katasandi katalaluan matkhau "
    "wagwoord pasfhocal cyfrinair pasvorto"
)
_WORDS = word_set(  # only as a whole word, at any place in a name
    "senha clave heslo haslo parola sifre geslo mdp secreto segreto segredo geheim schlusselwort losung sandi"
)
_LAST = word_set(  # only as the last word of a name
    "pass pw psw pswd pwd cred psk otp totp jwt dsn hmac connstr mnemonic netrc npmrc dockercfg "
    "dockerconfigjson connectionstring connstring connectionstr seedphrase recoverycode backupcode "
    "idrsa idecdsa iddsa ided pgpass requirepass masterauth bindpw rootpw adminpw userpw dbpw ldappw "
    "keytab cabundle authcode passkey fernet logincookie snmpcommunity rocommunity rwcommunity "
    "authpassword samlresponse samlassertion pincode "
    "csrf xsrf activationcode pinnumber passnumber totpseed otpseed mfaseed "
    "nkeyseed walletseed masterseed securestring authstring mysqlpw sqlpw smtppw ftppw httppw "
    "honeycombteam sonarlogin erlangcookie cleapi clesecrete cleprivee cledacces clavedeacceso claveapi "
    "claveprivada chaveapi chaveprivada chavesecreta chaveacesso chiaveapi chiaveprivata apischlussel "
    "kluczapi kluczprywatny geheimschlussel privatschlussel zugangsschlussel apinyckel"
)
_LAST_SCALAR = word_set(  # also as the last word; a map under such a name holds other fields besides the credential
    "auth oauth authorization authentication session sessionid sid cookie signature sig pin salt "
    "webhook webhookurl bearer jsessionid phpsessid kubeconfig licence license communitystring"
)
_ISSUERS = word_set(  # whose keys have no form of their own
    "adafruit adobe airtable algolia alibaba amplitude anthropic artifactory asana atlassian beamer bintray "
    "bitbucket bittrex cloudflare codecov cohere coinbase confluence confluent contentful contribsys databricks "
    "datadog deepseek discord droneci dropbox elevenlabs etsy facebook fastly finicity finnhub flickr freshbooks "
    "giphy gitter gocardless groq heroku hubspot infracost intercom jfrog jira kraken kucoin launchdarkly linear "
    "linkedin lob looker mailchimp mailgun mandrill mapbox mattermost maxmind meraki messagebird mistral netlify "
    "newrelic nytimes okta openai opsgenie pagerduty pinecone plaid postmark privateai pusher rapidapi replicate "
    "resend segment sendbird sendgrid sentry shodan sidekiq snyk sonar sourcegraph square squarespace stripe sumo "
    "sumologic tavily telegram travis twilio twitch twitter typeform virustotal vultr yandex zendesk zuora"
)
_KEYS = _ISSUERS | word_set(  # before the word "key": these kinds of keys are credentials
    "access account activation admin aes age api app application auth authentication aws azure backup bot ca "
    "certificate client connection consumer cookie cosmos crypto customer decrypt decryption deploy device django "
    "doppler dsa eab ec ecdsa ed enc encrypt encryption fernet flask function gemini github gitlab google gpg "
    "grafana hash hmac honeycomb host ingest ingestion instrumentation integration ipsec jwt licence license maps "
    "master nvidia pgp preshared primary priv private product psk read recovery restic restuser rndc role root "
    "routing rsa salt sas search secondary secret security seed server service session shared sign signing slack "
    "sops ssh ssl storage subscription symmetric tls transfer tsig unseal user vault webhook wg wireguard wrapping "
    "write"
)
_REFERS = word_set(  # as the last word: the value names a credential, or describes it
    "account address affinity age alg algorithm allowed annotation at audience backend char character "
    "checksum claim class comment complexity condition config configuration controller count created "
    "day delay deleted description dir directory disable disabled domain duration enable enabled "
    "encoding endpoint engine event exp expiration expire expired expiry field file filename "
    "fingerprint folder format found from generation generator group handler header help hint history "
    "host hostname hour id index interval invalid issuer item key kind label last len length lifetime "
    "limit list login manager map mapping max method min minute mode mount name namespace object "
    "operator optional option owner path period phase plugin policy port prefix projection property "
    "provider realm reason ref reference region request require required resource retry review "
    "revision role rotated rotation schema samesite scope second selector server service set setting "
    "size source state status store strategy strength suffix sync syncer target template tenant time "
    "timeout timestamp title ttl type uid updated uri url user userid username uuid valid var "
    "variable version volume"
)
_TRAILING = word_set(  # words that do not change the meaning of a name when they are at its end
    "value val data string str text txt plain plaintext clear cleartext encoded base64 b64 raw old "
    "new current previous prev prod production dev development stage staging test default primary "
    "secondary json yaml yml toml conf cfg ini env properties xml pem der b hex content enc encrypted "
    "hash sha md5 bcrypt"
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
_ALL_SECRET = frozenset({"securejsondata", "securesettings", "secretgenerator"})  # the letters of whole names
_ENDINGS = tuple(sorted(_STEMS))
_FOREIGN = word_set(  # at any place in a name, in letters other than those of English
    "пароль пароля паролі парола лозинка гасло секрет токен ключдоступа ключapi секретныйключ "
    "закрытыйключ приватныйключ кодоваядума κωδικος συνθηματικο κλειδιapi 密码 密碼 口令 密钥 密鑰 "
    "密匙 秘钥 秘鑰 金钥 金鑰 私钥 私鑰 令牌 凭证 凭据 憑證 憑據 通行码 通关密语 验证码 驗證碼 "
    "パスワード パスフレーズ 暗証番号 秘密鍵 秘密キー 暗号鍵 シークレット トークン 認証情報 認証キー "
    "アクセスキー apiキー 合言葉 비밀번호 패스워드 암호 토큰 비밀키 개인키 인증키 시크릿 엑세스키 "
    "액세스키 api키 자격증명 كلمةالمرور كلمةالسر كلمهالمرور كلمهالسر الرقمالسري رمزالدخول رمزعبور "
    "گذرواژه סיסמה סיסמא ססמה पासवर्ड गुप्तशब्द পাসওয়ার্ড கடவுச்சொல் รหัสผ่าน รหัสลับ ពាក្យសម្ងាត់ "
    "գաղտնաբառ პაროლი құпиясөз"
)
_PLAIN_LETTERS = str.maketrans(  # letters that Unicode does not take apart
    {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "ı": "i", "æ": "ae", "ß": "ss"}
)
_INVISIBLE = (0xAD, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065))
_INVISIBLE = (0xAD, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065))
_PLAIN_MARKS = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»「」『』〝〞", '"'),
        **dict.fromkeys("‘’‚‛`´‹›", "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("【〔〖", "["),
        **dict.fromkeys("】〕〗", "]"),
        **dict.fromkeys("、､", ","),
        **dict.fromkeys(
            map(chr, (0xAD, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065)))
        ),
    }
)
_ESCAPED = re.compile(r"\\u00([4-7][0-9a-fA-F])|%([4-7][0-9a-fA-F])")
_COLOURS = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
LONGEST_NAME = 512  # characters of a name
# Letters that are not of ASCII, with the one that they may change. They are brought into order in pieces, because the
# time for a row of accents grows with the square of its length.
_OTHERS = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]{1,100}+")
T = TypeVar("T")


def folded(text: str) -> str:
    """Return a text with letters and marks of other widths and shapes as the usual ones, and without invisible ones.

    So a name, a colon and quotes of full width are read as those of ASCII. Letters that JSON or an address escapes are
    read as what they are, and colours of terminals are left out.
    """
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    if "\\u00" in text or "%" in text:
        text = _ESCAPED.sub(_unescaped, text)
    if text.isascii():
        return text
    return _OTHERS.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text).translate(_PLAIN_MARKS)


def _unescaped(match: re.Match[str]) -> str:
    letter = chr(int(match[1] or match[2], 16))
    return letter if letter.isalpha() else match[0]


def remembered(of_name: Callable[[str], T]) -> Callable[[str], T]:
    """Remember what a function returns for names, except for texts that are too long to be names."""
    known = lru_cache(20_000)(of_name)

    @wraps(of_name)
    def of(name: str) -> T:
        return known(name) if len(name) <= LONGEST_NAME else of_name(name)

    return of


@remembered
def letters(name: str) -> str:
    """Return the letters of a name in lower case, without accents, digits and separators: `dbpassword`."""
    return "".join(filter(str.isalpha, _unaccented(name))).casefold()


@remembered
def grade(name: str) -> Grade:
    """Return what a name says about its value. Of a name with a prefix, such as `example.org/api-token`, the part after
    the last "/" counts."""
    name = name[-LONGEST_NAME:]
    if not name.isascii():
        name = _unaccented(name)
        if any(each in letters(name) for each in _foreign()):
            return Grade.WHOLE
    first, _, last = name.strip("/").rpartition("/")
    if last in _ONLY_REFER:
        return Grade.PLAIN
    if letters(last) in _ALL_SECRET:
        return Grade.WHOLE
    words = _words(last)
    if first and words and all(word in _TRAILING for word in words):
        words = _words(first) + words
        last = first + last
    found = _grade(words, first, letters(last), _ends(last))
    return grade(last[2:]) if not found and last[:2] in ("-D", "-P") else found  # options of Java and Gradle


def name_words(name: str) -> list[str]:
    """Return the words of a name in lower case, each in the singular: ["db", "password"]."""
    return _words(name)


def is_reference(name: str) -> bool:
    """Return whether the field of this name only names or describes a credential that a field beside it holds."""
    words = _words(name)
    return bool(words) and words[-1] in _REFERS and not grade(name)


@remembered
def names_issuer(name: str) -> bool:
    """Return whether a name contains that of somebody who issues credentials without a form of their own."""
    words = _words(name)
    return not _ISSUERS.isdisjoint((*words, *map("".join, pairwise(words)))) and words[-1] not in _REFERS


def telling_letters() -> frozenset[str]:
    """Return pieces of text, in lower case. Each name that is not PLAIN contains at least one of them, if everything
    but the letters of ASCII is left out of the name.

    So a text of ASCII without them holds no such name, in whatever notation.
    """
    pieces = {*_STEMS, *_WORDS, *_LAST, *_LAST_SCALAR, *_ALL_SECRET, "key", "pass", "pwd"}
    for _ in range(2):  # three words at most are joined, and the plural of each word counts as its singular
        pieces |= {each[:at] + "s" + each[at:] for each in pieces for at in range(3, len(each))}
    return frozenset(pieces)


@lru_cache(1)
def _foreign() -> tuple[str, ...]:
    return tuple(sorted({letters(each) for each in _FOREIGN}))


def _unaccented(name: str) -> str:
    """Return the end of a name with letters of full width as usual ones, without accents and invisible letters."""
    name = name[-LONGEST_NAME:]
    if name.isascii():
        return name
    apart = unicodedata.normalize("NFKD", folded(name).translate(_PLAIN_LETTERS))
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def _words(name: str) -> list[str]:
    return [_singular(word.lower()) for word in _WORD.findall(_unaccented(name))]


def _ends(name: str) -> list[int]:
    """Return where each word of a name ends in the letters of the name."""
    return [*accumulate(len(word.casefold()) for word in _WORD.findall(name))]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] != "s" else word


def _grade(words: list[str], before: str, letters: str, ends: list[int]) -> Grade:
    if not words:
        return Grade.PLAIN
    end = len(words)
    while end > 1 and words[end - 1] in _TRAILING:
        end -= 1
    joined = {words[at] + words[at + 1] for at in range(len(words) - 1)}
    whole = (
        any(map(_is_stem, words))
        or any(map(_is_stem, joined))
        or not _WORDS.isdisjoint(words)
        or _has_key(words)
        or any(letters.endswith(_ENDINGS, 0, at) for at in ends)
    )
    last = words[end - 1]
    tail = words[end - 2] + last if end > 1 else last
    if "secretid" in (last, tail) or "sessionkey" in (last, tail):
        return Grade.WHOLE
    if "sessionid" in (last, tail) or tail == "webhookurl":
        return Grade.SCALAR
    if letters.endswith("basicauthuser") or letters.endswith("basicauthusers"):
        return Grade.WHOLE
    if whole and not _refers(words, before, letters):
        return Grade.WHOLE
    if (
        last in _LAST
        or tail in _LAST
        or "".join(words[-2:]) in _LAST
        or "".join(words[-3:]) in _LAST
        or (last.endswith(("pass", "pwd")) and last not in _NO_PASS)
        or (len(words) < 8 and letters in _LAST)
    ):
        return Grade.WHOLE
    if last in _LAST_SCALAR or tail in _LAST_SCALAR or last.endswith("auth") or letters in _LAST_SCALAR:
        return Grade.SCALAR
    return Grade.PLAIN


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


def _refers(words: list[str], before: str, letters: str) -> bool:
    last = words[-1]
    if last == "key" and len(words) > 1 and words[-2] in _KEYS:
        return False  # secretKey, apiKey
    if last in _REFERS and not letters.endswith(_ENDINGS):
        return not _names_owners(words)
    if "checksum" in words or "fingerprint" in words or before in _DIGESTS:
        return True
    if _DIGESTS.intersection(words) and not any(word.startswith("pass") for word in words):
        return True  # secretHash only shows that a Secret changed; a passwordHash can be guessed at
    return "token" in words and words[0] in _COUNTED

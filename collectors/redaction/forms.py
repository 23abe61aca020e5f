"""This pure module recognises credentials by their form, at any place in a text.

The forms are facts that their issuers publish. They were collected from the rules of gitleaks (config/gitleaks.toml of
commit b58d3f10, July 2026) and the plugins of Yelp's detect-secrets (commit 5e14193, April 2026), without the rules
that need a word such as the issuer's name beside the credential, and those that match every hash of 32 or 40 digits.
Lengths are lower bounds, so that a form that grows by some letters is still recognised.

Every expression takes linear time: each begins with letters of its own, and has no repetition within another.
"""

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from timeline.core.masks import BY_FORM

_TOKENS = {  # none of these begins after a letter or digit
    "1Password": r"ops_eyJ[\w+/=]{20,}|A3-[A-Z0-9]{6}-[A-Z0-9]{5,11}-[A-Z0-9-]{11,30}",
    "Adobe": r"p8e-[A-Za-z0-9]{32}",
    "Airtable": r"pat[A-Za-z0-9]{14}\.[a-f0-9]{32,}",
    "Alibaba Cloud": r"LTAI[A-Za-z0-9]{12,}",
    "Amazon Web Services": r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{12,}|ABSK[A-Za-z0-9+/]{40,}={0,2}|bedrock-api-key-[\w+/=]{16,}",  # noqa: E501
    "Anthropic, OpenAI, OpenRouter": r"sk-(?:ant|proj|svcacct|admin|or|lf)-[\w-]{16,}|sk-[A-Za-z0-9]{32,}",
    "Artifactory": r"AKCp[A-Za-z0-9]{20,}|cmVmd[A-Za-z0-9]{50,}",
    "Atlassian": r"AT(?:ATT3|CTT3|STT3|BB)[\w=-]{16,}|BBDC-[\w+/]{16,}",
    "Buildkite, CircleCI": r"bk(?:ua|ct|aj)_[a-f0-9]{20,}|CCIP(?:AT|RJ)_[\w-]{16,}",
    "Causeline": r"causeline_[\w-]{40,}",  # see dashboard.access.tokens
    "ClickHouse": r"4b1d[A-Za-z0-9]{38}(?![A-Za-z0-9])",
    "Clojars, Contentful": r"CLOJARS_[a-z0-9]{40,}|CFPAT-[\w-]{20,}",
    "Cloudflare": r"v1\.0-[a-f0-9]{24}-[a-f0-9]{60,}",
    "Databricks": r"dapi[a-f0-9]{32}(?:-\d)?",
    "DigitalOcean": r"do[opr]_v1_[a-f0-9]{16,}",
    "Docker": r"dckr_(?:pat|oat)_[\w-]{16,}",
    "Doppler": r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,}",
    "Duffel": r"duffel_(?:test|live)_[\w=-]{16,}",
    "Dynatrace": r"dt0[a-z]\d\d\.[A-Za-z0-9]{16,}\.[A-Za-z0-9]{16,}",
    "EasyPost, Facebook": r"EZ[AT]K[A-Za-z0-9]{40,}|EAA[A-Za-z0-9]{60,}",
    "Figma, Flutterwave, Frame.io": r"figd_[\w-]{16,}|FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}|fio-u-[\w=-]{40,}",
    "Fly.io": r"fo1_[\w-]{20,}|fm[12][ar]?_[\w+/]{40,}={0,3}",
    "GitHub": r"gh[pousr]_[A-Za-z0-9]{12,}|github_pat_\w{12,}",
    "GitLab": r"gl(?:pat|dt|rt|ft|ptt|soat|cbt|imt|ffct|agent|oas|wt|rtr)-[\w.-]{12,}|GR1348941[\w-]{16,}",
    "GitLab session": r"_gitlab_session=[0-9a-z]{16,}",
    "Google": r"AIza[\w-]{30,}|ya29\.[\w.-]{12,}|1//0[\w-]{20,}|GOCSPX-[\w-]{12,}",
    "Grafana": r"gl(?:c|sa)_[\w+/]{20,}={0,3}",
    "Groq, xAI, Replicate, Perplexity": r"gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|r8_[A-Za-z0-9]{20,}|pplx-[A-Za-z0-9]{20,}",  # noqa: E501
    "Harness": r"pat\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}|sat\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}",
    "HashiCorp Vault": r"hv[sbr]\.[\w-]{12,}|s\.[A-Za-z0-9]{24}(?![\w.-])|b\.[A-Za-z0-9]{24}(?![\w.-])",
    "Heroku, Hugging Face": r"HRKU-[\w-]{20,}|hf_[A-Za-z0-9]{20,}|api_org_[A-Za-z0-9]{20,}",
    "Infracost, Intra42": r"ico-[A-Za-z0-9]{32}|s-s4t2(?:ud|af)-[a-f0-9]{64}",
    "JSON Web Token, any JSON in Base64": r"eyJ[\w+/-]{12,}(?:[.=][\w=-]*){0,5}",
    "Linear, Notion": r"lin_(?:api|oauth)_[A-Za-z0-9]{20,}|ntn_[A-Za-z0-9]{20,}|secret_[A-Za-z0-9]{43}",
    "Mailchimp, Mailgun": r"key-[0-9a-f]{32}(?![\w-])",
    "Mapbox": r"pk\.eyJ[\w.-]{20,}|sk\.eyJ[\w.-]{20,}",
    "New Relic": r"NR(?:AK|JS|II|RA|IQ|BR)-[\w-]{12,}",
    "npm, NuGet, PyPI, RubyGems": r"npm_[A-Za-z0-9]{20,}|oy2[a-z0-9]{43}|pypi-Ag[\w-]{16,}|rubygems_[a-f0-9]{20,}",
    "Octopus Deploy": r"API-[A-Z0-9]{26}",
    "OpenShift": r"sha256~[\w-]{20,}",
    "PASETO": r"v[1-4]\.(?:local|public)\.[\w-]{20,}",
    "PlanetScale, Prefect, Pulumi": r"pscale_(?:tkn|oauth|pw)_[\w=.-]{16,}|pnu_[A-Za-z0-9]{20,}|pul-[a-f0-9]{32,}",
    "Postman, ReadMe, Scalingo": r"PMAK-[a-fA-F0-9-]{24,}|rdme_[a-z0-9]{32,}|tk-us-[\w-]{32,}",
    "SendGrid, Brevo": r"SG\.[\w-]{12,}\.[\w-]{12,}|xkeysib-[\w-]{32,}",
    "Sentry": r"sntr(?:ys|yu)_[\w+/=]{20,}",
    "Shippo, Shopify": r"shippo_(?:live|test)_[A-Za-z0-9]{16,}|shp(?:at|ca|pa|ss)_[A-Za-z0-9]{16,}",
    "Slack": r"xox[a-z](?:\.xox[a-z])?-[\w-]{8,}|xapp-\d-[\w-]{12,}",
    "SonarQube, Sourcegraph": r"sq[upa]_[a-z0-9]{32,}|sgp_[A-Za-z0-9_]{32,}",
    "Square": r"sq0(?:atp|csp|idp)-[\w-]{16,}|EAAA[\w-]{40,}",
    "Stripe": r"sk_(?:live|test|prod)_[A-Za-z0-9]{10,}|rk_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/]{16,}",
    "Supabase": r"sbp_[a-f0-9]{32,}|sb_secret_[\w-]{16,}",
    "Tailscale, Trello, Typeform": r"tskey-[a-z]+-[\w-]{12,}|ATTA[a-f0-9]{32,}|tfp_[\w.=-]{32,}",
    "Tencent, Yandex": r"AKID[A-Za-z0-9]{13,}|AQVN[\w-]{30,}|t1\.[\w-]{4,}={0,2}\.[\w-]{40,}|YC[\w-]{38}(?![\w-])",
    "Twilio": r"SK[0-9a-fA-F]{32}(?![0-9A-Za-z])",
    "Amazon Web Services, sessions": r"F[wQ]oGZXIvYXdzE[\w+/-]{20,}={0,2}|IQoJb3JpZ2luX2Vj[\w+/-]{20,}={0,2}",
    "Cerebras, Firecrawl, LangSmith, Tavily": r"csk-[a-z0-9]{40,}|fc-[a-f0-9]{32}(?![\w-])"
    r"|lsv2_(?:pt|sk)_[a-f0-9]{32}\w{0,20}"
    r"|tvly-[\w-]{24,}",
    "Neon, Netlify, Render, Resend, Snyk, Vercel": r"napi_[A-Za-z0-9]{40,}|nfp_[A-Za-z0-9]{30,}|rnd_[A-Za-z0-9]{24,}"
    r"|re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{20,}|snyk_[us]at\.[\w.-]{24,}|vc[pka]_[A-Za-z0-9]{40,}",
    "NATS": r"S[UAONCX][A-Z2-7]{56}(?![A-Z0-9])",
    "Confluent, Okta": r"cflt[A-Za-z0-9+/]{40,}|SSWS[ ]+[\w-]{20,}",
    "K3s, RKE2": r"K10[a-f0-9]{64}::[^\s\"',]{4,}",
    "Discord": "|".join(rf"{first}[A-Za-z\d]{{23,27}}\.[\w-]{{6}}\.[\w-]{{27,}}" for first in "MNO"),
    "age": r"AGE-(?:SECRET-KEY|PLUGIN-[A-Z0-9]{1,30})-1[A-Z0-9]{20,}",
    "a whole file that is packed": r"H4sIA[\w+/-]{24,}={0,2}|UEsDB[\w+/-]{40,}={0,2}|QlpoO[\w+/-]{40,}={0,2}"
    r"|KLUv/[\w+/-]{40,}={0,2}|eJ[wzyx][\w+/-]{60,}={0,2}",
}
_TOKENS_BY_HINT = {  # forms without a fixed beginning, by a text that is in each of them
    "Q~": r"[\w~.]{3}\dQ~[\w~.-]{24,}",  # Azure
    ".atlasv1.": r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{20,}",  # HashiCorp Terraform
    "-us": r"[0-9a-f]{32}-us\d{1,2}(?![\w-])",  # Mailchimp
    "NRAL": r"[A-Fa-f0-9]{36}NRAL",  # New Relic
    ":A": r"\d{5,16}:A[\w-]{30,}",  # Telegram
    # kubeadm; the name of an Event looks the same, and ends in hexadecimal digits
    ".": r"[a-z0-9]{6}\.(?=[a-f0-9]{0,15}[g-z])(?=[a-z]{0,15}\d)[a-z0-9]{16}(?![\w.-])",
    "/": r"\d/\d{10,20}:[a-f0-9]{32}",  # Asana
    "==": r"[A-Za-z0-9+/]{86}==(?!=)",  # a storage key of Azure
}
_HASHES = (  # hashes of passwords: a short password can be guessed from its hash
    r"\$(?:2[abxy]?|1|5|6|7|y|gy|apr1|sha1|md5|argon2(?:id|i|d)|scrypt|bcrypt-sha256|pbkdf2[\w-]{0,20})\$[\w./$=,+-]{8,}"
    r"|\{(?:S?SHA(?:256|512)?|S?MD5|CRYPT|PBKDF2[\w-]{0,20}|SCRAM[\w-]{0,20}|ARGON2|PLAIN)\}[^\s\"',;]{6,}"
    r"|SCRAM-SHA-256\$[\w+/=$:]{20,}|pbkdf2_sha\d+\$[\w+/=$.-]{16,}"
)
_HOOKS = (  # addresses that give access to anybody who knows them
    r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/",
    r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/",
    r"[\w.-]{1,80}webhook\.office\.com/",
    r"outlook\.office(?:365)?\.com/webhook/",
    r"hooks\.zapier\.com/hooks/",
    r"hook\.[\w.]{1,20}make\.com/",
    r"open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/",
    r"api\.telegram\.org/bot",
    r"events\.pagerduty\.com/integration/",
    r"hc-ping\.com/",
    r"[\w.-]{1,80}/hooks/(?=[\w/-]{16})",  # Mattermost, Rocket.Chat
    r"[\w.-]{1,80}/integrations/v1/",  # Grafana OnCall
    r"maker\.ifttt\.com/",
    r"hooks\.glip\.com/webhook/",
    r"chat\.googleapis\.com/v1/spaces/",
    r"[\w.-]{1,80}/webhook/(?=[0-9a-f-]{32})",  # n8n
    r"[\w.-]{1,80}/api/webhooks?/(?=[\w/-]{16})",
)


def _alternatives(forms: str) -> Iterator[str]:
    """Yield the parts that `|` separates outside of groups."""
    depth, start = 0, 0
    for at, letter in enumerate(forms):
        depth += (letter == "(") - (letter == ")")
        if letter == "|" and depth == 0:
            yield forms[start:at]
            start = at + 1
    yield forms[start:]


def _by_first_letter() -> str:
    """Return one expression of all forms that skips a letter at once if no form begins with it."""
    groups: dict[str, list[str]] = {}
    for forms in _TOKENS.values():
        for each in _alternatives(forms):
            groups.setdefault(each[0], []).append(each[1:])
    branches = "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in groups.items())
    return f"(?<![A-Za-z0-9])(?=[{''.join(groups)}])(?:{branches})"


def beginnings() -> frozenset[str]:
    """Return texts with one of which each token begins that has a fixed beginning."""
    forms = (each for forms in _TOKENS.values() for each in _alternatives(forms))
    return frozenset(text for form in forms for text in _beginnings(parser.parse(form))[0])


def _few_letters(parsed: Any) -> list[str]:
    """Return the letters of a class; none if it is not a list of letters and ranges."""
    letters = list[str]()
    for operation, argument in parsed:
        if operation is constants.LITERAL:
            letters.append(chr(argument))
        elif operation is constants.RANGE:
            letters += map(chr, range(argument[0], argument[1] + 1))
        else:
            return []
    return letters


def _beginnings(parsed: Any) -> tuple[list[str], bool]:
    """Return the texts with which matches of an expression can begin, and whether they are the whole matches."""
    texts = [""]
    for operation, argument in parsed:
        if operation is constants.LITERAL:
            more, whole = [chr(argument)], True
        elif operation is constants.SUBPATTERN:
            more, whole = _beginnings(argument[-1])
        elif operation is constants.BRANCH:
            branches = [_beginnings(each) for each in argument[1]]
            more, whole = [text for texts, _ in branches for text in texts], all(whole for _, whole in branches)
        elif operation is constants.IN and 0 < len(letters := _few_letters(argument)) < 16:
            more, whole = letters, True
        else:
            return texts, False
        texts = [text + each for text in texts for each in more]
        if not whole:
            return texts, False
    return texts, True


_TOKEN = re.compile(_by_first_letter())
_HINTED = {hint: re.compile(rf"(?<![A-Za-z0-9]){form}") for hint, form in _TOKENS_BY_HINT.items()}
_JSON = re.compile(r"eyJ[\w+/-]{16,}(?:[.=][\w=-]*){0,5}")  # also after other letters
_HASH = re.compile(_HASHES)
_HOOK = re.compile(r"(://)(?:" + "|".join(_HOOKS) + r")[^\s\"'<>\\]+")
_KEY = re.compile(
    r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----).*?(-----END [A-Z0-9 ]{0,40}-----|\Z)", re.DOTALL
)
_PUTTY = re.compile(r"(PuTTY-User-Key-File-\d).*", re.DOTALL)
_VAULT = re.compile(r"(\$ANSIBLE_VAULT;[\w.;-]{1,200})(?:\s{1,80}[0-9a-f]{16,})+")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{8,}={0,2}")
_SHORT = 14  # characters; no form is shorter
_LONGEST = 1 << 20  # characters; longer Base64 is not decoded


def without_forms(text: str) -> str:
    """Return the text without credentials that are recognised by their form."""
    if len(text) < _SHORT:
        return text
    if "-----BEGIN" in text:
        text = _KEY.sub(rf"\1{BY_FORM}\2", text)
    if "PuTTY-User-Key" in text:
        text = _PUTTY.sub(rf"\1{BY_FORM}", text)
    if "://" in text:
        text = _HOOK.sub(rf"\1{BY_FORM}", text)
    if "$ANSIBLE_VAULT" in text:
        text = _VAULT.sub(rf"\1 {BY_FORM}", text)
    if "$" in text or "{" in text:
        text = _HASH.sub(BY_FORM, text)
    text = _TOKEN.sub(BY_FORM, text)
    for hint, form in _HINTED.items():
        if hint in text:
            text = form.sub(BY_FORM, text)
    if "eyJ" in text:
        text = _JSON.sub(BY_FORM, text)
    return text


def is_webhook(text: str) -> bool:
    """Return whether a text holds an address that gives access to anybody who knows it."""
    return _HOOK.search(text) is not None


def decode_base64(text: str) -> str | None:
    """Return the decoded text if all of the text is Base64 of printable text; None otherwise."""
    if not 16 <= len(text) <= _LONGEST or not _BASE64.match(text):
        return None
    if "\n" in text:  # base64(1) and PEM break lines
        text = "".join(text.split())
    if not _BASE64.fullmatch(text):
        return None
    text = text.rstrip("=")
    try:
        decoded = b64decode(text + "=" * (-len(text) % 4)).decode()
    except (NotBase64, UnicodeDecodeError):
        return None
    return decoded if all(letter.isprintable() or letter in "\r\n\t" for letter in decoded) else None

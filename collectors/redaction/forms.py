"""Recognise credentials by their form, at any place in a text. It does no I/O.

The forms are facts that their issuers publish: how a credential begins, which letters it may have, and how long it is.
Each is in the table of the place that it comes from. `deploy/check_forms.py` finds forms of maintained lists that are
missing here. Left out are those that need a word such as the issuer's name beside the credential, and those that match
every hash of 32 or 40 digits. Lengths are lower bounds, so that a form that grows by some letters is still recognised.

Every expression takes linear time: each begins with letters of its own, and has no repetition within another.
"""

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from collectors.redaction.values import has
from timeline.core.masks import BY_FORM

# None of these begins after a letter or digit.
_OF_GITLEAKS = {  # github.com/gitleaks/gitleaks, config/gitleaks.toml of commit b58d3f10, July 2026
    "1Password": r"ops_eyJ[\w+/=]{20,}|A3-[A-Z0-9]{6}-[A-Z0-9]{5,11}-[A-Z0-9-]{11,30}",
    "Adobe": r"p8e-[A-Za-z0-9]{32}",
    "age": r"AGE-(?:SECRET-KEY|PLUGIN-[A-Z0-9]{1,30})-1[A-Z0-9]{20,}",
    "Airtable": r"pat[A-Za-z0-9]{14}\.[a-f0-9]{32,}",
    "Alibaba Cloud": r"LTAI[A-Za-z0-9]{12,}",
    "Amazon Web Services": r"A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[A-Z0-9]{12,}|ABSK[A-Za-z0-9+/]{40,}={0,2}"
    r"|bedrock-api-key-[\w+/=]{16,}",
    "Anthropic, OpenAI": r"sk-(?:ant|proj|svcacct|admin|or|lf)-[\w-]{16,}|sk-[A-Za-z0-9]{32,}",
    "Artifactory": r"AKC[A-Za-z0-9]{20,}|cmVmd[A-Za-z0-9]{50,}",
    "Atlassian": r"AT(?:ATT|CTT|STT|BB)[\w+/=-]{12,}|BBDC-[\w+/]{16,}",
    "Authress": r"sc_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][\w.+/=-]{30,}"
    r"|ext_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][\w.+/=-]{30,}"
    r"|scauth_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][\w.+/=-]{30,}"
    r"|authress_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][\w.+/=-]{30,}",
    "Beamer": r"b_[a-z0-9=_-]{44}",
    "ClickHouse": r"4b1d[A-Za-z0-9]{38}(?![A-Za-z0-9])",
    "Clojars": r"CLOJARS_[a-z0-9]{40,}",
    "Cloudflare": r"v1\.0-[A-Za-z0-9]{24}-[A-Za-z0-9]{60,}",
    "Databricks": r"dapi[a-f0-9]{32}(?:-\d)?",
    "Defined Networking": r"dnkey-[a-z0-9=_-]{20,}",
    "DigitalOcean": r"do[opr]_v1_[a-f0-9]{16,}",
    "Doppler": r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,}",
    "Dropbox": r"sl\.(?:u\.)?[\w=-]{60,}",
    "Duffel": r"duffel_(?:test|live)_[\w=-]{16,}",
    "Dynatrace": r"dt0[a-z]\d\d\.[A-Za-z0-9]{16,}\.[A-Za-z0-9]{16,}",
    "EasyPost": r"EZ[AT]K[A-Za-z0-9]{40,}",
    "Facebook": r"EAA[A-Za-z0-9]{60,}",
    "Flutterwave": r"FLW(?:SEC|PUB)K(?:_TEST)?-[A-Za-z0-9]{12,}",
    "Fly.io": r"fo1_[\w-]{20,}|fm[12][ar]?_[\w+/]{40,}={0,3}",
    "Frame.io": r"fio-u-[\w=-]{40,}",
    "GitHub": r"gh[pousr]_[A-Za-z0-9]{12,}|github_pat_\w{12,}",
    "GitLab": r"gl(?:pat|dt|rt|ft|ptt|soat|cbt|imt|ffct|agent|oas|wt|rtr)-[\w.-]{12,}|GR1348941[\w-]{16,}"
    r"|_gitlab_session=[0-9a-z]{16,}",
    "GoCardless, Lob": r"live_[\w=-]{35,}|test_[a-f0-9]{35}|test_pub_[a-f0-9]{31}",
    "Google": r"AIza[\w-]{30,}",
    "Grafana": r"gl(?:c|sa)_[\w+/]{20,}={0,3}",
    "Harness": r"pat\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}|sat\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}",
    "HashiCorp Vault": r"hv[sbr]\.[\w-]{12,}|s\.[A-Za-z0-9]{24}(?![\w.-])|b\.[A-Za-z0-9]{24}(?![\w.-])",
    "Heroku": r"HRKU-[\w-]{20,}",
    "Hugging Face": r"hf_[A-Za-z0-9]{20,}|api_org_[A-Za-z0-9]{20,}",
    "Infracost": r"ico-[A-Za-z0-9]{32}",
    "Intra42": r"s-s4t2(?:ud|af)-[a-f0-9]{64}|u-s4t2(?:ud|af)-[a-f0-9]{64}",
    "JSON Web Token, any JSON in Base64": r"eyJ[\w+/-]{12,}(?:[.=][\w=-]*){0,5}",
    "the same in Base64 once more": r"ZXlK[\w+/-]{20,}={0,2}",
    "Linear": r"lin_(?:api|oauth)_[A-Za-z0-9]{20,}",
    "Mailchimp, Mailgun": r"key-[0-9a-z]{32,}(?![\w-])|pubkey-[0-9a-f]{32}(?![\w-])",
    "New Relic": r"NR(?:AK|JS|II|RA|IQ|BR)-[\w-]{12,}",
    "Notion": r"ntn_[A-Za-z0-9]{20,}",
    "npm": r"npm_[A-Za-z0-9]{20,}",
    "Octopus Deploy": r"API-[A-Z0-9]{26}",
    "OpenShift": r"sha256~[\w-]{20,}",
    "Perplexity": r"pplx-[A-Za-z0-9]{20,}",
    "Plaid": r"access-(?:sandbox|development|production)-[0-9a-f-]{36}",
    "PlanetScale": r"pscale_(?:tkn|oauth|pw)_[\w=.-]{16,}",
    "Postman": r"PMAK-[A-Za-z0-9-]{24,}",
    "Prefect": r"pnu_[A-Za-z0-9]{20,}",
    "Pulumi": r"pul-[a-z0-9]{32,}",
    "PyPI": r"pypi-Ag[\w-]{16,}",
    "ReadMe": r"rdme_[a-z0-9]{32,}",
    "RubyGems": r"rubygems_[A-Za-z0-9]{20,}",
    "Scalingo": r"tk-us-[\w-]{32,}",
    "SendGrid, Brevo": r"SG\.[\w-]{12,}\.[\w-]{12,}|SG\.[\w=.-]{60,}|xkeysib-[\w-]{32,}",
    "Sentry": r"sntr(?:ys|yu)_[\w+/=]{20,}",
    "SettleMint": r"sm_(?:aat|pat|sat)_[A-Za-z0-9]{16}",
    "Shippo": r"shippo_(?:live|test)_[A-Za-z0-9]{16,}",
    "Shopify": r"shp(?:at|ca|pa|ss)_[A-Za-z0-9]{16,}",
    "Slack": r"xox[a-z](?:\.xox[a-z])?-[\w-]{9,}|xapp-\d-[\w-]{12,}",
    "SonarQube": r"sq[upa]_[a-z0-9=_-]{32,}",
    "Sourcegraph": r"sgp_[A-Za-z0-9_]{32,}",
    "Square": r"sq0[a-z]{3}-[\w-]{16,}|EAAA[\w+=-]{22,}",
    "Stripe": r"sk_(?:live|test|prod)_[A-Za-z0-9]{10,}|rk_(?:live|test|prod)_[A-Za-z0-9]{10,}",
    "Twilio": r"SK[0-9a-fA-F]{32}(?![0-9A-Za-z])",
    "Twitter": r"AAAAAAAAAAAAAAAAAAAAA[A-Za-z0-9]{20,}%[A-Za-z0-9%]{20,}",
    "Typeform": r"tfp_[\w.=-]{32,}",
    "Yandex": r"AQVN[\w-]{30,}|t1\.[\w-]{4,}={0,2}\.[\w-]{40,}|YC[\w-]{38}(?![\w-])",
}
_OF_DETECT_SECRETS = {  # github.com/Yelp/detect-secrets, plugins of commit 5e14193, April 2026
    "Discord": "|".join(rf"{first}[\w-]{{23,27}}\.[\w-]{{6}}\.[\w-]{{27,}}" for first in "MNO"),
}
_OF_TRUFFLEHOG = {  # github.com/trufflesecurity/trufflehog, detectors of commit 3ab759fef, August 2026
    "Adafruit IO": r"aio_[A-Za-z0-9]{24,}",
    "Amazon AppSync": r"da2-[a-z0-9]{26}",
    "Apify": r"apify_api_[A-Za-z0-9_-]{20,}",
    "Bannerbear, BestTime, dfuse": r"bb_(?:pr|ma)_[a-f0-9]{30}|pri_[a-f0-9]{32}|web_[0-9a-z]{32}",
    "Buildkite, CircleCI": r"bk(?:ua|ct|aj)_[A-Za-z0-9]{20,}|CCIP(?:AT|RJ)_[\w-]{16,}",
    "Checkout.com, Column": r"cus_[A-Za-z0-9]{26,}|test_[A-Za-z0-9]{27}(?![\w-])|live_[A-Za-z0-9]{27}(?![\w-])",
    "Close": r"api_[A-Za-z0-9]{16,}\.[A-Za-z0-9]{16,}|api_[A-Za-z0-9]{40,}",
    "Cloudflare": r"cf[ua]t_[A-Za-z0-9]{40,}|cfk_[A-Za-z0-9]{40,}",
    "Contentful": r"CFPAT-[\w-]{20,}",
    "ConvertAPI, Notion": r"secret_[A-Za-z0-9]{16,}(?![\w-])",
    "Docker": r"dckr_(?:pat|oat)_[\w-]{16,}",
    "Endor Labs": r"endr\+[A-Za-z0-9-]{16}",
    "Figma": r"figd_[\w-]{16,}|fig[a-z]{1,2}_[\w=-]{40,}",
    "Fleetbase, Flexport": r"flb_(?:live|test)_[A-Za-z0-9]{20}|shltm_[\w-]{40}",
    "FullStory": r"na1\.[A-Za-z0-9+/]{100}",
    "Google": r"ya29\.[\w.-]{12,}|GOCSPX-[\w-]{12,}|1//0[\w-]{20,}",
    "Groq, Replicate, xAI": r"gsk_[A-Za-z0-9]{20,}|r8_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9_]{20,}",
    "HubSpot": r"pat-(?:eu|na)\d-[A-Za-z0-9-]{36}",
    "Langfuse": r"pk-lf-[0-9a-f-]{36}|sk-lf-[0-9a-f-]{36}",
    "LangSmith": r"lsv2_(?:pt|sk)_[a-f0-9]{32}\w{0,20}",
    "Mapbox": r"pk\.eyJ[\w.-]{20,}|sk\.eyJ[\w.-]{20,}",
    "Netlify": r"nfp_[A-Za-z0-9]{30,}",
    "New Relic": r"eu01xx[0-9a-f]{26,}|AA[0-9a-f]{40}-NRMA",
    "NVIDIA": r"nvapi-[\w-]{16,}",
    "Pagar.me, PubNub": r"ak_live_[A-Za-z0-9]{20,}|sub-c-[0-9a-z-]{36}|pub-c-[0-9a-z-]{36}|sec-c-[\w-]{36,}",
    "pganalyze, Photoroom": r"pgar_[\w-]{20,}|sk_pr_[A-Za-z0-9_]{30,}",
    "Pinecone": r"pcsk_[A-Za-z0-9_]{16,}",
    "Portainer, PostHog": r"ptr_[A-Za-z0-9/+=-]{20,}|ph[cx]_[\w-]{30,}",
    "Ramp, Razorpay": r"ramp_(?:id|sec)_[A-Za-z0-9]{20,}|rzp_(?:live|test)_[A-Za-z0-9]{14}",
    "Robinhood, Rootly": r"rh-api-[0-9a-fA-F-]{36}|rootly_[a-f0-9]{32,}",
    "Salad, Salesforce": r"salad_cloud_[A-Za-z0-9_]{20,}|3MVG9[\w.+/=]{60,}|5AEP861[\w.+/=]{60,}",
    "Sonar, SonarCloud": r"sqco_[A-Za-z0-9]{40,}",
    "Sourcegraph Cody, Spectral": r"slk_[a-f0-9]{64}|spu-[a-z0-9]{32}",
    "Smooch": r"act_[a-z0-9]{24}(?![\w-])",
    "Stripe": r"pi_[A-Za-z0-9]{16,}_secret_[A-Za-z0-9]{16,}|pk_live_[A-Za-z0-9]{20,}",
    "Supabase": r"sbp_[a-z0-9]{32,}",
    "Tailscale": r"tskey-[a-z]+-[\w-]{12,}",
    "Teamwork, Telnyx": r"tkn\.v1_[A-Za-z0-9]{40,}={0,2}|KEY[A-Za-z0-9]{20}[\w-]{30,}",
    "TruffleHog": r"thog-(?:key|secret)-[0-9a-f]{16,}",
    "Ubidots": r"BBFF-[A-Za-z0-9]{30}",
    "Zoho": r"1000\.[a-f0-9]{32}\.[a-f0-9]{32}",
}
_OF_ISSUERS = {  # what the issuer's own documentation or source says
    "Amazon Web Services, sessions": r"F[wQ]oGZXIvYXdzE[\w+/-]{20,}={0,2}|IQoJb3JpZ2luX2Vj[\w+/-]{20,}={0,2}",
    # bitwarden.com/help/access-tokens
    "Bitwarden": r"0\.[0-9a-f]{8}-[0-9a-f-]{27}\.[A-Za-z0-9]{20,}(?::[\w+/]{20,}={0,2})?",
    "Braintree, PayPal": r"access_token\$(?:production|sandbox)\$[a-z0-9]{8,}\$[a-f0-9]{16,}",
    "Causeline": r"causeline_[\w-]{40,}",  # see dashboard.access.tokens.tokens
    "Cerebras": r"csk-[a-z0-9]{20,}",  # inference-docs.cerebras.ai
    "Confluent": r"cflt[A-Za-z0-9+/]{40,}",  # docs.confluent.io/cloud/current/security/authenticate
    "Firecrawl": r"fc-[a-f0-9]{32}(?![\w-])",  # docs.firecrawl.dev
    "Fireworks": r"fw_[A-Za-z0-9]{16,}",  # docs.fireworks.ai
    # infisical.com/docs/documentation/platform/token
    "Infisical": r"st\.[A-Za-z0-9]{16,}\.[A-Za-z0-9]{16,}\.[A-Za-z0-9]{16,}",
    "Jina": r"jina_[A-Za-z0-9_-]{20,}",  # jina.ai/api-dashboard
    "K3s, RKE2": r"K10[a-f0-9]{64}::[^\s\"',]{4,}",  # docs.k3s.io/cli/token
    "minisign, signify": r"RWRTY0Iy[\w+/]{20,}={0,2}|RWRCS[\w+/]{20,}={0,2}",  # jedisct1.github.io/minisign
    "NATS": r"S[UAONCX][A-Z2-7]{56}(?![A-Z0-9])",  # docs.nats.io/running-a-nats-service/configuration/securing_nats
    "Neon": r"napi_[A-Za-z0-9]{40,}",  # neon.com/docs/manage/api-keys
    "NuGet": r"oy2[a-z0-9]{43}",  # learn.microsoft.com/nuget/nuget-org/publish-a-package
    "Okta": r"SSWS[ ]+[\w-]{20,}",  # developer.okta.com/docs/guides/create-an-api-token
    # github.com/paseto-standard/paseto-spec
    "PASETO": r"v[1-4]\.(?:local|public)\.[\w-]{20,}|k[1-4]\.(?:local|secret)\.[\w-]{20,}",
    "Render, Resend": r"rnd_[A-Za-z0-9]{24,}|re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{20,}",  # render.com, resend.com
    "Snyk": r"snyk_[us]at\.[\w.-]{24,}",  # docs.snyk.io
    "Stripe, webhooks": r"whsec_[A-Za-z0-9+/]{16,}",  # docs.stripe.com/webhooks
    "Supabase": r"sb_secret_[\w-]{16,}",  # supabase.com/docs/guides/api/api-keys
    "Tavily": r"tvly-[\w-]{24,}",  # docs.tavily.com
    "Tencent Cloud": r"AKID[A-Za-z0-9]{13,}",  # cloud.tencent.com/document/product/598
    "Together": r"tgp_v1_[\w-]{16,}",  # docs.together.ai
    "Trello": r"ATTA[a-f0-9]{32,}",  # developer.atlassian.com/cloud/trello
    "Vercel": r"vc[pka]_[A-Za-z0-9]{40,}",  # vercel.com/docs/rest-api
    "a whole file that is packed": r"H4sIA[\w+/-]{24,}={0,2}|UEsDB[\w+/-]{40,}={0,2}|QlpoO[\w+/-]{40,}={0,2}"
    r"|KLUv/[\w+/-]{40,}={0,2}|eJ[wzyx][\w+/-]{60,}={0,2}",
}
_TOKENS = (_OF_GITLEAKS, _OF_DETECT_SECRETS, _OF_TRUFFLEHOG, _OF_ISSUERS)
_TOKENS_BY_HINT = {  # forms without a fixed beginning, by a text that is in each of them
    "Q~": r"[\w~.]{3}\dQ~[\w~.-]{24,}",  # Azure, of gitleaks
    "JQQJ99": r"[A-Za-z0-9]{20,80}JQQJ99[A-Za-z0-9]{8,}",  # Azure, of learn.microsoft.com/azure/devops
    "AZDO": r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}",  # Azure DevOps, of the same
    **{  # keys of Azure that name their service, from github.com/microsoft/security-utilities
        mark: rf"[A-Za-z0-9+/]{{33,76}}{re.escape(mark)}[A-Za-z0-9+/]{{4,8}}={{0,2}}"
        for mark in [
            "AzSe",
            "AzFu",
            "AzCa",
            "AIoT",
            "APIM",
            "ACDb",
            "+ASb",
            "+AEh",
            "+ARm",
            "+ACR",
            "+ABa",
            "+AMC",
            "+ASt",
        ]
    },
    ".atlasv1.": r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{20,}",  # HashiCorp Terraform, of gitleaks
    "-us": r"[0-9a-f]{32}-us\d{1,2}(?![\w-])",  # Mailchimp, of gitleaks
    "NRAL": r"[A-Za-z0-9]{36}NRAL",  # New Relic, of docs.newrelic.com
    "-NRMA": r"[A-Za-z0-9]{42}-NRMA",  # New Relic, of trufflehog
    "_mmk": r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk",  # MaxMind, of gitleaks
    "AAAAAAAAAA": r"[A-Za-z0-9]{11}AAAAAAAAAA[\w=-]{43}",  # Dropbox, of gitleaks
    "T3BlbkFJ": r"[\w-]{20,200}T3BlbkFJ[\w-]{20,}",  # OpenAI, of gitleaks
    ":A": r"\d{5,16}:A[\w-]{30,}",  # Telegram, of gitleaks
    # kubeadm; the name of an Event looks the same, and ends in hexadecimal digits
    ".": r"[a-z0-9]{6}\.(?=[a-f0-9]{0,15}[g-z])(?=[a-z]{0,15}\d)[a-z0-9]{16}(?![\w.-])",
    "/": r"\d/\d{10,20}:[a-f0-9]{32}",  # Asana, of developers.asana.com
    "==": r"[A-Za-z0-9+/]{86}==(?!=)",  # a storage key of Azure, of detect-secrets
}
_HASHES = (  # hashes of passwords: a short password can be guessed from its hash
    r"\$(?:2[abxy]?|1|5|6|7|y|gy|apr1|sha1|md5|argon2(?:id|i|d)|scrypt|bcrypt-sha256|pbkdf2[\w-]{0,20})\$[\w./$=,+-]{11,}"
    r"|\{(?:S?SHA(?:256|512)?|S?MD5|CRYPT|PBKDF2[\w-]{0,20}|SCRAM[\w-]{0,20}|ARGON2|PLAIN)\}[^\s\"',;]{9,}"
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


def _all_tokens() -> Iterator[str]:
    return (forms for table in _TOKENS for forms in table.values())


def _by_first_letter() -> str:
    """Return one expression of all forms that skips a letter at once if no form begins with it."""
    groups: dict[str, list[str]] = {}
    for forms in _all_tokens():
        for each in _alternatives(forms):
            groups.setdefault(each[0], []).append(each[1:])
    branches = "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in groups.items())
    return f"(?<![A-Za-z0-9])(?=[{''.join(groups)}])(?:{branches})"


def beginnings() -> frozenset[str]:
    """Return the texts with which tokens begin that have a fixed beginning: each begins with one of these."""
    forms = (each for forms in _all_tokens() for each in _alternatives(forms))
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
_HOOK = re.compile(r"(://|(?<![\w./-])(?=hooks?\.))(?:" + "|".join(_HOOKS) + r")[^\s\"'<>\\]+")
_KEY = re.compile(
    r"(?i)(-{4,6}\s?BEGIN [A-Z0-9 ]{0,60}(?:PRIVATE KEY|SECRET KEY|STATIC KEY V1|KEY SEED)(?: BLOCK)?\s?-{4,6})"
    r"(?s:.*?)(-{4,6}\s?END [A-Z0-9 ]{0,60}-{4,6}|\Z)"
)
_PUTTY = re.compile(r"(PuTTY-User-Key-File-\d).*", re.DOTALL)
_VAULT = re.compile(r"(\$ANSIBLE_VAULT;[\w.;-]{1,200})(?:\s{1,80}[0-9a-f]{16,})+")
# Letters and digits after the prefix of an issuer that is in no table.
_AFTER_PREFIX = re.compile(r"(?<=[A-Za-z0-9][_-])[A-Za-z0-9]{20,256}+(?![\w+=-])")
_CHANGES = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[a-z0-9]|(?<=[0-9])[A-Za-z]")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{8,}={0,2}")
_SHORT = 14  # characters; no form is shorter
_LONGEST = 1 << 20  # characters; longer Base64 is not decoded


def without_forms(text: str) -> str:
    """Return the text without credentials that are recognised by their form."""
    if len(text) < _SHORT:
        return text
    if has(text, "----"):
        text = _KEY.sub(rf"\1{BY_FORM}\2", text)
    if has(text, "PuTTY-User-Key"):
        text = _PUTTY.sub(rf"\1{BY_FORM}", text)
    if has(text, "://", "hook"):
        text = _HOOK.sub(rf"\1{BY_FORM}", text)
    if has(text, "$ANSIBLE_VAULT"):
        text = _VAULT.sub(rf"\1 {BY_FORM}", text)
    if has(text, "$", "{"):
        text = _HASH.sub(BY_FORM, text)
    text = _TOKEN.sub(BY_FORM, text)
    for hint, form in _HINTED.items():
        if has(text, hint):
            text = form.sub(BY_FORM, text)
    if has(text, "eyJ"):
        text = _JSON.sub(BY_FORM, text)
    if has(text, "_", "-"):
        text = _AFTER_PREFIX.sub(_without_random, text)
    return text


def _without_random(match: re.Match[str]) -> str:
    return BY_FORM if is_random(match[0]) else match[0]


def is_random(word: str) -> bool:
    """Return whether small and capital letters and digits alternate in a word as chance would have it.

    Names of objects have no capital letters, and words that are written together have few changes.
    """
    if word.islower() or word.isupper() or word.isalpha():
        return False
    mixed = any(map(str.isdigit, word)) and any(map(str.isupper, word)) and any(map(str.islower, word))
    return mixed and 3 * len(_CHANGES.findall(word)) > len(word)


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

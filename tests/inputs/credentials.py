"""Credentials are listed here as they look in manifests, configurations and messages of well-known programs. `M` is
the marker in them. tests/unit/redaction plants each in ConfigMaps, annotations, messages and arguments, from which it
must be removed.

Most are lines of the files in tests/data/planted, in which a control picture stands for its character: ␊ ends a line.
"""

from base64 import b64encode, encodebytes

import orjson

from tests import DATA

M = "pl4ntedQ7"
_CHARACTERS = {0x2400 + code: code for code in range(33)}


def planted(name: str) -> list[str]:
    """Return the lines of one of the files."""
    lines = (DATA / "planted" / name).read_text(encoding="utf-8").splitlines()
    return [line.translate(_CHARACTERS) for line in lines]


def named(name: str) -> dict[str, str]:
    """Return what stands on the lines of one of the files behind a name and a colon."""
    return dict(line.split(": ", 1) for line in planted(name))


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


TEXTS = named("texts.list")
FILES = named("files.list") | {  # files of several lines, which are planted as they are and not inside other texts
    "ansible vault": "$ANSIBLE_VAULT;1.1;AES256\n" + M.encode().hex() * 3 + "\n",
    "base64 in yaml": f"a: 1\npayload: {encoded(f'x=1{chr(10)}db.password={M}{chr(10)}')}\nb: 2\n",
    "base64 of a key in yaml": f"x: {encoded(f'-----BEGIN PRIVATE KEY-----{chr(10)}{M}{chr(10)}')}\n",
    "base64 in a command": f"echo {encoded(f'user=a{chr(10)}password={M}{chr(10)}')} | base64 -d\n",
    "base64 of base64": encoded(encoded(f"a=1\npassword={M}\n")),
    "base64 in lines": encodebytes(f"a=1\npassword={M}\n{'x=1 ' * 40}".encode()).decode(),
}
BODIES = {name: orjson.loads(line) for name, line in named("bodies.list").items()}
"""Objects, by the name of the test. Redaction recognises their credentials by the fields around them."""
FORMS: dict[str, str] = {
    "GitHub": f"ghp_{M}{M}{M}{M}",
    "GitHub fine grained": f"github_pat_{M}{M}_{M}",
    "GitHub server": f"ghs_{M}{M}{M}{M}",
    "Causeline": f"causeline_{M}{M}{M}{M}_{M}-{M}",
    "GitLab": f"glpat-{M}-{M}xx",
    "AWS": "AKIAIOSFODNN7PL4NTED",
    "AWS temporary": "ASIAIOSFODNN7PL4NTED",
    "Slack bot": f"xoxb-123456789012-123456789012-{M}",
    "Slack user": f"xoxp-1-2-3-{M}",
    "Slack app": f"xapp-1-A1-2-{M}",
    "JWT": f"eyJhbGciOiJSUzI1NiJ9.eyJ{M}.{M}",
    "JWE": f"eyJhbGciOiJSUzI1NiJ9.{M}.{M}.{M}.{M}",
    "JWT behind letters": f"xeyJhbGciOiJSUzI1NiJ9.eyJ{M}.{M}",
    "npm": f"npm_{M}{M}{M}{M}",
    "PyPI": f"pypi-AgEIcHlwaS5vcmc{M}{M}",
    "Stripe": f"sk_live_{M}{M}",
    "Stripe restricted": f"rk_live_{M}{M}",
    "SendGrid": f"SG.{M}{M}.{M}{M}",
    "Google": f"AIza{M}{M}{M}{M}",
    "Google OAuth": f"ya29.{M}{M}",
    "Vault": f"hvs.{M}{M}{M}",
    "Vault of old": "s.PL4ntedabcdefghijklmnopq",
    "DigitalOcean": "dop_v1_" + "ab12" * 16,
    "Shopify": "shpat_" + "ab12" * 8,
    "age": f"AGE-SECRET-KEY-1{M.upper()}{M.upper()}{M.upper()}",
    "Twilio": "SK" + "0123456789abcdef" * 2,
    "Mailgun": "key-" + "0123456789abcdef" * 2,
    "Mailchimp": "0123456789abcdef" * 2 + "-us21",
    "Databricks": "dapi" + "0123456789abcdef" * 2,
    "Atlassian": f"ATATT3xFfGF0{M}{M}{M}",
    "Azure": f"abc8Q~{M}{M}{M}{M}"[:40],
    "Telegram": f"123456789:AA{M}{M}{M}{M}",
    "OpenAI": f"sk-proj-{M}{M}T3BlbkFJ{M}",
    "Hugging Face": f"hf_{M}{M}{M}{M}",
    "Docker": f"dckr_pat_{M}{M}{M}",
    "Grafana": f"glsa_{M}{M}{M}{M}_0123abcd",
    "Terraform": f"abcdefghij1234.atlasv1.{M}{M}{M}{M}{M}{M}{M}",
    "New Relic": f"NRAK-{M}{M}{M}",
    "OpenShift": f"sha256~{M}{M}{M}{M}{M}",
    "Linear": f"lin_api_{M}{M}{M}{M}",
    "PlanetScale": f"pscale_tkn_{M}{M}{M}{M}",
    "Tailscale": f"tskey-auth-{M}-{M}{M}",
    "Doppler": f"dp.pt.{M}{M}{M}{M}{M}",
    "an Azure storage key": "A" * 86 + "==",
    "a packed release": f"H4sIAAAAAAAA{M}{M}{M}{M}",
    "bootstrap of kubeadm": "abcdef.kx7rw0123456789q",
    "K3s": "K10" + "ab" * 32 + f"::server:{M}",
    "Okta": f"SSWS 00{M}{M}{M}",
    "AWS session": f"FwoGZXIvYXdzE{M}{M}{M}",
    "AWS session of STS": f"IQoJb3JpZ2luX2Vj{M}{M}{M}",
    "Confluent": f"cflt{M}{M}{M}{M}{M}{M}",
    "New Relic ingest": "0123456789abcdef" * 2 + "FFFFNRAL",
    "NATS": "SUA" + "ABCDEFG2" * 6 + "ABCDEFG",
    "age plugin": f"AGE-PLUGIN-YUBIKEY-1{M.upper()}{M.upper()}{M.upper()}",
    "LangSmith": "lsv2_pt_" + "ab12" * 8 + "_abcdef0123",
    "Cerebras": "csk-" + "ab12" * 12,
    "Tavily": f"tvly-{M}{M}{M}{M}",
    "Firecrawl": "fc-" + "ab12" * 8,
    "Resend": f"re_{M}_{M}{M}{M}{M}",
    "Neon": f"napi_{M}{M}{M}{M}{M}{M}{M}",
    "Vercel": f"vcp_{M}{M}{M}{M}{M}{M}{M}",
    "Netlify": f"nfp_{M}{M}{M}{M}{M}",
    "Render": f"rnd_{M}{M}{M}{M}",
    "Snyk": f"snyk_uat.{M}.{M}{M}{M}{M}",
    "Atlassian scoped": f"ATSTT3xFfGF0{M}{M}{M}",
    "NVIDIA": f"nvapi-{M}{M}-{M}{M}{M}",
    "Pinecone": f"pcsk_{M[:6]}_{M}{M}{M}",
    "Jina": f"jina_{M}{M}{M}{M}",
    "Together": f"tgp_v1_{M}-{M}{M}{M}",
    "Fireworks": f"fw_{M}{M}{M}",
    "Braintree": "access_token$production$" + "ab12" * 4 + "$" + "ab12" * 8,
    "Azure DevOps": f"{M}{M}{M}{M}{M}{M}JQQJ99{M}{M}ACAAAAAAAAAAAAASAZDO4abc",
    "Azure Functions": "ab12" * 11 + "AzFuABCDE9Q==",
    "Dropbox": f"sl.{M * 8}",
    "Dropbox, long-lived": "ab12ab12ab1AAAAAAAAAA" + "ab12" * 10 + "abc",
    "Infisical": "st." + ".".join(["ab12" * 6, "ab12" * 8, "ab12" * 8]),
    "Bitwarden": f"0.ec2c1d46-6a4b-4751-a310-af9601317f2d.{M}{M}{M}{M}:{M}{M}{M}==",
    "Plaid": "access-sandbox-de3ce8ef-33f8-452c-a685-8671031fc0f6",
    "MaxMind": "ab12AB_" + "ab12" * 7 + "a_mmk",
    "HubSpot": "pat-eu1-de3ce8ef-33f8-452c-a685-8671031fc0f6",
    "Langfuse": "sk-lf-de3ce8ef-33f8-452c-a685-8671031fc0f6",
    "minisign": f"RWRTY0Iy{M}{M}{M}",
    "Authress": "sc_abcde.ab12.acc-" + "ab12" * 3 + "." + "ab12" * 8,
    "SettleMint": "sm_pat_" + "ab12" * 4,
    "Postman of old": f"PMAK-{M}{M}{M}",
    "an issuer in no table": "acme_pk-a1B2c3D4e5F6g7H8i9J0k1",
    "a packed file": f"UEsDBBQAAAAIA{M}{M}{M}{M}{M}{M}",
}
_SPELLINGS = (  # names of credentials with other capitals, separators and widths, and in other languages
    "pAsSwOrD PassWord Pass-Word p.a.s.s.w.o.r.d dB_pAsSwOrD db.password aPiKeY APIKey Api_Key "
    "x-API-key API-KEY clIentSeCret CLIENTSECRET pinCode PIN_CODE pin-code PINCODE userPin "
    "Secret-Access_Key secretAccesskey ToKeN authTOKEN xsrf-token refresh.token PRIVATEKEY "
    "Private.Key ssh.key tlsKey TLS_KEY PASS-PHRASE passCode CREDENTIALS userCreds "
    "Authorization basicauth BASIC_AUTH ConnectionString conn_str HMAC-SECRET signingKey "
    "ENC_KEY encKey unseal_keys TOTP_SEED recovery_codes SharedAccessSignature "
    "storage_account_key dbpwd DBPASS mysqlpw SNMP_COMMUNITY presharedkey secretKeyBase bindPw "
    "algoliaKey FASTLY_KEY sentryDsn ｐａｓｓｗｏｒｄ ＡＰＩ＿ＫＥＹ ｔｏｋｅｎ contraseña CONTRASEÑA contrasenya "
    "clave senhaBanco mot_de_passe MDP Zugangsdaten geheimnis hasło heslo jelszó parolă şifre "
    "lösenord passord adgangskode salasana κωδικός ПАРОЛЬ секрет токен ключ_доступа гасло "
    "лозинка lozinka geslo slaptažodis parool 密码 密碼 口令 密钥 数据库密码 私钥 令牌 凭证 "
    "パスワード トークン 秘密鍵 暗証番号 "
    "認証情報 APIキー 비밀번호 암호 토큰 비밀키 كلمة_المرور סיסמה رمز_عبور पासवर्ड รหัสผ่าน mật_khẩu kata_sandi "
    "parolaChiave palavra-passe"
)
SPELLINGS = _SPELLINGS.split()
SPACED = (
    "API Key",
    "Private key",
    "Secret Access Key",
    "Client Secret",
    "mot de passe",
    "كلمة المرور",
    "mật khẩu",
    "Pin Code",
)
NOTATIONS = named("notations.list")  # of a name and a value in text

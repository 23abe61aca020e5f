"""These tests check how credentials are recognised: by names and by forms, in each notation. References to credentials
stay."""

import json
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors import redaction
from collectors.analysis import analyse
from collectors.formats import Limits, NotARecording, read
from collectors.redaction import Policy, budget, commands, field_names, forms, redact, redact_json
from collectors.redaction.entries import SHORT, entry_without_credentials
from collectors.redaction.objects import clean_text
from collectors.redaction.policy import PatternError, checked
from dashboard import environment
from tests import DATA, ROOT
from tests.credentials import BODIES, FILES, FORMS, NOTATIONS, SPACED, SPELLINGS, TEXTS, M
from tests.events import entries_of, event, pod
from tests.patience import processor_seconds
from tests.planted_shapes import OBJECTS, SHAPES
from tests.properties import examples, sampled
from timeline.core import masks
from timeline.core.entries import Entry
from timeline.core.masks import OWN
from timeline.core.secret_names import Grade, grade
from timeline.history.codec import line_of

SECRET_NAMES = [
    "password",
    "passwd",
    "pwd",
    "pass",
    "passphrase",
    "passcode",
    "db_password",
    "DB_PASS",
    "PGPASSWORD",
    "MYSQL_ROOT_PASSWORD",
    "dbPassword",
    "newPassword",
    "password2",
    "rootpw",
    "userPassword",
    "passwordValue",
    "secret",
    "client_secret",
    "clientSecret",
    "client-secret",
    "app.secret",
    "SECRET_KEY",
    "secretKey",
    "secretValue",
    "token",
    "tokens",
    "refreshToken",
    "access_token",
    "authToken",
    "authtoken",
    "tokenValue",
    "GITHUB_TOKEN",
    "token_prod",
    "apiKey",
    "api-key",
    "api_key",
    "apikey",
    "APIKEY",
    "x-api-key",
    "X-Api-Key",
    "accessKey",
    "access_key",
    "accountKey",
    "privateKey",
    "private_key",
    "secretAccessKey",
    "encryptionKey",
    "signing-key",
    "masterKey",
    "sharedKey",
    "licenseKey",
    "sshKey",
    "tls.key",
    "server.key",
    "jwtSecret",
    "credentials",
    "credential",
    "creds",
    "connectionString",
    "connection_string",
    "dsn",
    "psk",
    "otp",
    "hmacKey",
    "webhookToken",
    "cookieSecret",
    "dockerconfigjson",
    ".dockerconfigjson",
    ".dockercfg",
    "htpasswd",
    ".htpasswd",
    "id_rsa",
    "storePassword",
    "keystore.password",
    "spring.datasource.password",
    "secretId",
    "bearerToken",
    "instrumentationKey",
    "adminPassword",
    "smtp_auth_password",
]
SCALAR_NAMES = [
    "auth",
    "authorization",
    "cookie",
    "session",
    "sessionid",
    "signature",
    "salt",
    "pin",
    "oauth",
    "webhook",
]
INNOCENT = {
    "secretName": "db",
    "existingSecret": "db",
    "credentialName": "gateway",
    "passwordPolicy": "strict",
    "tokenReview": "sa-1",
    "tokenTTL": "30m",
    "tokenExpirationSeconds": 3607,
    "automountServiceAccountToken": False,
    "keyRef": "a",
    "publicKey": "ssh-rsa AAAA",
    "monkey": "a",
    "passenger": "a",
    "compass": "north",
    "author": "me",
    "authors": "us",
    "authMode": "RBAC",
    "keyboard": "us",
    "tokenizer": "bpe",
    "secretary": "a",
    "sessionAffinity": "None",
    "maxTokens": 4096,
    "tokenFile": "/var/run/x",
    "passwordFile": "/run/p",
    "secretNamespace": "a",
    "passThrough": "on",
    "bypass": "a",
    "podTemplateHash": "5d8f9c7b6",
    "checksum/secret": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    "etag": 'W/"abc"',
    "uid": "2f1e3c5d-aaaa-bbbb-cccc-0123456789ab",
    "imageID": "docker-pullable://nginx@sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
}


def shapes(name: str) -> Iterator[Any]:
    yield {name: M}
    yield {name: [M, M]}
    yield {name: {"value": M, "other": [{"deep": M}]}}
    yield {name: {M[:1]: {"x": M}}}
    for naming in ("key", "name", "k"):
        for valuing in ("value", "v", "val"):
            yield {naming: name, valuing: M}
            yield {valuing: M, naming: name}
    yield {"name": name, "value": {"a": M}}
    yield {"nested": [{"list": [{name: M}]}]}


def texts(name: str) -> Iterator[str]:
    yield f"a: b\n{name}: {M}\nc: d"
    yield f"a: b\n  {name}: |\n    {M}\n    {M}\n  c: d"
    yield f"{name}:\n- {M}\n- {M}\nc: d"
    yield f"{name} = {M}\nc = d"
    yield f'[x]\n{name} = "{M}"\n'
    yield f"{name}={M}"
    yield f"export {name}='{M}'; run"
    yield json.dumps({"a": "b", name: M})
    yield json.dumps({"a": json.dumps({name: M})})
    yield json.dumps({"a": json.dumps({"b": json.dumps({name: M})})})
    yield "x " + json.dumps({"a": json.dumps({name: f"{M} {M}"})}) + " y"
    yield f"<c><{name}>{M}</{name}></c>" if name[0] != "." else f"{name}={M}"
    yield f'<add key="{name}" value="{M}"/>'
    yield f'"{name}" => "{M}",'
    yield f"https://h/p?a=b&{name}={M}&c=d"
    yield f"run --{name.lstrip('.')}={M} --{name.lstrip('.')} {M} --x"


def places(text: str) -> Iterator[Any]:
    yield {"kind": "ConfigMap", "data": {"file": text}}
    yield {"kind": "Pod", "metadata": {"annotations": {"example.org/a": text}}}
    yield {"kind": "Pod", "status": {"conditions": [{"message": text}]}}
    yield {"kind": "Event", "message": text, "note": text}
    yield {"kind": "Pod", "spec": {"containers": [{"args": ["-c", text], "command": [text]}]}}
    yield {"kind": "Custom", "spec": {"anything": [{"at": {"all": text}}]}}


def out(body: Any) -> str:
    redacted = redact_json(orjson.dumps(body))
    assert redacted == orjson.dumps(redact(body), option=orjson.OPT_SORT_KEYS)
    assert redact_json(redacted) == redacted, "redacting what was redacted changes nothing"
    return redacted.decode()


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_what_stands_under_a_secret_name_goes_in_every_shape_place_and_notation(name: str) -> None:
    assert grade(name) is Grade.WHOLE
    everything = [*shapes(name), *(place for text in texts(name) for place in places(text))]
    if M in redact_json(orjson.dumps({"items": everything})).decode():
        assert [each for each in everything if M in json.dumps(redact(each))] == []


@pytest.mark.parametrize("name", SCALAR_NAMES)
def test_what_stands_right_under_other_names_goes(name: str) -> None:
    for each in ({name: M}, {name: [M]}, {"name": name, "value": M}, {"data": {"f": f"a: b\n{name}: {M}\n"}}):
        assert M not in out(each), each
    assert out({name: {"enabled": "yes", "kind": "a"}}).count("[redacted") == 0


@pytest.mark.parametrize("name", INNOCENT)
def test_an_innocent_name_keeps_its_value(name: str) -> None:
    value = INNOCENT[name]
    for body in ({name: value}, {"metadata": {"annotations": {name: value}}}, {"name": name, "value": value}):
        assert json.loads(out(body)) == body
    if isinstance(value, str):
        for text in (f"a: b\n{name}: {value}\nc: d\n", f"{name}={value}\nc=d"):
            assert json.loads(out({"data": {"file": text}}))["data"]["file"] == text


REFERRING: dict[str, Any] = {
    "volume": {"volumes": [{"name": "v", "secret": {"secretName": "db-token", "items": [{"key": "k", "path": "p"}]}}]},
    "csi": {"csi": {"nodePublishSecretRef": {"name": "db", "namespace": "n"}, "tokenRequests": [{"audience": "a"}]}},
    "variable": {"env": [{"name": "P", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}]},
    "all variables": {"envFrom": [{"secretRef": {"name": "db-password"}}]},
    "pull": {"imagePullSecrets": [{"name": "registry-token"}], "secrets": [{"name": "sa-token"}]},
    "projected": {"sources": [{"serviceAccountToken": {"audience": "a", "expirationSeconds": 3607, "path": "token"}}]},
    "role": {"rules": [{"resources": ["secrets", "serviceaccounts/token"], "resourceNames": ["db-password"]}]},
    "monitor": {
        "bearerTokenSecret": {"name": "a", "key": "token"},
        "basicAuth": {"password": {"name": "a", "key": "p"}},
    },
    "certificate": {"spec": {"secretName": "tls", "privateKey": {"algorithm": "RSA", "size": 2048}}},
    "external": {"data": [{"remoteRef": {"key": "path/db", "property": "password"}}]},
    "path": {"token": "/var/run/secrets/kubernetes.io/serviceaccount/token", "args": ["--token-file", "/var/run/x"]},
    "variable in a text": {"data": {"f": "password: ${DB_PASSWORD}\ntoken: $(TOKEN)\nkey: {{ .Values.key }}\n"}},
    "switch": {"data": {"f": "password: false\ntoken: null\nauth: true"}, "args": ["--anonymous-auth=false"]},
    "type": {"type": "kubernetes.io/service-account-token"},
    "messages": {
        "message": 'secret "db-password" not found; serviceaccount "x" not found for token: pods "a" is forbidden'
    },
    "words": {"message": "Basic authentication is not enabled: password authentication failed for user me"},
    "times": {"a": "2026-11-21T07:52:00Z", "b": "0/3 nodes are available: 3 Insufficient cpu."},
    "arguments": {"args": ["--leader-elect-resource-name=volcano", "-p", "8080", "--v=4", "mkdir", "-p", "/a/b"]},
    "psql": {"command": ["psql", "-p", "5432", "-U", "me"]},
    "user and group": {"command": ["docker", "run", "-u", "1000:1000", "a:b"]},
    "image": {"image": "registry.example.org:5000/a/b:v1@sha256:" + "0a" * 32},
    "quota": {"hard": {"secrets": "173", "count/secrets": 17}, "used": {"secrets": 3}},
    "path of a key": {"data": {"f": "ssl_certificate_key certs/web.key;\nkeyring /etc/keep.pem;\n"}},
    "an Event's name": {"name": "nginx1.17a9d8c7b6e5f4a3"},
    "sentences": {
        "message": "the password is required; token is invalid; the secret is mounted: password was changed."
    },
    "certificate in Base64": {"ca": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUIK"},
    "words of a sentence": {"message": "echo hello > /tmp/x; stats auth; user app on the node > it"},
    "columns": {"data": {"f": "name,age\nbob,7\n"}},
    "lease": {"holderIdentity": "scheduler-5d8f9c7b6-abcde_2f1e3c5d-aaaa-bbbb-cccc-0123456789ab"},
}


@pytest.mark.parametrize("kept", REFERRING)
def test_what_only_refers_to_a_credential_stays(kept: str) -> None:
    assert json.loads(out(REFERRING[kept])) == REFERRING[kept]


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_name_is_known_however_it_is_spelt_in_text(notation: str) -> None:
    names = SPELLINGS if NOTATIONS[notation].partition("{n}")[2][:1] in (" ", "=", ">") else [*SPELLINGS, *SPACED]
    texts = [NOTATIONS[notation].format(n=name, x=M) for name in names]
    if M in redact_json(orjson.dumps({"items": [{"message": text} for text in texts]})).decode():
        assert [text for text in texts if M in out({"message": text})] == []


def test_a_name_is_known_however_it_is_spelt_in_an_object() -> None:
    bodies: list[Any] = []
    for name in (*SPELLINGS, *SPACED):
        bodies += [{name: M}, {name: {"x": M}}, {name: {"hash": M}}, {name: [M]}, {"headers": [[name, M], ["a", "b"]]}]
        for naming, valuing in NAMES_OF_PAIRS:
            bodies.append({"p": [{naming: name, valuing: M}]})
        bodies.append({"x": [name, M]})
        if " " not in name:
            bodies += [{"args": [f"--{name}", M]}, {"args": [f"--{name}={M}"]}, {"args": [f"-D{name}={M}"]}]
        bodies += [{"metadata": {"annotations": {f"example.org/{name}": M}}}, {"kind": "ConfigMap", "data": {name: M}}]
        fields: dict[str, Any] = {f"f:{name}": {f'v:"{M}"': {}}, "f:a": {f"k:{orjson.dumps({name: M}).decode()}": {}}}
        bodies.append({"metadata": {"managedFields": [{"fieldsV1": fields}]}})
    if M in redact_json(orjson.dumps({"items": bodies})).decode():
        assert [body for body in bodies if M in out(body)] == []


NAMES_OF_PAIRS = (
    ("Name", "Value"),
    ("NAME", "VALUE"),
    ("Key", "Value"),
    ("parameterName", "parameterValue"),
    ("param_name", "param_value"),
    ("settingName", "Setting-Value"),
    ("Variable", "Default_Value"),
    ("key-name", "value"),
)


@pytest.mark.parametrize("shape", range(4))
def test_a_credential_goes_from_every_shape(shape: int) -> None:
    bodies = [[*places(text)][shape] for text in SHAPES.values()] if shape else [*OBJECTS.values()]
    for body in bodies if M in redact_json(orjson.dumps({"items": bodies})).decode() else ():
        assert M not in out(body), body


@pytest.mark.parametrize("name", TEXTS)
def test_a_credential_of_a_well_known_program_never_comes_out(name: str) -> None:
    text = TEXTS[name]
    nested = json.dumps({"inner": text})
    everything = [body for each in (text, nested, f"it said: {nested} and ended") for body in places(each)]
    if M in redact_json(orjson.dumps({"items": everything})).decode():
        assert [each for each in everything if M in json.dumps(redact(each))] == []
    out(everything[0])


def shown(text: str) -> str:
    """Return a text, and the texts that are encoded in it with Base64."""
    found = [text]
    for run in re.findall(r"[A-Za-z0-9+/]{12,}={0,2}", text.replace("\\n", "")):
        found.append(b64decode(run + "=" * (-len(run) % 4)).decode("utf-8", "replace") if len(run) % 4 != 1 else "")
    return " ".join([*found, *(shown(each) for each in found[1:] if "=" in each or each.isalnum())])


@pytest.mark.parametrize("name", FILES)
def test_a_credential_in_a_file_never_comes_out(name: str) -> None:
    for body in ({"kind": "ConfigMap", "data": {"file": FILES[name]}}, {"message": FILES[name]}):
        assert M in shown(json.dumps(body, ensure_ascii=False)) or M.encode().hex() in json.dumps(body)
        text = out(body)
        assert M not in shown(text) and M.encode().hex() not in text


@pytest.mark.parametrize("name", BODIES)
def test_a_credential_is_known_by_the_fields_around_it(name: str) -> None:
    assert M not in out(BODIES[name])
    assert M not in out(
        {"kind": "A", "spec": BODIES[name], "other": "x" * 2000} if "kind" not in BODIES[name] else BODIES[name]
    )


@pytest.mark.parametrize("name", FORMS)
def test_a_credential_is_known_by_its_form_wherever_it_stands(name: str) -> None:
    text = FORMS[name]
    bodies: list[Any] = [{"kind": "C", "spec": {text: "x", f"x-{text}": {"a": text}}}]
    bodies += [{"metadata": {"name": text, "labels": {"a": text}, "annotations": {text: "x"}}}]
    bodies += [{"a": f"got {text} back"}, {"a": f'x="{text}"'}, {"args": [text]}, {"a": f"https://h/{text}/x"}]
    managed: dict[str, Any] = {"f:a": {f'v:"{text}"': {}, f'k:{{"name":"{text}"}}': {".": {}}}, f"f:{text}": {}}
    bodies += [{"metadata": {"managedFields": [{"manager": text, "fieldsV1": managed}]}}]
    for body in bodies:
        assert text not in out(body)
    clean = entry_without_credentials(everywhere(text))
    assert text.encode() not in line_of(clean)


def everywhere(text: str) -> Entry:
    """Return an entry with the text in every field that may hold one."""
    user = {"username": f"system:{text}"}
    reference = {"resource": "pods", "namespace": text, "name": text, "apiVersion": "v1", "apiGroup": ""}
    spec = {"nodeName": text, "hostname": text, "subdomain": text, "volumes": [{"secret": {"secretName": text}}]}
    owner = [{"apiVersion": "v1", "kind": "Job", "name": text, "uid": text, "controller": True}]
    body = {**pod(), "spec": spec}
    body["metadata"] = {**body["metadata"], "name": text, "ownerReferences": owner, "finalizers": [text]}
    (entry,) = entries_of(
        event(user=user, userAgent=f"kubectl/{text}", auditID=text, objectRef=reference, responseObject=body),
        bodies=True,
    )
    return entry


def test_a_token_as_a_users_name_is_not_kept() -> None:
    entry = entry_without_credentials(everywhere(FORMS["JWT"]))
    assert entry.actor == "system:[redacted:form]" and entry.user_agent == "kubectl/[redacted:form]"


def test_nothing_is_changed_in_an_entry_without_credentials() -> None:
    entry = everywhere("harmless")
    assert entry_without_credentials(entry) is entry


COPIES = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "kapp.k14s.io/original",
    "objectset.rio.cattle.io/applied",
    "banzaicloud.com/last-applied",
    "app.oam.dev/last-applied-configuration",
    "example.org/whatever",
)


@pytest.mark.parametrize("key", COPIES)
def test_copies_of_whole_objects_go(key: str) -> None:
    copy = json.dumps({"apiVersion": "v1", "kind": "A", "metadata": {}, "spec": {"x": M}})
    body = {"kind": "Deployment", "metadata": {"annotations": {key: copy}}}
    assert json.loads(out(body))["metadata"]["annotations"] == {key: masks.COPY}


def test_releases_of_helm_and_binary_data_go() -> None:
    assert M not in out({"kind": "ConfigMap", "data": {"release": FORMS["a packed release"]}})
    assert M not in out({"kind": "ConfigMap", "binaryData": {"a": M}})


def test_sets_in_managed_fields_hold_values() -> None:
    managed = [
        {
            "manager": "m",
            "fieldsV1": {"f:spec": {"f:tokens": {f'v:"{M}"': {}}, "f:a": {'k:{"password":"' + M + '"}': {}}}},
        }
    ]
    body = {"kind": "A", "metadata": {"managedFields": managed}}
    assert M not in out(body) and "f:tokens" in out(body)
    assert M not in out({"pad": "x" * 2000, **body})


ARGUMENTS: list[list[str]] = [
    ["-p", M],
    ["--auth", M],
    [f"--basic-auth=u:{M}"],
    ["curl", "-u", f"a:{M}"],
    ["sh", "-c", f"mysql -p{M}"],
    ["--header", f"Authorization: Bearer {M}"],
    ["redis-cli", "-a", M],
    ["redis-cli", f"-a{M}"],
    ["mysql", f"-p{M}"],
    ["--from-literal", f"a={M}"],
    ["kubectl", "create", "secret", "generic", "x", f"--from-literal=a={M}"],
    ["config", "set", "requirepass", M],
    ["--requirepass", M],
    ["--password", M, "--user", "u"],
    ["-password", M],
    ["--db-password=" + M],
    ["user:pass", "--user", f"u:{M}"],
    [f"-Dpassword={M}"],
    ["--set", f"auth.password={M}"],
    ["-e", f"DB_PASSWORD={M}"],
]


@pytest.mark.parametrize("words", ARGUMENTS)
def test_arguments_hold_no_credential(words: list[str]) -> None:
    for body in (
        {"args": words},
        {"command": words},
        {"anything": words},
        {"a": {"data": {"run.sh": " ".join(words)}}},
    ):
        assert M not in out(body) or (len(words) == 2 and words[0] == "-p" and "a" in body), body


HOSTILE = [
    "a",
    '"password',
    "\\",
    '\\"',
    "password=",
    "password: |\n",
    "<password>",
    "name=password ",
    "-p ",
    "mysql -p",
    "curl -u ",
    "{",
    "[",
    "eyJ",
    "AKIA",
    "://",
    "://a:b",
    "a:",
    "$1$",
    "-----BEGIN PRIVATE KEY-----",
    '"name":"password",',
    "value: x, ",
    " ",
    "\n",
    "password:\n x\n",
    "tokens: {",
    "a\t",
    "&quot;",
    "0",
    "A/",
    "token ",
    "'",
    "1:",
    "a-",
    "<a ",
    'password "',
    "kind: Secret\ndata: {",
    "data:\n",
    "kind: Secret\n---\n",
    "a,password\n",
    "echo ",
    "echo a > ",
    "htpasswd -b ",
    "&lt;a&gt;",
    "%3A%2F%2F",
    "user a >",
    "password = <<EOF\n",
    "cGFzc3dvcmQ6IHBsNG50ZWRRNw== ",
    "vault kv put ",
    "gh secret set ",
    "password\n ",
    "abcdef.",
    "val password: a",
]


@pytest.mark.parametrize("piece", sampled(HOSTILE, 12))
def test_a_hostile_text_takes_time_that_grows_no_faster_than_it(piece: str) -> None:
    """Even of such text, a million characters take only a few seconds."""
    objects = [{"message": piece * (length // len(piece)) + "x"} for length in (20_000, 160_000)]
    taken = []

    def grows_as_it_may() -> bool:
        short, long = (processor_seconds(lambda each=each: redact(each)) for each in objects)  # type: ignore[misc]
        taken.append((short, long))
        return long < max(0.5, 24 * short)

    assert any(grows_as_it_may() for _ in range(3)), taken


@given(
    st.lists(st.sampled_from([*SECRET_NAMES, *INNOCENT, "a", "x"]), min_size=1, max_size=3),
    st.sampled_from(["\n", "; ", " "]),
    st.sampled_from(["{}: {}", "{}={}", "{} = {}", '"{}": "{}"', "'{}' => '{}'", "--{}={}", "<{0}>{1}</{0}>"]),
)
@examples(12)
def test_one_name_does_not_hide_another(names: list[str], between: str, notation: str) -> None:
    text = between.join(notation.format(name, M if grade(name) else "x") for name in names)
    assert M not in out({"data": {"file": text}}), text


@pytest.fixture
def policy() -> Iterator[Callable[[Policy], None]]:
    yield redaction.use
    redaction.use(Policy())


def test_a_house_has_patterns_of_its_own(policy: Callable[[Policy], None]) -> None:
    body = {"a": "see ACME-12345678 there"}
    assert json.loads(out(body)) == body
    policy(Policy((r"ACME-\d{8}",)))
    assert json.loads(out(body)) == {"a": f"see {masks.OWN} there"}


@pytest.mark.parametrize("pattern", ["(a+)+b", "(", "a*", r"(a|a)*b", r"(x)\1", "a{1,9}" * 9, "(a{1,30}){1,30}", "x*y"])
def test_a_pattern_that_could_take_long_is_refused(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PatternError):
        checked(pattern)
    monkeypatch.setenv("CAUSELINE_REDACT_PATTERNS", pattern)
    with pytest.raises(environment.SettingError, match="CAUSELINE_REDACT_PATTERNS"):
        environment.redaction()


def test_patterns_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, policy: Callable[[Policy], None], tmp_path: Path
) -> None:
    (tmp_path / "patterns").write_text("# of ours\nacme_[a-z0-9]{8,40}\n\nXY-\\d{4}\n")
    monkeypatch.setenv("CAUSELINE_REDACT_PATTERNS_FILE", str(tmp_path / "patterns"))
    environment.redaction()
    assert redaction.current() == Policy(("acme_[a-z0-9]{8,40}", "XY-\\d{4}"))
    monkeypatch.setenv("CAUSELINE_REDACT", "strict")
    environment.redaction()
    assert redaction.current().strict
    monkeypatch.setenv("CAUSELINE_REDACT", "loose")
    with pytest.raises(environment.SettingError, match="CAUSELINE_REDACT"):
        environment.redaction()


def test_strictly_no_object_is_kept_and_all_facts_are(policy: Callable[[Policy], None]) -> None:
    recording = [(DATA / "restart.jsonl", "r")]
    usual = [each for each in read(recording, bodies=True) if isinstance(each, Entry)]
    policy(Policy(strict=True))
    strict = [each for each in read(recording, bodies=True) if isinstance(each, Entry)]
    assert [each.facts for each in strict] == [each.facts for each in usual]
    assert not any(each.body for each in strict) and any(each.body for each in usual)


def test_masks_are_counted_by_why_they_stand_there() -> None:
    counts: Counter[str] = Counter()
    body: dict[str, Any] = {"env": [{"name": "A", "value": "x"}], "password": "y", "a": FORMS["GitHub"]}
    body["metadata"] = {"annotations": {COPIES[0]: "{}"}}
    masks.count(redact_json(orjson.dumps(body)), counts)
    assert counts == {"name": 2, "form": 1, "copy": 1, "pattern": 0, "time": 0}


def _sorted(raw: bytes, kind: str = "") -> bytes:
    """Return the object with its keys in sorted order, so that it can be compared."""
    return orjson.dumps(orjson.loads(raw), option=orjson.OPT_SORT_KEYS)


RECORDINGS = sorted(
    path for path in DATA.rglob("*") if path.is_file() and path.suffix in (".jsonl", ".json", ".yaml", ".gz")
)
SAMPLES = sorted((ROOT / "dashboard" / "samples").glob("*"))


@pytest.mark.parametrize("path", [*RECORDINGS, *SAMPLES], ids=lambda path: path.name)
def test_findings_are_the_same_without_redaction(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        redacted = analyse([(path, path.name)], Limits()).document()
    except NotARecording:
        pytest.skip("it is no recording")
    monkeypatch.setattr(import_module("collectors.formats.redacted"), "have_no_credentials", lambda _: True)
    for module in ("collectors.normalise.audit", "collectors.normalise.objects", "collectors.formats.own"):
        monkeypatch.setattr(f"{module}.redact_json", _sorted)
    assert analyse([(path, path.name)], Limits()).document() == redacted


@pytest.mark.parametrize(
    "name", ["secretkey", "SecRetkey", "secretaccesskey", "passwordsecret", "tokensecret", "apikeytoken"]
)
def test_names_of_several_words_in_one_are_those_of_credentials(name: str) -> None:
    """This must not depend on the order of the table, which is a set."""
    assert grade(name) is Grade.WHOLE
    assert M not in out({name: M})


HINTS: tuple[str, ...] = (
    "@",
    "://",
    "----",
    "$",
    "{",
    "eyJ",
    "_",
    "-",
    "Secret",
    "data:",
    "\n",
    "\t",
    ",",
    "|",
    "]",
    "&gt;",
    " ",
    "%2F",
    ">",
)
HINTS += (
    "#",
    '"',
    "'",
    "</",
    "echo ",
    "printf ",
    "htpasswd ",
    "=",
    ":",
    "\\",
    "：",
    "user ",
    "bEaReR ",
    "bAsIc ",
    "AUTH ",
)


def test_no_form_is_shorter_than_texts_that_are_not_searched_for_forms() -> None:
    expressions = [*forms._all_tokens(), *forms._TOKENS_BY_HINT.values(), forms._HASHES]
    for expression in expressions:
        for alternative in forms._alternatives(expression):
            shortest, _ = re._parser.parse(alternative).getwidth()  # type: ignore[attr-defined]
            assert shortest >= max(forms._SHORT, field_names.SHORTEST_FORM, SHORT), alternative


PLANTED = [*TEXTS.values(), *FILES.values(), *FORMS.values(), *SPELLINGS, *SPACED, *HINTS, M, "true", "x"]
PLANTED += [
    notation.format(n=name, x=M) for notation in NOTATIONS.values() for name in ("apiKey", "PIN", "密码", "name")
]


@contextmanager
def without_shortcuts() -> Iterator[None]:
    """Turn off everything that only saves time, and what is remembered."""
    with pytest.MonkeyPatch.context() as patched:
        for module in ("text", "forms", "spaced_values", "commands"):
            patched.setattr(f"collectors.redaction.{module}.has", lambda *_: True)
        for known in ("objects._harmless_texts", "objects._harmless_managed", "objects.plain_fields"):
            patched.setattr(f"collectors.redaction.{known}", set())
        patched.setattr("collectors.redaction.field_names.harmless_names", set())
        for module in ("objects", "field_names"):
            patched.setattr(f"collectors.redaction.{module}.remember", lambda *_: None)
        patched.setattr("collectors.redaction.objects._cannot_hold_credential", lambda _: False)
        patched.setattr("collectors.redaction.commands._names_program", lambda _: True)
        everything = set(range(len(commands._PHRASES)))
        patched.setattr("collectors.redaction.commands._phrases_in", lambda _: everything)
        patched.setattr("collectors.redaction.text._SEPARATES", re.compile(""))
        for name in ("forms._SHORT", "field_names.SHORTEST_FORM", "text._RUN_LENGTH"):
            patched.setattr(f"collectors.redaction.{name}", 0)
        yield


def assert_shortcuts_change_nothing(bodies: list[Any]) -> None:
    for body in bodies:
        quick = redact(body)
        with without_shortcuts():
            assert quick == redact(body)
        assert orjson.loads(redact_json(orjson.dumps(body))) == quick


@pytest.mark.parametrize("table", [TEXTS, FILES, FORMS, NOTATIONS], ids=len)
def test_shortcuts_change_nothing_in_what_is_planted(table: dict[str, str]) -> None:
    assert_shortcuts_change_nothing([{text: text, "args": [text]} for text in table.values()])


@given(
    st.lists(st.sampled_from(PLANTED) | st.text(max_size=12), min_size=1, max_size=5),
    st.sampled_from(["", " ", "\n", "=", ": ", '"', "，"]),
)
@examples(25)
def test_shortcuts_change_nothing(pieces: list[str], between: str) -> None:
    text = between.join(pieces)
    tls = {"key": text, "value": text, "name": pieces[0]}
    assert_shortcuts_change_nothing([{"message": text}, {text: {"a": pieces}}, {"tls": tls}])


def test_own_patterns_are_found_wherever_they_are_in_a_long_text(policy: Callable[[Policy], None]) -> None:
    policy(Policy(("acme_[a-z]{4,9}", r"(?<=<)[0-9]{3}(?=>)", "^first", r"last\Z")))
    for length in range(16_384 - 12, 16_384 + 12):
        text = "first" + "-" * length + "acme_abcdef" + "-" * length + "<123>" + "first last"
        wanted = re.sub("^first|acme_abcdef|123|last$", OWN, text)
        assert clean_text(text) == wanted


def test_own_patterns_end_with_the_time_of_an_object(
    policy: Callable[[Policy], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy(Policy(("(?:x|y){1,500}z",)))
    monkeypatch.setattr(budget, "SECONDS", 0.02)
    monkeypatch.setattr(budget, "SECONDS_FOR_A_BYTE", 0)
    assert clean_text("x" * 200_000) == "[redacted:time]"

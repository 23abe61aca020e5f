"""These tests check how credentials are recognised: by names and by forms, in each notation. References to credentials
stay."""

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.redaction import redact, redact_json
from collectors.redaction.entries import entry_without_credentials
from tests.inputs.credentials import BODIES, FILES, FORMS, NOTATIONS, SPACED, SPELLINGS, TEXTS, M
from tests.inputs.events import entries_of, event, pod
from tests.inputs.planted_shapes import OBJECTS, SHAPES
from tests.properties import examples
from timeline.core import masks
from timeline.core.entries import Entry
from timeline.core.secret_names import Grade, grade
from timeline.history.codec import line_of

_SECRET_NAMES = """
    password passwd pwd pass passphrase passcode db_password DB_PASS PGPASSWORD MYSQL_ROOT_PASSWORD dbPassword
    newPassword password2 rootpw userPassword passwordValue secret client_secret clientSecret client-secret app.secret
    SECRET_KEY secretKey secretValue token tokens refreshToken access_token authToken authtoken tokenValue GITHUB_TOKEN
    token_prod apiKey api-key api_key apikey APIKEY x-api-key X-Api-Key accessKey access_key accountKey privateKey
    private_key secretAccessKey encryptionKey signing-key masterKey sharedKey licenseKey sshKey tls.key server.key
    jwtSecret credentials credential creds connectionString connection_string dsn psk otp hmacKey webhookToken
    cookieSecret dockerconfigjson .dockerconfigjson .dockercfg htpasswd .htpasswd id_rsa storePassword
    keystore.password spring.datasource.password secretId bearerToken instrumentationKey adminPassword
    smtp_auth_password secretkey SecRetkey secretaccesskey passwordsecret tokensecret apikeytoken
"""
SECRET_NAMES = _SECRET_NAMES.split()
SCALAR_NAMES = ["auth", "authorization", "cookie", "session", "signature", "salt", "pin", "oauth", "webhook"]
_INNOCENT = """
    secretName existingSecret credentialName passwordPolicy tokenReview secretNamespace author authors authMode monkey
    passenger compass keyboard tokenizer secretary passThrough bypass keyRef sessionAffinity podTemplateHash environment
"""
INNOCENT: dict[str, Any] = {
    **dict.fromkeys(_INNOCENT.split(), "5d8f9c7b6"),
    **dict.fromkeys(("tokenFile", "passwordFile"), "/run/p"),
    **dict.fromkeys(("tokenExpirationSeconds", "maxTokens"), 3607),
    "tokenTTL": "30m",
    "automountServiceAccountToken": False,
    "publicKey": "ssh-rsa AAAA",
    "checksum/secret": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    "etag": 'W/"abc"',
    "uid": "2f1e3c5d-aaaa-bbbb-cccc-0123456789ab",
    "imageID": "docker-pullable://nginx@sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
}


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


def none_shows_it(bodies: list[Any]) -> None:
    """Assert that no body still holds the credential: first of all together, which is quick."""
    if M in redact_json(orjson.dumps({"items": bodies})).decode():
        assert [body for body in bodies if M in json.dumps(redact(body))] == []


def test_each_name_of_a_credential_is_known() -> None:
    assert [name for name in SECRET_NAMES if grade(name) is not Grade.WHOLE] == []


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
        "message": 'secret "db-password" not found; serviceaccount "x" not found for token: pods "a" is forbidden',
        "note": 'MountVolume.SetUp failed for volume "kube-api-access-token" : configmap "kube-root-ca.crt" not found',
    },
    "words": {"message": "Basic authentication is not enabled: password authentication failed for user me"},
    "times": {"a": "2026-11-21T07:52:00Z", "b": "0/3 nodes are available: 3 Insufficient cpu."},
    "arguments": {"args": ["--leader-elect-resource-name=volcano", "-p", "8080", "--v=4", "mkdir", "-p", "/a/b"]},
    "psql": {"command": ["psql", "-p", "5432", "-U", "me"]},
    "script": {"command": ["sh", "-c", "sleep 5 && exec python -m http.server --bind 0.0.0.0 http://host:80/a"]},
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
    "labels": {"metadata": {"labels": {"app": "token-service", "token": "yes", "volcano.sh/job-name": "ring"}}},
    "selector": {"spec": {"selector": {"matchLabels": {"app/token": "a"}}}},
    "annotations": {"metadata": {"annotations": {"volcano.sh/job-version": "2", "scheduling.k8s.io/group-name": "g"}}},
    "managed fields": {"metadata": {"managedFields": [{"manager": "m", "fieldsV1": {"f:data": {"f:password": {}}}}]}},
    "nothing": {"spec": {"passwordPolicy": None}},
}


@pytest.mark.parametrize("kept", REFERRING)
def test_what_only_refers_to_a_credential_stays(kept: str) -> None:
    assert json.loads(out(REFERRING[kept])) == REFERRING[kept]


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_name_is_known_however_it_is_spelt_in_text(notation: str) -> None:
    spaced = () if NOTATIONS[notation].partition("{n}")[2][:1] in (" ", "=", ">") else SPACED
    names = [*SPELLINGS, *spaced, *SECRET_NAMES]
    none_shows_it([{"message": NOTATIONS[notation].format(n=name, x=M)} for name in names])


PAIRS = [("Name", "Value"), ("NAME", "VALUE"), ("parameterName", "parameterValue"), ("key-name", "value")]
PAIRS += [("param_name", "param_value"), ("settingName", "Setting-Value"), ("Variable", "Default_Value")]


def test_a_name_is_known_however_it_is_spelt_in_an_object() -> None:
    bodies: list[Any] = []
    for name in (*SPELLINGS, *SPACED, *SECRET_NAMES):
        bodies += [{name: M}, {name: {"x": M}}, {name: {"hash": M}}, {name: [M]}, {"headers": [[name, M], ["a", "b"]]}]
        bodies += [{"p": [{naming: name, valuing: M}]} for naming, valuing in PAIRS]
        bodies.append({"x": [name, M]})
        if name in SECRET_NAMES:
            bodies += [{name: {"value": M, "other": [{"deep": M}]}}, {"name": name, "value": {"a": M}}]
        if " " not in name:
            bodies += [{"args": [f"--{name}", M]}, {"args": [f"--{name}={M}"]}, {"args": [f"-D{name}={M}"]}]
        bodies += [{"metadata": {"annotations": {f"example.org/{name}": M}}}, {"kind": "ConfigMap", "data": {name: M}}]
        fields: dict[str, Any] = {f"f:{name}": {f'v:"{M}"': {}}, "f:a": {f"k:{orjson.dumps({name: M}).decode()}": {}}}
        bodies.append({"metadata": {"managedFields": [{"fieldsV1": fields}]}})
    none_shows_it(bodies)


@pytest.mark.parametrize("shape", range(4))
def test_a_credential_goes_from_every_shape(shape: int) -> None:
    none_shows_it([[*places(text)][shape] for text in SHAPES.values()] if shape else [*OBJECTS.values()])


@pytest.mark.parametrize("name", TEXTS)
def test_a_credential_of_a_well_known_program_never_comes_out(name: str) -> None:
    text = TEXTS[name]
    nested = json.dumps({"inner": text})
    everything = [body for each in (text, nested, f"it said: {nested} and ended") for body in places(each)]
    none_shows_it(everything)
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
    body = BODIES[name]
    assert M not in out(body)
    assert M not in out(body if "kind" in body else {"kind": "A", "spec": body, "other": "x" * 2000})


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
    if name == "JWT":
        assert clean.actor == "system:[redacted:form]" and clean.user_agent == "kubectl/[redacted:form]"


def everywhere(text: str) -> Entry:
    """Return an entry with the text in every field that may hold one."""
    user = {"username": f"system:{text}"}
    reference = {"resource": "pods", "namespace": text, "name": text, "apiVersion": "v1", "apiGroup": ""}
    spec = {"nodeName": text, "hostname": text, "subdomain": text, "volumes": [{"secret": {"secretName": text}}]}
    owner = [{"apiVersion": "v1", "kind": "Job", "name": text, "uid": text, "controller": True}]
    body = {**pod(name=text, ownerReferences=owner, finalizers=[text]), "spec": spec}
    reported = event(user=user, userAgent=f"kubectl/{text}", auditID=text, objectRef=reference, responseObject=body)
    (entry,) = entries_of(reported, bodies=True)
    return entry


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


ARGUMENTS = [["-p", M], [f"--basic-auth=u:{M}"], ["curl", "-u", f"a:{M}"], ["mysql", f"-p{M}"], ["redis-cli", f"-a{M}"]]
ARGUMENTS += [["kubectl", "create", "secret", "generic", "x", f"--from-literal=a={M}"], ["--from-literal", f"a={M}"]]
ARGUMENTS += [["sh", "-c", f"mysql -p{M}"], ["--header", f"Authorization: Bearer {M}"], ["redis-cli", "-a", M]]
ARGUMENTS += [["--requirepass", M], ["--password", M, "--user", "u"], ["-password", M], [f"--db-password={M}"]]
ARGUMENTS += [[f"-Dpassword={M}"], ["--set", f"auth.password={M}"]]
ARGUMENTS += [["--auth", M], ["config", "set", "requirepass", M], ["-e", f"DB_PASSWORD={M}"], ["a", "--user", f"u:{M}"]]


@pytest.mark.parametrize("words", ARGUMENTS, ids=" ".join)
def test_arguments_hold_no_credential(words: list[str]) -> None:
    bodies: list[Any] = [{"args": words}, {"command": words}, {"anything": words}]
    if words[0] != "-p":  # which says what it is only among arguments
        bodies.append({"a": {"data": {"run.sh": " ".join(words)}}})
    for body in bodies:
        assert M not in out(body), body


@given(
    st.lists(st.sampled_from([*SECRET_NAMES, *INNOCENT, "a", "x"]), min_size=1, max_size=3),
    st.sampled_from(["\n", "; ", " "]),
    st.sampled_from(["{}: {}", "{}={}", "{} = {}", '"{}": "{}"', "'{}' => '{}'", "--{}={}", "<{0}>{1}</{0}>"]),
)
@examples(12)
def test_one_name_does_not_hide_another(names: list[str], between: str, notation: str) -> None:
    text = between.join(notation.format(name, M if grade(name) else "x") for name in names)
    assert M not in out({"data": {"file": text}}), text

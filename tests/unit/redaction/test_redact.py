"""These tests check redaction: what must not be stored is removed before anything else sees it, and what explains an
order stays."""

import json
import string
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.redaction import BY_NAME as MASK
from collectors.redaction import redact, redact_json
from tests.inputs.events import entries_of, event
from tests.properties import examples

Place = Callable[[str], Any]


def container(**fields: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", "image": "registry:5000/app@sha256:abc", **fields}]}}


def in_template(inner: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "Deployment", "spec": {"template": inner}}


def in_volcano_job(inner: dict[str, Any]) -> dict[str, Any]:
    job = {"spec": {"tasks": [{"name": "t", "replicas": 3, "template": inner}]}}
    return {"kind": "Job", "apiVersion": "batch.volcano.sh/v1alpha1", **job}


def annotated(key: str, value: str) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"annotations": {key: value}}}


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
PLACES: dict[str, Place] = {
    "Secret data": lambda x: {"kind": "Secret", "data": {"key": x}},
    "Secret stringData": lambda x: {"kind": "Secret", "stringData": {"key": x}},
    "annotation of a Secret": lambda x: {"kind": "Secret", "metadata": {"annotations": {"copy": x}}},
    "Secret inside another object": lambda x: {
        "kind": "Bundle",
        "spec": {"raw": [{"kind": "Secret", "data": {"k": x}}]},
    },
    "last-applied": lambda x: annotated(LAST_APPLIED, json.dumps({"spec": {"x": x}})),
    "last-applied of a template": lambda x: in_template(annotated(LAST_APPLIED, x)),
    "env": lambda x: container(env=[{"name": "A", "value": x}]),
    "env of a template": lambda x: in_template(container(env=[{"name": "A", "value": x}])),
    "env of a vcjob": lambda x: in_volcano_job(container(env=[{"name": "A", "value": x}])),
    "env as a map": lambda x: {"kind": "Custom", "spec": {"env": {"A": x}}},
    "env as words": lambda x: {"kind": "Custom", "spec": {"env": [f"A={x}"]}},
    "args with =": lambda x: container(args=["serve", f"--token={x}"]),
    "args with = and blanks": lambda x: container(args=["serve", f"--db-password=two words {x}"]),
    "args in two words": lambda x: container(args=["--token", x, "--verbose"]),
    "command in a shell": lambda x: container(command=["sh", "-c", f"run --db-password {x} --verbose"]),
    "assignment in a shell": lambda x: container(command=["sh", "-c", f"export AWS_SECRET_ACCESS_KEY={x}; run"]),
    "header of a probe": lambda x: container(
        livenessProbe={"httpGet": {"httpHeaders": [{"name": "Authorization", "value": f"Basic {x}"}]}}
    ),
    "annotation by its name": lambda x: annotated("example.org/api-token", x),
    "annotation with JSON in JSON": lambda x: annotated("c", json.dumps({"inner": json.dumps({"password": f"a {x}"})})),
    "ConfigMap by its key": lambda x: {"kind": "ConfigMap", "data": {"db-password": x}},
    "ConfigMap with YAML": lambda x: {"kind": "ConfigMap", "data": {"app.yaml": f"user: u\npassword: {x}\nport: 1"}},
    "URL": lambda x: annotated("a", f"https://user:{x}@host/path"),
    "query of a URL": lambda x: annotated("a", f"see https://host/path?access_token={x}&page=2"),
    "bearer": lambda x: {"kind": "Event", "message": f"call failed, sent Bearer {x}"},
    "field of a custom resource": lambda x: {"kind": "Database", "spec": {"admin": {"password": x}}},
    "TokenReview": lambda x: {"kind": "TokenReview", "spec": {"token": x}},
    "stringData of a template": lambda x: {"kind": "ExternalSecret", "spec": {"template": {"stringData": {"a": x}}}},
    "Secrets in a list": lambda x: {"kind": "SecretList", "items": [{"metadata": {"name": "s"}, "data": {"a": x}}]},
    "kubeconfig": lambda x: {"kind": "Config", "users": [{"name": "u", "user": {"client-key-data": x}}]},
    "caBundle": lambda x: {"kind": "ValidatingWebhookConfiguration", "webhooks": [{"clientConfig": {"caBundle": x}}]},
    "registry's credentials": lambda x: annotated("c", json.dumps({"auths": {"registry": {"auth": x}}})),
    "note of an Event": lambda x: {"kind": "Event", "note": f"login failed: password={x} is wrong"},
    "message of a condition": lambda x: {
        "kind": "C",
        "status": {"conditions": [{"message": f"GET https://u:{x}@h failed"}]},
    },
    "URL of a webhook": lambda x: {"kind": "C", "webhooks": [{"clientConfig": {"url": f"https://u:{x}@host/hook"}}]},
    "private key": lambda x: {"kind": "ConfigMap", "data": {"tls": f"-----BEGIN RSA PRIVATE KEY-----\n{x}\n-----END"}},
}


@pytest.mark.parametrize("place", PLACES)
@examples(4)
@given(random=st.text(string.ascii_letters + string.digits + "+_.~=-", min_size=1, max_size=60))
def test_a_planted_secret_never_comes_out(place: str, random: str) -> None:
    secret = f"pl4nted{random}"
    clean = redact_json(json.dumps(PLACES[place](secret)).encode())
    assert b"pl4nted" not in clean
    assert b"[redacted" in clean


def test_a_secret_whose_answer_names_no_kind_is_known_by_its_resource() -> None:
    reference = {"resource": "secrets", "namespace": "n", "name": "s", "apiVersion": "v1"}
    body = {"metadata": {"name": "s", "uid": "u", "resourceVersion": "4"}, "data": {"key": "cGw0bnRlZA=="}}
    (entry,) = entries_of(event(objectRef=reference, responseObject=body), bodies=True)
    assert json.loads(entry.body)["data"] == {"key": MASK}


def test_names_of_environment_variables_and_keys_of_secrets_survive() -> None:
    secret = {"kind": "Secret", "metadata": {"name": "s", "uid": "u"}, "data": {"user": "dQ==", "key": "aw=="}}
    assert redact(secret) == {**secret, "data": {"user": MASK, "key": MASK}}
    assert redact(container(env=[{"name": "A", "value": "x"}])) == container(env=[{"name": "A", "value": MASK}])


def test_what_was_given_is_not_changed() -> None:
    given_body = PLACES["env of a vcjob"]("x")
    before = json.dumps(given_body)
    redact(given_body)
    assert json.dumps(given_body) == before


def test_equal_objects_are_equal_bytes() -> None:
    assert redact_json(b'{"b":1,"a":{"d":1,"c":2}}') == redact_json(b'{"a":{"c":2,"d":1},"b":1}')


def test_what_was_sent_is_never_kept() -> None:
    (entry,) = entries_of(event(requestObject={"spec": {"note": "pl4nted"}}), bodies=True)
    assert b"pl4nted" not in entry.body
    assert entry.body

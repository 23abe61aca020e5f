"""A kubeconfig is cut down to what one context needs, and nothing of it is told."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from collectors.watch.failures import Unusable
from collectors.watch.kubeconfig import Kubeconfig

SECRET = "pl4nted"


def config(user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, **more: Any) -> bytes:
    told = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "prod",
        "clusters": [
            {"name": "one", "cluster": {"server": "https://10.0.0.1:6443/", **(cluster or {})}},
            {"name": "two", "cluster": {"server": "https://10.0.0.2:6443"}},
        ],
        "users": [
            {"name": "me", "user": {"token": SECRET} if user is None else user},
            {"name": "other", "user": {"token": "of another"}},
        ],
        "contexts": [
            {"name": "dev", "context": {"cluster": "two", "user": "other"}},
            {"name": "prod", "context": {"cluster": "one", "user": "me", "namespace": "default"}},
            {"name": "broken", "context": {"cluster": "three", "user": "me"}},
        ],
        **more,
    }
    return yaml.safe_dump(told).encode()


def test_the_current_context_comes_first_and_one_without_a_cluster_not_at_all() -> None:
    shown = Kubeconfig(config()).contexts()
    assert [(each.name, each.server, each.user, each.current) for each in shown] == [
        ("prod", "https://10.0.0.1:6443", "me", True),
        ("dev", "https://10.0.0.2:6443", "other", False),
    ]


def test_only_the_chosen_context_is_kept() -> None:
    kept = Kubeconfig(config()).reduced("prod")
    assert kept["users"] == [{"name": "user", "user": {"token": SECRET}}]
    assert kept["current-context"] == "prod" and len(kept["clusters"]) == len(kept["contexts"]) == 1
    assert "of another" not in str(kept) and "10.0.0.2" not in str(kept)
    assert Kubeconfig(config()).reduced() == kept


def test_fields_that_nobody_knows_are_not_kept() -> None:
    kept = Kubeconfig(config({"token": "t", "extensions": [SECRET]}, {"extensions": SECRET})).reduced()
    assert SECRET not in str(kept)


@pytest.mark.parametrize(
    ("user", "told"),
    [
        ({"exec": {"command": "aws", "args": [SECRET]}}, "a program (exec)"),
        ({"auth-provider": {"name": "gcp", "config": {"cmd-path": SECRET}}}, "an auth-provider"),
        ({"token": SECRET, "as": "system:admin"}, "impersonates"),
        ({"tokenFile": f"/run/{SECRET}"}, "It names a file (tokenFile)"),
        ({"client-certificate": f"/run/{SECRET}", "client-key": f"/run/{SECRET}"}, "(client-certificate)"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_words_that_tell_nothing_secret(user: dict[str, Any], told: str) -> None:
    with pytest.raises(Unusable) as refused:
        Kubeconfig(config(user)).reduced()
    assert told in str(refused.value) and SECRET not in str(refused.value)


def test_files_are_written_into_it_where_they_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(b"a certificate")
    (tmp_path / "token").write_text(f"{SECRET}\n")
    given = Kubeconfig(config({"tokenFile": "token"}, {"certificate-authority": str(tmp_path / "ca.crt")}))
    kept = given.reduced("prod", tmp_path)
    authority = kept["clusters"][0]["cluster"]["certificate-authority-data"]
    assert base64.b64decode(authority) == b"a certificate"
    assert kept["users"][0]["user"] == {"token": SECRET}
    (tmp_path / "token").unlink()
    with pytest.raises(Unusable, match="Its tokenFile cannot be read: No such file"):
        given.reduced("prod", tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"", b"just words", b"[1, 2]", b"a: [" + SECRET.encode(), b"\xff\xfe" + SECRET.encode(), b"contexts: []"],
)
def test_what_is_no_kubeconfig_is_refused_without_quoting_it(content: bytes) -> None:
    with pytest.raises(Unusable) as refused:
        Kubeconfig(content)
    assert SECRET not in str(refused.value)


def test_a_context_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(Unusable, match=r"no context stage\. There are: broken, dev, prod"):
        Kubeconfig(config()).reduced("stage")
    with pytest.raises(Unusable, match="broken names a cluster that is not in it"):
        Kubeconfig(config()).reduced("broken")


def test_references_that_multiply_cost_nothing() -> None:
    bomb = b"a: &a [x,x,x,x,x,x,x,x,x,x]\n"
    for number in range(1, 30):
        before = chr(96 + number) if number < 27 else f"a{number}"
        name = chr(97 + number) if number < 26 else f"a{number + 1}"
        bomb += f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n".encode()
    assert Kubeconfig(bomb.split(b"\na27")[0] + b"\n" + config()).reduced()["current-context"] == "prod"


def test_a_password_in_the_address_is_used_and_not_shown() -> None:
    given = Kubeconfig(config(cluster={"server": f"https://me:{SECRET}@10.0.0.1:6443"}))
    assert given.context().server == "https://10.0.0.1:6443"
    assert given.reduced()["clusters"][0]["cluster"]["server"] == f"https://me:{SECRET}@10.0.0.1:6443"

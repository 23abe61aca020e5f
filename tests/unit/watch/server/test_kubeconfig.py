"""These tests check kubeconfigs: each is reduced to what one context needs, and none of its secrets is shown."""

import base64
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from collectors.watch.server.failures import Unusable
from collectors.watch.server.files import Allowed
from collectors.watch.server.kubeconfig import Kubeconfig, default_paths, own

SECRET = "pl4nted"


def config(user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, **more: Any) -> bytes:
    kubeconfig = {
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
    return yaml.safe_dump(kubeconfig).encode()


def user_of(content: bytes, folder: Path | None = None, **how: Any) -> Any:
    """Return what is kept of the user of the current context."""
    return Kubeconfig(content, folder).reduced(**how)["users"][0]["user"]


def refusal(content: bytes, folder: Path | None = None, **how: Any) -> str:
    """Return why a kubeconfig is refused, which may not tell the secret."""
    with pytest.raises(Unusable) as refused:
        Kubeconfig(content, folder).reduced(**how)
    assert SECRET not in str(refused.value)
    return str(refused.value)


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
    ("user", "message"),
    [
        ({"exec": {"command": "aws", "args": [SECRET]}}, "a program (exec)"),
        ({"auth-provider": {"name": "gcp", "config": {"cmd-path": SECRET}}}, "an auth-provider"),
        ({"token": SECRET, "as": "system:admin"}, "impersonates"),
        ({"tokenFile": f"/run/{SECRET}"}, "It names a file (tokenFile)"),
        ({"client-certificate": f"/run/{SECRET}", "client-key": f"/run/{SECRET}"}, "(client-certificate)"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_words_that_tell_nothing_secret(user: dict[str, Any], message: str) -> None:
    assert message in refusal(config(user))


def test_files_are_written_into_it_where_they_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(b"a certificate")
    (tmp_path / "token").write_text(f"{SECRET}\n")
    read = Allowed((tmp_path,)).read
    given = config({"tokenFile": "token"}, {"certificate-authority": str(tmp_path / "ca.crt")})
    kept = Kubeconfig(given, tmp_path).reduced("prod", read)
    authority = kept["clusters"][0]["cluster"]["certificate-authority-data"]
    assert base64.b64decode(authority) == b"a certificate"
    assert kept["users"][0]["user"] == {"token": SECRET}
    (tmp_path / "token").unlink()
    missing = "Its tokenFile cannot be read where Causeline runs: No such file"
    assert missing in refusal(given, tmp_path, read=read)


HOSTILE = [b"[" * 500_000, b"a: " + b"{a: " * 100_000, b"- " * 200_000, b"!!python/object/apply:os.system [ls]"]
NOTHING = [b"", b"just words", b"[1, 2]", b"a: [" + SECRET.encode(), b"\xff\xfe" + SECRET.encode(), b"contexts: []"]


@pytest.mark.parametrize("content", [*NOTHING, *HOSTILE], ids=lambda content: ascii(content[:12]))
def test_what_is_no_kubeconfig_is_refused_without_quoting_it(content: bytes) -> None:
    with pytest.raises(Unusable) as refused:
        Kubeconfig(content)
    assert SECRET not in str(refused.value)


def test_a_context_that_is_not_there_is_listed_with_those_that_are() -> None:
    assert "no context stage. There are: broken, dev, prod" in refusal(config(), name="stage")
    assert "broken names a cluster that is not in it" in refusal(config(), name="broken")


def test_references_that_multiply_are_refused() -> None:
    bomb = b"a0: &a0 [x]\n"
    for number in range(1, 27):
        bomb += b"a%d: &a%d [%b]\n" % (number, number, b",".join([b"*a%d" % (number - 1)] * 10))
    shared = config().replace(b"token: pl4nted", b"token: &t pl4nted\n    password: *t")
    for content in (bomb + config(), shared):
        assert "has an alias" in refusal(content)


def test_one_long_address_in_many_contexts_is_not_repeated_in_full() -> None:
    contexts = [{"name": f"c{number}", "context": {"cluster": "one", "user": "me"}} for number in range(1000)]
    given = Kubeconfig(config(cluster={"server": "https://" + "x" * 100_000}, contexts=contexts))
    assert sum(len(each.server) for each in given.contexts()) < 400_000
    with pytest.raises(Unusable, match="no address such as"):
        given.reduced("c1")
    one_more = {"name": "more", "context": {"cluster": "one"}}
    assert "more than 1000 contexts" in refusal(config(contexts=[*contexts, one_more]))


SERVERS = ["unix:///var/run/docker.sock", "http+unix://%2fvar%2frun%2fdocker.sock", "file:///etc/passwd", "https://"]
SERVERS += ["", "10.0.0.1:6443", "https://10.0.0.1:6443/?a=b", "https://10.0.0.1:6443/#x"]
SERVERS += [f"https://me:{SECRET}@10.0.0.1:6443", "https://good.example.com\\@evil.example.com"]
SERVERS += ["https://10.0.0.1:6443\nHost: evil.example.com"]


@pytest.mark.parametrize("server", SERVERS)
def test_an_address_that_is_not_plainly_one_of_a_server_is_refused(server: str) -> None:
    given = config(cluster={"server": server})
    assert SECRET not in Kubeconfig(given).context().server
    assert "no address such as" in refusal(given)


@pytest.mark.parametrize("proxy", ["socks5://10.0.0.9:1080", "ftp://10.0.0.9", "http://10.0.0.9:1/path", "nonsense"])
def test_a_proxy_that_does_not_speak_http_is_refused(proxy: str) -> None:
    assert "proxy-url" in refusal(config(cluster={"proxy-url": proxy}))


def test_a_proxy_is_kept() -> None:
    kept = Kubeconfig(config(cluster={"proxy-url": "http://me:pw@10.0.0.9:3128/"})).reduced()
    assert kept["clusters"][0]["cluster"]["proxy-url"] == "http://me:pw@10.0.0.9:3128/"


@pytest.mark.parametrize("field", ["token", "username", "password", "client-key-data"])
def test_a_field_that_is_no_text_is_refused(field: str) -> None:
    for content in (["x"], {"value": "x"}, 12345678, True):
        assert f"Its {field} is not text" in refusal(config({field: content}))


@pytest.mark.parametrize("insecure", ["true", "yes", 1, [True], {"a": True}])
def test_only_a_plain_true_leaves_the_certificate_unchecked(insecure: object) -> None:
    given = Kubeconfig(config(cluster={"insecure-skip-tls-verify": insecure}))
    assert not given.context().insecure
    assert "insecure-skip-tls-verify" not in given.reduced()["clusters"][0]["cluster"]


OUTSIDE = ["{outside}/secret", "../outside/secret", "link", "{door}/secret", "{allowed}/../outside/secret", "pipe", "."]


@pytest.mark.parametrize("path", [*OUTSIDE, "/dev/zero", "/proc/self/environ", "nul\0l", "x:{outside}/secret"])
def test_files_outside_the_allowed_folders_are_not_read_whatever_leads_there(path: str, tmp_path: Path) -> None:
    allowed, outside, door = tmp_path / "allowed", tmp_path / "outside", tmp_path / "door"
    allowed.mkdir()
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    (allowed / "link").symlink_to(outside / "secret")
    door.symlink_to(outside)
    os.mkfifo(allowed / "pipe")
    given = path.format(outside=outside, door=door, allowed=allowed)
    for field in ("tokenFile", "client-certificate", "client-key"):
        assert refusal(config({field: given}), allowed, read=Allowed((allowed,)).read)


@pytest.mark.parametrize(("folder", "allowed"), [("link", "real"), ("real", "link"), ("link", "link")])
def test_links_are_followed_on_both_sides(folder: str, allowed: str, tmp_path: Path) -> None:
    (tmp_path / "real" / "..data").mkdir(parents=True)
    (tmp_path / "real" / "..data" / "token").write_text(SECRET)
    (tmp_path / "real" / "token").symlink_to("..data/token")  # Kubernetes mounts Secrets with such links
    (tmp_path / "link").symlink_to(tmp_path / "real")
    given, read = config({"tokenFile": "token"}), Allowed((tmp_path / allowed,)).read
    assert user_of(given, tmp_path / folder, read=read) == {"token": SECRET}


def test_several_files_are_one_as_kubectl_merges_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "a" / "config", tmp_path / "b" / "config"
    for file, token in ((first, "first"), (second, "second")):
        file.parent.mkdir()
        (file.parent / "token").write_text(token)
    first.write_bytes(config({"tokenFile": "token"}))
    more = {"name": "more", "context": {"cluster": "two", "user": "theirs"}}
    theirs = [{"name": "theirs", "user": {"tokenFile": "token"}}, {"name": "me", "user": {"token": "not this"}}]
    whole = config(contexts=[more], users=theirs)
    second.write_bytes(whole.replace(b"current-context: prod", b"current-context: more"))
    monkeypatch.setenv("KUBECONFIG", f"{first}:{tmp_path / 'none'}:{second}:")
    merged = own(default_paths(), Allowed(None))
    tokens = [merged.reduced(name, Allowed(None).read)["users"][0]["user"]["token"] for name in ("", "more", "dev")]
    assert tokens == ["first", "second", "of another"]


def test_a_program_is_kept_with_the_fields_that_are_used_alone(tmp_path: Path) -> None:
    program = {"apiVersion": "v1", "command": "./login", "args": ["-x"], "env": [{"name": "A", "value": "b", "c": "d"}]}
    given = config({"exec": {**program, "interactiveMode": "Never", "extra": SECRET}})
    kept = user_of(given, tmp_path, programs=True)["exec"]
    assert kept["command"] == str(tmp_path / "login") and kept["args"] == ["-x"]
    assert kept["env"] == [{"name": "A", "value": "b"}] and SECRET not in str(kept)
    for broken in ({"command": ["sh"]}, {"args": "x"}, {"args": [["x"]]}, {"env": [{"name": 1}]}, {"apiVersion": None}):
        assert refusal(config({"exec": {**program, **broken}}), programs=True)


def test_of_an_auth_provider_only_the_token_is_used_that_kubectl_renews() -> None:
    oidc = {"name": "oidc", "config": {"id-token": SECRET, "idp-issuer-url": "https://evil.example.com"}}
    assert user_of(config({"auth-provider": oidc}), programs=True) == {"token": SECRET}
    gcp = {"name": "gcp", "config": {"cmd-path": "sh"}}
    assert "auth-provider" in refusal(config({"auth-provider": gcp}), programs=True)

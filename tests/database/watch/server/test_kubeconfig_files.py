"""These tests connect clusters by the path of a kubeconfig: only what an operator allows is read and run."""

import json
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from collectors.watch.server import connections, credentials
from collectors.watch.server.connections import ClusterRefused
from collectors.watch.server.failures import Unusable
from dashboard import environment
from tests.database.storage.sources import ran
from tests.database.watch.server.api_server import (
    ANSWERS,
    SECRET,
    Server,
    config,
    connected_by,
    running_program,
)
from timeline.models import Cluster

pytestmark = pytest.mark.django_db
NOWHERE = "https://127.0.0.1:1"


@pytest.fixture(autouse=True)
def allowed(settings: Settings, tmp_path: Path) -> None:
    settings.KUBECONFIG_DIRS = (tmp_path,)


def refused(reference: Any, words: str | None = None, name: str = "terminal") -> None:
    with pytest.raises(Unusable, match=words):
        credentials.api_of(Cluster(name=name, reference=reference))


def test_a_program_of_a_kubeconfig_runs_only_where_the_command_line_allowed_it(
    tmp_path: Path, settings: Settings
) -> None:
    ran_it, file, other = tmp_path / "ran", tmp_path / "kubeconfig", tmp_path / "other"
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t"}}
    program = config(NOWHERE, running_program("sh", "-c", f"touch {ran_it}; echo '{json.dumps(credential)}'"))
    file.write_text(config(NOWHERE))
    page = connected_by(file, "page")
    file.write_text(program)
    with pytest.raises(Unusable, match="come from a program"):
        connections.with_kubeconfig_path(file)
    refused(page.reference, "come from a program", "page")
    assert not ran_it.exists()
    terminal = connected_by(file, "terminal", programs_for="terminal")
    credentials.api_of(terminal)
    assert ran_it.exists()
    ran_it.unlink()

    signed = terminal.reference
    other.write_text(program)
    refused(signed, name="copied")
    for change in ({"programs": ["x"]}, {"path": str(other)}, {"context": "stage"}, {"how": "path "}):
        refused({**signed, **change})
    earlier = {**signed, "programs": True}  # the form of an earlier version
    refused(earlier, r"permission to run it is not valid.*causeline connect --name terminal")
    assert not ran_it.exists()

    Cluster.objects.filter(pk=terminal.pk).update(reference=earlier, keep_days=3)
    again = connected_by(file, "terminal", programs_for="terminal")
    assert (again.pk, again.keep_days, again.reference) == (terminal.pk, 3, signed)
    with pytest.raises(ClusterRefused):
        connected_by(other, "terminal", programs_for="terminal")
    key, old = settings.CREDENTIALS_KEYS[0], "o" * 40
    settings.CREDENTIALS_KEYS = ["n" * 32]
    refused(again.reference, "not valid")
    settings.CREDENTIALS_KEYS = [key, old]
    settings.SECRET_KEY = "another"
    again = connected_by(file, "terminal", programs_for="terminal")
    settings.CREDENTIALS_KEYS = [old, key]
    connections.reencrypt_secrets()
    settings.CREDENTIALS_KEYS = [old]
    again.refresh_from_db()
    credentials.api_of(again)
    assert ran_it.exists()
    file.write_text(config(NOWHERE, {"token": "t", "as": "system:admin"}))
    refused(again.reference, "impersonates another")


def test_a_file_that_somebody_uploaded_is_no_kubeconfig(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "real")  # as if an operator had moved the data to another disk
    settings.UPLOAD_DIR = tmp_path / "data" / "uploads"
    settings.UPLOAD_DIR.mkdir()
    file, link, outside = settings.UPLOAD_DIR / "0", tmp_path / "link", tmp_path / "kubeconfig"
    file.write_text(config(NOWHERE))
    link.symlink_to(file)
    outside.write_text(config(NOWHERE, {"tokenFile": "data/uploads/0"}))
    real = tmp_path / "real" / "uploads" / "0"
    for path in (file, link, real, tmp_path / "data" / ".." / "data" / "uploads" / "0", outside):
        with pytest.raises(Unusable, match="among the uploads"):
            connections.with_kubeconfig_path(path)
        assert ran("connect", "--name=prod", "--unchecked", f"--kubeconfig={path}") == 2
        assert "among the uploads" in capsys.readouterr().err
    assert not Cluster.objects.exists()


def test_a_kubeconfig_is_read_by_its_path_only_from_the_folders_that_an_operator_allows(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "allowed"
    folder.mkdir()
    settings.KUBECONFIG_DIRS = (folder,)
    outside, inside = tmp_path / "kubeconfig", folder / "kubeconfig"
    outside.write_text(config(NOWHERE))
    assert ran("connect", "--name=prod", "--by-path", "--unchecked", f"--kubeconfig={outside}") == 2
    assert "CAUSELINE_KUBECONFIG_DIRS" in capsys.readouterr().err
    inside.write_text(config(NOWHERE))
    cluster = connected_by(inside)
    credentials.api_of(cluster).close()
    (tmp_path / "token").write_text(SECRET)
    inside.write_text(config(NOWHERE, {"tokenFile": "../token"}))
    with pytest.raises(Unusable, match="Its tokenFile lies outside") as raised:
        credentials.api_of(cluster)
    assert SECRET not in str(raised.value)
    refused({**cluster.reference, "path": str(outside)}, "lies outside the folders")
    for path in (Path("/dev/zero"), Path("/proc/self/environ"), folder, folder / "none"):
        with pytest.raises(Unusable):
            connections.with_kubeconfig_path(path)


def test_a_path_with_a_colon_is_one_path(tmp_path: Path, server: Server) -> None:
    """The file that is checked is the one that is loaded. The client library would split the path and load another
    file."""
    ran_it, harmful = tmp_path / "ran", tmp_path / "b" / "kc"
    harmless = Path(f"{tmp_path}/a:{harmful}")
    for file in (harmful, harmless):
        file.parent.mkdir(parents=True)
    harmful.write_text(config(server.url, running_program("touch", str(ran_it))))
    harmless.write_text(config(server.url))
    assert json.loads(credentials.api_of(connected_by(harmless)).get("/version")) == ANSWERS["/version"]
    assert ran("connect", "--name=stored", f"--kubeconfig={harmless}") == 0 and not ran_it.exists()


def test_a_file_is_checked_on_every_load(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.watch.server.api._RELOAD_SECONDS", 0.0)
    file, ran_it = tmp_path / "kubeconfig", tmp_path / "ran"
    file.write_text(config(server.url))
    api = credentials.api_of(connected_by(file))
    api.get("/version")
    outside = tmp_path.parent / f"{tmp_path.name}-secret"
    outside.write_text(SECRET)
    server.token = "exchanged"
    program = running_program("touch", str(ran_it))
    for user in (program, {"tokenFile": str(outside)}, {"token": "t", "as": "system:admin"}):
        file.write_text(config(server.url, user))
        with pytest.raises(Unusable):
            api.get("/version")
        assert not ran_it.exists()
    file.write_text(config(server.url, {"token": "exchanged"}))
    api.get("/version")


def test_a_setting_of_folders_holds_whole_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUSELINE_KUBECONFIG_DIRS", "/etc/causeline, ~/.kube")
    assert environment.read().kubeconfig_dirs == [Path("/etc/causeline"), Path.home() / ".kube"]
    for given in ("kube", "./kube", "/a,kube", "~nobody-of-this-name/kube"):
        monkeypatch.setenv("CAUSELINE_KUBECONFIG_DIRS", given)
        with pytest.raises(environment.SettingError, match="CAUSELINE_KUBECONFIG_DIRS"):
            environment.read()


def test_the_command_connects_nothing_that_does_not_answer_unless_it_is_asked_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(config("http://127.0.0.1:1"))
    command = ["connect", "--name=prod", f"--kubeconfig={file}"]
    assert ran(*command) == 1 and "cannot be reached" in capsys.readouterr().err
    assert ran(*command, "--context=stage", "--unchecked") == 2
    assert not Cluster.objects.exists()
    assert ran(*command, "--unchecked", "--by-path") == 0
    cluster = Cluster.objects.get()
    assert cluster.secret is None and cluster.reference["path"] == str(file) and cluster.reference["programs"]

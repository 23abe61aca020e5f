"""These tests start Causeline as root: it changes to an account of its own, and the owners of other users' files stay
the same."""

import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from dashboard.services import ServiceError, leave_root
from dashboard.services.accounts import Account, give, is_shared, own_account, unnamed_account
from dashboard.services.mount_namespace import enter, in_child, planned
from tests.inputs.recordings import SAMPLE
from tests.process.cli.commands import OWN_SERVERS, finished
from tests.process.services.servers import NOBODY, launch

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to leave")
SOMEBODY = Account(64_321, 64_321)
WITHOUT_MOUNTS = ("setpriv", "--bounding-set=-sys_admin")  # the rights of root in a container


@pytest.fixture
def home() -> Iterator[Path]:
    """Yield a folder that only root may enter, like root's home."""
    with tempfile.TemporaryDirectory(prefix="root-") as folder:
        yield Path(folder)


def owner(path: Path) -> int:
    return path.lstat().st_uid


def test_no_link_leads_out_of_a_folder_that_changes_hands(home: Path) -> None:
    outside, folder = home / "shadow", home / "data"
    inner, servers = folder / "logs", folder / "postgres"
    for made in (folder, inner, servers):
        made.mkdir()
    for file in (outside, folder / "own", inner / "own", servers / "own"):
        file.write_text("")
    (folder / "symbolic").symlink_to(outside)
    (folder / "elsewhere").symlink_to(home)
    os.link(outside, folder / "hard")
    os.link(outside, servers / "hard")
    for path in (servers, servers / "own"):
        os.chown(path, NOBODY, NOBODY)
    (servers / "of root").write_text("")  # the account nobody cannot have created it
    give(folder, SOMEBODY)
    assert owner(outside) == owner(home) == owner(servers / "of root") == owner(folder / "symbolic") == 0
    for path in (folder, inner, servers, folder / "own", inner / "own", servers / "own"):
        assert owner(path) == SOMEBODY.uid, path


def test_a_folder_that_is_not_causelines_is_not_taken(home: Path) -> None:
    (home / "authorized_keys").write_text("")
    with pytest.raises(ServiceError, match="files in it that are not Causeline's"):
        leave_root(home, print)
    (home / "data").mkdir()
    (home / "data").chmod(0o777)
    with pytest.raises(ServiceError, match="can be written by others"):
        leave_root(home / "data", print)
    assert os.geteuid() == owner(home) == owner(home / "data") == 0


def test_an_account_is_nobody_elses(home: Path) -> None:
    first = unnamed_account(home / "data")
    assert unnamed_account(home / "data") == first
    with subprocess.Popen(["sleep", "60"], user=first.uid) as process:
        assert unnamed_account(home / "data") != first
        process.kill()
    data_dir = home / "data"
    data_dir.mkdir()
    os.chown(data_dir, NOBODY, NOBODY)
    assert is_shared(NOBODY) and own_account(data_dir) != Account(NOBODY, NOBODY)
    os.chown(data_dir, SOMEBODY.uid, SOMEBODY.gid)
    assert own_account(data_dir) == SOMEBODY


def test_a_checkout_that_only_root_may_enter_is_seen_and_nothing_beside_it(home: Path) -> None:
    checkout, linked = home / "checkout", home / "linked"
    package, data_dir, python = checkout / "package", checkout / "data", home / "versions" / "3"
    for folder in (checkout, package, data_dir, python):
        folder.mkdir(parents=True)
    checkout.chmod(0o700)
    data_dir.chmod(0o700)
    (package / "code.py").write_text("code")
    (python / "python").write_text("python")
    (home / "secret").write_text("")
    linked.symlink_to("versions/3")

    def tried() -> str:
        os.chown(data_dir, SOMEBODY.uid, SOMEBODY.gid)
        enter(planned(SOMEBODY, [checkout, linked / "python"], data_dir), SOMEBODY)
        os.setgroups([])
        os.setgid(SOMEBODY.gid)
        os.setuid(SOMEBODY.uid)
        (data_dir / "written").write_text("")
        assert sorted(path.name for path in checkout.iterdir()) == ["data", "package"]
        assert sorted(path.name for path in home.iterdir()) == ["checkout", "linked", "versions"]
        return (package / "code.py").read_text() + (linked / "python").read_text()

    assert in_child(tried) == "codepython"
    assert (data_dir / "written").exists() and (home / "secret").exists()
    assert stat.S_IMODE(home.stat().st_mode) == stat.S_IMODE(checkout.stat().st_mode) == 0o700


def test_without_the_right_to_mount_it_says_what_stays_roots_and_why(home: Path) -> None:
    with launch(home / "data", WITHOUT_MOUNTS) as process:
        assert process.stdin and process.stdout and process.stderr
        assert process.stdout.readline(), process.stderr.read()
        process.stdin.close()
        errors = process.stderr.read()
    assert "go on as root, because they cannot run as" in errors and str(home) in errors and "--data-dir" in errors
    assert owner(home / "data") == owner(home / "data" / "logs") == 0
    assert owner(home / "data" / "postgres") != 0

    os.chown(home / "data", SOMEBODY.uid, SOMEBODY.gid)
    with launch(home / "data", WITHOUT_MOUNTS) as process:
        _, errors = process.communicate()
        assert process.returncode == 1
    assert f"belongs to uid {SOMEBODY.uid}, and Causeline cannot run as that account" in errors


def test_roots_files_are_read_and_written_by_commands_that_leave_root(home: Path) -> None:
    recording = home / "audit.zst"
    recording.write_bytes(SAMPLE.read_bytes())
    recording.chmod(0o600)
    data = ("--data-dir", str(home / "data"))
    status, _, errors = finished("import", str(recording), "--name", "mine", *data, **OWN_SERVERS)
    assert status == 0, errors
    account = owner(home / "data")
    assert not is_shared(account)
    assert {owner(path) for path in (home / "data").rglob("*")} == {account}

    export = home / "export.jsonl.zst"
    status, _, errors = finished("export", "mine", "--format", "recording", "-o", str(export), *data, **OWN_SERVERS)
    assert (status, owner(export)) == (0, 0), errors
    assert zstandard.ZstdDecompressor().decompressobj().decompress(export.read_bytes()).count(b"\n") > 700
    status, _, errors = finished("backup", str(home / "dump"), *data, **OWN_SERVERS)  # a pipe to who writes as root
    assert (status, owner(home / "dump"), stat.S_IMODE((home / "dump").stat().st_mode)) == (0, 0, 0o600), errors
    assert (home / "dump").read_bytes().startswith(b"PGDMP")
    kept = export.read_bytes()
    status, _, errors = finished("export", "none", "-o", str(export), *data, **OWN_SERVERS)
    assert (status, export.read_bytes()) == (2, kept), errors
    assert sorted(path.name for path in home.iterdir()) == ["audit.zst", "data", "dump", "export.jsonl.zst"]

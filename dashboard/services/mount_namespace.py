"""Make a private view of the file system (a mount namespace) for an unprivileged account.

A checkout, a Python or a data directory may be in a folder that only root may enter, such as root's home. In the view,
an empty folder is mounted over such a folder, and only what the account needs appears in it, under the same path.
Nothing is copied, no permission is changed, and no other process sees the view.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dashboard.services.accounts import Account

_CLONE_NEWNS = 0x20000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x2, 0x4, 0x1000, 0x4000, 0x40000
_MOST_LINKS = 40  # the longest chain of links, as in the kernel


@dataclass(frozen=True)
class MountNamespace:
    """What the account needs, without links; the links that lead there; and the folders it may not enter."""

    needed: list[Path]
    links: dict[Path, str]
    closed: list[Path]


def planned(account: Account, paths: Iterable[Path], own: Path) -> MountNamespace:
    """Plan a view with these paths. `own` will belong to the account."""
    links: dict[Path, str] = {}
    needed = {_followed(path, links) for path in [*paths, own]}
    folders = {parent for path in needed for parent in path.parents}
    folders |= {path for path in needed if path.is_dir()}
    closed = _closed(account, folders - {_followed(own, links)})
    inside = needed & set(closed)  # their content is needed, and the account may be allowed to read that
    needed -= inside
    needed |= {_followed(child, links) for folder in inside for child in folder.iterdir()}
    return MountNamespace(sorted(needed), links, closed)


def enter(view: MountNamespace, account: Account) -> None:
    """Let this process and its children see the view from now on. Raises OSError if root may not mount."""
    call("unshare", _CLONE_NEWNS)
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    held = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in view.needed if path.exists()]
    before = os.umask(0o022)  # the account has to be able to read what is made here
    for folder in view.closed:
        if not folder.is_dir():
            continue  # a parent is covered already, and nothing in this folder is needed
        _mount("tmpfs", folder, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755")
        for link, target in view.links.items():
            if link.is_relative_to(folder) and not os.path.lexists(link):
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(target)
        for path, descriptor in held:
            if path.is_relative_to(folder) and path != folder:
                _show(path, descriptor)
    os.umask(before)
    for _, descriptor in held:
        os.close(descriptor)
    _name(account)


def in_child(function: Callable[[], str]) -> str:
    """Call the function in a forked process and return its text, or that of its error."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            try:
                text = function()
            except BaseException as error:
                text = str(error) or type(error).__name__
            os.write(writing, text.encode(errors="replace")[:60_000])
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        output = pipe.read()
    os.waitpid(child, 0)
    return output.decode(errors="replace")


def _followed(path: Path, links: dict[Path, str]) -> Path:
    """Resolve a path and note every link on the way."""
    todo = list(reversed(path.absolute().parts[1:]))
    at = Path("/")
    for _ in range(_MOST_LINKS * 100):
        if not todo:
            break
        name = todo.pop()
        if name == "..":
            at = at.parent
        elif name != ".":
            step = at / name
            if step.is_symlink():
                links[step] = str(step.readlink())
                target = Path(links[step])
                if target.is_absolute():
                    at = Path("/")
                todo += reversed(target.parts[1:] if target.is_absolute() else target.parts)
            else:
                at = step
    return at


def _closed(account: Account, folders: Iterable[Path]) -> list[Path]:
    """Return the folders that the account may not enter, whatever their parents allow. Each is tried."""
    held = [(folder, os.open(folder, os.O_PATH | os.O_CLOEXEC)) for folder in sorted(folders)]

    def tried() -> str:
        os.setgroups([])
        os.setgid(account.gid)
        os.setuid(account.uid)
        return "".join("-" if _may_enter(descriptor) else "x" for _, descriptor in held)

    answers = in_child(tried)
    for _, descriptor in held:
        os.close(descriptor)
    if len(answers) != len(held):
        raise OSError(answers)
    return [folder for (folder, _), answer in zip(held, answers, strict=True) if answer == "x"]


def _may_enter(folder: int) -> bool:
    try:
        os.stat(".", dir_fd=folder)
    except PermissionError:
        return False
    return True


def _show(path: Path, descriptor: int) -> None:
    found = os.fstat(descriptor)
    if path.exists() and os.path.samestat(path.stat(), found):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISDIR(found.st_mode):
        path.mkdir(exist_ok=True)
    else:
        path.touch()
    _mount(f"/proc/self/fd/{descriptor}", path, None, _MS_BIND | _MS_REC)


def _name(account: Account) -> None:
    """Give an account without a name one in the view, because initdb needs it."""
    try:
        pwd.getpwuid(account.uid)
    except KeyError:
        line = f"causeline:x:{account.uid}:{account.gid}:Causeline:/nonexistent:/usr/sbin/nologin\n"
        with tempfile.NamedTemporaryFile() as file:
            file.write(Path("/etc/passwd").read_bytes().rstrip(b"\n") + b"\n" + line.encode())
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            _mount(file.name, "/etc/passwd", None, _MS_BIND)


def _mount(source: str | None, target: str | Path, kind: str | None, flags: int, data: str | None = None) -> None:
    words = [each and os.fsencode(each) for each in (source, target, kind)]
    call("mount", *words, ctypes.c_ulong(flags), data and data.encode())


def call(name: str, *arguments: object) -> None:
    """Call a function of the C library. Raises OSError if it fails, or if the system does not have it."""
    if sys.platform != "linux":
        raise OSError(f"this system has no {name}")
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")

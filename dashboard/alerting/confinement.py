"""Confine a process that sends with a library which connects by itself.

It acts below the library, with an audit hook of Python that cannot be removed. The process connects only to addresses
that a name was resolved to here and that `collectors.hosts` admits: what was checked is what is connected to,
and redirects and proxies lead nowhere else. It opens no files except those of Python and of its packages, writes none,
starts no programs, and takes at most 1 GiB of memory. A library in C could go around it; no service that may be
allowed connects by one.
"""

import os
import resource
import site
import socket
import sys
import sysconfig
from typing import TYPE_CHECKING, Any, NoReturn

from collectors.hosts import NotAllowed
from dashboard.access import outgoing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collectors.hosts import AllowedHost

_FORBIDDEN = (
    *(
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.kill",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "pty.spawn",
        "subprocess.",
    ),
    *("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate"),
    *("ctypes.", "fcntl.", "shutil.", "socket.bind", "socket.sendmsg", "socket.sendto", "sqlite3."),
)
_MEMORY = 1024**3  # bytes
_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
_SYSTEM = ("/etc/ssl/", "/etc/pki/", "/etc/mime.types", "/usr/share/zoneinfo/", "/etc/localtime", "/etc/timezone")


class Forbidden(PermissionError):
    """The confined process tried something that it may not do. Libraries treat it as an error of the system."""


class Confinement:
    """Hold what a confined process may connect to, and what it was refused."""

    def __init__(self) -> None:
        self.allowed: Sequence[AllowedHost] = []
        self._checked: set[tuple[str, int]] = set()  # addresses and ports
        self.refused: list[str] = []  # sentences, without secrets
        self._readable = _readable()

    def begin(self) -> None:
        """Confine this process until it ends."""
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))  # however much the other side answers
        resolve = socket.getaddrinfo

        def checked(host: Any, port: Any, *args: Any, **more: Any) -> Any:
            found = resolve(host, port, *args, **more)
            name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")
            addresses = {(str(each[4][0]), int(each[4][1])) for each in found}
            for address, number in sorted(addresses):
                try:
                    outgoing.gate(self.allowed).admit(name, number, address)
                except NotAllowed as error:
                    self._refuse(str(error))
            self._checked |= addresses
            return found

        socket.getaddrinfo = checked
        sys.addaudithook(self._audit)

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.connect":
            address = args[1]
            if not (isinstance(address, tuple) and address[:2] in self._checked):
                self._refuse("Something other than an allowed host was connected to.")
        elif event == "open":
            self._opened(*args)
        elif event.startswith(_FORBIDDEN):
            self._refuse(f"Sending a message may not use {event}.")

    def _opened(self, path: Any, _: Any, flags: int) -> None:
        if isinstance(path, int):
            return
        real = os.path.realpath(os.fsdecode(path))
        if flags & _WRITE or not real.startswith(self._readable):
            self._refuse("Sending a message may not open files.")

    def _refuse(self, why: str) -> NoReturn:
        self.refused.append(why)
        raise Forbidden(why)


def _readable() -> tuple[str, ...]:
    """Return the beginnings of the paths that may be read: Python, its packages, and certificates."""
    python = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    own = [os.path.realpath(path) + os.sep for path in (*python, *site.getsitepackages())]
    return (*own, *_SYSTEM, *(os.path.realpath(value) for name in _CERTIFICATES if (value := os.environ.get(name))))

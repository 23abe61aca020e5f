"""Check a kubeconfig and reduce it to the one context that is used.

The client library only gets what `reduced` returns: plain strings and booleans of known fields, with the contents of
files instead of their names. Errors do not quote contents of a kubeconfig, which may be secret.
"""

import base64
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from collectors.formats.yaml_documents import value
from collectors.watch.server.exec_plugins import exec_plugin
from collectors.watch.server.failures import Unusable
from collectors.watch.server.files import MOST_BYTES, Allowed

_DEPTH = 20  # levels of nested YAML
_CONTEXTS = 1000  # contexts of a kubeconfig at most
_LONGEST_ADDRESS = 2048  # characters
_SHOWN = 300  # characters of an address or a name
_CLUSTER = ("server", "certificate-authority-data", "tls-server-name", "proxy-url")
_USER = ("token", "client-certificate-data", "client-key-data", "username", "password")
_INSECURE = "insecure-skip-tls-verify"
_FILES = {  # field with a path -> field with the content, in base64 (a token: as text)
    "certificate-authority": "certificate-authority-data",
    "client-certificate": "client-certificate-data",
    "client-key": "client-key-data",
    "tokenFile": "token",
}
_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?"
_SERVER = re.compile(rf"https?://{_HOST}(?:/[A-Za-z0-9._~%:=+/-]*)?")
_PROXY = re.compile(rf"https?://(?:[^\s@/?#]*@)?{_HOST}/?")
_USER_OF = re.compile(r"^(\w+://)[^/]*@")  # a user and a password in an address
_OTHERS = ("as", "as-groups", "as-uid", "as-user-extra")
_PROGRAMS = ("exec", "auth-provider")
INSTEAD = "Give Causeline a ServiceAccount and its token instead; `causeline connect --print-rbac` shows how."

Read = Callable[[Path, str], bytes]  # read(path, name for messages); raises Unusable


class Context(NamedTuple):
    """One context of a kubeconfig."""

    name: str
    server: str
    user: str
    current: bool
    insecure: bool  # whether the server's certificate is not checked
    programs: bool  # whether its credentials come from a program that runs where the cluster is watched


class _Fields(NamedTuple):
    """The fields of a cluster, a user or a context, and the folder of its file."""

    fields: dict[str, Any]
    folder: Path | None


class Kubeconfig:
    """A parsed kubeconfig. Raise Unusable for anything that is not a kubeconfig with a context."""

    def __init__(self, content: bytes | dict[str, Any], folder: Path | None = None) -> None:
        """Parse and check the content. Paths in it are relative to `folder`, where its file is."""
        document = content if isinstance(content, dict) else _parsed(content)
        if not isinstance(document.get("contexts"), list):
            raise Unusable("This is not a kubeconfig: it has no contexts.")
        self._clusters = _named(document, "clusters", "cluster", folder)
        self._users = _named(document, "users", "user", folder)
        self._contexts = _named(document, "contexts", "context", folder)
        if not self._contexts:
            raise Unusable("This is not a kubeconfig: it has no contexts.")
        if len(self._contexts) > _CONTEXTS:
            raise Unusable(
                f"It has more than {_CONTEXTS} contexts. `kubectl config view --raw --flatten --minify` writes one."
            )
        self._current = document.get("current-context")

    @classmethod
    def merged(cls, parts: Sequence["Kubeconfig"]) -> "Kubeconfig":
        """Return several kubeconfigs merged as kubectl does: the first entry of a name wins."""
        first = parts[0]
        for part in parts[1:]:
            first._clusters = part._clusters | first._clusters
            first._users = part._users | first._users
            first._contexts = part._contexts | first._contexts
            first._current = first._current or part._current
        return first

    @property
    def current(self) -> str:
        """Return the name of the current context, or else of the first one."""
        return self._current if self._current in self._contexts else next(iter(self._contexts))

    def contexts(self) -> list[Context]:
        """Return the contexts that name a cluster, the current one first."""
        found = [self._context(name) for name in self._contexts if self._cluster_of(name) is not None]
        return sorted(found, key=lambda each: (not each.current, each.name))

    def context(self, name: str = "") -> Context:
        """Return the context of this name, or the current one. Raise Unusable."""
        wanted = name or self.current
        if wanted not in self._contexts:
            names = ", ".join(each[:_SHOWN] for each in sorted(self._contexts)[:20])
            raise Unusable(f"It has no context {wanted[:_SHOWN]}. There are: {names}.")
        if self._cluster_of(wanted) is None:
            raise Unusable(f"The context {wanted[:_SHOWN]} names a cluster that is not in it.")
        return self._context(wanted)

    def checked_context(self, name: str = "", *, programs: bool) -> Context:
        """Return the context of this name.

        Raise Unusable if it impersonates a user, or if its credentials come from a program without `programs` being
        set.
        """
        context = self.context(name)
        user = self._user_of(context.name).fields
        if context.programs and not programs:
            what = "a program (exec)" if user.get("exec") is not None else "an auth-provider"
            raise Unusable(
                f"The credentials of the context {context.name} come from {what}, which would have to run where the "
                f"cluster is watched. {INSTEAD} Or connect with `causeline connect --by-path`, which lets it run."
            )
        if any(user.get(field) is not None for field in _OTHERS):
            raise Unusable(f"The user of the context {context.name} impersonates another, which Causeline does not do.")
        return context

    def reduced(self, name: str = "", read: Read | None = None, *, programs: bool = False) -> dict[str, Any]:
        """Return a kubeconfig with that context alone, and only the fields that Causeline uses.

        `read` reads the files that it names. Raise Unusable if a file is named without `read`, if an address cannot be
        used, and as `checked_context` does.
        """
        context = self.checked_context(name, programs=programs)
        cluster, user = self._cluster_of(context.name) or _Fields({}, None), self._user_of(context.name)
        kept_cluster, kept_user = _kept(cluster, _CLUSTER, read), _kept(user, _USER, read)
        _check_addresses(context.name, kept_cluster)
        if cluster.fields.get(_INSECURE) is True:
            kept_cluster[_INSECURE] = True
        if context.programs:
            kept_user |= exec_plugin(user.fields, user.folder)
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": context.name,
            "contexts": [{"name": context.name, "context": {"cluster": "cluster", "user": "user"}}],
            "clusters": [{"name": "cluster", "cluster": kept_cluster}],
            "users": [{"name": "user", "user": kept_user}],
        }

    def _context(self, name: str) -> Context:
        cluster, user = (self._cluster_of(name) or _Fields({}, None)).fields, self._user_of(name).fields
        return Context(
            name=name,
            server=_USER_OF.sub(r"\1", _text(cluster.get("server"))).rstrip("/"),
            user=_text(self._contexts[name].fields.get("user")),
            current=name == self.current,
            insecure=cluster.get(_INSECURE) is True,
            programs=any(user.get(field) is not None for field in _PROGRAMS),
        )

    def _cluster_of(self, context: str) -> _Fields | None:
        return self._clusters.get(str(self._contexts[context].fields.get("cluster")))

    def _user_of(self, context: str) -> _Fields:
        return self._users.get(str(self._contexts[context].fields.get("user")), _Fields({}, None))


def own(paths: Sequence[Path], allowed: Allowed) -> Kubeconfig:
    """Return the user's own kubeconfig, from one file or several.

    Files that do not exist are skipped, as kubectl does, unless none exists. Raise Unusable.
    """
    existing_paths = [path for path in paths if path.exists()]
    if not existing_paths:
        raise Unusable(f"There is no kubeconfig {', '.join(map(str, paths))}.")
    return Kubeconfig.merged([Kubeconfig(allowed.read(path), path.parent) for path in existing_paths])


def default_paths() -> list[Path]:
    """Return where kubectl looks for a kubeconfig by default: the paths in KUBECONFIG, else ~/.kube/config."""
    named = [Path(each) for each in os.environ.get("KUBECONFIG", "").split(os.pathsep) if each]
    return [path.expanduser().absolute() for path in named or [Path("~/.kube/config")]]


def _parsed(content: bytes) -> dict[str, Any]:
    if len(content) > MOST_BYTES:
        raise Unusable(f"It is larger than {MOST_BYTES >> 20} MiB, which no kubeconfig is.")
    try:
        document = value(content, _DEPTH)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise Unusable(f"It is not YAML{where}, and so not a kubeconfig.") from None
    except ValueError as error:  # an alias, too many values, too deep: these messages quote nothing
        why = str(error) if "alias" in str(error) else "kubectl would not write such a file"
        raise Unusable(f"It cannot be used as a kubeconfig: {why}.") from None
    if not isinstance(document, dict):
        raise Unusable("This is not a kubeconfig: it has no contexts.")
    return document


def _named(document: dict[str, Any], field: str, inner: str, folder: Path | None) -> dict[str, _Fields]:
    entries = document.get(field)
    found: dict[str, _Fields] = {}
    for each in entries if isinstance(entries, list) else ():
        if isinstance(each, dict) and isinstance(each.get("name"), str) and isinstance(each.get(inner), dict):
            found.setdefault(each["name"], _Fields(each[inner], folder))
    return found


def _text(given: object) -> str:
    """Return a shortened field for display, since many contexts may share a long one."""
    return given[:_SHOWN] if isinstance(given, str) else ""


def _check_addresses(context: str, cluster: dict[str, Any]) -> None:
    server, proxy = cluster.get("server", ""), cluster.get("proxy-url", "")
    if len(server) > _LONGEST_ADDRESS or not _SERVER.fullmatch(server):
        raise Unusable(
            f"The server of the context {context} has no address such as https://10.0.0.1:6443 "
            "(without a user name, a password or a query)."
        )
    if proxy and (len(proxy) > _LONGEST_ADDRESS or not _PROXY.fullmatch(proxy)):
        raise Unusable(f"The proxy-url of the context {context} is not an address such as http://10.0.0.1:3128.")


def _kept(entry: _Fields, wanted: tuple[str, ...], read: Read | None) -> dict[str, Any]:
    fields, folder = entry
    kept: dict[str, Any] = {name: fields[name] for name in wanted if fields.get(name) is not None}
    for name, content in kept.items():
        if not isinstance(content, str):
            raise Unusable(f"Its {name} is not text; put it in quotes.")
    for field, holds in _FILES.items():
        path = fields.get(field)
        if not isinstance(path, str) or not path or holds not in wanted or kept.get(holds):
            continue
        if read is None or folder is None:
            raise Unusable(
                f"It names a file ({field}), which cannot be read here. Write its content into the kubeconfig with "
                "`kubectl config view --raw --flatten --minify`, and give that."
            )
        file = read(folder / path, f"Its {field}")
        kept[holds] = file.decode(errors="replace").strip() if holds == "token" else base64.b64encode(file).decode()
    return kept

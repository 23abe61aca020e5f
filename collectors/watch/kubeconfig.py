"""Pure but for files it is told to inline: a kubeconfig, cut down to the one context that is used.

Nothing of its content stands in what is raised: that may be secret.
"""

import base64
import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from collectors.watch.failures import Unusable

MOST_BYTES = 1 << 20
_CLUSTER = ("server", "certificate-authority-data", "insecure-skip-tls-verify", "tls-server-name", "proxy-url")
_USER = ("token", "client-certificate-data", "client-key-data", "username", "password")
_FILES = {  # field: the one that holds its content, in base64 or as it is
    "certificate-authority": "certificate-authority-data",
    "client-certificate": "client-certificate-data",
    "client-key": "client-key-data",
    "tokenFile": "token",
}
_USER_OF = re.compile(r"^(\w+://)[^/]*@")  # an address
_OTHERS = ("as", "as-groups", "as-uid", "as-user-extra")
_PROGRAMS = ("exec", "auth-provider")
INSTEAD = "Give Causeline a ServiceAccount and its token instead; `causeline connect --print-rbac` shows how."


class Context(NamedTuple):
    name: str
    server: str
    user: str
    current: bool
    insecure: bool  # the server's certificate is not checked
    programs: bool  # its credentials come from a program, which would run where the cluster is watched


class Kubeconfig:
    """What a file says. Raises Unusable for anything else than a kubeconfig with a context."""

    def __init__(self, content: bytes) -> None:
        if len(content) > MOST_BYTES:
            raise Unusable(f"It is larger than {MOST_BYTES >> 20} MiB, which no kubeconfig is.")
        try:
            told = yaml.safe_load(content)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f" (line {mark.line + 1})" if mark else ""
            raise Unusable(f"It is not YAML{where}, and so no kubeconfig.") from None
        except (ValueError, RecursionError):
            raise Unusable("It is not YAML, and so no kubeconfig.") from None
        if not isinstance(told, dict) or not isinstance(told.get("contexts"), list):
            raise Unusable("It is no kubeconfig: it has no contexts.")
        self._clusters = _named(told, "clusters", "cluster")
        self._users = _named(told, "users", "user")
        self._contexts = _named(told, "contexts", "context")
        current = told.get("current-context")
        self.current = current if current in self._contexts else next(iter(self._contexts), "")
        if not self._contexts:
            raise Unusable("It is no kubeconfig: it has no contexts.")

    def contexts(self) -> list[Context]:
        """Those that name a cluster, the current one first."""
        found = [self._context(name) for name in self._contexts if self._cluster_of(name) is not None]
        return sorted(found, key=lambda each: (not each.current, each.name))

    def context(self, name: str = "") -> Context:
        """The one of this name, or the current one. Raises Unusable."""
        wanted = name or self.current
        if wanted not in self._contexts:
            names = ", ".join(sorted(self._contexts)[:20])
            raise Unusable(f"It has no context {wanted}. There are: {names}.")
        if self._cluster_of(wanted) is None:
            raise Unusable(f"The context {wanted} names a cluster that is not in it.")
        return self._context(wanted)

    def usable(self, name: str = "", *, programs: bool) -> Context:
        """The one of this name. Raises Unusable where a program gives its credentials that may not run, or where it
        speaks for somebody else."""
        context = self.context(name)
        user = self._user_of(context.name)
        if context.programs and not programs:
            what = "a program (exec)" if "exec" in user else "an auth-provider"
            raise Unusable(
                f"The credentials of the context {context.name} come from {what}, which would have to run where the "
                f"cluster is watched. {INSTEAD} Or connect with `causeline connect --by-path`, which lets it run."
            )
        if any(field in user for field in _OTHERS):
            raise Unusable(f"The user of the context {context.name} impersonates another, which Causeline does not do.")
        return context

    def reduced(self, name: str = "", folder: Path | None = None) -> dict[str, Any]:
        """A kubeconfig with that context alone, of fields that Causeline uses, with the files in `folder` inlined.

        Raises Unusable where credentials come from a program, or from files and no folder is given.
        """
        context = self.usable(name, programs=False)
        cluster, user = self._cluster_of(context.name) or {}, self._user_of(context.name)
        kept = _kept(cluster, _CLUSTER, folder), _kept(user, _USER, folder)
        if not context.server.startswith(("https://", "http://")):
            raise Unusable(f"The server of the context {context.name} has no address such as https://10.0.0.1:6443.")
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": context.name,
            "contexts": [{"name": context.name, "context": {"cluster": "cluster", "user": "user"}}],
            "clusters": [{"name": "cluster", "cluster": kept[0]}],
            "users": [{"name": "user", "user": kept[1]}],
        }

    def _context(self, name: str) -> Context:
        cluster, user = self._cluster_of(name) or {}, self._user_of(name)
        return Context(
            name=name,
            server=_USER_OF.sub(r"\1", str(cluster.get("server") or "")).rstrip("/"),
            user=str(self._contexts[name].get("user") or ""),
            current=name == self.current,
            insecure=bool(cluster.get("insecure-skip-tls-verify")),
            programs=any(field in user for field in _PROGRAMS),
        )

    def _cluster_of(self, context: str) -> dict[str, Any] | None:
        return self._clusters.get(str(self._contexts[context].get("cluster")))

    def _user_of(self, context: str) -> dict[str, Any]:
        return self._users.get(str(self._contexts[context].get("user")), {})


def _named(told: dict[str, Any], field: str, inner: str) -> dict[str, dict[str, Any]]:
    entries = told.get(field)
    found: dict[str, dict[str, Any]] = {}
    for each in entries if isinstance(entries, list) else ():
        if isinstance(each, dict) and isinstance(each.get("name"), str) and isinstance(each.get(inner), dict):
            found.setdefault(each["name"], each[inner])
    return found


def _kept(fields: dict[str, Any], wanted: tuple[str, ...], folder: Path | None) -> dict[str, Any]:
    kept = {name: fields[name] for name in wanted if isinstance(fields.get(name), str | bool)}
    for field, holds in _FILES.items():
        path = fields.get(field)
        if not isinstance(path, str) or not path or holds not in wanted or kept.get(holds):
            continue
        if folder is None:
            raise Unusable(
                f"It names a file ({field}), which is not at hand here. Write its content into the kubeconfig with "
                "`kubectl config view --raw --flatten --minify`, and give that."
            )
        try:
            content = (folder / path).read_bytes()
        except OSError as error:
            raise Unusable(f"Its {field} cannot be read: {error.strerror}.") from None
        kept[holds] = (
            content.decode(errors="replace").strip() if holds == "token" else base64.b64encode(content).decode()
        )
    return kept

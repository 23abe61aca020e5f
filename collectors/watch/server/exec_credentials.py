"""Run the exec plugin of a kubeconfig, which prints credentials (`exec_plugins` has reduced it).

The protocol is ExecCredential of client.authentication.k8s.io:
https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins. The client library
would pass the whole environment, including Causeline's secrets, and would wait without limit.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from collectors.gate import admit_text
from collectors.watch.server.failures import Unusable

_SECONDS, _INTERACTIVE_SECONDS = 60.0, 600.0  # seconds in which a program has to end
_MOST_BYTES = 1 << 20  # bytes of its output at most
_SHOWN_CHARACTERS = 200  # characters of its error output that are shown
_RENEW_BEFORE = timedelta(minutes=5)  # a token is renewed so long before it expires
_KEPT_VARIABLES = {
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "TERM", "DISPLAY", "WAYLAND_DISPLAY"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
    *("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS"),
}
_KEPT_PREFIXES = ("LC_", "XDG_", "AWS_", "AZURE_", "GOOGLE_", "CLOUDSDK_", "USE_GKE_GCLOUD_AUTH_PLUGIN", "KUBECACHEDIR")


class Credential(NamedTuple):
    """What a program has printed: fields of a kubeconfig's user, and when they expire."""

    user: dict[str, str]
    expires: datetime | None

    @property
    def expired(self) -> bool:
        """Return whether the credential has expired or soon will."""
        return self.expires is not None and self.expires - _RENEW_BEFORE < datetime.now(UTC)


def run(plugin: dict[str, Any], cluster: dict[str, Any]) -> Credential:
    """Run the program of a reduced kubeconfig for the credentials of this cluster. Raise Unusable."""
    interactive = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin["provideClusterInfo"]:
        spec["cluster"] = cluster
    info = {"apiVersion": plugin["apiVersion"], "kind": "ExecCredential", "spec": spec}
    plugin_variables = {each["name"]: each["value"] for each in plugin["env"]}
    variables = {**_environment(), **plugin_variables, "KUBERNETES_EXEC_INFO": json.dumps(info)}
    return _credential(
        _output([plugin["command"], *plugin["args"]], variables, interactive=interactive), plugin["apiVersion"]
    )


def _environment() -> dict[str, str]:
    """Return the variables of our own environment that programs need, without the secrets in it."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.upper() in _KEPT_VARIABLES or name.upper().startswith(_KEPT_PREFIXES)
    }


def _output(command: list[str], variables: dict[str, str], *, interactive: bool) -> bytes:
    """Return what a program prints; with a terminal, the user sees its error output and can answer its questions.

    Raise Unusable if it cannot be started, fails, or does not end in time.
    """
    seconds = _INTERACTIVE_SECONDS if interactive else _SECONDS
    with tempfile.TemporaryFile() as written, tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(
                command,
                stdin=None if interactive else subprocess.DEVNULL,
                stdout=written,
                stderr=None if interactive else complaints,
                env=variables,
                start_new_session=not interactive,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "its name or its arguments are not valid"
            raise Unusable(
                f"There are no credentials: its program (exec) {command[0]} cannot be started: {why}."
            ) from None
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Unusable(
                f"There are no credentials: its program (exec) did not end within {seconds:.0f} s."
            ) from None
        finally:
            if process.poll() is None:
                if interactive:
                    process.kill()
                else:
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if status:
            complaints.seek(0)
            complaint = admit_text(complaints.read(10_000).decode(errors="replace"))
            complaint = complaint.strip().partition("\n")[0][:_SHOWN_CHARACTERS]
            raise Unusable(f"There are no credentials: exec: process returned {status}. {complaint}".rstrip(" .") + ".")
        written.seek(0)
        return written.read(_MOST_BYTES + 1)


def _credential(output: bytes, version: str) -> Credential:
    """Return the credential in the program's output. Raise Unusable, without quoting the output."""
    try:
        info = json.loads(output) if len(output) <= _MOST_BYTES else None
    except (ValueError, RecursionError):
        info = None
    status = info.get("status") if isinstance(info, dict) and info.get("apiVersion") == version else None
    if not isinstance(status, dict):
        raise Unusable(f"There are no credentials: its program (exec) wrote no ExecCredential of {version}.")
    names = {"token": "token", "clientCertificateData": "client-certificate-data", "clientKeyData": "client-key-data"}
    user = {field: status[name] for name, field in names.items() if isinstance(status.get(name), str) and status[name]}
    if not ("token" in user or len(user) == len(names) - 1):
        raise Unusable("There are no credentials: exec: missing token, or clientCertificateData and clientKeyData.")
    expires = None
    if isinstance(ends := status.get("expirationTimestamp"), str):
        try:
            expires = datetime.fromisoformat(ends)
        except ValueError:
            raise Unusable("There are no credentials: exec: its expirationTimestamp is not a valid time.") from None
        expires = expires if expires.tzinfo else expires.replace(tzinfo=UTC)
    return Credential(user, expires)

"""Make the files with which an API server says by itself who changes something, for the page of its cluster."""

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from django.utils import timezone

from collectors.watch.server.connections import ClusterRefused
from collectors.watch.webhook_files import admission_manifest, audit_policy, kubeconfig
from dashboard.access.tokens import tokens
from dashboard.access.trail import change_log

if TYPE_CHECKING:
    from django.http import HttpRequest

    from timeline.models import Cluster

_LONGEST = 65_536  # characters of a certificate authority


class File(NamedTuple):
    name: str
    text: str


class Files(NamedTuple):
    title: str
    what: str
    files: list[File]

    @property
    def several(self) -> bool:
        return len(self.files) > 1


def make(request: "HttpRequest", cluster: "Cluster", way: str) -> Files:
    """Make a token and the files that hold it. Raise Refused with a sentence if the form cannot be used."""
    form = request.POST
    address, authority = _address(form.get("address", "")), form.get("authority", "").strip()
    if authority and ("-----BEGIN CERTIFICATE-----" not in authority or len(authority) > _LONGEST):
        raise ClusterRefused("The certificate authority has to be a certificate in PEM.")
    try:
        text, token = tokens.issue(
            f"{way} webhook of {cluster.name}"[: tokens.NAME_LENGTH],
            ["audit"],
            expires=timezone.now() + tokens.life(form.get("days", "")),
            cluster=cluster,
            by=change_log.who(request),
        )
    except tokens.TokenRefused as error:
        raise ClusterRefused(str(error)) from None
    change_log.about(request, **tokens.described(token))
    pem = f"{authority}\n" if authority else ""
    if way == "audit":
        files = [
            File("causeline-audit.kubeconfig", kubeconfig(address, text, pem)),
            File("policy.yaml", audit_policy()),
        ]
        what = "Give the API server both with --audit-webhook-config-file and --audit-policy-file."
        return Files("The files of the audit webhook", what, files)
    manifest = admission_manifest(address, text, pem, include=cluster.include, exclude=cluster.exclude)
    files = [File("causeline-admission.yaml", manifest)]
    return Files("The manifest of the admission webhook", "Apply it to the cluster.", files)


def _address(text: str) -> str:
    """Return the address of Causeline. Raise Refused if an API server could not use it."""
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError:
        raise ClusterRefused("The address is not one that can be used.") from None
    if parts.scheme != "https" or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ClusterRefused("The address has to begin with https:// and name a host, without a user and a query.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"https://{host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"

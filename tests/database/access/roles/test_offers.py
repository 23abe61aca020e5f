"""These tests look at pages as people with different roles: a page offers them what the policy allows, and nothing that
it refuses."""

import re
from datetime import timedelta
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest
from django.contrib.auth.models import User
from django.urls import Resolver404, resolve
from django.utils import timezone

from dashboard.access.roles import grants, policy
from tests import ROOT
from tests.database.access.asking import declared, signed_in
from tests.database.storage.sources import connected
from tests.rows.people import member
from timeline.models import Finding, Incident, Silence, Source

pytestmark = pytest.mark.django_db
NAMESPACE = "vol-restart"  # of the sample
_FORM = re.compile(r"<form\b[^>]*>")
_LINK = re.compile(r'<a\b[^>]*\bhref="([^"]*)"')
_ACTION = re.compile(r'\baction="([^"]*)"')


@pytest.fixture
def things(sample: Source) -> dict[str, str]:
    """Pages about a recording with incidents, a connected cluster, and a silence."""
    cluster, _ = connected()
    silence = {"rule": "service-gap", "reason": "known", "by": "ada"}
    Silence.objects.create(**silence, expires=timezone.now() + timedelta(hours=1))
    incident = Incident.objects.filter(source=sample).order_by("pk")[0]
    finding = Finding.objects.filter(source=sample).order_by("pk")[0]
    return {
        "home": "/",
        "timeline": f"/sources/{sample.pk}/",
        "incidents": "/incidents/",
        "incidents of the recording": f"/sources/{sample.pk}/incidents/",
        "incident": f"/sources/{sample.pk}/incidents/{incident.identity}/",
        "finding": f"/sources/{sample.pk}/findings/{finding.identity}/",
        "baseline": f"/sources/{sample.pk}/baseline/",
        "silences": "/silences/",
        "routes": "/routes/",
        "deliveries": "/deliveries/",
        "alerts": "/alerts/",
        "clusters": "/clusters/",
        "cluster": f"/clusters/{cluster.pk}/",
        "log store": f"/clusters/{cluster.pk}/log-store/",
        "sessions": "/sessions/",
    }


# What is offered where, and the least role on everything for it.
OFFERED = {
    ("home", 'id="choose"'): "responder",
    ("home", "Connect a cluster…"): "editor",
    ("home", ">Access<"): "admin",
    ("home", "data-admin"): "admin",
    ("incidents", 'value="acknowledge"'): "responder",
    ("incidents", "data-pick-all"): "responder",
    ("incidents of the recording", 'value="acknowledge"'): "responder",
    ("incident", 'value="acknowledge"'): "responder",
    ("incident", "Silence…"): "responder",
    ("finding", 'value="acknowledge"'): "responder",
    ("baseline", 'name="act"'): "responder",
    ("silences", "New silence…"): "responder",
    ("silences", "Expire now"): "responder",
    ("routes", "New destination"): "editor",
    ("clusters", "Check access"): "editor",
    ("home", ">Access tokens<"): "admin",
    ("home", ">Storage<"): "admin",
    ("home", ">Audit trail<"): "admin",
    ("cluster", 'value="pause"'): "editor",
    ("cluster", "Get the audit log…"): "responder",
    ("log store", "Where the audit log is"): "editor",
}
ON = [
    *((role, "") for role in grants.ROLES),
    ("editor", "recording"),
    ("responder", "namespace"),
]


@pytest.mark.parametrize(("role", "on"), ON)
def test_a_page_offers_what_the_policy_allows(role: str, on: str, things: dict[str, str], sample: Source) -> None:
    user = member(role, on=sample if on else None, namespaces=[NAMESPACE] if on == "namespace" else ())
    client = signed_in(user)
    shown = {name: client.get(path) for name, path in things.items()}
    pages = {name: answer.content.decode() for name, answer in shown.items() if answer.status_code == 200}
    assert not [(name, *each) for name, page in pages.items() for each in _refused(user, things[name], page)]
    if on:
        assert {"cluster", "log store"} <= {name for name in shown if shown[name].status_code == 404}
        return
    for (name, part), least in OFFERED.items():
        offered = shown[name].status_code == 200 and part in unescape(shown[name].content.decode())
        assert offered == grants.reaches(role, least), (name, part)


def test_a_page_says_why_something_is_not_offered(things: dict[str, str]) -> None:
    client = signed_in(member("viewer"))
    for name in ("home", "incident", "finding", "baseline"):
        assert "This needs the role responder" in client.get(things[name]).content.decode(), name


def _refused(user: User, path: str, page: str) -> list[tuple[str, str, str]]:
    """Return the forms and links of a page that the policy would refuse to this person."""
    sent = [("GET", unescape(found)) for found in _LINK.findall(page)]
    for form in _FORM.findall(page):
        action = _ACTION.search(form)
        sent.append(("POST" if 'method="post"' in form else "GET", unescape(action[1]) if action else path))
    refused = []
    for method, given in sent:
        address = urlsplit(urljoin(path, given))
        if address.netloc or address.scheme:
            continue
        try:
            match = resolve(address.path)
        except Resolver404:  # such as what stands in the text of an object
            continue
        if why := policy.refusal(user, match, method):
            refused.append((method, address.path, why))
    return refused


# What the table of docs/how-to/grant-rights.md says, and a request that is needed for it.
MEANT = {
    "see timelines": ("GET", "sources/<int:source_id>/"),
    "acknowledge": ("POST", "incidents/"),
    "silence incidents": ("POST", "silences/new"),
    "set baselines": ("POST", "sources/<int:source_id>/baseline/"),
    "upload recordings": ("POST", "api/uploads"),
    "share links": ("POST", "api/sources/<source_id>/links"),
    "embed timelines": ("POST", "api/sources/<source_id>/views"),
    "pull from a log store": ("POST", "clusters/<int:cluster_id>/log-store/"),
    "connect": ("POST", "clusters/"),
    "change and disconnect clusters": ("POST", "clusters/<int:cluster_id>/"),
    "edit routes": ("POST", "routes/<int:number>/"),
    "destinations": ("POST", "destinations/<int:number>/"),
    "rename and delete recordings": ("POST", "sources/<int:source_id>/delete/"),
    "give roles": ("POST", "access/"),
    "make access tokens": ("POST", "tokens/"),
    "place legal holds": ("POST", "storage/"),
    "read the audit trail": ("GET", "audit-trail/"),
}


def test_the_documented_table_of_roles_is_that_of_the_policy() -> None:
    text = (ROOT / "docs/how-to/grant-rights.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE))
    assert tuple(table) == grants.ROLES
    needed = declared()
    for words, (method, route) in MEANT.items():
        assert [role for role, may in table.items() if words in may] == [needed[route][method].role], words

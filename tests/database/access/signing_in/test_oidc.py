"""These tests sign people in with an OpenID Connect provider, also with one that sends what it must not."""

import copy
import os
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.db import connections
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from pytest_django import Settings

from dashboard.access.roles import grants
from dashboard.access.signing_in import oidc, people, sessions
from dashboard.cli.servers import serve
from tests.rows.people import PASSWORD, member
from tests.servers.identity_provider import CLIENT, SECRET, STRANGE, IdentityProvider, identity_provider
from tests.servers.running import migrated

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def served() -> Iterator[IdentityProvider]:
    with identity_provider() as provider:
        yield provider


@pytest.fixture
def provider(served: IdentityProvider, settings: Settings) -> Iterator[IdentityProvider]:
    """A provider that Causeline is set up for, and that has not been falsified."""
    untouched = copy.deepcopy(vars(served))
    settings.OIDC_ISSUER, settings.OIDC_NAME = served.address, "Example SSO"
    known = copy.deepcopy(settings.SOCIALACCOUNT_PROVIDERS)
    app = known["openid_connect"]["APPS"][0]
    app |= {"provider_id": served.address, "client_id": CLIENT, "secret": SECRET}
    app["settings"]["server_url"] = served.address
    settings.SOCIALACCOUNT_PROVIDERS = known
    oidc.forget()
    yield served
    vars(served).update(untouched)


def signed_in(provider: IdentityProvider, client: Client | None = None, wanted: str = "/rules/") -> Any:
    """Go to the provider and come back; return the answer to that."""
    client = client or Client()
    there = client.get("/login/oidc/", {"next": wanted})
    assert there.status_code == 302, there.content
    return client.get(f"/login/oidc/callback/?{provider.authorize(there['Location'])}")


def test_a_person_gets_an_account_and_the_page_that_was_wanted(provider: IdentityProvider) -> None:
    client = Client()
    assert "Sign in with Example SSO" in client.get("/login/?next=/rules/").content.decode()
    answer = signed_in(provider, client)
    assert (answer.status_code, answer["Location"]) == (302, "/rules/")
    ada = User.objects.get()
    assert (ada.username, ada.email, ada.has_usable_password()) == ("ada", "ada@example.org", False)
    assert grants.read(ada.pk) == grants.NOTHING
    assert "ada" in client.get("/sessions/").content.decode()
    held = SocialAccount.objects.get()
    assert (held.provider, held.uid, held.extra_data) == (provider.address, "248289761001", {})


@pytest.mark.parametrize(("algorithm", "names_key"), [("RS256", True), ("ES256", True), ("RS256", False)])
def test_the_second_sign_in_finds_the_account_whatever_it_is_called_now(
    provider: IdentityProvider, algorithm: str, names_key: bool
) -> None:
    provider.algorithm, provider.names_key = algorithm, names_key
    assert signed_in(provider, wanted="https://elsewhere.example/")["Location"] == "/"
    provider.claims |= {"preferred_username": "ada.lovelace", "email": "ada@elsewhere.example", "name": "Ada Lovelace"}
    assert signed_in(provider, wanted="//elsewhere.example/")["Location"] == "/"
    ada = User.objects.get()
    assert (ada.username, ada.email, ada.get_full_name()) == ("ada", "ada@elsewhere.example", "Ada Lovelace")
    assert provider.requests.count("/.well-known/openid-configuration") == provider.requests.count("/keys") == 1


def test_somebody_of_the_same_name_and_address_is_somebody_else(provider: IdentityProvider) -> None:
    local = User.objects.create_user("ADA", "ada@example.org", PASSWORD)
    client = Client()
    signed_in(provider, client)
    assert int(client.session["_auth_user_id"]) == User.objects.get(username="ada-2").pk != local.pk
    provider.claims["sub"] = "another"
    signed_in(provider)
    assert set(User.objects.values_list("username", flat=True)) == {"ADA", "ada-2", "ada-3"}


@pytest.mark.parametrize(
    ("given", "groups"),
    [
        (["platform", "payments"], {"oidc:platform", "oidc:payments"}),
        ("platform", {"oidc:platform"}),  # some providers send a single one as a text
        ({"not": "a list"}, set()),
        (["platform", "a\0", "\ud800", 7, "", "x" * 200], {"oidc:platform"}),
    ],
    ids=["several", "text", "object", "unstorable"],
)
@pytest.mark.parametrize("by_info", [False, True])
def test_memberships_are_those_of_the_last_sign_in_and_local_ones_stay(
    provider: IdentityProvider, settings: Settings, by_info: bool, given: Any, groups: set[str]
) -> None:
    provider.claims |= {"name": "A\0da \ud800", "email": "\ud800@x", "groups": ["before"]}
    signed_in(provider)
    ada = User.objects.get()
    ada.groups.add(Group.objects.create(name="local"))
    if by_info:
        settings.OIDC_GROUPS_CLAIM = "https://example.org/roles"
    (provider.info if by_info else provider.claims)[settings.OIDC_GROUPS_CLAIM] = given
    assert signed_in(provider).status_code == 302
    assert set(ada.groups.values_list("name", flat=True)) == {"local"} | groups


def test_who_may_not_sign_in_is_refused_with_the_reason(provider: IdentityProvider, settings: Settings) -> None:
    def refused(why: str) -> bool:
        client = Client()
        answer = signed_in(provider, client)
        assert "_auth_user_id" not in client.session
        return answer.status_code == 403 and why in answer.content.decode()

    settings.OIDC_GROUPS = ["platform"]
    provider.claims["groups"] = ["payments"]
    assert refused("You are in none of the groups") and not User.objects.exists()
    provider.claims["groups"] = ["payments", "platform"]
    assert signed_in(provider).status_code == 302
    User.objects.update(is_active=False)
    assert refused("deactivated")


@pytest.mark.parametrize(
    ("falsified", "how"),
    [
        *(
            ("changes", wrong)
            for wrong in (
                {"iss": "https://elsewhere.example"}, {"aud": "another-client"},
                {"aud": [CLIENT, "another"], "azp": "another"}, {"exp": 1_700_000_000}, {"exp": None},
                {"iat": 4_000_000_000}, {"sub": None}, {"sub": ""}, {"sub": "x" * 300}, {"sub": 7}, {"sub": "a\0b"},
                {"sub": "\ud800"}, {"nonce": "of-another-sign-in"}, {"nonce": None},
            )
        ),
        ("algorithm", "none"),
        ("algorithm", "HS256"),
        ("key", STRANGE),
        ("info", {"sub": "another"}),
    ],
    ids=lambda each: each if isinstance(each, str) else str(each)[:60],
)  # fmt: skip
def test_an_answer_of_nobody_else_signs_anybody_in(provider: IdentityProvider, falsified: str, how: Any) -> None:
    setattr(provider, falsified, how)
    client = Client()
    assert signed_in(provider, client).status_code == 403
    assert not User.objects.exists() and "_auth_user_id" not in client.session


def test_an_answer_that_nobody_asked_for_signs_nobody_in(provider: IdentityProvider) -> None:
    client = Client()
    query = provider.authorize(client.get("/login/oidc/")["Location"])
    assert Client().get(f"/login/oidc/callback/?{query}").status_code == 403, "the state is of another browser"
    assert client.get("/login/oidc/callback/?code=the-code&state=wrong").status_code == 403
    assert client.get("/login/oidc/callback/?error=access_denied").status_code == 403
    assert client.get(f"/login/oidc/callback/?{query}").status_code == 302
    assert Client().get(f"/login/oidc/callback/?{query}").status_code == 403
    assert client.get(f"/login/oidc/callback/?{query}").status_code == 403, "a state holds once"


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://elsewhere.example"},
        {"token_endpoint": None},
        {"jwks_uri": "ftp://127.0.0.1/keys"},
    ],
    ids=str,
)
def test_a_provider_that_contradicts_itself_is_not_used(provider: IdentityProvider, document: dict[str, Any]) -> None:
    provider.document = document
    answer = Client().get("/login/oidc/")
    assert answer.status_code == 502 and "cannot be reached now" in answer.content.decode()


def test_signing_out_leads_to_the_provider(provider: IdentityProvider, settings: Settings) -> None:
    settings.CREDENTIALS_KEYS = ["a key for the tests, which is long enough"]
    client = Client()
    signed_in(provider, client)
    token = provider.id_token()
    stored = Session.objects.get(pk=client.session.session_key).get_decoded()
    assert token.partition(".")[0] not in str(stored), "it is stored encrypted"
    answer = client.post("/logout/")
    assert answer.status_code == 200 and "_auth_user_id" not in client.session
    assert answer["Refresh"].startswith(f"0; url={provider.address}/end?client_id={CLIENT}&")
    assert "id_token_hint=ey" in answer["Refresh"]
    assert "post_logout_redirect_uri=http%3A%2F%2Ftestserver%2Flogin%2F" in answer["Refresh"]
    provider.document = {"end_session_endpoint": None}
    oidc.forget()
    signed_in(provider, client)
    assert client.post("/logout/").status_code == 302
    assert "_auth_user_id" not in client.session


def test_the_form_can_be_hidden_and_codes_go_with_passwords(provider: IdentityProvider, settings: Settings) -> None:
    member(name="bob")
    settings.PASSWORDS, settings.REQUIRE_TOTP = False, True
    client = Client()
    assert b'type="password"' not in client.get("/login/").content
    assert client.post("/login/", {"username": "bob", "password": PASSWORD}).status_code == 403
    signed_in(provider, client)
    assert client.session["causeline.way"] == sessions.OIDC
    assert client.get("/sessions/").status_code == 200


def test_no_account_has_to_be_there_before_people_can_sign_in_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    without_rows = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{migrated()}").geturl()
    assert serve._nobody_can_sign_in(without_rows)
    monkeypatch.setenv("CAUSELINE_OIDC_ISSUER", "https://idp.example.org")
    assert not serve._nobody_can_sign_in(without_rows)


def identity(subject: str = "7", name: str = "ada", groups: tuple[str, ...] = ()) -> people.Identity:
    return people.Identity("https://idp.example.org", subject, name, "ada@example.org", "Ada", groups, "oidc")


@pytest.mark.django_db(transaction=True)
def test_requests_at_the_same_time_make_one_account() -> None:
    found: list[int] = []

    def make() -> None:
        try:
            found.append(people.account_of(identity(groups=("platform", "payments"))).pk)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(found)) == 1
    assert list(User.objects.values_list("username", flat=True)) == ["ada"]
    assert User.objects.get().groups.count() == 2


class AnyIdentity(TestCase):
    """Django's test case keeps the examples of hypothesis apart."""

    @given(name=st.text(max_size=300), groups=st.lists(st.text(max_size=200), max_size=5))
    def test_whatever_a_provider_calls_somebody_is_a_name_that_can_be_typed(self, name: str, groups: list[str]) -> None:
        user = people.account_of(identity(name=name, groups=tuple(groups)))
        user.full_clean(exclude=["password"])
        assert all(each.name.startswith("oidc:") for each in user.groups.all())

    @given(st.text(max_size=300).filter(lambda text: not text.isprintable() or not 0 < len(text) <= people.LONGEST_ID))
    def test_who_has_no_identifier_is_nobody(self, subject: str) -> None:
        with pytest.raises(people.Unknown):
            people.account_of(identity(subject=subject))

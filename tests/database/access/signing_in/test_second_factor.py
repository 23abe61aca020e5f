"""These tests sign people in with a code of an authenticator app, and try to do without it."""

import re
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from dashboard.access.signing_in import attempts, second_factor, sessions
from dashboard.environment import SettingError
from dashboard.environment.declarations import Settings as Declared
from dashboard.environment.sign_in import check
from dashboard.models import FailedSignIns, SignIn
from tests.database.storage.sources import ran
from tests.rows.people import PASSWORD, member

NOW = 60_000_000  # the time step of Causeline's clock, so that no test runs from one step into the next
KEY = "the key of the tests, which is long enough"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def alice(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> User:
    monkeypatch.setattr(second_factor, "yield_hotp_counters_from_time", lambda: range(NOW - 1, NOW + 2))
    settings.CREDENTIALS_KEYS = [KEY]
    return member("responder", name="alice")


class App:
    """This is an authenticator app, whose clock is at NOW, with the secret that a page shows."""

    def __init__(self, page: Any) -> None:
        found = re.search(r"Secret <code>([A-Z2-7 ]+)</code>", page.content.decode())
        assert found, page.content.decode()
        self.secret = found[1].replace(" ", "")

    def code(self, steps: int = 0) -> str:
        return str(format_hotp_value(hotp_value(self.secret, NOW + steps)))


def password(client: Client | None = None, address: str = "192.0.2.1") -> tuple[Client, Any]:
    client = client or Client(REMOTE_ADDR=address)
    return client, client.post("/login/?next=/rules/", {"username": "alice", "password": PASSWORD, "next": "/rules/"})


def with_app() -> tuple[Client, App, list[str]]:
    """Sign in, and set up a second factor with the code of the step before this one."""
    client, _ = password()
    app = App(client.get("/second-factor/"))
    made = client.post("/second-factor/", {"code": app.code(-1)})
    return client, app, re.findall(r"\b\d{8}\b", made.content.decode())


def enters(client: Client, code: str) -> int:
    return client.post("/login/code/", {"code": code}).status_code


def is_in(client: Client) -> bool:
    return client.get("/rules/").status_code == 200


def test_the_password_alone_is_not_enough_any_more() -> None:
    before, _ = password()
    here, app, codes = with_app()
    assert len(codes) == 10 and (is_in(before), is_in(here)) == (False, True)
    client, answer = password()
    assert answer["Location"] == "/login/code/" and not is_in(client)
    assert client.post("/login/code/", {"code": "000000"}).status_code == 400 and not is_in(client)
    answer = client.post("/login/code/", {"code": f"{app.code()[:3]} {app.code()[3:]}"})
    assert (answer.status_code, answer["Location"]) == (302, "/rules/") and is_in(client)
    assert client.session["causeline.way"] == sessions.TOTP


def test_a_code_of_this_time_is_accepted_once_whoever_sends_it() -> None:
    _, app, _ = with_app()
    first, second = password()[0], password()[0]
    assert enters(second, app.code(-1)) == 400, "it was used to set it up"
    assert [enters(first, app.code(steps)) for steps in (-4, 4, 0)] == [400, 400, 302]
    assert [enters(second, app.code(steps)) for steps in (0, 1)] == [400, 302]


def test_guessing_is_slowed_over_sessions_and_addresses() -> None:
    _, app, _ = with_app()
    for _ in range(attempts.OF_A_NAME):
        assert enters(password()[0], "000000") == 400
    client, _ = password()
    answer = client.post("/login/code/", {"code": app.code()})
    assert answer.status_code == 429 and 50 <= int(answer["Retry-After"]) <= 60  # less on a machine that is slow
    for at in range(attempts.OF_A_NAME_ANYWHERE - attempts.OF_A_NAME):
        assert enters(password(address=f"198.51.100.{at}")[0], "000000") == 400
    client, _ = password(address="203.0.113.1")
    assert enters(client, app.code()) == 429
    call_command("causeline", "unlock", "alice")
    assert enters(client, app.code()) == 302
    assert not FailedSignIns.objects.exclude(name="").exists(), "only those of addresses are still counted"
    for _ in range(attempts.OF_A_NAME + 1):
        enters(password()[0], "000000")
    FailedSignIns.objects.update(last=timezone.now() - timedelta(days=2), locked_until=timezone.now())
    assert enters(password()[0], app.code(1)) == 302, "failures are forgotten like those of passwords"


def test_a_recovery_code_is_accepted_once() -> None:
    client, app, codes = with_app()
    for _ in range(2):
        one, _ = password()
        answer = one.post("/login/code/", {"code": codes[3]})
    assert answer.status_code == 400
    assert "9 recovery codes left" in client.get("/second-factor/").content.decode()
    made = client.post("/second-factor/", {"code": app.code(), "act": "renew"}).content.decode()
    assert codes[4] not in made and len(re.findall(r"\b\d{8}\b", made)) == 10
    assert codes[4] not in client.get("/second-factor/").content.decode()


def test_removing_it_needs_a_code(settings: Settings) -> None:
    client, app, _ = with_app()
    client.post("/second-factor/", {"code": "000000", "act": "remove"})
    assert Authenticator.objects.count() == 2
    settings.REQUIRE_TOTP = True
    client.post("/second-factor/", {"code": app.code(), "act": "remove"})
    assert Authenticator.objects.count() == 2, "it is required"
    settings.REQUIRE_TOTP = False
    client.post("/second-factor/", {"code": app.code(1), "act": "remove"})
    assert not Authenticator.objects.exists()
    assert password()[1]["Location"] == "/rules/"


def test_without_the_password_there_is_no_page_for_a_code(alice: User) -> None:
    with_app()
    assert Client().get("/login/code/")["Location"] == "/login/"
    client, _ = password()
    alice.set_password("another horse battery staple")
    alice.save()
    assert client.get("/login/code/")["Location"] == "/login/", "the password has changed since"
    client = Client()
    client.post("/login/", {"username": "alice", "password": "another horse battery staple"})
    session = client.session
    session["causeline.pending"] = session["causeline.pending"] | {"until": time.time() - 1}
    session.save()
    assert client.get("/login/code/")["Location"] == "/login/", "it was too long ago"


def test_where_it_is_required_one_sets_it_up_at_the_next_sign_in(settings: Settings) -> None:
    before, _ = password()
    settings.REQUIRE_TOTP = True
    assert not is_in(before), "this session began without a code"
    client, answer = password()
    assert answer["Location"] == "/login/code/" and not is_in(client)
    app = App(client.get("/login/code/"))
    assert client.post("/login/code/", {"code": "000000"}).status_code == 400 and not is_in(client)
    assert app.secret == App(client.post("/login/code/", {"code": "000000"})).secret
    made = client.post("/login/code/", {"code": app.code()})
    assert 'href="/rules/"' in made.content.decode() and is_in(client)


def test_secrets_are_stored_encrypted_and_encrypted_again_with_a_new_key(settings: Settings, alice: User) -> None:
    client, _ = password()
    app = App(client.get("/second-factor/"))
    stored = Session.objects.get(pk=client.session.session_key).get_decoded()
    assert app.secret not in str(stored)
    client.post("/second-factor/", {"code": app.code(-1)})
    assert app.secret not in str(list(Authenticator.objects.values_list("data", flat=True)))
    settings.CREDENTIALS_KEYS = ["a new key of the tests, which is long enough", KEY]
    assert second_factor.reencrypt() == 2
    settings.CREDENTIALS_KEYS = settings.CREDENTIALS_KEYS[:1]
    assert second_factor.accepts(alice, app.code()) and second_factor.recovery_codes_left(alice) == 10
    settings.CREDENTIALS_KEYS = [KEY]
    client, _ = password()
    answer = client.post("/login/code/", {"code": app.code(1)})
    assert answer.status_code == 500 and "is not known any more" in answer.content.decode()


def test_who_cannot_set_one_up_learns_why(settings: Settings, alice: User) -> None:
    settings.CREDENTIALS_KEYS = []
    client, _ = password()
    assert "CAUSELINE_CREDENTIALS_KEY" in client.get("/second-factor/").content.decode()
    alice.set_unusable_password()
    alice.save()
    client.force_login(alice)
    page = client.get("/second-factor/").content.decode()
    assert "Set up a second factor where you sign in" in page and 'href="/second-factor/"' not in page


def test_an_operator_removes_the_second_factor_of_somebody_who_has_lost_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client, _, _ = with_app()
    call_command("causeline", "reset-totp", "alice")
    assert capsys.readouterr().out == "alice has no second factor any more.\n"
    assert not is_in(client) and password()[1]["Location"] == "/rules/"
    assert 'action="reset-totp"' in (tmp_path / "logs/changes.log").read_text()
    assert ran("reset-totp", "nobody") == 1
    assert "Nobody has the name nobody." in capsys.readouterr().err


def test_who_is_deactivated_is_signed_out_and_cannot_sign_in(alice: User, capsys: pytest.CaptureFixture[str]) -> None:
    client, _ = password()
    call_command("causeline", "deactivate", "alice")
    assert capsys.readouterr().out == "alice cannot sign in any more. 1 session ended.\n"
    assert not is_in(client) and not SignIn.objects.exists()
    assert password()[1].status_code == 200
    call_command("causeline", "activate", "alice")
    assert password()[1].status_code == 302
    for command in ("deactivate", "activate"):
        assert ran(command, "nobody") == 1
        assert "Nobody has the name nobody." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"oidc_issuer": "https://idp.example.org"}, "CAUSELINE_OIDC_CLIENT_ID is not"),
        ({"passwords": "off"}, "nobody could sign in"),
        ({"require_totp": "on"}, "CAUSELINE_CREDENTIALS_KEY"),
        *(
            ({"oidc_issuer": issuer}, "CAUSELINE_OIDC_ISSUER is")
            for issuer in ("http://idp.example.org", "idp.example.org", "https://", "https://a b", "https://x?y")
        ),
    ],
)
def test_settings_that_contradict_stop_the_start(
    given: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(f"CAUSELINE_{name.upper()}", value)
    with pytest.raises(SettingError, match=message):
        check(Declared.read(), has_key=False)

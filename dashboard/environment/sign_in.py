"""Declare the settings of signing in with accounts (`CAUSELINE_LOGIN=on`)."""

from pydantic import Field

from dashboard.environment.parsing import Flag, Issuer, Networks, Whole, Words
from dashboard.environment.sources import Environment, written
from dashboard.environment.variables import SettingError

_HOW_TO = "how-to/sign-in.md"


class SigningIn(Environment):
    """How people sign in where `CAUSELINE_LOGIN` is `on`."""

    oidc_issuer: Issuer = Field(
        written(""),
        description=(
            "The issuer of an OpenID Connect provider, with which people sign in "
            f"([how to]({_HOW_TO}#openid-connect)): an address that begins with `https://`, such as "
            "`https://keycloak.example.org/realms/company`. `CAUSELINE_OIDC_CLIENT_ID` has to be set, too."
        ),
    )
    oidc_client_id: str = Field(
        written(""), description="The id under which the provider of `CAUSELINE_OIDC_ISSUER` knows Causeline."
    )
    oidc_client_secret: str = Field(
        written(""),
        repr=False,
        description="The secret that the provider has given out for this id. Empty for a public client.",
    )
    oidc_name: str = Field(
        written("single sign-on"),
        max_length=40,
        description="What the button of the sign-in page calls the provider, in at most 40 characters.",
    )
    oidc_scopes: Words = Field(
        written("openid,profile,email"),
        description=(
            "The scopes that Causeline asks the provider for, separated by commas. `openid` is always asked for."
        ),
    )
    oidc_groups_claim: str = Field(
        written("groups"),
        description=(
            "The claim that names the groups of a person. A group `platform` becomes the group `oidc:platform` of "
            "Causeline. Memberships are replaced at each sign-in."
        ),
    )
    oidc_groups: Words = Field(
        written(""),
        description=(
            "Only members of one of these groups may sign in with the provider; names as the provider sends them, "
            "separated by commas. If it is empty, everybody whom the provider lets in may."
        ),
    )
    sign_in_proxies: Networks = Field(
        written(""),
        description=(
            "Addresses or networks of proxies such as oauth2-proxy that people have signed in at, separated by commas. "
            "Who somebody is, is read from the headers `X-Forwarded-User`, `-Preferred-Username`, `-Email` and "
            f"`-Groups` of their requests ([how to]({_HOW_TO}#oauth2-proxy)). From any other address, requests lose "
            "these headers. The proxy has to remove the headers that browsers send themselves."
        ),
    )
    passwords: Flag = Field(
        written("on"),
        description=(
            "`off` lets nobody sign in with a password of Causeline. `CAUSELINE_OIDC_ISSUER` or "
            "`CAUSELINE_SIGN_IN_PROXIES` has to be set then."
        ),
    )
    require_totp: Flag = Field(
        written("off"),
        description=(
            "`on` requires a second factor of everybody who signs in with a password: a code of an authenticator app. "
            "Who has none yet sets it up at the next sign-in. Sessions that began without it end. "
            "`CAUSELINE_CREDENTIALS_KEY` has to be set, because the secrets of the codes are stored encrypted."
        ),
    )
    idle_minutes: Whole = Field(
        0,
        ge=0,
        le=100_000,
        description=(
            "After how many minutes without use a session of an account ends. What open pages ask for by themselves is "
            "not use. From 0 to 100000; 0 sets no limit."
        ),
    )


def check(given: SigningIn, *, has_key: bool) -> None:
    """Raise SettingError for settings that do not go together."""
    if given.oidc_issuer and not given.oidc_client_id:
        raise SettingError("CAUSELINE_OIDC_ISSUER is set, and CAUSELINE_OIDC_CLIENT_ID is not. Set both, or none.")
    if not given.passwords and not given.oidc_issuer and not given.sign_in_proxies:
        raise SettingError(
            "CAUSELINE_PASSWORDS is off, so nobody could sign in. Set CAUSELINE_OIDC_ISSUER or "
            "CAUSELINE_SIGN_IN_PROXIES, too."
        )
    if given.require_totp and not has_key:
        raise SettingError(
            "CAUSELINE_REQUIRE_TOTP is on, and there is no key that encrypts the secrets of the codes. Set "
            "CAUSELINE_CREDENTIALS_KEY, too: `openssl rand -hex 32` makes a good one."
        )

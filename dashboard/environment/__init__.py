"""Read settings from environment variables. An invalid value stops the start with an error.

`declarations.py` has one declaration for each variable. It is imported only when variables are read, because pydantic
takes longer to import than `causeline rules` takes to run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from collectors.formats.stream import Limits
from collectors.redaction.policy import Policy, use
from dashboard import keys
from dashboard.environment.addresses import database
from dashboard.environment.variables import SettingError, is_given, text, web_address
from dashboard.environment.variables import login as _login
from timeline.judge import rulebook
from timeline.judging.rulebook import settings

if TYPE_CHECKING:
    from pathlib import Path

    from dashboard.environment.declarations import Settings

__all__ = [
    "SettingError",
    "database",
    "limits",
    "login",
    "read",
    "redaction",
    "rule_settings",
    "text",
    "token",
    "web_address",
]

_LIMITS = {
    "line_bytes": "line_limit_bytes",
    "content_bytes": "content_limit_bytes",
    "ratio": "ratio_limit",
    "members": "member_limit",
    "depth": "depth_limit",
    "objects": "object_limit",
}
_REDACTION = ("redact", "redact_patterns")


def read() -> Settings:
    """Return all settings. Raises SettingError."""
    from dashboard.environment.declarations import Settings
    from dashboard.environment.sign_in import check

    given = Settings.read()
    check(given, has_key=bool(given.credentials_key))
    return given


def limits() -> Limits:
    """Return how much of a recording is read. Raises SettingError."""
    if not _any_given(*_LIMITS.values()):
        return Limits()
    from dashboard.environment.reading import Reading

    given = Reading.read()
    return Limits(**{field: getattr(given, name) for field, name in _LIMITS.items()})


def redaction(*, keeps: bool = True) -> None:
    """Set the redaction policy of the environment. The strict mode applies only if what is read is stored (`keeps`)."""
    if not _any_given(*_REDACTION):
        use(Policy())
        return
    from dashboard.environment.reading import Reading

    given = Reading.read()
    use(Policy(tuple(given.redact_patterns), keeps and given.redact == "strict"))


def login() -> str:
    """Return `on`, `token` or `open`: how people sign in. Raises SettingError."""
    try:
        return _login(text("CAUSELINE_LOGIN", "on"))
    except ValueError as error:
        sentence = f"CAUSELINE_LOGIN {error}"
    raise SettingError(sentence)


def token(data_dir: Path) -> str:
    """Return CAUSELINE_TOKEN, or else the token in the data directory, which is created if there is none.

    Raises SettingError where others can read that file, and where the token is too short.
    """
    value = text("CAUSELINE_TOKEN", "")
    if not value:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        value = keys.kept(data_dir, "token")
        if (data_dir / "token").stat().st_mode & 0o077:
            raise SettingError(f"Others can read {data_dir / 'token'}. Delete it, and a new token is made.")
    if len(value) < keys.AT_LEAST:
        raise SettingError(
            f"The start-up token has less than {keys.AT_LEAST} characters. "
            f"Delete the file {data_dir / 'token'}, or CAUSELINE_TOKEN, and a good one is made."
        )
    return value


def rule_settings() -> None:
    """Give each rule's threshold the value that the environment has for it. Raises SettingError."""
    rulebook()
    for variable, setting in settings.items():
        if given := text(variable, ""):
            try:
                setting.value = float(given)
            except ValueError:
                raise SettingError(f"{variable} is {given!r}; write a number.") from None
            if not 0 <= setting.value < 1e9:
                raise SettingError(f"{variable} is {given!r}; write a number that is not less than 0.")


def _any_given(*names: str) -> bool:
    return any(is_given(f"CAUSELINE_{name.upper()}") for name in names)

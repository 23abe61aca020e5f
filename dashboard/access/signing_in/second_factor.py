"""Ask people who sign in with a password for a second factor: a code of an authenticator app (TOTP).

The arithmetic, the recovery codes and the table are those of django-allauth. The secrets are stored encrypted (see
`encryption`). A code is accepted once: the row keeps the time step of the last one, and older ones are refused.
"""

import base64
from typing import Any

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.adapter import get_adapter as mfa_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import (
    format_hotp_value,
    generate_totp_secret,
    hotp_value,
    yield_hotp_counters_from_time,
)
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.crypto import constant_time_compare

from dashboard.access import encryption

_STEP = "causeline_step"  # in the data of a row: the time step of the last code that was accepted
ISSUER = "Causeline"  # what the app calls the entry


class MfaAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """allauth asks this class how secrets are stored, and what the QR code says."""

    def encrypt(self, text: str) -> str:
        return base64.b64encode(encryption.encrypted({"text": text})).decode()

    def decrypt(self, encrypted_text: str) -> str:
        return encryption.decrypted(base64.b64decode(encrypted_text))["text"]

    def get_totp_label(self, user: Any) -> str:
        return f"{ISSUER}:{user.get_username()}"

    def get_totp_issuer(self) -> str:
        return ISSUER


def can_be_set_up() -> bool:
    """Return whether there is a key that encrypts the secrets."""
    return bool(settings.CREDENTIALS_KEYS)


def is_set_up(user: User) -> bool:
    return bool(Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).exists())


def is_asked_for(user: User) -> bool:
    """Return whether the person, who has just given the password, has to give a code or to set one up."""
    return bool(settings.REQUIRE_TOTP) or is_set_up(user)


def new_secret() -> str:
    """Return a secret that an app and Causeline are to share, sealed. Nothing is stored. Raise Unreadable."""
    sealed: str = mfa_adapter().encrypt(generate_totp_secret())
    return sealed


def shown(user: User, sealed: str) -> dict[str, str]:
    """Return a secret for the person: to type, and as the source of an image with a QR code. Raise Unreadable."""
    adapter = mfa_adapter()
    secret = adapter.decrypt(sealed)
    picture = adapter.build_totp_svg(adapter.build_totp_url(user, secret))
    return {
        "secret": " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
        "picture": f"data:image/svg+xml;base64,{base64.b64encode(picture.encode()).decode()}",
    }


def set_up(user: User, sealed: str, code: str) -> list[str] | None:
    """Store a secret if the code shows that the app has it, and return the recovery codes; None if the code is wrong,
    or if the person has a second factor already. Raise Unreadable."""
    step = _step_of(mfa_adapter().decrypt(sealed), code, after=-1)
    if step is None:
        return None
    try:
        with transaction.atomic():
            row = Authenticator(user=user, type=Authenticator.Type.TOTP, data={"secret": sealed, _STEP: step})
            row.save()
            return _new_recovery_codes(user)
    except IntegrityError:  # another tab has just set it up
        return None


def accepts(user: User, code: str) -> bool:
    """Return whether it is a code of the person's app, or a recovery code. Neither is accepted twice. Raise
    Unreadable."""
    with transaction.atomic():
        row = Authenticator.objects.select_for_update().filter(user=user, type=Authenticator.Type.TOTP).first()
        if row is None:
            return False
        step = _step_of(mfa_adapter().decrypt(row.data["secret"]), code, after=row.data.get(_STEP, -1))
        if step is not None:
            row.data[_STEP] = step
            row.save(update_fields=["data"])
            row.record_usage()
            return True
        spare = Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).first()
        return spare is not None and bool(RecoveryCodes(spare).validate_code(_digits(code)))


def recovery_codes_left(user: User) -> int:
    """Return how many recovery codes were not used yet. Raise Unreadable."""
    spare = Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).first()
    return len(RecoveryCodes(spare).get_unused_codes()) if spare else 0


def renew_recovery_codes(user: User) -> list[str]:
    """Replace the recovery codes, and return the new ones. Raise Unreadable."""
    with transaction.atomic():
        return _new_recovery_codes(user)


def remove(user: User) -> bool:
    """Remove the second factor of a person, and return whether there was one."""
    return bool(Authenticator.objects.filter(user=user).delete()[0])


def reencrypt() -> int:
    """Encrypt the secrets again, with the first key, and return how many there are. Raise Unreadable."""
    adapter = mfa_adapter()
    with transaction.atomic():
        rows = list(Authenticator.objects.select_for_update())
        for row in rows:
            for name in {"secret", "seed"} & row.data.keys():
                row.data[name] = adapter.encrypt(adapter.decrypt(row.data[name]))
            row.save(update_fields=["data"])
    return len(rows)


def _new_recovery_codes(user: User) -> list[str]:
    Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).delete()
    codes: list[str] = RecoveryCodes.activate(user).generate_codes()
    return codes


def _step_of(secret: str, code: str, after: int) -> int | None:
    """Return the time step that a code is of; None if it is of none that is near and later than `after`."""
    given = _digits(code)
    for step in yield_hotp_counters_from_time():
        if step > after and constant_time_compare(given, format_hotp_value(hotp_value(secret, step))):
            return int(step)
    return None


def _digits(code: str) -> str:
    """Return a code without the spaces and dashes that people type."""
    return code.replace(" ", "").replace("-", "")[:20]

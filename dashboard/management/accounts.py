"""Add accounts, let somebody sign in or not, and remove second factors."""

import getpass
import os
import sys
from typing import NoReturn

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from dashboard.access.roles import giving
from dashboard.access.signing_in import attempts, second_factor, sessions
from dashboard.access.tokens import tokens
from dashboard.access.trail import change_log
from dashboard.cli.terminal import give_up
from dashboard.models import Grant


def create(*, name: str, role: str = "") -> None:
    """Add somebody who may sign in, with a role on everything if one is given."""
    user = User(username=User.normalize_username(name))
    try:
        user.full_clean(exclude=["password"])
        user.set_password(_password(user))
    except ValidationError as error:
        give_up(" ".join(error.messages), 1)
    with transaction.atomic():
        user.save()
        if role:
            giving.give(user, role, change_log.who_commands())
        change_log.note_command("createuser", user=user.username, role=role)
    print(f"{user.username} {_may_do(role)}")


def _password(user: User) -> str:
    """Return the password from the environment, or ask for one until it is accepted. Raises ValidationError."""
    if given := os.environ.get("CAUSELINE_PASSWORD"):
        validate_password(given, user)
        return given
    if not sys.stdin.isatty():
        give_up("There is no terminal to ask for a password on; set CAUSELINE_PASSWORD to it.", 1)
    while True:
        password = getpass.getpass()
        try:
            validate_password(password, user)
        except ValidationError as error:
            print(" ".join(error.messages), file=sys.stderr)
            continue
        if password == getpass.getpass("Password (again): "):
            return password
        print("The two are not the same.", file=sys.stderr)


def _may_do(role: str) -> str:
    """Return what is true of an account that was made with a role, as the end of a sentence that its name begins."""
    if role == Grant.Role.ADMIN:
        return "is an administrator."
    if role or settings.DEFAULT_ROLE:
        return f"is {role or settings.DEFAULT_ROLE} of all clusters and recordings."
    return "can sign in, and sees nothing until the account has a role."


def activate(*, name: str) -> None:
    """Let somebody sign in again who was deactivated, and accept the access tokens that the person made."""
    with transaction.atomic():
        if not User.objects.filter(username=name).update(is_active=True):
            _nobody(name)
        change_log.note_command("activate", user=name)
    print(f"{name} can sign in again.")


def deactivate(*, name: str) -> None:
    """End the sessions of somebody, who may not sign in any more, and refuse the access tokens that the person made.
    What the person has done stays."""
    try:
        with transaction.atomic():
            with giving.one_administrator_stays():
                if not User.objects.filter(username=name).update(is_active=False):
                    _nobody(name)
            ended = sessions.end(User.objects.get(username=name))
            made = tokens.made_by_deactivated().filter(created_by=name)
            refused = list(made.order_by("name").values_list("name", flat=True))
            change_log.note_command("deactivate", user=name, sessions_ended=ended, tokens_refused=len(refused))
    except giving.GrantRefused as error:
        give_up(str(error), 1)
    print(f"{name} cannot sign in any more. {ended} session{'' if ended == 1 else 's'} ended.")
    if refused:
        print(
            f"Access tokens that {name} made are refused from now on: {', '.join(refused)}. "
            "Make new ones for programs that go on."
        )


def reset_totp(*, name: str) -> None:
    """Remove the second factor and the recovery codes of somebody, and end the sessions."""
    user = User.objects.filter(username=name).first() or _nobody(name)
    with transaction.atomic():
        removed = second_factor.remove(user)
        sessions.end(user)
        attempts.unlock(name)
        change_log.note_command("reset-totp", user=name)
    print(f"{name} {'has no second factor any more' if removed else 'had no second factor'}.")


def unlock(*, name: str | None = None, address: str | None = None) -> None:
    """Forget failures to sign in: of an account, from an address, or all."""
    with transaction.atomic():
        count = attempts.unlock(name or "", address or "")
        change_log.note_command("unlock", name=name or "", address=address or "")
    print(f"{count} count{'' if count == 1 else 's'} of failures forgotten.")


def _nobody(name: str) -> NoReturn:
    give_up(f"Nobody has the name {name}.", 1)

"""Do the work of `causeline createuser`: create a user who may sign in."""

import getpass
import os
import sys

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from dashboard.access.roles import giving
from dashboard.access.roles.grants import ROLES
from dashboard.access.trail import change_log
from dashboard.management.base import BaseCommand
from dashboard.models import Grant


class Command(BaseCommand):
    help = "Add somebody who may sign in."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        role = parser.add_mutually_exclusive_group()
        role.add_argument("--admin", dest="role", action="store_const", const=Grant.Role.ADMIN, default="")
        role.add_argument("--role", choices=ROLES, default="")

    def handle(self, *, name: str, role: str, **options: object) -> None:
        user = User(username=User.normalize_username(name))
        try:
            user.full_clean(exclude=["password"])
            user.set_password(self._password(user))
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        with transaction.atomic():
            user.save()
            if role:
                giving.give(user, role, change_log.who_commands())
            change_log.note_command("createuser", user=user.username, role=role)
        self.stdout.write(f"{user.username} {_may_do(role)}")

    def _password(self, user: User) -> str:
        """Return the password from the environment, or ask for one until it is accepted. Raises ValidationError."""
        if given := os.environ.get("CAUSELINE_PASSWORD"):
            validate_password(given, user)
            return given
        if not sys.stdin.isatty():
            raise CommandError("There is no terminal to ask for a password on; set CAUSELINE_PASSWORD to it.")
        while True:
            password = getpass.getpass()
            try:
                validate_password(password, user)
            except ValidationError as error:
                self.stderr.write(" ".join(error.messages))
                continue
            if password == getpass.getpass("Password (again): "):
                return password
            self.stderr.write("The two are not the same.")


def _may_do(role: str) -> str:
    """Return what is true of an account that was made with a role, as the end of a sentence that its name begins."""
    if role == Grant.Role.ADMIN:
        return "is an administrator."
    if role or settings.DEFAULT_ROLE:
        return f"is {role or settings.DEFAULT_ROLE} of all clusters and recordings."
    return "can sign in, and sees nothing until the account has a role."

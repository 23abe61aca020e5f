"""This command does the work of `causeline createuser`: it creates a user who may sign in."""

import getpass
import os
import sys

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from dashboard.access import change_log
from dashboard.management.base import BaseCommand


class Command(BaseCommand):
    help = "Add somebody who may sign in."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--admin", action="store_true")

    def handle(self, *, name: str, admin: bool, **options: object) -> None:
        user = User(username=User.normalize_username(name), is_staff=admin, is_superuser=admin)
        try:
            user.full_clean(exclude=["password"])
            user.set_password(self._password(user))
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        user.save()
        change_log.note_command("createuser", user=user.username, admin="yes" if admin else "no")
        what = "an administrator" if admin else "an ordinary user"
        self.stdout.write(f"{user.username} is {what}.")

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

"""Migrate the database and then run another command, for the subcommands of `causeline`."""

from django.core.management import ManagementUtility, call_command

from dashboard.management.base import BaseCommand


class Command(BaseCommand):
    help = "Migrate the database, then run the command that follows, in the same process: a second one takes seconds."

    def run_from_argv(self, argv: list[str]) -> None:
        """Run the other command. `argv` holds the program, this command, and the other command with its arguments."""
        call_command("migrate", verbosity=0)
        ManagementUtility([argv[0], *argv[2:]]).execute()

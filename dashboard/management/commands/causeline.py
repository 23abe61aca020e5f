"""Run any command of `causeline` in this process: `manage.py causeline activate bob` is `causeline activate bob` with
the settings, the database and the servers of this process. Nothing is migrated first."""

import argparse
import sys

from django.core.management.base import BaseCommand, CommandParser

from dashboard.cli.__main__ import main
from dashboard.management.performing import perform


class Command(BaseCommand):
    help = "Run a command of `causeline` in this process: `causeline --help` lists them."
    requires_system_checks = ()  # they import all pages, which takes a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND …")

    def run_from_argv(self, argv: list[str]) -> None:
        """Run a command line as it is, without Django's own options."""
        sys.exit(main(argv[2:], perform=perform))

    def handle(self, *, words: list[str], **options: object) -> None:
        """Run the words. Exits if the command does not succeed."""
        if status := main(words, perform=perform):
            sys.exit(status)

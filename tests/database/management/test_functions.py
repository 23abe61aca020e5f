"""These tests check that what commands declare is what is done with it."""

import argparse
import inspect
from collections.abc import Iterator
from functools import partial
from importlib import import_module

from dashboard.cli.__main__ import _parser
from dashboard.cli.servers.beside import given

OTHERS = {  # what commands do that first change something in the options
    "createuser": "accounts.create",
    "connect": "clusters.connect",
    "backup": "backups.back_up",
}


def parsers(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield all commands, also those within others, with their names."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, each in action.choices.items():
                yield name, each
                yield from parsers(each)


def test_each_function_takes_the_options_that_its_command_declares() -> None:
    declared = {name: parser for name, parser in parsers(_parser()) if isinstance(parser.get_default("run"), partial)}
    assert {"import", "keep", "create", "list", "undo", "audit-trail"} <= declared.keys()
    for name, parser in parsers(_parser()):
        run = parser.get_default("run")
        path = run.keywords["function"] if isinstance(run, partial) else OTHERS.get(name)
        if path:
            module, _, function = path.partition(".")
            taken = inspect.signature(getattr(import_module(f"dashboard.management.{module}"), function)).parameters
            options = {each.dest for each in parser._actions} - {"help", "print_rbac"}
            names = given(argparse.Namespace(**dict.fromkeys(options))).keys()
            needed = {
                each.name for each in taken.values() if each.default is each.empty and each.kind != each.VAR_KEYWORD
            }
            assert needed <= names, name
            assert names <= taken.keys() or any(each.kind == each.VAR_KEYWORD for each in taken.values()), name

"""This module asks PostgreSQL for the plan of each query that is run, and finds those that read rows of all sources."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.db import connection, models

_PLANNED = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b", re.IGNORECASE)
# One source, some sources, or the source of a row that was found before.
_NAMED = re.compile(r'\bsource_id = (ANY \(|\'?\d|\$\d|\w+\.source_id\b|"?\w+"?\.id\b)')
_CONDITIONS = ("Index Cond", "Recheck Cond", "Filter")
_PARTITION = re.compile(r"_\d+(_\d+)?$")


def hot_tables() -> dict[str, type[models.Model]]:
    """Return the models of rows that belong to one source, by the name of their table."""
    return {
        model._meta.db_table: model
        for model in apps.get_app_config("timeline").get_models()
        if isinstance(model._meta.pk, models.CompositePrimaryKey) and "source" in model._meta.pk.field_names
    }


class Planned:
    """This has each query planned once, just before it is run for the first time."""

    def __init__(self) -> None:
        self.tables: set[str] = set()  # the hot tables that were read or changed
        self.unnamed: dict[str, set[str]] = {}  # by query, the hot tables of which it reads rows of all sources
        self._known: set[str] = set()
        self._hot = hot_tables()

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        text = sql if isinstance(sql, str) else sql.as_string(None)
        if text not in self._known and _PLANNED.match(text) and not many:
            self._known.add(text)
            (plan,) = _plan(text, params)
            for node in _nodes(plan["Plan"]):
                self._judge(text, node)
        return execute(sql, params, many, context)

    @contextmanager
    def planning(self) -> Iterator[None]:
        """Plan the queries that are run in the context."""
        with connection.execute_wrapper(self):
            yield

    def _judge(self, text: str, node: dict[str, Any]) -> None:
        relation = node.get("Relation Name", "")
        table = _PARTITION.sub("", relation)
        if table not in self._hot:
            return
        self.tables.add(table)
        if node["Node Type"] == "ModifyTable" or (relation != table and relation in text):
            return  # what it changes is found by a node below; or the query names the table of one source
        if not _NAMED.search(" ".join(node.get(each, "") for each in _CONDITIONS)):
            self.unnamed.setdefault(text, set()).add(table)


def _plan(text: str, params: Any) -> Any:
    with connection.cursor() as cursor:
        # not through the wrapper, which would plan this again
        cursor.cursor.execute(f"EXPLAIN (FORMAT JSON, COSTS FALSE) {text}", params)
        return cursor.cursor.fetchone()[0]


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)

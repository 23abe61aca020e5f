"""This module makes the views that limited readers read in place of the tables: one for each table, with its name.

They are in a schema of their own, which `storage.seen` makes the place where queries of a limited reader find tables. A
table that is not listed here has no view, and such a query fails instead of showing too much. The views are made again
after each migration, so no migration needs to know of them.

Rows that are not the reader's are left out by these conditions. The settings of the reader are hashed once for each
query: PostgreSQL compares no row with all of hundreds of namespaces.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.apps import apps
from django.db import ProgrammingError, connection, transaction

from timeline.storage.seen import SCHEMA

logger = logging.getLogger(__name__)

_WHOLE = "SELECT unnest(current_setting('causeline.whole')::bigint[])"
_PARTLY = "SELECT unnest(current_setting('causeline.sources')::bigint[])"
_CLUSTERS = "SELECT unnest(current_setting('causeline.clusters')::bigint[])"
_PAIRS = (
    "SELECT source, namespace FROM unnest(current_setting('causeline.sources')::bigint[],"
    " current_setting('causeline.namespaces')::text[]) AS seen(source, namespace)"
)
_READER = "nullif(current_setting('causeline.reader'), '')::bigint"


def whole(source: str = "source_id") -> str:
    """Return the condition that all of a source may be seen. `source` is the column with its id."""
    return f"({source} IN ({_WHOLE})) IS TRUE"  # "IS TRUE" keeps the planner from joining: it hashes the few ids


def some(source: str = "source_id") -> str:
    """Return the condition that something of a source may be seen."""
    return f"(({source} IN ({_WHOLE})) IS TRUE OR ({source} IN ({_PARTLY})) IS TRUE)"


def within(namespace: str = "namespace", source: str = "source_id") -> str:
    """Return the condition that a namespace of a source may be seen."""
    return f"(({source} IN ({_WHOLE})) IS TRUE OR (({source}, {namespace}) IN ({_PAIRS})) IS TRUE)"


def of_cluster(cluster: str = "cluster_id") -> str:
    """Return the condition that all of a cluster may be seen."""
    fed = f"EXISTS (SELECT FROM timeline_source AS fed WHERE fed.cluster_id = {cluster} AND {whole('fed.id')})"
    return f"(({cluster} IN ({_CLUSTERS})) IS TRUE OR {fed})"


def of_reader(account: str) -> str:
    """Return the condition that a row belongs to the reader. `account` is the column with the id of an account."""
    return f"({account} = {_READER}) IS TRUE"


def _visible(table: str, condition: str) -> str:
    """Return the condition that a row of another table is seen."""
    return f"EXISTS (SELECT FROM {SCHEMA}.{table} AS of WHERE {condition})"


_ALL = f"NOT EXISTS (SELECT FROM unnest(namespaces) AS one WHERE ((source_id, one) IN ({_PAIRS})) IS NOT TRUE)"
# All namespaces that a row involves are seen. Most rows involve one, which is found without a query of its own.
INVOLVED = f"""({whole()} OR CASE cardinality(namespaces) WHEN 1 THEN ((source_id, namespaces[1]) IN ({_PAIRS})) IS TRUE
    WHEN 0 THEN FALSE ELSE namespaces IS NOT NULL AND {_ALL} END)"""
_MEANT = (
    f"({whole()} OR {_visible('timeline_incident', 'of.source_id = t.source_id AND of.identity = t.identity')}"
    f" OR {_visible('timeline_finding', 'of.source_id = t.source_id AND of.identity = t.identity')})"
)
NOTHING, ALL = "FALSE", "TRUE"


@dataclass(frozen=True)
class View:
    """This says which rows of a table a limited reader sees, as a condition of SQL in which the table is named `t`, and
    what some columns show in place of what they hold."""

    rows: str
    columns: Mapping[str, str] = field(default_factory=dict)  # the expression of SQL of each


def _unless_whole(source: str, **columns: str) -> dict[str, str]:
    """Return columns that show these values to readers who may not see all of a source."""
    return {name: f'CASE WHEN {whole(source)} THEN t."{name}" ELSE {value} END' for name, value in columns.items()}


_SOURCE = _unless_whole(
    "t.id",
    inputs="'[]'::jsonb",
    entries="0::bigint",
    stored="0::bigint",
    redacted="'{}'::jsonb",
    skipped="0::bigint",
    skips="'[]'::jsonb",
    told="jsonb_set(jsonb_set(t.told, '{changes}', '[]'), '{clocks}', '[]')",
    histogram="'[]'::jsonb",
    row_counts=f"""coalesce((SELECT jsonb_object_agg(rule, counts) FROM (
        SELECT rule, jsonb_build_array(count(*) FILTER (WHERE rank = 0), count(*) FILTER (WHERE rank = 1),
                                       count(*) FILTER (WHERE rank = 2)) AS counts
        FROM {SCHEMA}.timeline_occurrence AS of WHERE of.source_id = t.id GROUP BY rule) AS counted), '{{}}')""",
    census=f"""coalesce((SELECT jsonb_agg(of) FROM jsonb_array_elements(t.census) AS of
        WHERE ((t.id, of->>0) IN ({_PAIRS})) IS TRUE), '[]')""",
    actors="'[]'::jsonb",
    actors_total="0",
    views="0",
    mostly_skipped="'{}'::jsonb",
)
VIEWS = {
    "timeline_source": View(some("t.id"), _SOURCE),
    "timeline_cluster": View(
        f"({of_cluster('t.id')} OR t.id IN (SELECT cluster_id FROM timeline_source AS fed WHERE {some('fed.id')}))",
        {
            name: f'CASE WHEN {of_cluster("t.id")} THEN t."{name}" ELSE {value} END'
            for name, value in {
                "reference": "'{}'::jsonb",
                "secret": "NULL",
                "include": "'[]'::jsonb",
                "exclude": "'[]'::jsonb",
                "error": "''",
            }.items()
        },
    ),
    "timeline_track": View(within()),
    "timeline_strip": View(within()),
    "timeline_chunk": View(some()),  # `storage.chunks` leaves out entries of other namespaces
    "timeline_intent_change": View(within()),
    "timeline_log": View(
        f"({whole()} OR "
        + _visible(
            "timeline_track",
            "of.source_id = t.source_id AND of.name = split_part(t.name, '/', 2) AND of.kind = 'Pod'"
            " AND of.namespace = split_part(t.name, '/', 1)",
        )
        + ")"
    ),
    "timeline_log_page": View(
        f"({whole()} OR {_visible('timeline_log', 'of.source_id = t.source_id AND of.number = t.log')})"
    ),
    "timeline_actor_row": View(whole()),
    "timeline_object_view": View(whole()),
    "timeline_finding": View(INVOLVED),
    "timeline_incident": View(INVOLVED),
    "timeline_occurrence": View(INVOLVED),
    "timeline_noticed_incident": View(_MEANT),
    "timeline_baselineincident": View(_MEANT),
    "timeline_acknowledgement": View(_MEANT),
    "timeline_silence": View(
        f"({whole()} OR {of_cluster()} OR (namespace <> '' AND ((source_id, namespace) IN ({_PAIRS})) IS TRUE)"
        " OR (namespace <> '' AND EXISTS (SELECT FROM timeline_source AS fed WHERE fed.cluster_id = t.cluster_id"
        f" AND ((fed.id, namespace) IN ({_PAIRS})) IS TRUE)))"
    ),
    "timeline_alert": View(
        f"({within(source='source')} OR (source IS NULL AND EXISTS (SELECT FROM timeline_source AS fed"
        " JOIN timeline_cluster AS of ON of.id = fed.cluster_id WHERE t.cluster = of.name"
        f" AND {within('t.namespace', 'fed.id')})))"  # not by a recording's name, which whoever uploads it chooses
    ),
    "timeline_stream": View(some(), _unless_whole("source_id", error="''", entries="0::bigint")),
    "timeline_gap": View(some()),
    # The times between freed spans are those of incidents. Whoever may not see all of them sees one span of all.
    "timeline_freed": View(
        f"({whole()} OR ({some()} AND NOT EXISTS (SELECT FROM timeline_freed AS of WHERE of.source_id = t.source_id"
        " AND of.since < t.since)))",
        _unless_whole(
            "source_id", until="(SELECT max(of.until) FROM timeline_freed AS of WHERE of.source_id = t.source_id)"
        ),
    ),
    "timeline_delta": View(some()),
    "timeline_memory": View(NOTHING),
    "timeline_upload": View(f"({whole()} OR {of_cluster()} OR owner_id = {_READER})"),
    "timeline_uploadfile": View(_visible("timeline_upload", "of.id = t.upload_id")),
    "timeline_addition": View(NOTHING),
    "timeline_portion": View(NOTHING),
    "timeline_portion_part": View(NOTHING),
    "timeline_audit_batch": View(NOTHING),
    "timeline_actor_feed": View(whole()),
    "timeline_logstore": View(of_cluster()),
    "timeline_pull": View(_visible("timeline_logstore", "of.id = t.store_id")),
    "timeline_hold": View(f"({whole()} OR {of_cluster()})"),
    "timeline_usage": View(whole()),
    "timeline_collector": View(of_cluster()),
    "timeline_collected_batch": View(NOTHING),
}


def create(more: Mapping[str, View]) -> None:
    """Make all views again, in place of those that there are. `more` are those of tables of other packages.

    A table that does not exist, or lacks a column, because an older migration was the last one, gets no view.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        cursor.execute(f"CREATE SCHEMA {SCHEMA}")
        for table, view in _in_order({**_of_libraries(), **VIEWS, **more}):
            try:
                with transaction.atomic():
                    _create(table, view)
            except ProgrammingError as error:
                logger.info("Limited readers cannot read %s: %s", table, error)


def drop() -> None:
    """Remove all views, so that a migration can change the columns that they read."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


def _of_libraries() -> dict[str, View]:
    """Return the views of the tables of libraries, such as those of accounts and sessions. They show nothing that was
    observed, so they have all rows."""
    own = {"timeline", "collectors", "dashboard"}
    models = (each for each in apps.get_models(include_auto_created=True) if each._meta.app_label not in own)
    return {model._meta.db_table: View(ALL) for model in models}


def _in_order(views: Mapping[str, View]) -> list[tuple[str, View]]:
    """Return the views so that each comes after those that it reads."""
    left, done = dict(views), list[tuple[str, View]]()
    while left:
        for table, view in [*left.items()]:
            text = " ".join([view.rows, *view.columns.values()])
            if not any(f"{SCHEMA}.{other} " in text for other in left if other != table):
                done.append((table, left.pop(table)))
    return done


def _create(table: str, view: View) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
            " ORDER BY attnum",
            [table],
        )
        names = [name for (name,) in cursor.fetchall()]
        if missing := view.columns.keys() - set(names):
            raise ProgrammingError(f"the table has no columns {', '.join(sorted(missing))}")
        columns = ", ".join(
            f'{view.columns[name]} AS "{name}"' if name in view.columns else f't."{name}"' for name in names
        )
        check = "" if view.rows == ALL else " WITH LOCAL CHECK OPTION"
        cursor.execute(
            f'CREATE VIEW {SCHEMA}."{table}" AS SELECT {columns} FROM "{table}" AS t WHERE {view.rows}{check}'
        )

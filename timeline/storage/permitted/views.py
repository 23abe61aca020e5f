"""Make the views that limited readers read in place of the tables: one for each table, with its name.

They are in a schema of their own, which `storage.permitted.limits` makes the place where queries of a limited reader
find tables. A table that is not listed here has no view, and such a query fails instead of showing too much. The views
are made again after each migration, so no migration needs to know of them.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from django.apps import apps
from django.db import ProgrammingError, connection, transaction

from timeline.storage.permitted import parts as seen_parts
from timeline.storage.permitted.conditions import (
    ALL,
    FUNCTIONS,
    NOTHING,
    READER,
    LimitedTable,
    involved,
    listed,
    of_cluster,
    of_part_of_cluster,
    some,
    unless_whole,
    visible,
    whole,
    within,
)
from timeline.storage.permitted.limits import SCHEMA

logger = logging.getLogger(__name__)


_NAMES_ONLY_A_RULE = (
    "(namespace = '' AND owner = '' AND actor = '' AND"
    f" ((cluster_id IS NULL AND source_id IS NULL) OR {some()} OR {of_part_of_cluster()}))"
)


def _meant(table: str) -> str:
    same = "of.source_id = t.source_id AND of.identity = t.identity"
    return f"EXISTS (SELECT FROM {table} AS of WHERE {same} AND {involved('of')})"


# What people have noted about an incident or a finding may name all that it involves.
_MEANT = f"({whole()} OR {_meant('timeline_incident')} OR {_meant('timeline_finding')})"


_SOURCE = unless_whole(
    "t.id",
    inputs="'[]'::jsonb",
    entries=f"""coalesce((SELECT sum(of.changes) FROM {SCHEMA}.timeline_share AS of
        WHERE of.source_id = t.id), 0)::bigint""",
    stored="0::bigint",
    redacted="'{}'::jsonb",
    skipped="0::bigint",
    skips="'[]'::jsonb",
    told="""'{"coverage": [], "rules": [], "changes": [], "namespaces": [], "clocks": []}'::jsonb""",
    histogram="'[]'::jsonb",
    row_counts=f"""coalesce((SELECT jsonb_object_agg(rule, counts) FROM (
        SELECT rule, jsonb_build_array(count(*) FILTER (WHERE rank = 0), count(*) FILTER (WHERE rank = 1),
                                       count(*) FILTER (WHERE rank = 2)) AS counts
        FROM {SCHEMA}.timeline_occurrence AS of WHERE of.source_id = t.id GROUP BY rule) AS counted), '{{}}')""",
    census=f"""coalesce((SELECT jsonb_agg(of) FROM jsonb_array_elements(t.census) AS of
        WHERE {listed("(of->>0)", "t.id")}), '[]')""",
    actors="'[]'::jsonb",
    actors_total="0",
    views="0",
    mostly_skipped="'{}'::jsonb",
)
VIEWS = {
    "timeline_source": LimitedTable(some("t.id"), _SOURCE),
    "timeline_cluster": LimitedTable(
        f"({of_cluster('t.id')} OR {of_part_of_cluster('t.id')})",
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
    "timeline_track": LimitedTable(
        # the Namespace object of a namespace is seen with what is in it
        within("CASE WHEN kind = 'Namespace' AND \"group\" = '' AND namespace = '' THEN name ELSE namespace END")
    ),
    "timeline_strip": LimitedTable(within()),
    "timeline_share": LimitedTable(within()),
    "timeline_chunk": LimitedTable(some()),  # `storage.entries.chunks` leaves out entries of other namespaces
    "timeline_intent_change": LimitedTable(within()),
    "timeline_log": LimitedTable(
        f"({whole()} OR "
        + visible(
            "timeline_track",
            "of.source_id = t.source_id AND of.name = split_part(t.name, '/', 2) AND of.kind = 'Pod'"
            " AND of.namespace = split_part(t.name, '/', 1)",
        )
        + ")"
    ),
    "timeline_log_page": LimitedTable(
        f"({whole()} OR {visible('timeline_log', 'of.source_id = t.source_id AND of.number = t.log')})"
    ),
    "timeline_actor_row": LimitedTable(whole()),
    "timeline_object_view": LimitedTable(whole()),
    "timeline_finding": LimitedTable(involved(), part=seen_parts.FINDING),
    "timeline_incident": LimitedTable(involved(), part=seen_parts.INCIDENT),
    "timeline_symptom": LimitedTable(involved(), part=seen_parts.SYMPTOM),
    # Which symptoms were separated only matters to whoever writes incidents, who sees everything.
    "timeline_separate_symptom": LimitedTable(whole()),
    "timeline_occurrence": LimitedTable(involved(), part=seen_parts.OCCURRENCE),
    "timeline_noticed_incident": LimitedTable(_MEANT),
    "timeline_baselineincident": LimitedTable(_MEANT),
    "timeline_acknowledgement": LimitedTable(_MEANT),
    # `queries.people.silences` says who may end one, and leaves out words about what is hidden.
    "timeline_silence": LimitedTable(
        f"({_NAMES_ONLY_A_RULE} OR {whole()} OR {of_cluster()}"
        f" OR (namespace <> '' AND {listed()})"
        " OR (namespace <> '' AND EXISTS (SELECT FROM timeline_source AS fed WHERE fed.cluster_id = t.cluster_id"
        f" AND {listed(source='fed.id')})))"
    ),
    "timeline_alert": LimitedTable(
        f"({within(source='source')} OR (source IS NULL AND EXISTS (SELECT FROM timeline_source AS fed"
        " JOIN timeline_cluster AS of ON of.id = fed.cluster_id WHERE t.cluster = of.name"
        f" AND {within('t.namespace', 'fed.id')})))"  # not by a recording's name, which whoever uploads it chooses
    ),
    "timeline_stream": LimitedTable(
        f"({within()} OR (t.namespace = '' AND {some()}))", unless_whole("source_id", error="''", entries="0::bigint")
    ),
    # The reason may be an error that names anything in the cluster.
    "timeline_gap": LimitedTable(
        some(), unless_whole("source_id", reason="'Those who see all of this source see why.'")
    ),
    # The times between freed spans are those of incidents. Whoever may not see all of them sees one span of all.
    "timeline_freed": LimitedTable(
        f"({whole()} OR ({some()} AND NOT EXISTS (SELECT FROM timeline_freed AS of WHERE of.source_id = t.source_id"
        " AND of.since < t.since)))",
        unless_whole(
            "source_id", until="(SELECT max(of.until) FROM timeline_freed AS of WHERE of.source_id = t.source_id)"
        ),
    ),
    "timeline_delta": LimitedTable(some()),
    "timeline_memory": LimitedTable(NOTHING),
    "timeline_upload": LimitedTable(f"({whole()} OR {of_cluster()} OR owner_id = {READER})"),
    "timeline_uploadfile": LimitedTable(visible("timeline_upload", "of.id = t.upload_id")),
    "timeline_addition": LimitedTable(NOTHING),
    "timeline_portion": LimitedTable(NOTHING),
    "timeline_portion_part": LimitedTable(NOTHING),
    "timeline_audit_batch": LimitedTable(NOTHING),
    "timeline_actor_feed": LimitedTable(whole()),
    "timeline_logstore": LimitedTable(of_cluster()),
    "timeline_pull": LimitedTable(visible("timeline_logstore", "of.id = t.store_id")),
    "timeline_hold": LimitedTable(f"({whole()} OR {of_cluster()})"),
    "timeline_usage": LimitedTable(whole()),
    "timeline_collector": LimitedTable(of_cluster()),
    "timeline_collected_batch": LimitedTable(NOTHING),
}


def create(more: Mapping[str, LimitedTable]) -> None:
    """Make all views again, in place of those that there are. `more` are those of tables of other packages.

    A table that does not exist, or lacks a column, because an older migration was the last one, gets no view.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        cursor.execute(f"CREATE SCHEMA {SCHEMA}")
        for function in FUNCTIONS:
            with _possible("functions"):
                cursor.execute(function)
        for table, view in _in_order({**_of_libraries(), **VIEWS, **more}):
            with _possible(table):
                _create(table, view)


@contextmanager
def _possible(what: str) -> Iterator[None]:
    """Leave out what cannot be made yet."""
    try:
        with transaction.atomic():
            yield
    except ProgrammingError as error:
        logger.info("Limited readers cannot read %s: %s", what, error)


def drop() -> None:
    """Remove all views, so that a migration can change the columns that they read."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


def _of_libraries() -> dict[str, LimitedTable]:
    """Return the views of the tables of libraries, such as those of accounts and sessions. They show nothing that was
    observed, so they have all rows."""
    own = {"timeline", "collectors", "dashboard"}
    models = (each for each in apps.get_models(include_auto_created=True) if each._meta.app_label not in own)
    return {model._meta.db_table: LimitedTable(ALL) for model in models}


def _in_order(views: Mapping[str, LimitedTable]) -> list[tuple[str, LimitedTable]]:
    """Return the views so that each comes after those that it reads."""
    left, done = dict(views), list[tuple[str, LimitedTable]]()
    while left:
        for table, view in [*left.items()]:
            parts = [view, *([view.part] if view.part else [])]
            texts = [(each.rows, each.joined, each.function, *each.columns.values()) for each in parts]
            text = " ".join(each for of_part in texts for each in of_part)
            if not any(f"{SCHEMA}.{other} " in text for other in left if other != table):
                done.append((table, left.pop(table)))
    return done


def _create(table: str, view: LimitedTable) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
            " ORDER BY attnum",
            [table],
        )
        names = [name for (name,) in cursor.fetchall()]
        if view.part and view.part.function:
            cursor.execute(view.part.function)
        queries = [_query(table, names, each) for each in (view, view.part) if each]
        check = "" if view.rows == ALL or view.part else " WITH LOCAL CHECK OPTION"
        cursor.execute(f'CREATE VIEW {SCHEMA}."{table}" AS {" UNION ALL ".join(queries)}{check}')


def _query(table: str, names: list[str], view: LimitedTable) -> str:
    if missing := view.columns.keys() - set(names):
        raise ProgrammingError(f"the table has no columns {', '.join(sorted(missing))}")
    columns = ", ".join(
        f'{view.columns[name]} AS "{name}"' if name in view.columns else f't."{name}"' for name in names
    )
    return f'SELECT {columns} FROM "{table}" AS t {view.joined} WHERE {view.rows}'

"""This module has the conditions of SQL by which views leave out what a limited reader may not see.

The settings of the reader are hashed once for each query: PostgreSQL compares no row with all of hundreds of
namespaces.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from timeline.storage.seen import SCHEMA

WHOLE = "SELECT unnest(current_setting('causeline.whole')::bigint[])"
PARTLY = "SELECT unnest(current_setting('causeline.sources')::bigint[])"
CLUSTERS = "SELECT unnest(current_setting('causeline.clusters')::bigint[])"
PAIRS = (
    "SELECT source, namespace FROM unnest(current_setting('causeline.sources')::bigint[],"
    " current_setting('causeline.namespaces')::text[]) AS seen(source, namespace)"
)
# Live sources of which an older version has written the last batch: it writes no namespaces of findings.
_OUTDATED = (
    f"SELECT id FROM timeline_source WHERE id IN ({PARTLY}) AND sequence > 0 AND sequence IS DISTINCT FROM divided"
)
READER = "nullif(current_setting('causeline.reader'), '')::bigint"


def whole(source: str = "source_id") -> str:
    """Return the condition that all of a source may be seen. `source` is the column with its id."""
    return f"({source} IN ({WHOLE})) IS TRUE"  # "IS TRUE" keeps the planner from joining: it hashes the few ids


def some(source: str = "source_id") -> str:
    """Return the condition that something of a source may be seen."""
    return f"(({source} IN ({WHOLE})) IS TRUE OR ({source} IN ({PARTLY})) IS TRUE)"


def within(namespace: str = "namespace", source: str = "source_id") -> str:
    """Return the condition that a namespace of a source may be seen."""
    return f"(({source} IN ({WHOLE})) IS TRUE OR (({source}, {namespace}) IN ({PAIRS})) IS TRUE)"


def of_itself() -> str:
    """Return the condition that a track is the Namespace object of a namespace that may be seen."""
    return (
        "(t.kind = 'Namespace' AND t.\"group\" = '' AND t.namespace = '' AND"
        f" ((t.source_id, t.name) IN ({PAIRS})) IS TRUE)"
    )


def of_cluster(cluster: str = "cluster_id") -> str:
    """Return the condition that all of a cluster may be seen."""
    fed = f"EXISTS (SELECT FROM timeline_source AS fed WHERE fed.cluster_id = {cluster} AND {whole('fed.id')})"
    return f"(({cluster} IN ({CLUSTERS})) IS TRUE OR {fed})"


def of_reader(account: str) -> str:
    """Return the condition that a row belongs to the reader. `account` is the column with the id of an account."""
    return f"({account} = {READER}) IS TRUE"


def visible(table: str, condition: str) -> str:
    """Return the condition that a row of another table is seen."""
    return f"EXISTS (SELECT FROM {SCHEMA}.{table} AS of WHERE {condition})"


def involved(row: str = "t") -> str:
    """Return the condition that all namespaces that a row involves are known and seen. Most rows involve one, which is
    found without a query of its own."""
    source, names = f"{row}.source_id", f"{row}.namespaces"
    every = f"NOT EXISTS (SELECT FROM unnest({names}) AS one WHERE (({source}, one) IN ({PAIRS})) IS NOT TRUE)"
    return f"""({whole(source)} OR CASE
        WHEN ({source} IN ({_OUTDATED})) IS TRUE THEN FALSE
        WHEN cardinality({names}) = 1 THEN (({source}, {names}[1]) IN ({PAIRS})) IS TRUE
        WHEN cardinality({names}) = 0 THEN FALSE ELSE {names} IS NOT NULL AND {every} END)"""


NOTHING, ALL = "FALSE", "TRUE"


@dataclass(frozen=True)
class View:
    """This says which rows of a table a limited reader sees, as a condition of SQL in which the table is named `t`, and
    what some columns show in place of what they hold."""

    rows: str
    columns: Mapping[str, str] = field(default_factory=dict)  # the expression of SQL of each
    joined: str = ""  # what is joined to the table, for these expressions
    part: "View | None" = None  # further rows, of which a part is seen


def unless_whole(source: str, **columns: str) -> dict[str, str]:
    """Return columns that show these values to readers who may not see all of a source."""
    return {name: f'CASE WHEN {whole(source)} THEN t."{name}" ELSE {value} END' for name, value in columns.items()}

"""The conditions of SQL by which views leave out what a limited reader may not see.

The settings of the reader are objects of JSON, whose keys say what is seen. Each query reads them once and finds a key
by bisection: PostgreSQL compares no row with all of hundreds of namespaces. Conditions are as short as they can be,
because the views are planned anew with each query, which costs more than to look a key up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from timeline.storage.permitted.limits import SCHEMA

_SOURCES = "(SELECT current_setting('causeline.sources')::jsonb)"
_NAMESPACES = "(SELECT current_setting('causeline.namespaces')::jsonb)"
READER = "nullif(current_setting('causeline.reader'), '')::bigint"
# The planner looks into no function of these, so that queries are planned as fast as without them.
FUNCTIONS = (
    # The live sources whose last batch an older version has written: it writes no namespaces of findings.
    f"""CREATE FUNCTION {SCHEMA}.outdated() RETURNS bigint[] LANGUAGE sql STABLE PARALLEL SAFE BEGIN ATOMIC
        SELECT array_agg(id) FROM timeline_source WHERE sequence > 0 AND sequence IS DISTINCT FROM divided
        AND id = ANY(current_setting('causeline.partly')::bigint[]);
    END""",
    f"""CREATE FUNCTION {SCHEMA}.clusters() RETURNS bigint[] LANGUAGE sql STABLE PARALLEL SAFE BEGIN ATOMIC
        SELECT coalesce(array_agg(cluster_id), '{{}}') || current_setting('causeline.clusters')::bigint[]
        FROM timeline_source WHERE cluster_id IS NOT NULL AND id = ANY(current_setting('causeline.whole')::bigint[]);
    END""",
    f"""CREATE FUNCTION {SCHEMA}.clusters_in_part() RETURNS bigint[] LANGUAGE sql STABLE PARALLEL SAFE BEGIN ATOMIC
        SELECT array_agg(cluster_id) FROM timeline_source WHERE cluster_id IS NOT NULL AND id = ANY(
            current_setting('causeline.whole')::bigint[] || current_setting('causeline.partly')::bigint[]);
    END""",
    # The keys of namespaces that all have to be seen. "" is no key of a reader, so what is not known is not seen.
    f"""CREATE FUNCTION {SCHEMA}.keys(source bigint, names text[]) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
        BEGIN ATOMIC
        SELECT coalesce(array_agg(coalesce(source || '/' || name, '')), ARRAY['']) FROM unnest(names) AS name;
    END""",
)


def whole(source: str = "source_id") -> str:
    """Return the condition that all of a source may be seen. `source` is the column with its id."""
    return _found(_whole(source))


def some(source: str = "source_id") -> str:
    """Return the condition that something of a source may be seen."""
    return _found(f"{_SOURCES} ? ('some ' || {source})")


def within(namespace: str = "namespace", source: str = "source_id") -> str:
    """Return the condition that a namespace of a source may be seen."""
    return _found(f"{_listed(namespace, source)} OR {_whole(source)}")


def listed(namespace: str = "namespace", source: str = "source_id") -> str:
    """Return the condition that a namespace of a source that is seen in part may be seen."""
    return _found(_listed(namespace, source))


def _listed(namespace: str, source: str) -> str:
    return f"{_NAMESPACES} ? ({source} || '/' || {namespace})"


def _whole(source: str) -> str:
    return f"{_SOURCES} ? ('whole ' || {source})"


def _found(condition: str) -> str:
    # PostgreSQL takes the operators for rare, and would choose slow plans; of a CASE it expects that half of all holds.
    return f"CASE WHEN {condition} THEN TRUE ELSE FALSE END"


def of_cluster(cluster: str = "cluster_id") -> str:
    """Return the condition that all of a cluster, or of a source that it feeds, may be seen."""
    return f"({cluster} = ANY((SELECT {SCHEMA}.clusters())::bigint[]))"


def of_part_of_cluster(cluster: str = "cluster_id") -> str:
    """Return the condition that something of a source that a cluster feeds may be seen."""
    return f"({cluster} = ANY((SELECT {SCHEMA}.clusters_in_part())::bigint[]))"


def of_reader(account: str) -> str:
    """Return the condition that a row belongs to the reader. `account` is the column with the id of an account."""
    return f"({account} = {READER}) IS TRUE"


def visible(table: str, condition: str) -> str:
    """Return the condition that a row of another table is seen."""
    return f"EXISTS (SELECT FROM {SCHEMA}.{table} AS of WHERE {condition})"


def outdated(source: str = "source_id") -> str:
    """Return the condition that an older version, which writes no namespaces of findings, has written a source last."""
    return f"{source} = ANY((SELECT {SCHEMA}.outdated())::bigint[])"


def involved(row: str = "t") -> str:
    """Return the condition that all namespaces that a row involves are known and seen. Most rows involve one, whose key
    needs no call of a function."""
    source, names = f"{row}.source_id", f"{row}.namespaces"
    one = f"ARRAY[coalesce({source} || '/' || {names}[1], '')]"
    keys = f"CASE WHEN cardinality({names}) = 1 THEN {one} ELSE {SCHEMA}.keys({source}, {names}) END"
    return f"""({whole(source)} OR CASE
        WHEN {outdated(source)} THEN FALSE
        WHEN {_NAMESPACES} ?& {keys} THEN TRUE ELSE FALSE END)"""


NOTHING, ALL = "FALSE", "TRUE"


@dataclass(frozen=True)
class LimitedTable:
    """The rows of a table that a limited reader sees, as a condition of SQL in which the table is named `t`, and what
    some columns show in place of what they hold."""

    rows: str
    columns: Mapping[str, str] = field(default_factory=dict)  # the expression of SQL of each
    joined: str = ""  # what is joined to the table, for these expressions
    function: str = ""  # the statement that makes a function for it
    part: "LimitedTable | None" = None  # further rows, which are seen in part


def unless_whole(source: str, **columns: str) -> dict[str, str]:
    """Return columns that show these values to readers who may not see all of a source."""
    return {name: f'CASE WHEN {whole(source)} THEN t."{name}" ELSE {value} END' for name, value in columns.items()}

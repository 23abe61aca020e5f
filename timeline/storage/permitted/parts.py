"""Reduce findings and incidents that involve several namespaces to the namespaces that the reader may see.

Of a finding that is what was stored as its part. Rows of the list of findings and incidents are added up from these
parts and from the findings that are seen whole, so they count nothing else.
"""

from timeline.storage.permitted.conditions import LimitedTable, involved, listed, outdated
from timeline.storage.permitted.limits import SCHEMA

_HERE = listed("t.namespace", "t.source_id")
# Most rows involve one namespace, and are seen whole or not at all; this is found out before anything else.
_IN_PART = f"(cardinality(t.namespaces) IS DISTINCT FROM 1 OR {outdated('t.source_id')}) AND NOT {involved()}"
# The anchor is seen: it is in the namespace, or it is an actor, who is shown with the changes of objects that are seen.
_ANCHORED = "(t.anchor[3] = t.namespace OR t.anchor[2] = 'Actor')"
FINDING = LimitedTable(
    f"t.part IS NOT NULL AND {_HERE} AND {_IN_PART}",
    {
        "subject": "(t.part->>'subject')::bigint",
        "root": "(t.part->>'subject')::bigint",
        "tracks": "ARRAY(SELECT jsonb_array_elements_text(t.part->'tracks')::bigint)",
        "first": "to_timestamp(0) + (t.part->>'first')::bigint * interval '1 microsecond'",
        "last": "to_timestamp(0) + (t.part->>'last')::bigint * interval '1 microsecond'",
        "document": "t.part->'document'",
        "occurrences": "t.part->'occurrences'",
        "incident": f"CASE WHEN {_ANCHORED} THEN t.incident ELSE '' END",
        "incidents": f"CASE WHEN {_ANCHORED} THEN t.incidents END",
        "anchor": f"CASE WHEN {_ANCHORED} THEN t.anchor ELSE '{{}}' END",
        "namespaces": "ARRAY[t.namespace]",
        "part": "NULL::jsonb",
        "pieces": "NULL::jsonb",
    },
)
OCCURRENCE = LimitedTable(
    f"{_HERE} AND {_IN_PART} AND seen.findings IS NOT NULL",
    {
        "words": "seen.words",
        "tracks": "seen.tracks",
        "first": "to_timestamp(0) + seen.first * interval '1 microsecond'",
        "last": "to_timestamp(0) + seen.last * interval '1 microsecond'",
        "findings": "seen.findings",
        "namespaces": "ARRAY[t.namespace]",
    },
    joined=f"CROSS JOIN LATERAL {SCHEMA}.part_of_row(t.source_id, t.findings, t.key) AS seen",
    function=f"""CREATE FUNCTION {SCHEMA}.part_of_row(
        number bigint, members varchar[], named varchar,
        OUT findings varchar[], OUT first bigint, OUT last bigint, OUT words text, OUT tracks bigint[]
    ) LANGUAGE sql STABLE PARALLEL SAFE BEGIN ATOMIC
        SELECT array_agg(of.identity::varchar ORDER BY of.identity),
               min((each->>'first')::bigint), max((each->>'last')::bigint),
               string_agg(lower(of.document->>'summary'), ' '),
               (SELECT array_agg(DISTINCT track) FROM (
                   SELECT unnest(array_agg(of.subject)) UNION ALL
                   SELECT (proof->>'track')::bigint
                   FROM jsonb_array_elements(jsonb_agg(each->'proof')) AS proofs
                   CROSS JOIN LATERAL jsonb_array_elements(proofs) AS proof
               ) AS named(track) WHERE track IS NOT NULL)
        FROM {SCHEMA}.timeline_finding AS of CROSS JOIN LATERAL jsonb_array_elements(of.occurrences) AS each
        WHERE of.source_id = number AND of.identity = ANY(members) AND NOT of.withdrawn AND each->>'group' = named;
    END""",
)
_SOME = f"EXISTS (SELECT FROM unnest(t.namespaces) AS one WHERE {listed('one', 't.source_id')})"
_RANK = "CASE of.severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END"
_GRAVEST = f"ORDER BY {_RANK}, of.first, of.identity"
_TITLE = """CASE seen.findings WHEN 1 THEN seen.gravest->>'summary' ELSE
            concat(seen.gravest->>'summary', ' (and ', seen.findings - 1, ' more)') END"""
_COMMON = {  # columns of an incident and of a symptom
    "rank": "seen.rank::smallint",
    "status": "seen.status",
    "title": _TITLE,
    "subjects": "cardinality(seen.names)",
    "names": "seen.names[:6]",
    "findings": "seen.findings::integer",
    "occurrences": "cardinality(seen.times)",
    "first": "seen.first",
    "last": "seen.last",
    "open": "seen.open",
    "effect": "seen.gravest->>'effect'",
    "effect_text": "seen.gravest->>'effect_text'",
    "actors": "'{}'::text[]",
    "worst": "seen.worst::varchar",
    "namespaces": "seen.namespaces",
}
INCIDENT = LimitedTable(
    f"{_SOME} AND {_IN_PART} AND seen.findings > 0",
    {
        **_COMMON,
        "rule": "seen.gravest->>'rule'",
        "rules": "seen.rules",
        "group": "seen.anchor[1]",
        "kind": "seen.anchor[2]",
        "namespace": "seen.anchor[3]",
        "name": "seen.anchor[4]",
        "anchored_in": "seen.anchored_in",
        "root": "''",
        "symptoms": "seen.symptoms::integer",
        "excess": "cardinality(seen.times)",
        "times": "seen.times",
        "cause": "''",
        "caused": "''::varchar",
        "advice": "ARRAY(SELECT jsonb_array_elements_text(seen.gravest->'advice'))",
        "roots": "seen.roots",
        "words": "lower(concat_ws(' ', seen.gravest->>'summary', seen.anchor[4], array_to_string(seen.names, ' ')))",
    },
    joined=f"CROSS JOIN LATERAL {SCHEMA}.part_of_incident(t.source_id, t.identity, NULL, NULL) AS seen",
    function=f"""CREATE FUNCTION {SCHEMA}.part_of_incident(
        number bigint, named varchar, of_rule text, of_anchor text[],
        OUT findings bigint, OUT rank integer, OUT status text, OUT gravest jsonb, OUT worst varchar,
        OUT names text[], OUT roots bigint[], OUT first timestamptz, OUT last timestamptz, OUT namespaces text[],
        OUT open boolean, OUT times bigint[], OUT anchor text[], OUT rules text[], OUT anchored_in text[],
        OUT symptoms bigint
    ) LANGUAGE sql STABLE PARALLEL SAFE BEGIN ATOMIC
        SELECT count(*), min({_RANK}), min(of.document->>'status'),
               (array_agg(of.document {_GRAVEST}))[1], (array_agg(of.identity {_GRAVEST}))[1]::varchar,
               array_agg(DISTINCT of.document->'subject'->>'name'), array_agg(DISTINCT of.root),
               min(of.first), max(of.last), array_agg(DISTINCT of.namespace),
               coalesce(bool_or(of.occurrences @? '$[*].open ? (@ == true)'), FALSE),
               (SELECT array_agg(DISTINCT (each->>'first')::bigint)
                FROM jsonb_array_elements(jsonb_agg(of.occurrences)) AS lists
                CROSS JOIN LATERAL jsonb_array_elements(lists) AS each),
               (SELECT ARRAY(SELECT jsonb_array_elements_text((array_agg(to_jsonb(of.anchor) {_GRAVEST}))[1]))),
               array_agg(DISTINCT of.rule), array_agg(DISTINCT of.anchor[3]), count(DISTINCT (of.rule, of.anchor))
        FROM {SCHEMA}.timeline_finding AS of
        WHERE of.source_id = number AND (of.incident = named OR of.incidents @> ARRAY[named]) AND NOT of.withdrawn
            AND (of_rule IS NULL OR (of.rule = of_rule AND of.anchor = of_anchor));
    END""",
)
SYMPTOM = LimitedTable(
    f"({_HERE} OR (t.kind = 'Actor' AND {_SOME})) AND {_IN_PART} AND seen.findings > 0",
    {**_COMMON, "count": "cardinality(seen.times)"},
    joined=f"""CROSS JOIN LATERAL {SCHEMA}.part_of_incident(
        t.source_id, t.incident, t.rule, ARRAY[t."group", t.kind, t.namespace, t.name]) AS seen""",
)

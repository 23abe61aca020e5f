"""Say of each finding, of each row of the list of findings and of each incident which namespaces it involves, by which
readers of some namespaces find it.

The namespaces of stored findings are those of the objects that they name. If retention has deleted one of these, the
namespace is not known, and the finding is left to readers of the whole source: "" stands for the cluster."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

_FINDINGS = """
    UPDATE timeline_finding AS found SET namespaces = ARRAY(
        SELECT name FROM (
            SELECT namespace AS name FROM timeline_track
            WHERE source_id = found.source_id AND id = ANY(found.tracks)
            UNION SELECT '' WHERE EXISTS (
                SELECT FROM unnest(found.tracks) AS named WHERE NOT EXISTS (
                    SELECT FROM timeline_track WHERE source_id = found.source_id AND id = named))
            UNION SELECT document->'subject'->>'namespace'
            UNION SELECT document->'other'->>'namespace' WHERE jsonb_typeof(document->'other') = 'object'
            UNION SELECT each->>'namespace' FROM jsonb_array_elements(document->'affects') AS each
            UNION SELECT each->'object'->>'namespace' FROM jsonb_array_elements(document->'cause'->'proof') AS each
            UNION SELECT anchor[3]
        ) AS involved WHERE name IS NOT NULL ORDER BY name COLLATE "C")"""
_OCCURRENCES = """
    UPDATE timeline_occurrence AS row SET namespaces = ARRAY(
        SELECT name FROM timeline_finding AS found CROSS JOIN LATERAL unnest(found.namespaces) AS name
        WHERE found.source_id = row.source_id AND found.identity = ANY(row.findings)
        GROUP BY name ORDER BY name COLLATE "C")"""
_INCIDENTS = """
    UPDATE timeline_incident AS incident SET namespaces = ARRAY(
        SELECT name FROM timeline_finding AS found CROSS JOIN LATERAL unnest(found.namespaces) AS name
        WHERE found.source_id = incident.source_id AND found.incident = incident.identity AND NOT found.withdrawn
        GROUP BY name ORDER BY name COLLATE "C")"""


class Migration(migrations.Migration):
    dependencies = [("timeline", "0043_collectors")]

    operations = [
        *(
            migrations.AddField(model, "namespaces", ArrayField(models.TextField(), null=True))
            for model in ("finding", "occurrence", "incident")
        ),
        *(migrations.RunSQL(query, migrations.RunSQL.noop) for query in (_FINDINGS, _OCCURRENCES, _INCIDENTS)),
    ]

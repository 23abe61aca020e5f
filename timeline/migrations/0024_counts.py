"""A source with very many findings opens as fast as a small one: its list of findings is counted when it is written, and
has an index for each order."""

from django.contrib.postgres.indexes import GinIndex
from django.db import migrations, models

_RANK = models.Case(
    models.When(severity="error", then=models.Value(0)),
    models.When(severity="warning", then=models.Value(1)),
    default=models.Value(2),
)

_COUNT = """
UPDATE timeline_source AS source SET row_counts = counted.counts FROM (
    SELECT source_id, jsonb_object_agg(rule, counts) AS counts FROM (
        SELECT source_id, rule, jsonb_build_array(
            count(*) FILTER (WHERE rank = 0), count(*) FILTER (WHERE rank = 1), count(*) FILTER (WHERE rank = 2)
        ) AS counts
        FROM timeline_occurrence GROUP BY source_id, rule
    ) AS each GROUP BY source_id
) AS counted WHERE source.id = counted.source_id
"""


class Migration(migrations.Migration):
    dependencies = [("timeline", "0023_delete_after")]

    operations = [
        migrations.AddField("source", "row_counts", models.JSONField(default=dict)),
        migrations.RunSQL(_COUNT, migrations.RunSQL.noop),
        migrations.RemoveIndex("finding", "finding_of_incident"),
        migrations.AddIndex(
            "finding",
            models.Index("source", "incident", _RANK, "first", "identity", name="finding_gravest"),
        ),
        migrations.AddIndex("finding", models.Index(fields=["source", "first", "identity"], name="finding_first")),
        migrations.AddIndex("finding", GinIndex(fields=["tracks"], name="finding_tracks")),
        migrations.AddIndex(
            "occurrence", models.Index(fields=["source", "first", "rank", "key"], name="occurrence_first")
        ),
        migrations.AddIndex(
            "occurrence", models.Index(fields=["source", "-last", "rank", "key"], name="occurrence_newest")
        ),
    ]

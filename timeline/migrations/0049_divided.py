"""Say up to which batch of a live source the namespaces of its findings are known.

A worker of an older version, which goes on for a while during a rolling upgrade, does not write them. Migration 0044 has
found those of what was stored, which does not change any more if no cluster feeds the source."""

from django.db import migrations, models

_ENDED = """
    UPDATE timeline_source AS source SET divided = sequence
    WHERE NOT EXISTS (SELECT FROM timeline_cluster AS cluster WHERE cluster.source_id = source.id)"""


class Migration(migrations.Migration):
    dependencies = [("timeline", "0048_parts")]

    operations = [
        migrations.AddField("source", "divided", models.BigIntegerField(null=True)),
        migrations.RunSQL(_ENDED, migrations.RunSQL.noop),
    ]

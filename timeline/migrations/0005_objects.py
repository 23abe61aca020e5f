"""What a life belongs to and refers to, and who knows of a finding.

Recordings of before tell no owners and no references; import their files again.
"""

import django.db.models.deletion
from django.db import migrations, models

_RELATIONS = """
ALTER TABLE timeline_track ADD COLUMN owner bigint NOT NULL DEFAULT 0, ADD COLUMN needs bigint[] NOT NULL DEFAULT '{}';
CREATE INDEX timeline_track_needs ON timeline_track USING gin (needs);
"""


class Migration(migrations.Migration):
    dependencies = [("timeline", "0003_uploads")]

    operations = [
        migrations.RunSQL(_RELATIONS, "ALTER TABLE timeline_track DROP COLUMN owner, DROP COLUMN needs"),
        migrations.CreateModel(
            name="Acknowledgement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("identity", models.CharField(max_length=16)),
                ("by", models.TextField()),
                ("at", models.DateTimeField(auto_now=True)),
                ("note", models.TextField()),
                ("source", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="timeline.source")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("source", "identity"), name="acknowledged_once")],
            },
        ),
    ]

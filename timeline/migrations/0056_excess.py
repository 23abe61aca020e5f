"""Add by what equally grave incidents are sorted: how often one happened, or how many objects were too many."""

from django.db import migrations, models

_EXCESS = """
    UPDATE timeline_incident AS incident SET excess = of_it.excess
    FROM (SELECT source_id, incident, sum(count) AS excess FROM timeline_symptom GROUP BY 1, 2) AS of_it
    WHERE of_it.source_id = incident.source_id AND of_it.incident = incident.identity"""


class Migration(migrations.Migration):
    dependencies = [
        ("timeline", "0055_causes"),
    ]

    operations = [
        migrations.AddField(
            model_name="incident",
            name="excess",
            field=models.IntegerField(db_default=0, default=0),
        ),
        migrations.RemoveIndex(
            model_name="incident",
            name="incident_gravest",
        ),
        migrations.RunSQL(_EXCESS, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name="incident",
            index=models.Index(
                fields=["source", "rank", "-excess", "first", "identity"], name="incident_gravest"
            ),
        ),
    ]

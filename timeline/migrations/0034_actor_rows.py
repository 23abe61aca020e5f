"""What each actor of a source did has a table.

It is filled when a source is judged again, which happens after each upgrade that raises the version of the rules.
"""

import django.db.models.deletion
from django.db import migrations, models

import timeline.models


class Migration(migrations.Migration):
    dependencies = [("timeline", "0033_additions")]

    operations = [
        migrations.AddField("source", "actors_total", models.IntegerField(default=0)),
        migrations.CreateModel(
            name="ActorRow",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "source", "identity", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("identity", models.CharField(max_length=16)),
                ("name", models.TextField()),
                ("words", models.TextField()),
                ("writes", models.BigIntegerField()),
                ("busiest", models.BigIntegerField()),
                ("conflicts", models.BigIntegerField()),
                ("retries", models.BigIntegerField()),
                ("refused", models.BigIntegerField()),
                ("lag", models.BigIntegerField()),
                ("leases", models.IntegerField()),
                ("findings", models.IntegerField()),
                ("document", timeline.models.Packed()),
                (
                    "source",
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to="timeline.source"),
                ),
            ],
            options={"db_table": "timeline_actor_row"},
        ),
    ]

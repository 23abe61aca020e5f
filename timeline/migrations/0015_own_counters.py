"""Which kinds of a source count their revisions by a counter of their own."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("timeline", "0014_owners")]

    operations = [migrations.AddField("source", "own_counters", models.JSONField(default=list))]

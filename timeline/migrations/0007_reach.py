"""How far the order of lanes reaches at a time."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("timeline", "0006_chunks")]

    operations = [migrations.AddField("source", "reach", models.JSONField(default=list))]

"""How many lanes there were when, and how far their order reached."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("timeline", "0007_reach")]

    operations = [
        migrations.RemoveField("source", "reach"),
        migrations.AddField("source", "tide", models.JSONField(default=dict)),
    ]

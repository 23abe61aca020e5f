from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("timeline", "0015_own_counters")]

    operations = [migrations.AddField("source", "redacted", models.JSONField(default=dict))]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("timeline", "0016_redacted")]

    operations = [
        migrations.AddField("source", "judged", models.IntegerField(default=0)),
        migrations.AddField("source", "judging", models.IntegerField(default=0)),
        migrations.AddField("source", "attempts", models.IntegerField(default=0)),
        migrations.AddField("source", "mostly_skipped", models.JSONField(default=dict)),
    ]

"""Add to each incident the sentence that says what is behind it. The sources are judged again, which fills it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("timeline", "0026_intent_changes")]

    operations = [migrations.AddField("incident", "cause", models.TextField(default=""))]

"""Add to each incident which of its findings has the cause that it names. Sources that are judged again get it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("timeline", "0028_empty_arrays")]

    operations = [migrations.AddField("incident", "caused", models.CharField(default="", max_length=16))]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("timeline", "0037_noticed_incidents")]

    operations = [
        migrations.AddField(
            model_name="cluster",
            name="write_events",
            field=models.BooleanField(default=False),
        ),
    ]

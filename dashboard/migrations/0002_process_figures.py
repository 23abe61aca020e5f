from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0001_failed_sign_ins")]

    operations = [
        migrations.CreateModel(
            name="ProcessFigures",
            fields=[
                ("process", models.CharField(max_length=32, primary_key=True, serialize=False)),
                ("kind", models.TextField()),
                ("reported", models.DateTimeField()),
                ("figures", models.JSONField()),
            ],
        ),
    ]

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0002_process_figures"), ("timeline", "0034_actor_rows")]

    operations = [
        migrations.CreateModel(
            name="AccessToken",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                ("prefix", models.CharField(max_length=16)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("scopes", models.JSONField()),
                ("created_by", models.TextField()),
                ("created", models.DateTimeField(auto_now_add=True)),
                ("expires", models.DateTimeField()),
                ("last_used", models.DateTimeField(null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="timeline.cluster"
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="timeline.source"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("cluster", None), ("source", None), _connector="OR"),
                        name="token_is_limited_once",
                    )
                ],
                "indexes": [models.Index(fields=["prefix"], name="access_token_prefix")],
            },
        ),
    ]

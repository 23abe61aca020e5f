"""A deleted source or cluster is marked first, and can be restored for a minute.

The name of a cluster that was disconnected is free at once.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("timeline", "0022_composite_keys")]

    operations = [
        migrations.AddField("source", "delete_after", models.DateTimeField(null=True)),
        migrations.AddField("cluster", "delete_after", models.DateTimeField(null=True)),
        migrations.AlterField("cluster", "name", models.CharField(max_length=253)),
        migrations.AddConstraint(
            "cluster",
            models.UniqueConstraint(
                fields=["name"], condition=models.Q(delete_after=None), name="cluster_name_once"
            ),
        ),
    ]

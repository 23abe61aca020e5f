"""A cluster can be watched in some namespaces only, with one stream for each resource and namespace.

The previous version may run beside this one: all new columns have defaults in the database.
"""

from django.db import migrations, models

_KEY = """
CREATE UNIQUE INDEX timeline_stream_in_namespace ON timeline_stream (source_id, "group", resource, namespace);
ALTER TABLE timeline_stream DROP CONSTRAINT timeline_stream_pkey;
ALTER TABLE timeline_stream ADD CONSTRAINT timeline_stream_pkey PRIMARY KEY USING INDEX timeline_stream_in_namespace;
"""
_NAMESPACES = models.JSONField(default=list, db_default=[])


class Migration(migrations.Migration):
    dependencies = [("timeline", "0041_retention")]

    operations = [
        migrations.AddField("cluster", "namespaces", _NAMESPACES),
        migrations.AddField("source", "namespaces", _NAMESPACES),
        migrations.AddField("stream", "namespace", models.TextField(default="", db_default="")),
        migrations.SeparateDatabaseAndState(
            [migrations.RunSQL(_KEY)],
            [
                migrations.RemoveField("stream", "pk"),
                migrations.AddField(
                    "stream",
                    "pk",
                    models.CompositePrimaryKey(
                        "source",
                        "group",
                        "resource",
                        "namespace",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
            ],
        ),
    ]

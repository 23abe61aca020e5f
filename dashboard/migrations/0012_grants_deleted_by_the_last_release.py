"""Let the last release delete people, clusters and recordings that have grants, during a rolling upgrade.

It does not know the table, so the database deletes its rows (see the migration 0050 of the timeline).
"""

from importlib import import_module

from django.db import migrations

CASCADE = import_module("timeline.migrations.0050_deleted_by_the_last_release").CASCADE


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0011_personal_tokens"), ("timeline", "0050_deleted_by_the_last_release")]

    operations = [migrations.RunSQL(CASCADE.format(tables="'dashboard_grant'"), migrations.RunSQL.noop)]

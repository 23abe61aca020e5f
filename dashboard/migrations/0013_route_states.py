"""What a route knows of an incident gets its name in Python. The table and its columns keep theirs, since the last
release uses them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0012_grants_deleted_by_the_last_release"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("Told", "RouteState"),
                migrations.AlterModelTable("RouteState", "dashboard_told"),
                migrations.RenameField("RouteState", "told", "notified"),
                migrations.AlterField("RouteState", "notified", models.DateTimeField(db_column="told", null=True)),
            ]
        ),
    ]

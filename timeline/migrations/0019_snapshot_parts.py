"""The model of a snapshot's rows has another name; its table keeps its own."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("timeline", "0018_occurrences")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("Memory", "SnapshotPart"),
                migrations.AlterModelTable("snapshotpart", "timeline_memory"),
            ]
        )
    ]

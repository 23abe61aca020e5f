"""Three fields get other names in Python. Their columns keep theirs, since the last release uses them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("timeline", "0053_unnamed"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("Source", "told", "document"),
                migrations.AlterField("Source", "document", models.JSONField(db_column="told", default=dict)),
                migrations.RenameField("CollectedBatch", "told", "settled"),
                migrations.AlterField("CollectedBatch", "settled", models.BooleanField(db_column="told", default=False)),
                migrations.RenameField("ActorFeed", "told", "added"),
                migrations.AlterField("ActorFeed", "added", models.BigIntegerField(db_column="told", default=0)),
            ]
        ),
    ]

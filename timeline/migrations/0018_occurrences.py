"""A row of the list of findings is derived from its findings when it is read, and stores only their identities."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

_NAME_FINDINGS = """
UPDATE timeline_occurrence SET findings = ARRAY(
    SELECT finding->>'id' FROM jsonb_array_elements(payload->'findings') WITH ORDINALITY AS member(finding, number)
    GROUP BY finding->>'id' ORDER BY min(number)
)
"""


class Migration(migrations.Migration):
    dependencies = [("timeline", "0017_judged")]

    operations = [
        migrations.AddField("occurrence", "findings", ArrayField(models.CharField(max_length=16), default=list)),
        migrations.RunSQL(_NAME_FINDINGS, migrations.RunSQL.noop),
        migrations.AlterField("occurrence", "findings", ArrayField(models.CharField(max_length=16))),
        migrations.RemoveField("occurrence", "payload"),
        migrations.RemoveField("occurrence", "drawn"),
    ]

from django.db import migrations, models

# What is out of range was never meant so: less than one day or byte would have deleted everything, so it is as usual.
INTO_RANGE = """
    UPDATE timeline_cluster SET keep_days = NULL WHERE keep_days < 1;
    UPDATE timeline_cluster SET keep_days = 36500 WHERE keep_days > 36500;
    UPDATE timeline_cluster SET keep_bytes = NULL WHERE keep_bytes < 1;
    UPDATE timeline_cluster SET keep_bytes = 1000000000000000000 WHERE keep_bytes > 1000000000000000000;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('timeline', '0011_withdrawn'),
    ]

    operations = [
        migrations.RunSQL(INTO_RANGE, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name='cluster',
            constraint=models.CheckConstraint(condition=models.Q(('keep_days__range', (1, 36500))), name='cluster_keeps_days_in_range'),
        ),
        migrations.AddConstraint(
            model_name='cluster',
            constraint=models.CheckConstraint(condition=models.Q(('keep_bytes__range', (1, 1000000000000000000))), name='cluster_keeps_bytes_in_range'),
        ),
    ]

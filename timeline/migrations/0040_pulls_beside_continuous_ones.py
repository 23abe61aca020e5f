"""A window that somebody asked for does not keep a log store from being pulled continuously."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('timeline', '0039_log_stores'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='pull',
            name='pull_once',
        ),
        migrations.AddConstraint(
            model_name='pull',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['asking', 'ready', 'waiting', 'pulling', 'handing'])), fields=('store', 'continuous'), name='pull_once'),
        ),
    ]

"""Alerts that other programs have sent have a table."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import timeline.models.alerts
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('timeline', '0034_actor_rows'),
    ]

    operations = [
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('pk', models.CompositePrimaryKey('receiver', 'identity', blank=True, editable=False, primary_key=True, serialize=False)),
                ('receiver', models.TextField()),
                ('identity', models.CharField(max_length=32)),
                ('name', models.TextField()),
                ('source', models.BigIntegerField(null=True)),
                ('cluster', models.TextField()),
                ('namespace', models.TextField()),
                ('objects_named', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ('labels', models.JSONField()),
                ('annotations', models.JSONField()),
                ('url', models.TextField()),
                ('fingerprint', models.TextField()),
                ('started', models.DateTimeField()),
                ('ended', models.DateTimeField(null=True)),
                ('seen', models.DateTimeField()),
            ],
            options={
                'indexes': [models.Index(fields=['-started', 'receiver', 'identity'], name='alert_newest'), models.Index(fields=['seen'], name='alert_seen'), django.contrib.postgres.indexes.GistIndex(timeline.models.alerts.Duration('started', 'ended'), name='alert_duration'), django.contrib.postgres.indexes.GinIndex(fields=['objects_named'], name='alert_objects')],
            },
        ),
    ]

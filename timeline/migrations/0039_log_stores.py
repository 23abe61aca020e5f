"""The log stores from which audit logs are pulled, and the windows that were asked for, have tables."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('timeline', '0038_cluster_write_events'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='LogStore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=20)),
                ('fields', models.JSONField(default=dict)),
                ('secret', models.BinaryField(null=True)),
                ('continuous', models.BooleanField(default=False)),
                ('reached', models.DateTimeField(null=True)),
                ('error', models.TextField(default='')),
                ('error_at', models.DateTimeField(null=True)),
                ('cluster', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='log_store', to='timeline.cluster')),
            ],
        ),
        migrations.CreateModel(
            name='Pull',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('since', models.DateTimeField()),
                ('until', models.DateTimeField()),
                ('continuous', models.BooleanField(default=False)),
                ('alone', models.BooleanField(default=False)),
                ('state', models.CharField(choices=[('asking', 'Asking'), ('ready', 'Ready'), ('waiting', 'Waiting'), ('pulling', 'Pulling'), ('handing', 'Handing'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='asking', max_length=9)),
                ('attempt', models.IntegerField(default=0)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('seen', models.DateTimeField(auto_now_add=True)),
                ('cost_bytes', models.BigIntegerField(null=True)),
                ('cost_records', models.BigIntegerField(null=True)),
                ('cost_note', models.TextField(default='')),
                ('records', models.BigIntegerField(default=0)),
                ('bytes', models.BigIntegerField(default=0)),
                ('skipped', models.BigIntegerField(default=0)),
                ('reached', models.DateTimeField(null=True)),
                ('note', models.TextField(default='')),
                ('error', models.TextField(default='')),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('store', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pulls', to='timeline.logstore')),
                ('upload', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='timeline.upload')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['asking', 'ready', 'waiting', 'pulling', 'handing'])), fields=('store',), name='pull_once')],
            },
        ),
    ]

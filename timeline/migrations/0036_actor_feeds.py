"""What API servers send by themselves about who changed something has tables: batches that wait, and how they flow."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('timeline', '0035_alerts'),
    ]

    operations = [
        migrations.CreateModel(
            name='ActorFeed',
            fields=[
                ('pk', models.CompositePrimaryKey('source', 'way', blank=True, editable=False, primary_key=True, serialize=False)),
                ('way', models.CharField(choices=[('audit', 'Audit'), ('admission', 'Admission')], max_length=9)),
                ('since', models.DateTimeField()),
                ('last', models.DateTimeField()),
                ('batches', models.BigIntegerField(default=0)),
                ('events', models.BigIntegerField(default=0)),
                ('repeated', models.BigIntegerField(default=0)),
                ('unread', models.BigIntegerField(default=0)),
                ('late', models.BigIntegerField(default=0)),
                ('dropped', models.BigIntegerField(default=0)),
                ('told', models.BigIntegerField(default=0)),
                ('compared', models.JSONField(default=dict)),
                ('gaps', models.JSONField(default=list)),
                ('problem', models.TextField(default='')),
                ('problem_at', models.DateTimeField(null=True)),
                ('source', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='timeline.source')),
            ],
            options={
                'db_table': 'timeline_actor_feed',
            },
        ),
        migrations.CreateModel(
            name='AuditBatch',
            fields=[
                ('pk', models.CompositePrimaryKey('source', 'way', 'digest', blank=True, editable=False, primary_key=True, serialize=False)),
                ('way', models.CharField(choices=[('audit', 'Audit'), ('admission', 'Admission')], max_length=9)),
                ('digest', models.CharField(max_length=64)),
                ('arrived', models.DateTimeField()),
                ('size', models.IntegerField()),
                ('lines', models.BinaryField(null=True)),
                ('source', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='timeline.source')),
            ],
            options={
                'db_table': 'timeline_audit_batch',
                'indexes': [models.Index(condition=models.Q(('lines__isnull', False)), fields=['source', 'way', 'arrived'], name='audit_batch_waits')],
            },
        ),
    ]

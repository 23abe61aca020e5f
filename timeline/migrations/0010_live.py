"""Clusters that are watched, what is known of their streams, and what each commit changed."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('timeline', '0009_lifelines'),
    ]

    operations = [
        migrations.AddField(
            model_name='source',
            name='ended',
            field=models.TextField(default=''),
        ),
        migrations.AddField(
            model_name='source',
            name='sequence',
            field=models.BigIntegerField(default=0),
        ),
        migrations.CreateModel(
            name='Cluster',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=253, unique=True)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('reference', models.JSONField(default=dict)),
                ('secret', models.BinaryField(null=True)),
                ('include', models.JSONField(default=list)),
                ('exclude', models.JSONField(default=list)),
                ('keep_days', models.IntegerField(null=True)),
                ('keep_bytes', models.BigIntegerField(null=True)),
                ('paused', models.BooleanField(default=False)),
                ('holder', models.TextField(default='')),
                ('epoch', models.BigIntegerField(default=0)),
                ('expires_at', models.DateTimeField(null=True)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('connecting', 'Connecting'), ('live', 'Live'), ('failing', 'Failing'), ('paused', 'Paused')], default='waiting', max_length=10)),
                ('error', models.TextField(default='')),
                ('error_at', models.DateTimeField(null=True)),
                ('source', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='current_of', to='timeline.source')),
            ],
        ),
        migrations.AddField(
            model_name='source',
            name='cluster',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='sources', to='timeline.cluster'),
        ),
        migrations.CreateModel(
            name='Delta',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sequence', models.BigIntegerField()),
                ('at', models.DateTimeField()),
                ('changed', models.JSONField()),
                ('source', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='timeline.source')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('source', 'sequence'), name='delta_once')],
            },
        ),
        migrations.CreateModel(
            name='Gap',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('group', models.TextField()),
                ('kind', models.TextField()),
                ('since', models.DateTimeField()),
                ('until', models.DateTimeField()),
                ('since_revision', models.DecimalField(decimal_places=0, max_digits=39, null=True)),
                ('revision', models.DecimalField(decimal_places=0, max_digits=39, null=True)),
                ('reason', models.TextField()),
                ('source', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='timeline.source')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('source', 'group', 'kind', 'since', 'until'), name='gap_once')],
            },
        ),
        migrations.CreateModel(
            name='Memory',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.IntegerField()),
                ('after', models.BigIntegerField()),
                ('lines', models.BinaryField()),
                ('source', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='timeline.source')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('source', 'number'), name='memory_once')],
            },
        ),
        migrations.CreateModel(
            name='Stream',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('group', models.TextField()),
                ('version', models.TextField()),
                ('kind', models.TextField()),
                ('resource', models.TextField()),
                ('namespaced', models.BooleanField(default=True)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('listing', 'Listing'), ('watching', 'Watching'), ('failing', 'Failing'), ('forbidden', 'Forbidden'), ('missing', 'Missing')], default='waiting', max_length=9)),
                ('error', models.TextField(default='')),
                ('error_at', models.DateTimeField(null=True)),
                ('listed_at', models.DateTimeField(null=True)),
                ('watermark', models.DecimalField(decimal_places=0, max_digits=39, null=True)),
                ('watermark_at', models.DateTimeField(null=True)),
                ('entries', models.BigIntegerField(default=0)),
                ('source', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='timeline.source')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('source', 'group', 'resource'), name='stream_once')],
            },
        ),
    ]

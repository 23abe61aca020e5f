"""The files of a large upload are divided into portions that several workers read."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('timeline', '0044_namespaces_of_findings'),
    ]

    operations = [
        migrations.CreateModel(
            name='Portion',
            fields=[
                ('pk', models.CompositePrimaryKey('upload', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('number', models.IntegerField()),
                ('files', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('reading', 'Reading'), ('read', 'Read')], default='waiting', max_length=7)),
                ('reader', models.CharField(default='', max_length=16)),
                ('seen', models.DateTimeField(auto_now_add=True)),
                ('bytes_read', models.BigIntegerField(default=0)),
                ('bytes_decompressed', models.BigIntegerField(default=0)),
                ('formats', models.JSONField(default=dict)),
                ('skips', models.JSONField(default=list)),
                ('upload', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='timeline.upload')),
            ],
        ),
        migrations.CreateModel(
            name='PortionPart',
            fields=[
                ('pk', models.CompositePrimaryKey('upload', 'portion', 'reader', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('portion', models.IntegerField()),
                ('reader', models.CharField(max_length=16)),
                ('number', models.IntegerField()),
                ('lines', models.BinaryField()),
                ('upload', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='timeline.upload')),
            ],
            options={
                'db_table': 'timeline_portion_part',
            },
        ),
    ]

"""Declare the tables. Frequent writes are in `timeline.storage.store`, reads in `timeline.queries`."""

from timeline.models.alerts import Alert, Duration
from timeline.models.collectors import CollectedBatch, Collector
from timeline.models.fields import NotDeleted, Packed, Sparse, unpacked
from timeline.models.incidents import (
    FINDING_RANK,
    Acknowledgement,
    BaselineIncident,
    Finding,
    Incident,
    NoticedIncident,
    Occurrence,
    Silence,
)
from timeline.models.objects import ActorRow, Chunk, IntentChange, Log, LogPage, ObjectView, Strip, Track
from timeline.models.pulls import LogStore, Pull
from timeline.models.retention import FreedSpan, Hold, Usage
from timeline.models.sources import (
    INCIDENT_MINUTES_AT_MOST,
    KEEP_BYTES_AT_MOST,
    KEEP_DAYS_AT_MOST,
    Cluster,
    Delta,
    Gap,
    Share,
    SnapshotPart,
    Source,
    Stream,
)
from timeline.models.uploads import ActorFeed, Addition, AuditBatch, Portion, PortionPart, Upload, UploadFile, Way

__all__ = [
    "FINDING_RANK",
    "INCIDENT_MINUTES_AT_MOST",
    "KEEP_BYTES_AT_MOST",
    "KEEP_DAYS_AT_MOST",
    "Acknowledgement",
    "ActorFeed",
    "ActorRow",
    "Addition",
    "Alert",
    "AuditBatch",
    "BaselineIncident",
    "Chunk",
    "Cluster",
    "CollectedBatch",
    "Collector",
    "Delta",
    "Duration",
    "Finding",
    "FreedSpan",
    "Gap",
    "Hold",
    "Incident",
    "IntentChange",
    "Log",
    "LogPage",
    "LogStore",
    "NotDeleted",
    "NoticedIncident",
    "ObjectView",
    "Occurrence",
    "Packed",
    "Portion",
    "PortionPart",
    "Pull",
    "Share",
    "Silence",
    "SnapshotPart",
    "Source",
    "Sparse",
    "Stream",
    "Strip",
    "Track",
    "Upload",
    "UploadFile",
    "Usage",
    "Way",
    "unpacked",
]

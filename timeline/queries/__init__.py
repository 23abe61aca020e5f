"""Reads for screens. Every answer is bounded, whatever the size of the source."""

from timeline.queries.acknowledgements import acknowledge, told_with, withdraw
from timeline.queries.clusters import cluster, clusters, epochs, health
from timeline.queries.coverage import coverage
from timeline.queries.deltas import Deltas, Missed, missed
from timeline.queries.entries import entries
from timeline.queries.finding import columns as finding_columns
from timeline.queries.finding import finding
from timeline.queries.findings import findings, search, severities
from timeline.queries.live import collection, pulses, told_gaps
from timeline.queries.lookup import Wanted, look_up
from timeline.queries.objects import life_columns, track
from timeline.queries.revisions import PAGE, Revision, revision, revisions
from timeline.queries.revisions import payload as revision_payload
from timeline.queries.shelf import NewFinding, ShelfRow, fed, newest_findings, recording, recordings, shelf
from timeline.queries.sources import SourceRow, gaps, overview, recent_sources, source
from timeline.queries.uploads import open_uploads, receiving_payload, upload_payload
from timeline.queries.view import Grouping, View
from timeline.queries.windows import LANES, window

__all__ = [
    "LANES",
    "PAGE",
    "Deltas",
    "Grouping",
    "Missed",
    "NewFinding",
    "Revision",
    "ShelfRow",
    "SourceRow",
    "View",
    "Wanted",
    "acknowledge",
    "cluster",
    "clusters",
    "collection",
    "coverage",
    "entries",
    "epochs",
    "fed",
    "finding",
    "finding_columns",
    "findings",
    "gaps",
    "health",
    "life_columns",
    "look_up",
    "missed",
    "newest_findings",
    "open_uploads",
    "overview",
    "pulses",
    "receiving_payload",
    "recent_sources",
    "recording",
    "recordings",
    "revision",
    "revision_payload",
    "revisions",
    "search",
    "severities",
    "shelf",
    "source",
    "told_gaps",
    "told_with",
    "track",
    "upload_payload",
    "window",
    "withdraw",
]

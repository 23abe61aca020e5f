"""Reads for screens. Every answer is bounded, whatever the size of the source."""

from timeline.queries.acknowledgements import acknowledge, listed_with, withdraw
from timeline.queries.candidates import Candidate, Target
from timeline.queries.clusters import cluster, clusters, epochs, health
from timeline.queries.coverage import coverage, withheld
from timeline.queries.deltas import Deltas, Missed, missed
from timeline.queries.entries import entries
from timeline.queries.finding import columns as finding_columns
from timeline.queries.finding import finding
from timeline.queries.findings import findings, search, severities
from timeline.queries.home import NewFinding, ShelfRow, fed, newest_findings, recording, recordings, shelf
from timeline.queries.landing import address as landing_address
from timeline.queries.landing import findings_of, landed
from timeline.queries.live import collection, pulses, told_gaps
from timeline.queries.lookup import LATE, Answer, Meant, Relation, Wanted, goes_on, look_up, place
from timeline.queries.measuring import measure, steps
from timeline.queries.objects import life, life_columns, lives, track
from timeline.queries.revisions import PAGE, Revision, revision, revisions
from timeline.queries.revisions import payload as revision_payload
from timeline.queries.sources import SourceRow, gaps, overview, recent_sources, source
from timeline.queries.unknown import Unknown
from timeline.queries.uploads import open_uploads, receiving_payload, upload_payload
from timeline.queries.view import Grouping, View
from timeline.queries.windows import LANES, window

__all__ = [
    "LANES",
    "LATE",
    "PAGE",
    "Answer",
    "Candidate",
    "Deltas",
    "Grouping",
    "Meant",
    "Missed",
    "NewFinding",
    "Relation",
    "Revision",
    "ShelfRow",
    "SourceRow",
    "Target",
    "Unknown",
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
    "findings_of",
    "gaps",
    "goes_on",
    "health",
    "landed",
    "landing_address",
    "life",
    "life_columns",
    "listed_with",
    "lives",
    "look_up",
    "measure",
    "missed",
    "newest_findings",
    "open_uploads",
    "overview",
    "place",
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
    "steps",
    "told_gaps",
    "track",
    "upload_payload",
    "window",
    "withdraw",
    "withheld",
]

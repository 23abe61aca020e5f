"""This package reads from PostgreSQL what screens show. The size of every answer is limited, whatever the size of the
source."""

from timeline.payloads.revisions import revision_payload, writer_payload
from timeline.queries.acknowledgements import acknowledged_at, has_acknowledged, listed_with
from timeline.queries.acknowledgements import ended as acknowledgement_ended
from timeline.queries.actors import PAGE as ACTORS
from timeline.queries.actors import actors
from timeline.queries.alerts import DRAWN as DRAWN_ALERTS
from timeline.queries.alerts import PAGE as ALERTS
from timeline.queries.alerts import AlertFilter, alerts, alerts_about, alerts_during, alerts_of
from timeline.queries.alike import alike
from timeline.queries.anchors import Anchor, anchor
from timeline.queries.annotations import AnnotationFilter, annotations
from timeline.queries.baselines import Baseline, baseline
from timeline.queries.baselines import worse as came_out_of_baseline
from timeline.queries.candidates import Candidate, Target
from timeline.queries.causes import CauseOf, cause_of, caused_by
from timeline.queries.changes import Asked, asked, changes_before
from timeline.queries.clusters import cluster, cluster_names, clusters, epochs, health
from timeline.queries.comparing import GOOD as GOOD_RUNS
from timeline.queries.comparing import Chosen, TooLarge, compare
from timeline.queries.copies import ShownView, copy_and_stood, is_acted_on, view_of_finding
from timeline.queries.coverage import coverage, withheld
from timeline.queries.deletions import Contents, Deletion, contents, sources_of, undoable
from timeline.queries.deltas import Deltas, Missed, missed
from timeline.queries.entries import entries
from timeline.queries.events import events
from timeline.queries.finding import columns as finding_columns
from timeline.queries.finding import finding
from timeline.queries.findings import findings, severities
from timeline.queries.fleet import SORTS, Fleet, FleetRow, FleetSort, fleet, fleet_size, newest_sources, trouble
from timeline.queries.gaps import freed
from timeline.queries.home import (
    RecordingCard,
    newest_recordings,
    recording,
    recording_cards,
    recordings,
)
from timeline.queries.incident_counts import IncidentCounts, incident_counts, newest_incidents, worst_incidents
from timeline.queries.incident_filter import IncidentFilter
from timeline.queries.incident_filter import choices as incident_choices
from timeline.queries.incidents import (
    AT_ONCE,
    FINDINGS_SHOWN,
    Origin,
    findings_of_incident,
    incident,
    incident_of,
    incidents,
    judged_before,
    listed_identities,
    origins,
)
from timeline.queries.incidents import PAGE as INCIDENTS
from timeline.queries.landing import address as landing_address
from timeline.queries.landing import findings_of, landing, shown_life
from timeline.queries.live import gap_count, live_health, live_state
from timeline.queries.logs import line as log_line
from timeline.queries.logs import lines as log_lines
from timeline.queries.logs import logs as logs_of
from timeline.queries.logs import marks as log_marks
from timeline.queries.lookup import (
    LATE,
    Answer,
    LinkQuery,
    Match,
    Relation,
    incarnations,
    is_live,
    look_up,
    named_sources,
    place,
)
from timeline.queries.measuring import measure, steps
from timeline.queries.objects import FINDINGS, life, life_columns, lives, page_of
from timeline.queries.overview import overview
from timeline.queries.pages import WrongOrder
from timeline.queries.revisions import PAGE, ChangeInPlace, Revision, change_in_place, revision, revisions
from timeline.queries.scoping import IncidentsInView, incidents_in_view
from timeline.queries.search import search
from timeline.queries.silences import active as active_silences
from timeline.queries.silences import ended as ended_silences
from timeline.queries.silences import payload as silence_payload
from timeline.queries.silences import would_silence
from timeline.queries.sources import SourceRow, extent, gaps, recent_sources, source
from timeline.queries.tracks import track
from timeline.queries.unknown import Unknown
from timeline.queries.uploads import open_uploads, receiving_payload, upload_payload
from timeline.queries.usage import PAGE as USAGES
from timeline.queries.usage import UsageRow, retention_payload, usage, usage_payload
from timeline.queries.view import NOT_KNOWN, Grouping, View
from timeline.queries.windows import LANES, window
from timeline.storage.acknowledgements import acknowledge, acknowledge_incidents, acknowledge_new, undo, withdraw
from timeline.storage.answering import refusal_to_answer
from timeline.storage.baselines import clear_baseline, set_baseline
from timeline.storage.silences import create as create_silence
from timeline.storage.silences import expire as expire_silence

__all__ = [
    "ACTORS",
    "ALERTS",
    "AT_ONCE",
    "DRAWN_ALERTS",
    "FINDINGS",
    "FINDINGS_SHOWN",
    "GOOD_RUNS",
    "INCIDENTS",
    "LANES",
    "LATE",
    "NOT_KNOWN",
    "PAGE",
    "SORTS",
    "USAGES",
    "AlertFilter",
    "Anchor",
    "AnnotationFilter",
    "Answer",
    "Asked",
    "Baseline",
    "Candidate",
    "CauseOf",
    "ChangeInPlace",
    "Chosen",
    "Contents",
    "Deletion",
    "Deltas",
    "Fleet",
    "FleetRow",
    "FleetSort",
    "Grouping",
    "IncidentCounts",
    "IncidentFilter",
    "IncidentsInView",
    "LinkQuery",
    "Match",
    "Missed",
    "Origin",
    "RecordingCard",
    "Relation",
    "Revision",
    "ShownView",
    "SourceRow",
    "Target",
    "TooLarge",
    "Unknown",
    "UsageRow",
    "View",
    "WrongOrder",
    "acknowledge",
    "acknowledge_incidents",
    "acknowledge_new",
    "acknowledged_at",
    "acknowledgement_ended",
    "active_silences",
    "actors",
    "alerts",
    "alerts_about",
    "alerts_during",
    "alerts_of",
    "alike",
    "anchor",
    "annotations",
    "asked",
    "baseline",
    "came_out_of_baseline",
    "cause_of",
    "caused_by",
    "change_in_place",
    "changes_before",
    "clear_baseline",
    "cluster",
    "cluster_names",
    "clusters",
    "compare",
    "contents",
    "copy_and_stood",
    "coverage",
    "create_silence",
    "ended_silences",
    "entries",
    "epochs",
    "events",
    "expire_silence",
    "extent",
    "finding",
    "finding_columns",
    "findings",
    "findings_of",
    "findings_of_incident",
    "fleet",
    "fleet_size",
    "freed",
    "gap_count",
    "gaps",
    "has_acknowledged",
    "health",
    "incarnations",
    "incident",
    "incident_choices",
    "incident_counts",
    "incident_of",
    "incidents",
    "incidents_in_view",
    "is_acted_on",
    "is_live",
    "judged_before",
    "landing",
    "landing_address",
    "life",
    "life_columns",
    "listed_identities",
    "listed_with",
    "live_health",
    "live_state",
    "lives",
    "log_line",
    "log_lines",
    "log_marks",
    "logs_of",
    "look_up",
    "measure",
    "missed",
    "named_sources",
    "newest_incidents",
    "newest_recordings",
    "newest_sources",
    "open_uploads",
    "origins",
    "overview",
    "page_of",
    "place",
    "receiving_payload",
    "recent_sources",
    "recording",
    "recording_cards",
    "recordings",
    "refusal_to_answer",
    "retention_payload",
    "revision",
    "revision_payload",
    "revisions",
    "search",
    "set_baseline",
    "severities",
    "shown_life",
    "silence_payload",
    "source",
    "sources_of",
    "steps",
    "track",
    "trouble",
    "undo",
    "undoable",
    "upload_payload",
    "usage",
    "usage_payload",
    "view_of_finding",
    "window",
    "withdraw",
    "withheld",
    "worst_incidents",
    "would_silence",
    "writer_payload",
]

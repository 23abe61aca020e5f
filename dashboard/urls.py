"""Declare the routes of all pages and of the API."""

from django.urls import path

from dashboard.web.api import urls as endpoints
from dashboard.web.views.actors import show_actors
from dashboard.web.views.changes import show_changes
from dashboard.web.views.clusters import show_cluster, show_clusters
from dashboard.web.views.compare import show_comparison
from dashboard.web.views.coverage import show_coverage
from dashboard.web.views.deletions import confirm_deletion, undo
from dashboard.web.views.go import go
from dashboard.web.views.health import health, live
from dashboard.web.views.home import home
from dashboard.web.views.incidents.alerts import show_alerts
from dashboard.web.views.incidents.baselines import show_baseline
from dashboard.web.views.incidents.findings import show_finding
from dashboard.web.views.incidents.incident import change_symptom, show_incident
from dashboard.web.views.incidents.lists import show_incidents, show_incidents_of_source
from dashboard.web.views.incidents.pictures import show_incident_picture
from dashboard.web.views.incidents.routes import edit_destination, edit_route, show_deliveries, show_routes
from dashboard.web.views.incidents.silences import new_silence, show_silences, silence_many
from dashboard.web.views.log_stores import show_log_store
from dashboard.web.views.metrics import metrics
from dashboard.web.views.objects import download_revision, show_object, show_revision
from dashboard.web.views.people.audit_trail import export_trail, show_trail
from dashboard.web.views.people.passwords import change_password
from dashboard.web.views.people.roles import show_access, take_role
from dashboard.web.views.people.second_factors import give_code, show_second_factor
from dashboard.web.views.people.sessions import show_sessions
from dashboard.web.views.people.shared import show_shared
from dashboard.web.views.people.signing_in import sign_in
from dashboard.web.views.people.single_sign_on import come_from_provider, go_to_provider, sign_out
from dashboard.web.views.people.tokens import show_own_tokens, show_tokens
from dashboard.web.views.report import show_report
from dashboard.web.views.rules import rule, rules
from dashboard.web.views.storage import show_storage
from dashboard.web.views.timeline import timeline

handler400 = "dashboard.web.views.errors.bad_request"

urlpatterns = [
    path("", home, name="home"),
    path("sources/<int:source_id>/", timeline, name="timeline"),
    path("sources/<int:source_id>/objects/<int:track_id>/", show_object, name="object"),
    path("sources/<int:source_id>/objects/<int:track_id>/<int:sequence>/", show_revision, name="revision"),
    path("sources/<int:source_id>/objects/<int:track_id>/<int:sequence>.json", download_revision, name="revision_json"),
    path("sources/<int:source_id>/findings/<slug:identity>/", show_finding, name="finding"),
    path("incidents/", show_incidents, name="incidents"),
    path("sources/<int:source_id>/incidents/", show_incidents_of_source, name="source_incidents"),
    path("sources/<int:source_id>/incidents/<slug:identity>/", show_incident, name="incident"),
    path("sources/<int:source_id>/incidents/<slug:identity>/symptoms/", change_symptom, name="change_symptom"),
    path("sources/<int:source_id>/incidents/<slug:identity>.png", show_incident_picture, name="incident_picture"),
    path("sources/<int:source_id>/baseline/", show_baseline, name="baseline"),
    path("routes/", show_routes, name="routes"),
    path("routes/new", edit_route, name="new_route"),
    path("routes/<int:number>/", edit_route, name="route"),
    path("destinations/new", edit_destination, name="new_destination"),
    path("destinations/<int:number>/", edit_destination, name="destination"),
    path("deliveries/", show_deliveries, name="deliveries"),
    path("silences/", show_silences, name="silences"),
    path("silences/new", new_silence, name="new_silence"),
    path("silences/many", silence_many, name="silence_many"),
    path("sources/<int:source_id>/changes/", show_changes, name="changes"),
    path("sources/<int:source_id>/actors/", show_actors, name="actors"),
    path("sources/<int:source_id>/coverage/", show_coverage, name="coverage"),
    path("sources/<int:source_id>/delete/", confirm_deletion, name="delete"),
    path("deletions/undo", undo, name="undo-deletion"),
    path("sources/<int:source_id>/report", show_report, name="report"),
    path("clusters/", show_clusters, name="clusters"),
    path("clusters/<int:cluster_id>/", show_cluster, name="cluster"),
    path("alerts/", show_alerts, name="alerts"),
    path("access/", show_access, name="access"),
    path("access/grants/<int:number>/", take_role, name="take_role"),
    path("audit-trail/", show_trail, name="audit_trail"),
    path("audit-trail/export", export_trail, name="audit_export"),
    path("shared/", show_shared, name="shared"),
    path("storage/", show_storage, name="storage"),
    path("tokens/mine/", show_own_tokens, name="own_tokens"),
    path("tokens/", show_tokens, name="tokens"),
    path("clusters/<int:cluster_id>/log-store/", show_log_store, name="log_store"),
    path("compare/", show_comparison, name="compare"),
    path("go", go, name="go"),
    path("rules/", rules, name="rules"),
    path("rules/<slug:rule_id>/", rule, name="rule"),
    path("login/", sign_in, name="login"),
    path("login/code/", give_code, name="second_factor_code"),
    path("second-factor/", show_second_factor, name="second_factor"),
    path("login/oidc/", go_to_provider, name="oidc"),
    path("login/oidc/callback/", come_from_provider, name="oidc_callback"),
    path("logout/", sign_out, name="logout"),
    path("password/", change_password, name="password"),
    path("sessions/", show_sessions, name="sessions"),
    path("healthz", health, name="health"),
    path("livez", live, name="live"),
    path("metrics", metrics, name="metrics"),
    path("api/", endpoints),
]

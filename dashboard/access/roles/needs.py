"""The table of the least role that is needed for each page, each operation of the API and each socket.

Roles contain each other: a viewer sees, a responder also acknowledges, silences and uploads, an editor also connects
clusters and edits routes, and an administrator can do everything. `dashboard.access.roles.policy` decides by this
table, and `tests/database/access/roles/test_rights_matrix.py` asks each route as each role. Some views ask for more,
where it depends on the row that is changed: who has sent an upload may continue it, for example.

To add a route, add a line.
"""

from typing import NamedTuple

from dashboard.models import Grant

PART = "part"  # on any part of the source or cluster that the path names; the database leaves out the rest
WHOLE = "whole"  # on all of it
ANYTHING = "anything"  # on anything; lists show what is seen, and views check what is changed
EVERYTHING = "everything"


class Need(NamedTuple):
    """A role, and what somebody must have it on. An empty role is none: anybody may."""

    role: str
    on: str = ""


class Rule(NamedTuple):
    """What a route needs to show something, and what it needs to change something."""

    read: Need
    change: Need


_V, _R, _E, _A = Grant.Role.VIEWER, Grant.Role.RESPONDER, Grant.Role.EDITOR, Grant.Role.ADMIN
_NOBODY = Need("")
_VIEWER_OF_PART, _VIEWER_OF_WHOLE, _VIEWER = Need(_V, PART), Need(_V, WHOLE), Need(_V, ANYTHING)
_RESPONDER_OF_PART, _RESPONDER_OF_WHOLE, _RESPONDER = Need(_R, PART), Need(_R, WHOLE), Need(_R, ANYTHING)
_EDITOR_OF_WHOLE, _EDITOR, _ADMIN = Need(_E, WHOLE), Need(_E, EVERYTHING), Need(_A, EVERYTHING)

_OPEN = Rule(_NOBODY, _NOBODY)  # shows nothing of any source, is one's own, or asks for a secret of its own
_PART = Rule(_VIEWER_OF_PART, _VIEWER_OF_PART)  # changes nothing, also where a form is sent
_ANSWERED = Rule(_VIEWER_OF_PART, _RESPONDER_OF_PART)
_BASELINE = Rule(_VIEWER_OF_PART, _RESPONDER_OF_WHOLE)
_OWNED = Rule(_VIEWER_OF_PART, _EDITOR_OF_WHOLE)  # whoever has uploaded a recording is an editor of it
_EDITED = Rule(_EDITOR_OF_WHOLE, _EDITOR_OF_WHOLE)
_LIST = Rule(_VIEWER, _VIEWER)
_ANSWERS = Rule(_VIEWER, _RESPONDER)
_SENT = Rule(_RESPONDER, _RESPONDER)
_CONFIGURED = Rule(_VIEWER, _EDITOR)
_CONFIGURING = Rule(_EDITOR, _EDITOR)
_ADMINISTERED = Rule(_ADMIN, _ADMIN)

NEEDS = {
    # Pages
    "": _LIST,
    "sources/<int:source_id>/": _PART,
    "sources/<int:source_id>/objects/<int:track_id>/": _PART,
    "sources/<int:source_id>/objects/<int:track_id>/<int:sequence>/": _PART,
    "sources/<int:source_id>/objects/<int:track_id>/<int:sequence>.json": _PART,
    "sources/<int:source_id>/findings/<slug:identity>/": _ANSWERED,
    "incidents/": _ANSWERS,
    "sources/<int:source_id>/incidents/": _ANSWERED,
    "sources/<int:source_id>/incidents/<slug:identity>/": _ANSWERED,
    "sources/<int:source_id>/incidents/<slug:identity>.png": _PART,
    "sources/<int:source_id>/baseline/": _BASELINE,
    "sources/<int:source_id>/changes/": _PART,
    "sources/<int:source_id>/actors/": _PART,
    "sources/<int:source_id>/coverage/": _PART,
    "sources/<int:source_id>/delete/": _EDITED,
    "sources/<int:source_id>/report": _PART,
    "routes/": _CONFIGURED,
    "routes/new": _CONFIGURING,
    "routes/<int:number>/": _CONFIGURING,
    "destinations/new": _CONFIGURING,
    "destinations/<int:number>/": _CONFIGURING,
    "deliveries/": _CONFIGURED,
    "silences/": _ANSWERS,
    "silences/new": _SENT,
    "deletions/undo": _SENT,  # of what one may delete
    "clusters/": _CONFIGURED,
    "clusters/<int:cluster_id>/": _OWNED,
    "clusters/<int:cluster_id>/log-store/": Rule(_VIEWER_OF_WHOLE, _RESPONDER_OF_WHOLE),  # see its view
    "access/": _ADMINISTERED,
    "access/grants/<int:number>/": _ADMINISTERED,
    "alerts/": _LIST,
    "audit-trail/": _ADMINISTERED,
    "audit-trail/export": _ADMINISTERED,
    "shared/": _LIST,  # one's own links; administrators also see those of others
    "storage/": _ADMINISTERED,
    "tokens/": _ADMINISTERED,
    "tokens/mine/": _OPEN,
    "compare/": _LIST,
    "go": _LIST,
    "rules/": _OPEN,
    "rules/<slug:rule_id>/": _OPEN,
    "login/": _OPEN,
    "login/code/": _OPEN,
    "login/oidc/": _OPEN,
    "login/oidc/callback/": _OPEN,
    "password/": _OPEN,
    "second-factor/": _OPEN,
    "sessions/": _OPEN,  # administrators also see and end those of others
    "logout/": _OPEN,
    "healthz": _OPEN,
    "livez": _OPEN,
    "metrics": _OPEN,  # its token, or a viewer of everything
    # Operations of the API
    "api/": _OPEN,
    "api/openapi.json": _OPEN,
    "api/docs": _OPEN,
    "api/rules": _OPEN,
    "api/receivers/alertmanager": _OPEN,  # these ask for a token of the scope `alerts`
    "api/receivers/grafana": _OPEN,
    "api/receivers/json": _OPEN,
    "api/sources": _LIST,
    "api/sources/<source_id>": _OWNED,
    "api/sources/<source_id>/document": _PART,
    "api/sources/<source_id>/recording": _PART,
    "api/sources/<source_id>/restore": _EDITED,
    "api/sources/<source_id>/links": Rule(_RESPONDER_OF_WHOLE, _RESPONDER_OF_WHOLE),
    "api/sources/<source_id>/views": _EDITED,
    "api/sources/<source_id>/retention": _ADMINISTERED,
    "api/sources/<source_id>/health": _PART,
    "api/sources/<source_id>/opening": _PART,
    "api/sources/<source_id>/window": _PART,
    "api/sources/<source_id>/events": _PART,
    "api/sources/<source_id>/entries": _PART,
    "api/sources/<source_id>/findings": _PART,
    "api/sources/<source_id>/findings/<identity>": _PART,
    "api/sources/<source_id>/findings/<identity>/acknowledgement": _ANSWERED,
    "api/sources/<source_id>/search": _PART,
    "api/sources/<source_id>/measure": _PART,
    "api/sources/<source_id>/overview": _PART,
    "api/sources/<source_id>/incidents": _PART,
    "api/sources/<source_id>/incidents/<identity>": _PART,
    "api/sources/<source_id>/incidents/<identity>/acknowledgement": _ANSWERED,
    "api/sources/<source_id>/incidents/<identity>/alerts": _PART,
    "api/sources/<source_id>/acknowledgements": _ANSWERED,
    "api/sources/<source_id>/baseline": _BASELINE,
    "api/sources/<source_id>/changes": _PART,
    "api/sources/<source_id>/actors": _PART,
    "api/sources/<source_id>/alerts": _PART,
    "api/sources/<source_id>/coverage": _PART,
    "api/sources/<source_id>/logs": _PART,
    "api/sources/<source_id>/logs/marks": _PART,
    "api/sources/<source_id>/logs/lines": _PART,
    "api/sources/<source_id>/logs/<log>/line": _PART,
    "api/sources/<source_id>/tracks/<track_id>": _PART,
    "api/sources/<source_id>/tracks/<track_id>/alerts": _PART,
    "api/sources/<source_id>/tracks/<track_id>/revisions": _PART,
    "api/sources/<source_id>/tracks/<track_id>/change": _PART,
    "api/sources/<source_id>/tracks/<track_id>/copy": _PART,
    "api/clusters": _LIST,
    "api/incidents": _LIST,
    "api/resolve": _LIST,
    "api/annotations": _LIST,
    "api/silences": _ANSWERS,
    "api/silences/<number>": _ANSWERS,
    "api/alerts": _LIST,
    "api/compare": _LIST,
    "api/usage": _ADMINISTERED,
    "api/routes": _CONFIGURED,
    "api/routes/<number>": _CONFIGURED,
    "api/route-order": _CONFIGURED,
    "api/destinations": _CONFIGURED,
    "api/destinations/<number>": _CONFIGURED,
    "api/destinations/<number>/test": _CONFIGURED,
    "api/deliveries": _CONFIGURED,
    "api/deliveries/<number>/resend": _CONFIGURED,
    "api/uploads": _ANSWERS,
    "api/uploads/<upload_id>": _ANSWERS,
    "api/uploads/<upload_id>/files/<number>": _ANSWERS,  # these also ask who has begun the upload
    "api/uploads/<upload_id>/finish": _ANSWERS,
    "api/uploads/<upload_id>/cancel": _ANSWERS,
}

SOCKETS = {
    "ws/uploads/": _VIEWER,
    "ws/incidents/": _VIEWER,
    "ws/links/": _NOBODY,  # asks for a link
    "ws/sources/<int:source_id>/": _VIEWER_OF_PART,
}

# Commands ask for no role. These need the settings of the server, with which one can read and change the database:
ON_THE_SERVER = {
    "up", "demo", "token", "import", "export", "pull", "usage", "retention", "keep", "hold", "unhold", "connect",
    "clusters", "disconnect", "delete", "undo", "pause", "resume", "createuser", "grant", "revoke", "rights",
    "tokens", "audit-trail", "unlock", "deactivate", "activate", "reset-totp", "backup", "restore", "manage",
}  # fmt: skip
# Some of these commands call a management command; whoever may run the one may run the other:
MANAGEMENT = {
    "activate", "audit_trail", "back_up", "clusters", "createuser", "deactivate", "deletions", "export_recording",
    "grants", "import_recording", "reset_totp", "restore", "retention", "tokens", "unlock", "up_to_date",
}  # fmt: skip
# These commands do not use the database. They read files or a cluster, or ask a server with an access token, which
# then decides by the rights of the token:
ELSEWHERE = {
    "analyze", "report", "compare", "changes", "sql", "replay", "record", "collect", "mcp", "rules", "schema", "policy",
}  # fmt: skip

"""Django's settings. `dashboard/environment/declarations.py` declares their variables."""

from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

from csp.constants import NONCE, NONE, SELF

from dashboard import environment, logs

BASE_DIR = Path(__file__).resolve().parent.parent
# The page /api/docs uses files of this package. It is no installed app, since only web has to import it.
NINJA_DIR = Path(str(find_spec("ninja").origin)).parent  # type: ignore[union-attr]

variables = environment.read()
environment.rule_settings()
environment.redaction()

DEBUG = variables.debug
SECRET_KEY = variables.secret_key
CREDENTIALS_KEYS = variables.credentials_key
ALLOWED_HOSTS = variables.hosts
CSRF_TRUSTED_ORIGINS = variables.origins
EMBED_ANCESTORS = variables.embed_ancestors
SHARE_LINKS = variables.share_links
SHARE_DAYS = variables.share_days
LOGIN_REQUIRED = variables.login == "on"
TOKEN_REQUIRED = variables.login == "token"
PASSWORDS = variables.passwords
REQUIRE_TOTP = variables.require_totp
IDLE_TIME = timedelta(minutes=variables.idle_minutes)
SIGN_IN_PROXIES = variables.sign_in_proxies
OIDC_ISSUER = variables.oidc_issuer
OIDC_NAME = variables.oidc_name
OIDC_GROUPS_CLAIM = variables.oidc_groups_claim
OIDC_GROUPS = variables.oidc_groups
DEFAULT_ROLE = variables.default_role
PORT = variables.port
HTTPS = variables.https
PROXIES = variables.proxies
DATA_DIR = variables.data_dir
UPLOAD_DIR = DATA_DIR / "uploads"
PULL_DIR = DATA_DIR / "pulls"
KUBECONFIG_DIRS = (DATA_DIR / "kubeconfigs", *variables.kubeconfig_dirs)
APPRISE_SERVICES = variables.apprise_services
ADDRESS = variables.address
DESTINATION_HOSTS = variables.destination_hosts
CLUSTER_HOSTS = variables.cluster_hosts
LOG_STORE_HOSTS = variables.log_store_hosts
PULL_EVERY = timedelta(seconds=variables.pull_seconds)
PULL_OVERLAP = timedelta(minutes=variables.pull_overlap_minutes)
UPLOAD_LIMIT_BYTES = variables.upload_limit_bytes
AUDIT_BATCH_BYTES = variables.audit_batch_bytes
AUDIT_INBOX_BYTES = variables.audit_inbox_bytes
COLLECT_INBOX_BYTES = variables.collect_inbox_bytes
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024**2  # bytes of JSON and forms, which are parsed in memory
PORTION_BYTES = variables.portion_bytes
UPLOAD_PATIENCE = timedelta(hours=variables.upload_patience_hours)
LIMITS = environment.limits()
KEEP_DAYS = variables.keep_days
KEEP_BYTES = variables.keep_bytes
KEEP_INCIDENT_DAYS = variables.keep_incident_days
KEEP_INCIDENT_MINUTES = variables.keep_incident_minutes
RECORDING_DAYS = variables.recording_days
AUDIT_DAYS = variables.audit_days
ALERT_DAYS = variables.alert_days
ALERT_COUNT = variables.alert_count
CLOCK_AHEAD = timedelta(seconds=variables.clock_ahead_seconds)
LIVE_MEMORY = timedelta(hours=variables.live_memory_hours)
METRICS_TOKEN = variables.metrics_token
METRICS_PORT = variables.metrics_port
METRICS_HOST = variables.metrics_host
HEARTBEAT_FILE = variables.heartbeat_file
PICTURE_FONTS = variables.picture_fonts
LEASE_SECONDS = variables.lease_seconds
IMPORT_SILENCE = timedelta(seconds=variables.import_silence_seconds)

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",  # the other two need it; none of its pages is served
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.mfa",
    "channels",
    "csp",
    "timeline",
    "collectors",
    "dashboard",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "dashboard.access.trail.change_log.LogChanges",
    "dashboard.access.middleware.SignInMiddleware",
    "dashboard.access.limits.LimitWhatIsSeen",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "dashboard.presentation.bidi.ReplaceBidiControls",
]
DEFAULT_EXCEPTION_REPORTER_FILTER = "dashboard.access.debugging.WithoutAddresses"
ROOT_URLCONF = "dashboard.urls"
ASGI_APPLICATION = "dashboard.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates", NINJA_DIR / "templates"],
        "APP_DIRS": True,  # the templates are inside the dashboard package, also in an installed wheel
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "dashboard.web.menu.menu",
            ],
            "builtins": [f"dashboard.presentation.{name}" for name in ("offers", "pills", "times")],
        },
    }
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {}),
        ("MinimumLengthValidator", {"min_length": 12}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]
MFA_ADAPTER = "dashboard.access.signing_in.second_factor.MfaAdapter"
MFA_TOTP_TOLERANCE = 1  # time steps of 30 s, by which the clock of a phone may differ
SOCIALACCOUNT_ADAPTER = "dashboard.access.signing_in.oidc.SocialAccountAdapter"
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "provider_class": "dashboard.access.signing_in.oidc.Provider",
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                # An account is known by the issuer and the subject, so the subject of another issuer is somebody else.
                "provider_id": variables.oidc_issuer,
                "name": variables.oidc_name,
                "client_id": variables.oidc_client_id,
                "secret": variables.oidc_client_secret,
                "settings": {
                    "server_url": variables.oidc_issuer,
                    "scope": list(dict.fromkeys(["openid", *variables.oidc_scopes])),
                },
            }
        ],
    }
}
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"

DATABASES = {"default": variables.database_direct_url or variables.database_url}
# What web processes replace of it: see timeline/storage/sessions.py. Server-side cursors outlive a transaction.
POOLER = variables.database_url | {"DISABLE_SERVER_SIDE_CURSORS": True} if variables.database_direct_url else {}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CELERY_BROKER_URL = variables.redis_url
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_ACCEPT_CONTENT = [CELERY_TASK_SERIALIZER := "json"]  # unlike pickle, JSON cannot run code
# Imports can take hours, so they have a queue of their own, and periodic tasks never wait for them.
CELERY_TASK_QUEUES = {name: {"exchange": name, "routing_key": name} for name in ("periodic", "imports")}
CELERY_TASK_DEFAULT_QUEUE = "periodic"
CELERY_TASK_ROUTES = {
    f"collectors.tasks.{name}": {"queue": "imports"} for name in ("import_upload", "help_import", "judge_again")
}
CELERY_TASK_ROUTES |= {"dashboard.tasks.pull_window": {"queue": "imports"}}  # but a person waits for estimates
CELERY_BEAT_SCHEDULER = "dashboard.celery:MemoryScheduler"
# A message expires if no worker has taken it before the next message for the same task is sent.
CELERY_BEAT_SCHEDULE = {
    name: {"task": task, "schedule": seconds, "options": {"expires": seconds}}
    for name, task, seconds in (
        ("delete old changes of live sources", "collectors.tasks.keep", 600.0),
        (
            "resume uploads whose worker has ended",
            "collectors.tasks.take_up_uploads",
            variables.import_silence_seconds / 2,
        ),
        ("remove what was deleted a minute ago", "collectors.tasks.remove_deleted", 20.0),
        ("measure what each source takes", "collectors.tasks.measure_usage", 3600.0),
        ("delete old alerts", "collectors.tasks.forget_alerts", 600.0),
        ("judge sources again that an older version has judged", "collectors.tasks.judge_again", 30.0),
        ("ask the routes what to send of incidents", "dashboard.tasks.notify", 5.0),
        ("send deliveries that are due", "dashboard.tasks.deliver", 5.0),
        ("resume pulls whose worker has ended", "dashboard.tasks.take_up_pulls", variables.import_silence_seconds / 2),
        ("pull the next windows of audit logs", "dashboard.tasks.pull_continuously", min(30.0, variables.pull_seconds)),
        ("delete expired sessions and failures to sign in", "dashboard.tasks.clear_sessions", 3600.0),
    )
}

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-us"
STATIC_URL = "static/"
STATICFILES_DIRS = [NINJA_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "dashboard.web.static_files.Storage"},
}

# The policy allows what the pages and plotly.js need, and nothing else.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "style-src-elem": [SELF, NONCE],
        "style-src-attr": ["'unsafe-inline'"],
        "img-src": [SELF, "data:", "blob:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# A browser sends the cookies of a host to all its ports, so the names contain the port to keep instances apart.
SESSION_COOKIE_NAME = f"causeline_session_{PORT}" if PORT else "causeline_session"
CSRF_COOKIE_NAME = f"causeline_csrf_{PORT}" if PORT else "causeline_csrf"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True  # scripts read the CSRF token from the HTML
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None

LOGGING = logs.configuration(variables.log_format, variables.log_level)

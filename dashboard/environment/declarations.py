"""Declare every setting once: its type, range, default and its sentence in docs/settings.md.

A field `keep_days` is the variable `CAUSELINE_KEEP_DAYS`. The classes are divided by subject and by who reads them: a
command that judges files needs neither a key nor a database.
"""

from typing import Annotated

from pydantic import Field

from dashboard.environment.keeping import Keeping
from dashboard.environment.parsing import (
    Address,
    Ancestors,
    Broker,
    Database,
    Flag,
    Folder,
    Folders,
    Hosts,
    HostsOrAny,
    Key,
    Keys,
    Login,
    Networks,
    OptionalDatabase,
    OptionalFile,
    OptionalKey,
    Services,
    Whole,
    Words,
    one_of,
)
from dashboard.environment.reading import Reading
from dashboard.environment.services import USUAL
from dashboard.environment.sign_in import SigningIn
from dashboard.environment.sources import written


class Settings(Reading, SigningIn, Keeping):
    """All settings of the processes that serve."""

    secret_key: Key = Field(
        repr=False,
        description=(
            "A long random text of at least 32 characters that signs sessions and links: `openssl rand -hex 32`. "
            "A new one signs everyone out."
        ),
    )
    credentials_key: Keys = Field(
        written(""),
        repr=False,
        description=(
            "The key that encrypts the credentials of connected clusters, the secrets of log stores and of second "
            "factors, and the addresses and tokens of destinations: a random text of at least 32 characters, "
            "`openssl rand -hex 32`. Several keys are separated by commas: the first one encrypts, all of them decrypt "
            "([how to change it](how-to/run-it-in-production.md#keys)). Without a key, clusters can be connected "
            "by path or in-cluster only, no secret of a log store is stored, nobody can set up a second factor, and "
            "there are no destinations."
        ),
    )
    database_url: Database = Field(
        repr=False,
        validation_alias="DATABASE_URL",
        description=(
            "PostgreSQL 18: `postgresql://user:password@host:5432/name`. Options such as `?sslmode=require` are "
            "passed on; `?host=/folder` names the folder of a socket. In a password, the characters `/ ? # @ [ %` "
            "are written as `%2F %3F %23 %40 %5B %25`. Of several hosts, `@one:5432,two:5432/`, the one that takes "
            "writes is used, also after another one was promoted."
        ),
    )
    database_direct_url: OptionalDatabase = Field(
        written(""),
        repr=False,
        description=(
            "The address of the same database that leads to PostgreSQL itself, if `DATABASE_URL` leads to a pooler "
            "such as PgBouncer in transaction mode. Web processes then use the pooler, except to listen for commits; "
            "all other processes and commands use this address "
            "([more](how-to/run-it-highly-available.md#pgbouncer)). If it is empty, all use `DATABASE_URL`."
        ),
    )
    redis_url: Broker = Field(
        repr=False,
        validation_alias="REDIS_URL",
        description="Valkey or Redis, which hands tasks to workers: `redis://:password@host:6379/0`.",
    )
    login: Login = Field(
        written("on"),
        description=(
            "How people sign in. `on`: with accounts. `token`, or `off`: there are no accounts, and whoever has "
            "the start-up token is let in as an administrator. `open`: nobody signs in, so whoever reaches the "
            "address can read and change everything. `causeline up` and `causeline demo` set `token` while they "
            "listen on this machine alone, unless the variable is `on`; they set `open` only with `--no-token`, "
            "and they require accounts elsewhere."
        ),
    )
    default_role: Annotated[str, one_of("viewer", "responder", "")] = Field(
        "",
        description=(
            "The role that every account has on everything, whatever it was granted: `viewer`, `responder`, or empty "
            "for none. It is meant for a team in which everybody may see everything."
        ),
    )
    token: str = Field(
        written(""),
        repr=False,
        description=(
            "The start-up token, at least 32 characters. If it is empty, the web process takes the one in the "
            "file `token` of the data directory, and creates that file, readable for its owner alone, if there is "
            "none. A new token ends all sessions that began with the old one."
        ),
    )
    data_dir: Folder = Field(
        written("~/.local/share/causeline"),
        description=(
            "Folder for uploads, and for the servers that Causeline starts itself. Web and workers on different "
            "machines must share it."
        ),
    )
    hosts: Words = Field(
        written("localhost,127.0.0.1,[::1]"),
        description=(
            "Names under which browsers reach Causeline, separated by commas; a request for any other is refused. "
            "Keep `127.0.0.1` for the image's health check."
        ),
    )
    origins: Words = Field(
        written(""),
        description=(
            "Origins that may send forms and open WebSockets besides the address of the page itself, separated by "
            "commas, such as `https://causeline.example.org`. Needed behind a proxy that changes the host name."
        ),
    )
    address: Address = Field(
        written(""),
        description=(
            "The address under which browsers reach Causeline, such as `https://causeline.example.org`: links in "
            "messages begin with it. If it is empty, it is made of the first origin, or else of the first host and "
            "the port."
        ),
    )
    embed_ancestors: Ancestors = Field(
        written(""),
        description=(
            "Origins whose pages may show timelines in a frame, separated by commas, such as "
            "`https://grafana.example.org` or `https://*.example.org`. Without it, no page of another site can, and no "
            "address of an embedded timeline is accepted "
            "([embed a timeline](how-to/link-and-receive-alerts.md#embed-a-timeline))."
        ),
    )
    share_links: Annotated[str, one_of("anybody", "signed-in", "off")] = Field(
        written("anybody"),
        description=(
            "Who can open a link to one timeline or one incident that somebody has shared "
            "([more](how-to/share-and-audit.md)). `anybody`: whoever has the link. `signed-in`: whoever has the link "
            "and is signed in. `off`: nobody, and no links are made."
        ),
    )
    share_days: Whole = Field(
        30,
        ge=1,
        le=365,
        description=(
            "After how many days a shared link expires at the latest; a smaller number also shortens the links that "
            "there are. From 1 to 365."
        ),
    )
    https: Flag = Field(
        written("off"),
        description=(
            "Set it to `on` behind a proxy that ends TLS and sets `X-Forwarded-Proto`: cookies go over HTTPS "
            "only, plain requests are redirected, and browsers are asked to remember that."
        ),
    )
    proxies: Networks = Field(
        written(""),
        description=(
            "Addresses or networks of the proxies in front of Causeline, separated by commas, such as "
            "`127.0.0.1,10.0.0.0/8`. `X-Forwarded-For` is believed only from these. Without it, everybody behind "
            "a proxy has the proxy's address: failures to sign in are then counted by name alone, and the log "
            "shows no other address."
        ),
    )
    port: Whole = Field(
        0,
        ge=0,
        le=65_535,
        description=(
            "The port that browsers use, needed where several instances are reached under one host name. Browsers "
            "send cookies to all ports of a host, so the names of Causeline's cookies then end in the port. "
            "`causeline up` and `causeline demo` set it. From 0 to 65535; 0 leaves the port out."
        ),
    )
    kubeconfig_dirs: Folders = Field(
        written(""),
        description=(
            "Folders from which kubeconfigs that are connected with `--by-path`, and the files that they name, "
            "may be read, besides `kubeconfigs` in the data folder: absolute paths, separated by commas. Links "
            "are followed before the folders are compared, and uploads are never read. The value has to be the "
            "same for web, workers and the command line."
        ),
    )
    cluster_hosts: HostsOrAny = Field(
        written("*:*,http://*:*"),
        description=(
            "Where the `server` and the `proxy-url` of kubeconfigs may lead that Causeline stores, written as in "
            "`CAUSELINE_DESTINATION_HOSTS` ([more](how-to/connect-a-cluster.md#where-a-kubeconfig-may-lead)). "
            "Link-local addresses and those at which clouds serve credentials are never connected to, and this machine "
            "only where its name has no wildcard. `any` checks nothing. `causeline up` and `causeline demo` set `any` "
            "where no accounts are asked for, unless the variable is set. The value has to be the same for web and "
            "workers."
        ),
    )
    destination_hosts: Hosts = Field(
        written(""),
        description=(
            "Where messages of routes may be sent, as `[scheme://]host[:port]`, separated by commas, such as "
            "`hooks.example.org,http://alertmanager:9093,*.corp.example,10.0.0.0/8`. Without a scheme, only "
            "`https` is allowed, and without a port only the usual one; the port `*` allows all. `*` and `?` stand "
            "for any characters of a name. Link-local addresses are never connected to, and this machine only "
            "where its name has no wildcard. Nothing is sent anywhere while it is empty. The value has to be the "
            "same for web and workers."
        ),
    )
    log_store_hosts: Hosts = Field(
        written(""),
        description=(
            "To which hosts the fields of log stores may lead ([more](how-to/pull-from-a-log-store.md)), written as in "
            "`CAUSELINE_DESTINATION_HOSTS`: those of Loki and Elasticsearch, and endpoints that are not a cloud's own. "
            "Link-local addresses are never connected to. The value has to be the same for web and workers."
        ),
    )
    pull_seconds: Whole = Field(
        300,
        ge=2,
        le=86_400,
        description=(
            "How often the audit log of a cluster is pulled that is pulled continuously, in seconds. From 2 to 86400."
        ),
    )
    pull_overlap_minutes: Whole = Field(
        15,
        ge=0,
        le=1_440,
        description=(
            "How far each window of a continuous pull goes back into the one before, in minutes, for records that "
            "arrive late in the log store. From 0 to 1440."
        ),
    )
    apprise_services: Services = Field(
        written(USUAL),
        description=(
            "To which services messages may be sent by the library Apprise, which the extra `apprise` installs: the "
            "schemes of its addresses, separated by commas. The hosts that they connect to have to be in "
            "`CAUSELINE_DESTINATION_HOSTS`, too ([more](how-to/send-incidents-on.md#chats-e-mail-and-pagers)). "
            "Services that act on this machine, read keys from files or connect by a library of their own are never "
            "allowed."
        ),
    )
    upload_limit_bytes: Whole = Field(
        4 * 1024**3,
        ge=1,
        le=10**15,
        description=(
            "The largest recording that may be uploaded, in bytes; several files count together. From 1 to "
            "1000000000000000."
        ),
    )
    portion_bytes: Whole = Field(
        64 * 1024**2,
        ge=1024,
        le=10**12,
        description=(
            "An upload of several files that have more bytes together is divided into portions of about this size, "
            "which several import workers read at a time. From 1024 to 1000000000000."
        ),
    )
    audit_batch_bytes: Whole = Field(
        32 * 1024**2,
        ge=1,
        le=1024**3,
        description=(
            "The largest list of audit events that an API server may send to the audit webhook, in bytes after "
            "decompression. Beside each web process, two processes read one at a time, with 384 MiB of memory each. "
            "From 1 to 1073741824."
        ),
    )
    audit_inbox_bytes: Whole = Field(
        256 * 1024**2,
        ge=0,
        le=10**15,
        description=(
            "How many compressed bytes of audit events may wait for the worker that watches their cluster. While "
            "more wait, API servers are asked to send them later. From 0 to 1000000000000000."
        ),
    )
    collect_inbox_bytes: Whole = Field(
        256 * 1024**2,
        ge=0,
        le=10**15,
        description=(
            "How many compressed bytes of a collector may wait for the worker of its cluster. While more wait, the "
            "collector is asked to send them later. From 0 to 1000000000000000."
        ),
    )
    clock_ahead_seconds: Whole = Field(
        300,
        ge=0,
        le=86_400,
        description=(
            "How far the clocks of clusters may be ahead of this machine's, in seconds. What states a later time is "
            "kept with a mark, placed where its revision or its arrival puts it, and moves no clock. From 0 to 86400."
        ),
    )
    lease_seconds: Whole = Field(
        8,
        ge=3,
        le=60,
        description=(
            "After how many seconds without a sign of life from a worker other workers take over the clusters "
            "that it watches. The value has to be the same for all workers. From 3 to 60."
        ),
    )
    import_silence_seconds: Whole = Field(
        20,
        ge=3,
        le=600,
        description=(
            "After how many seconds without a sign of life from its worker an import is begun again. What the cut-off "
            "attempt has left is removed after three times as long. From 3 to 600."
        ),
    )
    heartbeat_file: OptionalFile = Field(
        written(""),
        description=(
            "A file that a worker, or beat, touches every few seconds while it works, for the probe of its container: "
            "if the file is older than two minutes, the process hangs. Each process needs a file of its own. Without "
            "it, no file is written."
        ),
    )
    picture_fonts: str = Field(
        "",
        description=(
            "A folder with font files (`.ttf`, `.otf`, `.ttc`) for the pictures that messages carry. Causeline's own "
            "font has Latin, Greek and Cyrillic letters; others are drawn from these fonts, and a letter that no font "
            "has is written like `\\u540d`. At most 40 files are read."
        ),
    )
    log_level: Annotated[str, one_of("DEBUG", "INFO", "WARNING", "ERROR")] = Field(
        written("INFO"),
        description="`DEBUG`, `INFO`, `WARNING` or `ERROR`.",
    )
    log_format: Annotated[str, one_of("auto", "json", "text")] = Field(
        "auto",
        description=(
            "How the log is written to standard error. `json`: one line of JSON for each event. `text`: lines for "
            "people. `auto`: text on a terminal, JSON elsewhere. `causeline up` and `causeline demo` set `text` "
            "for the files of their log folder, unless the variable is set."
        ),
    )
    metrics_token: OptionalKey = Field(
        written(""),
        repr=False,
        description=(
            "A random text of at least 32 characters, `openssl rand -hex 32`. Whoever sends it as "
            "`Authorization: Bearer` may read `/metrics`, and nothing else ([how to scrape](how-to/scrape-metrics.md))."
        ),
    )
    metrics_port: Whole = Field(
        0,
        ge=0,
        le=65_535,
        description=(
            "A port on which the web process serves its metrics without asking for a token. From 0 to 65535; "
            "0 opens none."
        ),
    )
    metrics_host: str = Field(
        "127.0.0.1",
        description=(
            "The address that `CAUSELINE_METRICS_PORT` listens on. Only a network that nobody else reaches "
            "should be named here."
        ),
    )
    debug: Flag = Field(
        written("off"),
        description="`on` shows tracebacks, with settings and data in them, in the browser; for development only.",
    )

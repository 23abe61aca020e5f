"""These small servers speak the documented protocols of log stores, with their limits and errors. Tests pull from them
what no real server can serve here; CloudWatch Logs and S3 are served by moto.

Each server holds `records` and answers as its service does for them. `faults` are answers that it gives instead, one
after another, before it goes on.
"""

import base64
import json
import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from collectors.stores.times import instant, nanoseconds
from tests.inputs.events import event, pod
from tests.servers.answering import Handler, Quiet


class Record(NamedTuple):
    """This tuple is a record of a store: its time there, in nanoseconds since 1970, and the audit event in it."""

    time: int
    audit_id: str

    def event(self) -> str:
        name = f"p-{self.audit_id[:8]}"
        at = instant(self.time)[:26] + "Z"
        body = pod(name=name, uid=self.audit_id, resourceVersion=str(1 + self.time // 1000))
        return json.dumps(
            event(
                auditID=self.audit_id,
                objectRef={"resource": "pods", "namespace": "n", "name": name, "apiVersion": "v1"},
                responseObject=body,
                requestReceivedTimestamp=at,
                stageTimestamp=at,
            ),
            separators=(",", ":"),
        )


class Answer(NamedTuple):
    status: int
    document: Any
    headers: tuple[tuple[str, str], ...] = ()


class Asked(NamedTuple):
    """This tuple is a request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class StoreServer:
    """This class is a server of one store on a free port of the loopback."""

    scheme = "http"

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.records: list[Record] = []
        self.faults: list[Answer] = []
        self.asked: list[Asked] = []
        store = self

        class Asking(Handler):
            def _serve(self) -> None:
                address = urlsplit(self.path)
                query = {name: values[-1] for name, values in parse_qs(address.query).items()}
                headers = {name.title(): value for name, value in self.headers.items()}
                asked = Asked(self.command, address.path, query, headers, self.body())
                store.asked.append(asked)
                given = store.answer(asked)
                self.answer(given.status, given.document, *given.headers)

            do_GET = do_POST = do_DELETE = do_HEAD = _serve

        self._server = Quiet(("127.0.0.1", 0), Asking)
        if context:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, asked: Asked) -> Answer:
        if self.is_question(asked) and self.faults:
            return self.faults.pop(0)
        return self.served(asked)

    def is_question(self, asked: Asked) -> bool:
        """Return whether a request asks for records, so that a fault may answer it."""
        return True

    def served(self, asked: Asked) -> Answer:
        raise NotImplementedError


@contextmanager
def serving(server: StoreServer) -> Iterator[Any]:
    try:
        yield server
    finally:
        server.close()


class LokiServer(StoreServer):
    """Loki: `start` belongs to the range and `end` does not, at most `limit` lines, and a limit of its own."""

    most = 5_000
    token = ""

    def served(self, asked: Asked) -> Answer:
        if self.token and asked.headers.get("Authorization") != f"Bearer {self.token}":
            return Answer(401, b"no credentials")
        query, start, end = asked.query["query"], int(asked.query["start"]), int(asked.query["end"])
        kept = sorted(each for each in set(self.records) if start <= each.time < end)
        if asked.path.endswith("/index/stats"):
            size = sum(len(each.event()) for each in kept)
            return Answer(200, {"streams": 2, "chunks": 1, "entries": len(kept), "bytes": size})
        assert asked.path.endswith("/query_range") and asked.query["direction"] == "forward"
        limit = int(asked.query["limit"])
        if limit > self.most:
            words = f"max entries limit per query exceeded, limit > max_entries_limit_per_query ({limit} > {self.most})"
            return Answer(400, words.encode(), (("Content-Type", "text/plain"),))
        for operator, pattern in re.findall(r"(\|~|!~) `([^`]*)`", query):
            kept = [each for each in kept if bool(re.search(pattern, each.event())) == (operator == "|~")]
        streams: dict[str, list[list[str]]] = {}
        for each in kept[:limit]:
            streams.setdefault(each.audit_id[-1], []).append([str(each.time), each.event()])
        result = [{"stream": {"job": "audit", "part": part}, "values": values} for part, values in streams.items()]
        return Answer(200, {"status": "success", "data": {"resultType": "streams", "result": result, "stats": {}}})


class LoggingServer(StoreServer):
    """Cloud Logging's entries.list, and the token endpoint of OAuth: entries in order of time and insertId, page tokens
    that name the request for which they are valid, and empty pages between others."""

    page = 1_000

    def is_question(self, asked: Asked) -> bool:
        return asked.path == "/v2/entries:list"

    def served(self, asked: Asked) -> Answer:
        if asked.path == "/token":
            return Answer(200, {"access_token": "of-the-tests", "expires_in": 3600, "token_type": "Bearer"})
        if asked.headers.get("Authorization") != "Bearer of-the-tests":
            return Answer(401, {"error": {"code": 401, "message": "no credentials", "status": "UNAUTHENTICATED"}})
        body = asked.json()
        borders = re.search(r'timestamp>="([^"]+)" AND timestamp<"([^"]+)"', body["filter"])
        assert borders and body["orderBy"] == "timestamp asc" and 0 < body["pageSize"] <= 1_000
        since, until = nanoseconds(borders[1]), nanoseconds(borders[2])
        kept = sorted(each for each in self.records if since <= each.time < until)
        begin, empty = 0, False
        if token := body.get("pageToken"):
            of, begin, empty = json.loads(base64.b64decode(token))
            if of != body["filter"]:
                words = "page_token doesn't match arguments from the request"
                return Answer(400, {"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}})
        if empty:
            return Answer(200, {"nextPageToken": self._token(body["filter"], begin, False)})
        entries = [self._entry(each) for each in kept[begin : begin + min(self.page, body["pageSize"])]]
        begin += len(entries)
        more = {"nextPageToken": self._token(body["filter"], begin, begin % 2 == 0)} if begin < len(kept) else {}
        return Answer(200, ({"entries": entries} if entries else {}) | more)

    def _token(self, of: str, begin: int, empty: bool) -> str:
        return base64.b64encode(json.dumps([of, begin, empty]).encode()).decode()

    def _entry(self, record: Record) -> dict[str, Any]:
        of = json.loads(record.event())
        return {
            "protoPayload": {
                "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
                "serviceName": "k8s.io",
                "methodName": "io.k8s.core.v1.pods.create",
                "resourceName": f"core/v1/namespaces/n/pods/{of['objectRef']['name']}",
                "authenticationInfo": {"principalEmail": "somebody"},
                "response": of["responseObject"],
            },
            "insertId": record.audit_id,
            "resource": {"type": "k8s_cluster", "labels": {"cluster_name": "prod"}},
            "timestamp": instant(record.time),
            "receiveTimestamp": instant(record.time + 1_000_000_000),
            "logName": "projects/p/logs/cloudaudit.googleapis.com%2Factivity",
        }


class AnalyticsServer(StoreServer):
    """Log Analytics' query API, and the token endpoint of Entra ID: an answer with more rows than the limit is cut off
    and marked as partial."""

    most = 500_000

    def is_question(self, asked: Asked) -> bool:
        return asked.path.endswith("/query")

    def served(self, asked: Asked) -> Answer:
        if asked.path.endswith("/openid-configuration"):
            places = {"token_endpoint": "oauth2/v2.0/token", "authorization_endpoint": "oauth2/v2.0/authorize"}
            endpoints = {name: f"{self.url}/tenant/{path}" for name, path in places.items()}
            return Answer(200, {**endpoints, "issuer": f"{self.url}/tenant/v2.0"})
        if asked.path.endswith("/token"):
            return Answer(200, {"access_token": "of-the-tests", "expires_in": 3600, "token_type": "Bearer"})
        if asked.headers.get("Authorization") != "Bearer of-the-tests":
            return Answer(403, {"error": {"code": "InsufficientAccessError", "message": "no access"}})
        query = asked.json()["query"]
        borders = re.search(r"TimeGenerated >= datetime\((\S+)\) and TimeGenerated < datetime\((\S+)\)", query)
        assert borders and "_ResourceId endswith" in query
        since, until = nanoseconds(borders[1]), nanoseconds(borders[2])
        kept = sorted(each for each in self.records if since <= each.time < until)
        if "summarize" in query:
            columns = [{"name": "Records", "type": "long"}, {"name": "Bytes", "type": "real"}]
            rows: list[list[Any]] = [[len(kept), float(sum(len(each.event()) for each in kept))]]
        else:
            columns = [{"name": "TimeGenerated", "type": "datetime"}, {"name": "log_s", "type": "string"}]
            rows = [[f"{instant(each.time)[:-3]}Z", each.event()] for each in kept[: self.most]]
        document: dict[str, Any] = {"tables": [{"name": "PrimaryResult", "columns": columns, "rows": rows}]}
        if len(kept) > self.most and "summarize" not in query:
            inner = {"code": "E_QUERY_RESULT_SET_TOO_LARGE", "message": "the result set is too large"}
            document["error"] = {"code": "PartialError", "message": "partial results", "details": [inner]}
        return Answer(200, document)


class SearchServer(StoreServer):
    """Elasticsearch or OpenSearch: points in time that expire, search_after with a tie-breaker, and ranges that a field
    of the type date cuts to milliseconds."""

    flavour = "elasticsearch"
    nanos = True  # whether the field of the time is a date_nanos

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        super().__init__(context)
        self.pits: dict[str, list[Record]] = {}
        self._opened = 0

    def expire(self) -> None:
        self.pits.clear()

    def is_question(self, asked: Asked) -> bool:
        return asked.path.endswith("/_search")

    def answer(self, asked: Asked) -> Answer:
        given = super().answer(asked)
        product = (("X-Elastic-Product", "Elasticsearch"),) if self.flavour == "elasticsearch" else ()
        return given._replace(headers=(*given.headers, *product))

    def served(self, asked: Asked) -> Answer:
        opens = "/_pit" if self.flavour == "elasticsearch" else "/_search/point_in_time"
        if asked.path.endswith(opens):
            if asked.method == "DELETE":
                return Answer(200, {"succeeded": True, "num_freed": 1, "pits": []})
            assert asked.query["keep_alive"]
            self._opened += 1
            name = f"pit-{self._opened}"
            self.pits[name] = list(self.records)
            return Answer(
                200, {"id": name} if self.flavour == "elasticsearch" else {"pit_id": name, "creation_time": 1}
            )
        if asked.path.endswith("/_count"):
            return Answer(200, {"count": len(self._in_range(asked.json()["query"], self.records))})
        assert asked.path == "/_search"
        body = asked.json()
        held = self.pits.get(body["pit"]["id"])
        if held is None:
            cause = {"type": "search_context_missing_exception", "reason": "No search context found for id [1]"}
            error = {"root_cause": [cause], "type": "search_phase_execution_exception", "reason": "all shards failed"}
            return Answer(404, {"error": error, "status": 404})
        tie = "_shard_doc" if self.flavour == "elasticsearch" else "_id"
        assert list(body["sort"][1]) == [tie]
        placed = {each: place for place, each in enumerate(held)}
        found = []
        for each in self._in_range(body["query"], held):
            values: list[Any] = [self._time(each), placed[each] if tie == "_shard_doc" else each.audit_id]
            found.append((values if tie == "_shard_doc" else [*values, "audit"], each))
        found.sort(key=lambda pair: pair[0])
        after = body.get("search_after")
        hits = [
            {"_index": "audit", "_id": each.audit_id, "_source": {"message": each.event()}, "sort": values}
            for values, each in found
            if after is None or values > after
        ][: body["size"]]
        shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
        document = {"took": 1, "timed_out": False, "_shards": shards, "hits": {"hits": hits}}
        return Answer(200, {**document, "pit_id": body["pit"]["id"]})

    def _time(self, record: Record) -> int:
        return record.time if self.nanos else record.time // 1_000_000 * 1_000_000

    def _in_range(self, query: Any, records: list[Record]) -> list[Record]:
        (borders,) = [each["range"]["@timestamp"] for each in query["bool"]["filter"] if "range" in each]
        unit = 1 if self.nanos else 1_000_000
        since, until = (nanoseconds(borders[name]) // unit * unit for name in ("gte", "lt"))
        return [each for each in records if since <= self._time(each) < until]


def tls_context(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """Return the TLS of a server on the loopback, and the file of the authority that a client has to trust."""
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2100, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(True, None), True)
        .sign(key, hashes.SHA256())
    )
    certificate, private = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, private)
    return context, certificate


def service_account(url: str) -> str:
    """Return the key of a service account that asks the server at this address for its tokens."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    info = {"type": "service_account", "project_id": "p", "private_key": text, "private_key_id": "1"}
    return json.dumps({**info, "client_email": "reader@p.iam.gserviceaccount.com", "token_uri": f"{url}/token"})

"""This module talks to a running Causeline over HTTP, as a page does."""

import json
from collections.abc import Iterable
from http.client import HTTPConnection
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.servers.running import TOKEN

OCTETS = "application/octet-stream"


class Visitor:
    """This client signs in with the start-up token, keeps cookies, and sends the CSRF token of forms."""

    def __init__(self, address: str) -> None:
        """Start at an address that `causeline up` prints, or at that of a Causeline that has the tests' token."""
        parts = urlsplit(address)
        self._host = parts.netloc
        self.cookies: dict[str, str] = {}
        token = parse_qs(parts.query).get("token", [TOKEN])[0]
        self.ask("GET", f"/login/?{urlencode({'token': token})}")
        self.ask("GET", "/login/")
        self.ask("GET", "/")

    @property
    def _form_token(self) -> str:
        return next((value for name, value in self.cookies.items() if name.startswith("causeline_csrf")), "")

    def ask(
        self, method: str, path: str, body: bytes | Iterable[bytes] | None = None, **headers: str
    ) -> tuple[int, Any]:
        """Return the status and the content of an answer, which is parsed if it is JSON."""
        connection = HTTPConnection(self._host, timeout=60)
        sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if method != "GET":
            sent |= {"X-CSRFToken": self._form_token, "Content-Type": OCTETS}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            for name, value in answer.getheaders():
                if name.lower() == "set-cookie":
                    key, _, rest = value.partition("=")
                    self.cookies[key] = rest.partition(";")[0]
            content = answer.read()
            return answer.status, json.loads(content) if "json" in (answer.getheader("Content-Type") or "") else content
        finally:
            connection.close()

    def sign_in(self, name: str, password: str) -> None:
        form = {"username": name, "password": password, "csrfmiddlewaretoken": self._form_token}
        body = urlencode(form).encode()
        status, _ = self.ask("POST", "/login/", body, Content_Type="application/x-www-form-urlencoded")
        assert status == 302

    def begin(self, *files: tuple[str, int], name: str = "recording") -> Any:
        body = {"name": name, "files": [{"name": each, "size": size} for each, size in files]}
        return self.ask("POST", "/api/uploads", json.dumps(body).encode(), Content_Type="application/json")[1]

    def put(self, upload: int, piece: bytes, offset: int = 0, number: int = 0) -> tuple[int, Any]:
        return self.ask("PUT", f"/api/uploads/{upload}/files/{number}", piece, Upload_Offset=str(offset))

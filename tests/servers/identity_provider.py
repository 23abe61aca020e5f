"""This module is an OpenID Connect provider whose answers a test can falsify: it signs any claims."""

import base64
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from tests.servers.answering import Handler, Quiet, serving

CLIENT, SECRET = "causeline", "the-secret-of-the-client"
_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
_EC = ec.generate_private_key(ec.SECP256R1())
STRANGE = rsa.generate_private_key(public_exponent=65537, key_size=2048)  # a key that is not published


class IdentityProvider:
    """This is a provider at an address of this machine. `claims` are those of the person who signs in next."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.claims: dict[str, Any] = {"sub": "248289761001", "preferred_username": "ada", "email": "ada@example.org"}
        self.changes: dict[str, Any] = {}  # claims of the ID token that are falsified
        self.info: dict[str, Any] = {}  # what the user info says besides the subject
        self.algorithm = "RS256"
        self.names_key = True  # whether the ID token names the key that it is signed with
        self.key: Any = None  # another key than the published one
        self.document: dict[str, Any] = {}  # what the discovery document says otherwise
        self.requests: list[str] = []  # the paths that were asked for
        self.challenge = self.nonce = ""

    def authorize(self, address: str) -> str:
        """Act as the provider's page: return the query with which it would send the browser back."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert asked["client_id"] == CLIENT and asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        self.challenge, self.nonce = asked["code_challenge"], asked["nonce"]
        return f"code=the-code&state={asked['state']}"

    def answer(self, path: str, form: dict[str, str]) -> tuple[int, Any]:
        self.requests.append(path)
        if path == "/.well-known/openid-configuration":
            endpoints = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}
            endpoints |= {"userinfo_endpoint": "/info", "end_session_endpoint": "/end"}
            document = {name: self.address + at for name, at in endpoints.items()}
            return 200, {"issuer": self.address, **document, **self.document}
        if path == "/keys":
            public = [
                {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(_RSA.public_key())), "kid": "RS256", "use": "sig"},
                {**json.loads(jwt.algorithms.ECAlgorithm.to_jwk(_EC.public_key())), "kid": "ES256", "use": "sig"},
            ]
            return 200, {"keys": public}
        if path == "/info":
            return 200, {"sub": self.claims["sub"], **self.info}
        proof = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if form["code"] != "the-code" or proof != self.challenge or form["client_secret"] != SECRET:
            return 400, {"error": "invalid_grant"}
        return 200, {"access_token": "access", "token_type": "Bearer", "id_token": self.id_token()}

    def id_token(self) -> str:
        now = int(time.time())
        claims = {"iss": self.address, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": self.nonce, **self.claims}
        claims = {name: value for name, value in {**claims, **self.changes}.items() if value is not None}
        keys: dict[str, Any] = {"RS256": _RSA, "ES256": _EC, "none": None, "HS256": SECRET.ljust(32, "x")}
        header = {"kid": self.algorithm} if self.names_key else None
        return jwt.encode(claims, self.key or keys[self.algorithm], self.algorithm, header)


@contextmanager
def identity_provider() -> Iterator[IdentityProvider]:
    """Serve a provider on a port of this machine."""

    class Asked(Handler):
        def do_GET(self) -> None:
            form = {name: values[0] for name, values in parse_qs(self.body().decode()).items()}
            self.answer(*provider.answer(urlsplit(self.path).path, form))

        do_POST = do_GET

    server = Quiet(("127.0.0.1", 0), Asked)
    provider = IdentityProvider(f"http://127.0.0.1:{server.server_port}")
    with serving(server):
        yield provider

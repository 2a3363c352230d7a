"""A small OIDC provider: issues signed tokens over HTTPS to clients with the secret, and publishes its keys."""

from __future__ import annotations

import json
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

from tests.unit.client.certificates import Certificates

ISSUER, AUDIENCE = "https://issuer.test", "kafka"
CLIENT, SECRET = "me", "s3cret"
CURVES = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}


def private_key(algorithm: str) -> Any:
    if algorithm in CURVES:
        return ec.generate_private_key(CURVES[algorithm])
    return ed25519.Ed25519PrivateKey.generate() if algorithm == "EdDSA" else rsa.generate_private_key(65537, 2048)


@dataclass
class SigningKey:
    """`names_itself`: tokens and the key set contain its ID, and the key set its algorithm."""

    key_id: str = "one"
    algorithm: str = "RS256"
    names_itself: bool = True
    key: Any = None

    def __post_init__(self) -> None:
        self.key = self.key or private_key(self.algorithm)

    @property
    def shown(self) -> dict[str, Any]:
        """The public key, as in a key set."""
        jwk: dict[str, Any] = get_default_algorithms()[self.algorithm].to_jwk(self.key.public_key(), as_dict=True)
        return {**jwk, "use": "sig", **({"kid": self.key_id, "alg": self.algorithm} if self.names_itself else {})}

    def token(self, headers: Mapping[str, Any] | None = None, **claims: Any) -> str:
        """A token for alice; a claim that is None is left out."""
        now = int(time.time())
        usual = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "iat": now - 1, "exp": now + 300, "scope": "all"}
        given = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        own = {"kid": self.key_id} if self.names_itself else {}
        return jwt.encode(given, self.key, self.algorithm, headers={**own, **(headers or {})})


def key_set(*keys: SigningKey) -> str:
    return json.dumps({"keys": [each.shown for each in keys]})


@dataclass
class TokenServer:
    """`keys`: the first one signs, and all are shown. `lifetime` is in seconds."""

    url: str
    keys: list[SigningKey] = field(default_factory=lambda: [SigningKey()])
    lifetime: int = 300
    fetched: int = 0  # how often the key set was requested

    @property
    def token_url(self) -> str:
        return f"{self.url}/token"

    @property
    def jwks_url(self) -> str:
        return f"{self.url}/jwks"

    def token(self, **claims: Any) -> str:
        return self.keys[0].token(**{"exp": int(time.time()) + self.lifetime, **claims})


@contextmanager
def token_server(certificates: Certificates) -> Iterator[TokenServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.store("broker"))
    basic = "Basic " + b64encode(f"{CLIENT}:{SECRET}".encode()).decode()

    class Endpoint(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.fetched += 1
            self._answer(200, key_set(*made.keys))

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            if self.headers["Authorization"] != basic or form.get("grant_type") != ["client_credentials"]:
                self._answer(401, '{"error":"invalid_client"}')
            else:
                answer = {"access_token": made.token(), "expires_in": made.lifetime, "token_type": "bearer"}
                self._answer(200, json.dumps(answer))

        def _answer(self, status: int, text: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        made = TokenServer(f"https://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield made
        server.shutdown()

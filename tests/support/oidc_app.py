"""An OIDC provider made of Authlib's server part: code flow with PKCE, refresh tokens, JWT access tokens (RFC 9068).

It runs as a process of its own: `python -m tests.support.oidc_app KEYS_FILE`. It prints its address, and writes its
public keys to the file. `oidc_provider.py` starts it. Users need no password; `/control` changes how it behaves.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from authlib.oidc.core import AuthorizationCodeMixin, OpenIDCode
from flask import Flask, Response, jsonify, redirect, request
from joserfc.jwk import RSAKey
from werkzeug.serving import WSGIRequestHandler, make_server

CLIENT, SECRET, AUDIENCE = "kconf-console", "s3cret of the client & more", "kafka"
USERS = {"ana": ["kafka-admins", "staff"], "bo": ["staff"], "eve": []}
SCOPES = ("openid", "profile", "offline_access")


@dataclass
class State:
    """What the provider has issued, and how it behaves. `audience` is that of access tokens."""

    issuer: str = ""
    keys: list[Any] = field(default_factory=list)
    codes: dict[str, Code] = field(default_factory=dict)
    refreshes: dict[str, Refresh] = field(default_factory=dict)
    lifetime: int = 300
    renewed: int = 0  # how often a refresh token was used
    audience: str = AUDIENCE
    keys_file: Path = Path()

    def rotate(self) -> None:
        """A new key signs from now on, and the old one is gone."""
        self.keys = [RSAKey.generate_key(2048, {"kid": token_urlsafe(6), "alg": "RS256", "use": "sig"})]
        self.keys_file.write_text(json.dumps(self.key_set()))

    def key_set(self) -> dict[str, Any]:
        return {"keys": [each.as_dict(private=False) for each in self.keys]}


@dataclass
class User:
    name: str

    def get_user_id(self) -> str:
        return f"id-of-{self.name}"

    def claims(self) -> dict[str, Any]:
        return {"sub": self.get_user_id(), "preferred_username": self.name, "groups": USERS[self.name]}


class Client(ClientMixin):  # type: ignore[misc, unused-ignore]
    def get_client_id(self) -> str:
        return CLIENT

    def get_default_redirect_uri(self) -> None:
        return None

    def get_allowed_scope(self, scope: str) -> str:
        return " ".join(each for each in scope.split() if each in SCOPES)

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri.startswith("http://127.0.0.1:") and redirect_uri.endswith("/-/oidc/callback")

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == SECRET

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "client_secret_basic"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in ("authorization_code", "refresh_token")


@dataclass
class Code(AuthorizationCodeMixin):  # type: ignore[misc, unused-ignore]
    code: str
    user: str
    redirect_uri: str
    scope: str
    nonce: str
    code_challenge: str
    code_challenge_method: str

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def get_nonce(self) -> str:
        return self.nonce

    def get_auth_time(self) -> None:
        return None


@dataclass
class Refresh(TokenMixin):  # type: ignore[misc, unused-ignore]
    token: str
    user: str
    scope: str

    def check_client(self, client: Client) -> bool:
        return True

    def get_scope(self) -> str:
        return self.scope

    def is_expired(self) -> bool:
        return False

    def is_revoked(self) -> bool:
        return False


STATE = State()


class CodeGrant(grants.AuthorizationCodeGrant):  # type: ignore[misc, unused-ignore]
    TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic",)

    def save_authorization_code(self, code: str, given: Any) -> None:
        data = given.payload.data
        STATE.codes[code] = Code(
            code,
            given.user.name,
            given.payload.redirect_uri,
            given.scope,
            data["nonce"],
            data["code_challenge"],
            data["code_challenge_method"],
        )

    def query_authorization_code(self, code: str, client: Client) -> Code | None:
        return STATE.codes.get(code)

    def delete_authorization_code(self, authorization_code: Code) -> None:
        del STATE.codes[authorization_code.code]

    def authenticate_user(self, authorization_code: Code) -> User:
        return User(authorization_code.user)


class RefreshGrant(grants.RefreshTokenGrant):  # type: ignore[misc, unused-ignore]
    INCLUDE_NEW_REFRESH_TOKEN = True
    TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic",)

    def authenticate_refresh_token(self, refresh_token: str) -> Refresh | None:
        return STATE.refreshes.get(refresh_token)

    def authenticate_user(self, refresh_token: Refresh) -> User:
        return User(refresh_token.user)

    def revoke_old_credential(self, refresh_token: Refresh) -> None:
        del STATE.refreshes[refresh_token.token]
        STATE.renewed += 1


class IdToken(OpenIDCode):  # type: ignore[misc, unused-ignore]
    def exists_nonce(self, nonce: str, given: Any) -> bool:
        return any(each.nonce == nonce for each in STATE.codes.values())

    def resolve_client_private_key(self, client: Client) -> Any:
        return STATE.keys[0]

    def get_encode_header(self, client: Client) -> dict[str, str]:
        return {"alg": "RS256", "kid": STATE.keys[0].kid}

    def get_client_claims(self, client: Client) -> dict[str, Any]:
        return {"iss": STATE.issuer, "aud": [CLIENT]}

    def generate_user_info(self, user: User, scope: str) -> dict[str, Any]:
        return user.claims()


class AccessToken(JWTBearerTokenGenerator):  # type: ignore[misc, unused-ignore]
    def get_jwks(self) -> Any:
        return STATE.keys[0]

    def get_audiences(self, client: Client, user: User, scope: str) -> str:
        return STATE.audience

    def get_extra_claims(self, client: Client, grant_type: str, user: User, scope: str) -> dict[str, Any]:
        return user.claims()


class OnlyPkce(CodeChallenge):  # type: ignore[misc, unused-ignore]
    """Also for clients with a secret."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ("S256",)

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        assert grant.request.payload.data["code_challenge"]
        super().validate_code_challenge(grant, redirect_uri)


def save_token(token: dict[str, Any], given: Any) -> None:
    if "refresh_token" in token:
        STATE.refreshes[token["refresh_token"]] = Refresh(token["refresh_token"], given.user.name, token["scope"])


def create_app() -> Flask:
    app = Flask(__name__)
    server = AuthorizationServer(app, lambda name: Client() if name == CLIENT else None, save_token)
    server.register_grant(CodeGrant, [IdToken(require_nonce=True), OnlyPkce(required=True)])
    server.register_grant(RefreshGrant, [])
    generator = AccessToken(
        STATE.issuer,
        refresh_token_generator=lambda **_: token_urlsafe(32),
        expires_generator=lambda *_: STATE.lifetime,
    )
    server.register_token_generator("default", generator)

    @app.get("/.well-known/openid-configuration")
    def metadata() -> Response:
        return jsonify(
            issuer=STATE.issuer,
            authorization_endpoint=f"{STATE.issuer}/authorize",
            token_endpoint=f"{STATE.issuer}/token",
            jwks_uri=f"{STATE.issuer}/keys",
            end_session_endpoint=f"{STATE.issuer}/logout",
            code_challenge_methods_supported=["S256"],
            token_endpoint_auth_methods_supported=["client_secret_basic"],
        )

    @app.get("/keys")
    def keys() -> Response:
        return jsonify(STATE.key_set())

    @app.route("/authorize", methods=["GET", "POST"])
    def authorize() -> Any:
        try:
            grant = server.get_consent_grant(end_user=None)
        except OAuth2Error as error:
            return server.handle_error_response(None, error)
        if request.method == "GET":
            return page(f"Log in to {CLIENT}")
        name = request.form["user"]
        user = User(name) if request.form["do"] == "allow" and name in USERS else None
        return server.create_authorization_response(grant_user=user, grant=grant)

    @app.post("/token")
    def token() -> Any:
        return server.create_token_response()

    @app.get("/logout")
    def logout() -> str:
        return page(f"Log out of {request.args['client_id']}")

    @app.post("/control")
    def control() -> Any:
        given = request.get_json()
        STATE.lifetime = given.get("lifetime", STATE.lifetime)
        STATE.audience = given.get("audience", STATE.audience)
        if given.get("rotate"):
            STATE.rotate()
        if given.get("revoke"):
            STATE.refreshes.clear()
        return jsonify(renewed=STATE.renewed)

    @app.get("/")
    def home() -> Any:
        return redirect("/.well-known/openid-configuration")

    return app


def page(title: str) -> str:
    """The query stays in the address, so the form sends it again."""
    return f"""<!doctype html><html lang="en"><title>{escape(title)}</title><link rel="icon" href="data:,">
<h1>{escape(title)}</h1><form method="post"><label>Account <input name="user"></label>
<button name="do" value="allow">Allow</button> <button name="do" value="deny">Deny</button></form>"""


class _Silent(WSGIRequestHandler):
    def log(self, *_: Any, **__: Any) -> None:
        pass


def main() -> None:
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # http on loopback
    STATE.keys_file = Path(sys.argv[1])
    STATE.rotate()
    bare = Flask(__name__)
    server = make_server("127.0.0.1", 0, bare, threaded=True, request_handler=_Silent)
    STATE.issuer = f"http://127.0.0.1:{server.server_port}"
    server.app = create_app()
    sys.stdout.write(f"{STATE.issuer}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()

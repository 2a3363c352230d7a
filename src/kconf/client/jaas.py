"""`sasl.jaas.config`: Java's login modules, as ways to log in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from kconf.client.sasl import OAuthBearer, Plain, Sasl, Scram
from kconf.errors import ConfigurationError

_FLAGS = ("required", "requisite", "sufficient", "optional")
_PART = re.compile(
    r"""\s*(?:(?P<name>[^\s=;"']+)\s*=\s*(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)'|(?P<bare>[^\s;"']+))|(?P<end>;))""",
    re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class Module(NamedTuple):
    """One login module and its options, which may be secrets."""

    name: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Module({self.name!r}, [hidden])"

    def option(self, name: str) -> str:
        value = self.options.get(name, "")
        if not value:
            raise ConfigurationError(f"sasl.jaas.config: {self.name.rpartition('.')[2]} needs {name}")
        return value


def parse(text: str) -> Module:
    """`<module> required key="value" …;` with Java's quoting. No part of the text is shown when it is wrong."""
    head = re.match(rf"\s*([\w.$]+)\s+({'|'.join(_FLAGS)})\b", text, re.IGNORECASE)
    if head is None:
        raise ConfigurationError('sasl.jaas.config must read: <login module> required <option>="<value>" … ;')
    options: dict[str, str] = {}
    position = head.end()
    while True:
        part = _PART.match(text, position)
        if part is None:
            raise ConfigurationError("sasl.jaas.config: an option must read name=\"value\", and ';' must end the last")
        if part["end"]:
            break
        quoted = part["double"] if part["double"] is not None else part["single"]
        options[part["name"]] = part["bare"] if quoted is None else re.sub(r"(?s)\\(.)", _escape, quoted)
        position = part.end()
    if text[part.end() :].strip():
        raise ConfigurationError("sasl.jaas.config must name one login module")
    return Module(head[1], options)


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[1])


def login(given: Mapping[str, str]) -> Sasl:
    """The way to log in that the properties of a client name."""
    mechanism = given.get("sasl.mechanism", "GSSAPI").strip()
    if mechanism not in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"):
        raise ConfigurationError(
            f"sasl.mechanism is {mechanism}; this client has PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER and "
            "AWS_MSK_IAM"
        )
    text = given.get("sasl.jaas.config", "")
    if not text.strip() and mechanism != "OAUTHBEARER":
        raise ConfigurationError(f"sasl.mechanism={mechanism} needs sasl.jaas.config")
    module = parse(text) if text.strip() else Module("OAuthBearerLoginModule", {})
    if mechanism == "PLAIN":
        return Plain(module.option("username"), module.option("password"))
    if mechanism == "AWS_MSK_IAM":
        from kconf.client.oauth import MskIam

        return MskIam(profile=module.options.get("awsProfileName"), role_arn=module.options.get("awsRoleArn"))
    if mechanism == "OAUTHBEARER":
        return _oauth(module, given)
    token_auth = module.options.get("tokenauth", "").lower() == "true"
    return Scram(module.option("username"), module.option("password"), mechanism, token_auth=token_auth)


def _oauth(module: Module, given: Mapping[str, str]) -> OAuthBearer:
    """Client credentials where a token endpoint is named, else Kafka's unsecured tokens for development."""
    from kconf.client.oauth import ClientCredentials, unsecured

    extensions = {
        name.removeprefix("extension_"): value
        for name, value in module.options.items()
        if name.startswith("extension_")
    }
    handler = given.get("sasl.login.callback.handler.class", "")
    if "iam" in handler.lower() and "msk" in handler.lower():
        from kconf.client.oauth import MskIam

        return MskIam(profile=module.options.get("awsProfileName"), role_arn=module.options.get("awsRoleArn"))
    url = given.get("sasl.oauthbearer.token.endpoint.url", "").strip()
    if url:
        ids = (given.get("sasl.oauthbearer.client.credentials.client.id"), module.options.get("clientId"))
        secrets = (given.get("sasl.oauthbearer.client.credentials.client.secret"), module.options.get("clientSecret"))
        scope = given.get("sasl.oauthbearer.scope") or module.options.get("scope")
        tokens = ClientCredentials(
            url,
            next(filter(None, ids), None) or module.option("clientId"),
            next(filter(None, secrets), None) or module.option("clientSecret"),
            scope=scope,
        )
        return OAuthBearer(tokens, extensions=extensions)
    subject = module.options.get("unsecuredLoginStringClaim_sub")
    if not subject:
        raise ConfigurationError("OAUTHBEARER needs sasl.oauthbearer.token.endpoint.url, or a token callable in code")
    lifetime = float(module.options.get("unsecuredLoginLifetimeSeconds", "3600"))
    more = {
        name.removeprefix("unsecuredLoginExtension_"): value
        for name, value in module.options.items()
        if name.startswith("unsecuredLoginExtension_")
    }
    return OAuthBearer(lambda: unsecured(subject, lifetime), extensions={**extensions, **more})

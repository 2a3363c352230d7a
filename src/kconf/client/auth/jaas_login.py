"""Reads the SASL mechanism from Java client properties: `sasl.mechanism`, `sasl.jaas.config`, `sasl.oauthbearer.*`."""

from __future__ import annotations

from collections.abc import Mapping

from kconf.client.auth.sasl import OAuthBearer, Plain, Sasl, Scram
from kconf.errors import ConfigurationError
from kconf.security.jaas import LoginModule, parse


def sasl_from_properties(given: Mapping[str, str]) -> Sasl:
    """The mechanism and credentials in client properties."""
    mechanism = given.get("sasl.mechanism", "GSSAPI").strip()
    if mechanism not in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"):
        raise ConfigurationError(
            f"sasl.mechanism is {mechanism}; this client supports PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER and "
            "AWS_MSK_IAM"
        )
    text = given.get("sasl.jaas.config", "")
    if not text.strip() and mechanism != "OAUTHBEARER":
        raise ConfigurationError(f"sasl.mechanism={mechanism} needs sasl.jaas.config")
    module = parse(text) if text.strip() else LoginModule("OAuthBearerLoginModule", {})
    if mechanism == "PLAIN":
        return Plain(module.option("username"), module.option("password"))
    if mechanism == "AWS_MSK_IAM":
        from kconf.client.auth.oauth import MskIam

        return MskIam(profile=module.options.get("awsProfileName"), role_arn=module.options.get("awsRoleArn"))
    if mechanism == "OAUTHBEARER":
        return _oauth(module, given)
    token_auth = module.options.get("tokenauth", "").lower() == "true"
    return Scram(module.option("username"), module.option("password"), mechanism, token_auth=token_auth)


def _oauth(module: LoginModule, given: Mapping[str, str]) -> OAuthBearer:
    """Client credentials if a token endpoint is configured, otherwise Kafka's unsecured tokens for development."""
    from kconf.client.auth.oauth import ClientCredentials, unsecured

    extensions = {
        name.removeprefix("extension_"): value
        for name, value in module.options.items()
        if name.startswith("extension_")
    }
    handler = given.get("sasl.login.callback.handler.class", "")
    if "iam" in handler.lower() and "msk" in handler.lower():
        from kconf.client.auth.oauth import MskIam

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

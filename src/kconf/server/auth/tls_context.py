"""TLS on the server's side: the context of a listener, and the principal that a client's certificate stands for.

The principal is the certificate's subject (security/x509_names.py), sent through `ssl.principal.mapping.rules`:
RULE:pattern/replacement/[LU] in turn, or DEFAULT.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from kconf.errors import ConfigurationError
from kconf.security.keystores import key_material, trusted
from kconf.security.tls import Tls
from kconf.server.listener_config import EndPoint, SecurityProtocol

if TYPE_CHECKING:
    from ssl import SSLContext

    from kconf.security.x509_names import Identity
    from kconf.server.auth.tls_alerts import AlertingSslContext


def server_context(endpoint: EndPoint, effective: Mapping[str, str]) -> AlertingSslContext:
    """A new context from the `ssl.*` settings that hold for a listener. TLS 1.2 and up."""
    import ssl

    from kconf.security.x509_names import Identity
    from kconf.server.auth.tls_alerts import AlertingSslContext

    given = endpoint.settings(effective, "ssl.")
    if given.get("ssl.engine.factory.class"):
        raise ConfigurationError(f"listener {endpoint.name}: ssl.engine.factory.class is a Java class")
    try:
        chain, key, password = key_material(given)
        if chain is None:
            raise ConfigurationError("TLS needs ssl.keystore.location, or ssl.keystore.certificate.chain and .key")
        protocols = tuple(each.strip() for each in given.get("ssl.enabled.protocols", "").split(",") if each.strip())
        tls = Tls(certificate=chain, key=key, key_password=password, versions=protocols)
        context = AlertingSslContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE | ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
        tls.limit(context)
        _limit_ciphers(context, given.get("ssl.cipher.suites", ""))
        tls.identify(context)
        context.identity = Identity.of(chain)
        _ask_for_certificates(context, endpoint, effective, given)
    except ConfigurationError as error:
        raise ConfigurationError(f"listener {endpoint.name}: {error}") from None
    except ssl.SSLError as error:
        raise ConfigurationError(f"listener {endpoint.name}: TLS cannot be set up: {error.reason or error}") from None
    return context


def check_same_identity(
    old: Identity | None, new: Identity | None, endpoint: EndPoint, effective: Mapping[str, str]
) -> None:
    """Refuse a certificate for another name, as Kafka does, unless the settings allow it."""
    if old is None or new is None:
        return

    def allowed(what: str) -> bool:
        return (endpoint.setting(effective, f"ssl.allow.{what}.changes") or "false").strip().lower() == "true"

    if new.subject != old.subject and not allowed("dn"):
        raise ConfigurationError(
            f"listener {endpoint.name}: the new certificate is for {new.subject}, the old one for {old.subject}; "
            "ssl.allow.dn.changes allows it"
        )
    if not new.alternatives >= old.alternatives and not allowed("san"):
        raise ConfigurationError(
            f"listener {endpoint.name}: the new certificate lacks alternative names of the old one; "
            "ssl.allow.san.changes allows it"
        )


def _ask_for_certificates(
    context: SSLContext, endpoint: EndPoint, effective: Mapping[str, str], given: Mapping[str, str]
) -> None:
    import ssl

    wanted = given.get("ssl.client.auth", "none").strip().lower()
    if endpoint.protocol is SecurityProtocol.SASL_SSL:
        # As in Kafka: a SASL client is asked for a certificate only if the listener's own setting says so.
        wanted = effective.get(endpoint.prefixed("ssl.client.auth"), "none").strip().lower()
    modes = {"required": ssl.CERT_REQUIRED, "requested": ssl.CERT_OPTIONAL, "none": ssl.CERT_NONE}
    if wanted not in modes:
        raise ConfigurationError("ssl.client.auth is required, requested or none")
    context.verify_mode = modes[wanted]
    if wanted == "none":
        return
    certificates = trusted(given)
    if certificates is None:
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
    else:
        Tls(ca=certificates).trust(context)


def _limit_ciphers(context: SSLContext, text: str) -> None:
    """Java's names, or OpenSSL's. TLS 1.3 has its own suites, which are all good and stay."""
    names = [each.strip() for each in text.split(",") if each.strip()]
    old = [_openssl_name(each) for each in names if not re.fullmatch(r"TLS_(AES|CHACHA20)_\w+", each)]
    if old:
        context.set_ciphers(":".join(old))


def _openssl_name(name: str) -> str:
    if not name.startswith("TLS_"):
        return name
    short = re.sub(r"(AES|CAMELLIA|ARIA)_(\d+)", r"\1\2", name.removeprefix("TLS_").replace("_WITH_", "_"))
    return short.replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305").replace("_CBC_", "_").replace("_", "-")


# -- mapping rules -------------------------------------------------------------------------------------------------

_RULE: Final = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<to>(?:\\.|[^\\/])*)/(?P<case>[LU]?))\s*(?:,|\n|$)"
)


class _Rule(NamedTuple):
    pattern: re.Pattern[str] | None  # None: the name as it is
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        match = self.pattern.fullmatch(name)
        if match is None:
            return None
        found = re.sub(r"\\(.)|\$(\d)", lambda each: each[1] or match[int(each[2])] or "", self.replacement)
        return found.lower() if self.case == "L" else found.upper() if self.case == "U" else found


class PrincipalRules:
    """`ssl.principal.mapping.rules`: the first rule that fits gives the name; where none does, nobody gets in."""

    def __init__(self, rules: list[_Rule]) -> None:
        self._rules = rules

    @classmethod
    def parse(cls, text: str) -> PrincipalRules:
        rules: list[_Rule] = []
        position = 0
        text = text.strip()
        while position < len(text):
            match = _RULE.match(text, position)
            if match is None:
                raise ConfigurationError("ssl.principal.mapping.rules: a rule reads RULE:pattern/replacement/[LU]")
            if match["default"]:
                rules.append(_Rule(None))
            else:
                rules.append(_Rule(_compiled(match["pattern"], match["to"]), match["to"], match["case"]))
            position = match.end()
        return cls(rules or [_Rule(None)])

    def apply(self, name: str) -> str | None:
        return next((found for found in (rule.apply(name) for rule in self._rules) if found is not None), None)


def _compiled(pattern: str, replacement: str) -> re.Pattern[str]:
    try:
        made = re.compile(pattern.replace("\\/", "/"))
    except re.error as error:
        raise ConfigurationError(f"ssl.principal.mapping.rules: {error}") from None
    wanted = [int(each) for each in re.findall(r"(?<!\\)\$(\d)", replacement)]
    if any(each > made.groups for each in wanted):
        raise ConfigurationError("ssl.principal.mapping.rules: a replacement names a group that its pattern lacks")
    return made

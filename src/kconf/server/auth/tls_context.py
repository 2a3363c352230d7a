"""TLS on the server side: the context of a listener, and the principal of a client certificate.

The principal is the certificate's subject (security/x509_names.py) after `ssl.principal.mapping.rules`: the first
matching RULE:pattern/replacement/[LU], or DEFAULT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from kconf.errors import ConfigurationError
from kconf.security.allowed_files import ReadFile
from kconf.security.keystores import key_material, trusted
from kconf.security.tls import Tls, ssl_reason
from kconf.server.listener_config import EndPoint, SecurityProtocol

if TYPE_CHECKING:
    from ssl import SSLContext

    from kconf.security.x509_names import Identity
    from kconf.server.auth.tls_alerts import AlertingSslContext

_CLIENT_AUTH: Final = "ssl.client.auth"
# Names and OpenSSL's operators, but no @SECLEVEL: level 0 includes suites without certificates.
_CIPHER_NAME: Final = re.compile(r"[A-Za-z0-9_:!+-]{1,500}")


class TlsMaterial(NamedTuple):
    """The content of a listener's stores, as PEM. `trusted` None: client certificates are verified with the system's
    CAs.
    """

    chain: str
    key: str | None
    key_password: str | None
    trusted: str | None

    def __repr__(self) -> str:
        return "TlsMaterial([hidden])"


def tls_settings(endpoint: EndPoint, effective: Mapping[str, str]) -> dict[str, str]:
    """All `ssl.*` settings that apply to a listener."""
    given = endpoint.settings(effective, "ssl.")
    if endpoint.protocol is SecurityProtocol.SASL_SSL:
        # As in Kafka, a SASL listener requests client certificates only if it has its own setting.
        given[_CLIENT_AUTH] = effective.get(endpoint.prefixed(_CLIENT_AUTH), "none")
    return given


def read_material(listener: str, given: Mapping[str, str], read: ReadFile) -> TlsMaterial:
    """Read the stores in a listener's settings. Raises ConfigurationError."""
    with _explained(listener):
        if given.get("ssl.engine.factory.class"):
            raise ConfigurationError("ssl.engine.factory.class is a Java class, which kconf cannot run; remove it")
        chain, key, password = key_material(given, read)
        if chain is None:
            raise ConfigurationError(
                "TLS needs ssl.keystore.location, or ssl.keystore.certificate.chain and ssl.keystore.key"
            )
        return TlsMaterial(chain, key, password, None if _client_auth(given) == "none" else trusted(given, read))


def new_context(listener: str, given: Mapping[str, str], material: TlsMaterial) -> AlertingSslContext:
    """Create a context from a listener's settings and stores. TLS 1.2 or higher. Raises ConfigurationError."""
    import ssl

    from kconf.security.x509_names import Identity
    from kconf.server.auth.tls_alerts import AlertingSslContext

    with _explained(listener):
        protocols = tuple(each.strip() for each in given.get("ssl.enabled.protocols", "").split(",") if each.strip())
        tls = Tls(certificate=material.chain, key=material.key, key_password=material.key_password, versions=protocols)
        context = AlertingSslContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE | ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
        tls.limit(context)
        _limit_ciphers(context, given.get("ssl.cipher.suites", ""))
        tls.identify(context)
        context.identity = Identity.of(material.chain)
        _ask_for_certificates(context, _client_auth(given), material.trusted)
    return context


@contextmanager
def _explained(listener: str) -> Iterator[None]:
    """Convert errors to ConfigurationError, with the name of the listener."""
    import ssl

    try:
        yield
    except ConfigurationError as error:
        raise ConfigurationError(f"listener {listener}: {error}") from None
    except ssl.SSLError as error:
        raise ConfigurationError(f"listener {listener}: TLS cannot be set up: {ssl_reason(error)}") from None
    except ValueError:  # raised by Python before it calls OpenSSL
        raise ConfigurationError(f"listener {listener}: the certificate, its key or a password is not valid") from None


def check_same_identity(old: Identity | None, new: Identity | None, listener: str, given: Mapping[str, str]) -> None:
    """Refuse a certificate with other names, as Kafka does, unless the settings allow it."""
    if old is None or new is None:
        return

    def allowed(what: str) -> bool:
        return given.get(f"ssl.allow.{what}.changes", "false").strip().lower() == "true"

    if new.canonical != old.canonical and not allowed("dn"):
        raise ConfigurationError(
            f"listener {listener}: the new certificate is for {new.subject}, the old one for {old.subject}; set "
            "ssl.allow.dn.changes=true to allow this"
        )
    if not new.alternatives >= old.alternatives and not allowed("san"):
        raise ConfigurationError(
            f"listener {listener}: the new certificate lacks alternative names of the old one; set "
            "ssl.allow.san.changes=true to allow this"
        )


def _client_auth(given: Mapping[str, str]) -> str:
    wanted = given.get(_CLIENT_AUTH, "none").strip().lower()
    if wanted not in ("required", "requested", "none"):
        raise ConfigurationError("ssl.client.auth must be required, requested or none")
    return wanted


def _ask_for_certificates(context: SSLContext, wanted: str, certificates: str | None) -> None:
    import ssl

    context.verify_mode = {"required": ssl.CERT_REQUIRED, "requested": ssl.CERT_OPTIONAL}.get(wanted, ssl.CERT_NONE)
    if wanted == "none":
        return
    if certificates is None:
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
    else:
        Tls(ca=certificates).trust(context)


def _limit_ciphers(context: SSLContext, text: str) -> None:
    """Set the TLS 1.2 cipher suites, by Java's or OpenSSL's names. All TLS 1.3 suites stay enabled."""
    import ssl

    names = [each.strip() for each in text.split(",") if each.strip()]
    old = [_openssl_name(each) for each in names if not re.fullmatch(r"TLS_(AES|CHACHA20)_\w+", each)]
    if not old:
        return
    refused = ConfigurationError("ssl.cipher.suites contains no supported cipher suite")
    if not all(_CIPHER_NAME.fullmatch(each) for each in old):
        raise refused
    try:
        context.set_ciphers(":".join(old))
    except ssl.SSLError:
        raise refused from None


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
    pattern: re.Pattern[str] | None  # None: the name is not changed
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
    """`ssl.principal.mapping.rules`: the first matching rule sets the name. A client is rejected if none matches."""

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
                raise ConfigurationError(
                    "ssl.principal.mapping.rules: a rule must be DEFAULT or RULE:pattern/replacement/[LU]"
                )
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
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigurationError(f"ssl.principal.mapping.rules: {error}") from None
    wanted = [int(each) for each in re.findall(r"(?<!\\)\$(\d)", replacement)]
    if any(each > made.groups for each in wanted):
        raise ConfigurationError("ssl.principal.mapping.rules: a replacement refers to a group that its pattern lacks")
    return made

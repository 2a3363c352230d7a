"""What the settings of a listener say about who may come in there: by which login, and under which name.

They change with a restart only, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from hmac import digest
from typing import TYPE_CHECKING, Final

from kconf.errors import ConfigurationError, RemoteProtocolError
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.resource import Resource
from kconf.security.jaas import parse
from kconf.server.auth.dummy_credentials import DummyCredentials
from kconf.server.auth.mechanisms import MECHANISMS, PLAIN, SaslConfig
from kconf.server.network.listener_config import EndPoint
from kconf.service import Service

if TYPE_CHECKING:
    from kconf.server.api.router import ConnectionContext

_SALTS: Final = Change(ChangeKind.CONFIG, Resource.brokers(), "", None, "salts of unknown users", "set", sensitive=True)


class ConnectionRejected(RemoteProtocolError):
    """Someone who may not come in, whatever they say."""

    def __init__(self, peer: ConnectionContext, why: str) -> None:
        super().__init__(why)
        self.peer = peer


def sasl_config_of(listener: EndPoint, service: Service) -> SaslConfig:
    """What the static layer says about logging in at a listener."""
    effective = service.state.ladder.effective
    text = listener.setting(effective, "sasl.enabled.mechanisms") or "GSSAPI"
    mechanisms = tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    unknown = [each for each in mechanisms if each not in MECHANISMS]
    if unknown or not mechanisms:
        raise ConfigurationError(
            f"listener {listener.name}: sasl.enabled.mechanisms has {', '.join(unknown) or 'nothing'}; "
            f"kconf has {', '.join(MECHANISMS)}"
        )
    for mechanism in mechanisms:
        name = f"{mechanism.lower()}.sasl.server.callback.handler.class"
        if listener.setting(effective, name):
            raise ConfigurationError(f"listener {listener.name}: {name} asks for a Java class, which kconf cannot call")
    ladder = service.state.ladder
    delay = listener.setting(effective, "connection.failed.authentication.delay.ms")
    largest = listener.setting(effective, "sasl.server.max.receive.size")
    return SaslConfig(
        mechanisms,
        _plain_users(listener, effective) if PLAIN in mechanisms else {},
        lambda: service.state.snapshot,
        {each: _lifetime(listener, effective, each) for each in mechanisms},
        (int(delay) if delay else ladder.number("connection.failed.authentication.delay.ms")) / 1000,
        int(largest) if largest else ladder.number("sasl.server.max.receive.size"),
        _decoys(service),
    )


def _plain_users(listener: EndPoint, effective: Mapping[str, str]) -> dict[str, str]:
    name = "plain.sasl.jaas.config"
    text = listener.setting(effective, name)
    if text is None:
        raise ConfigurationError(f"listener {listener.name}: PLAIN needs {listener.prefixed(name)} with its users")
    options = parse(text).options
    return {key.removeprefix("user_"): value for key, value in options.items() if key.startswith("user_")}


def _lifetime(listener: EndPoint, effective: Mapping[str, str], mechanism: str) -> int:
    key = "connections.max.reauth.ms"
    text = listener.setting(effective, f"{mechanism.lower()}.{key}") or listener.setting(effective, key) or "0"
    try:
        return int(text)
    except ValueError:
        raise ConfigurationError(f"listener {listener.name}: {key} is a number of milliseconds") from None


def _decoys(service: Service) -> DummyCredentials:
    """Their key is the same for as long as the store lives, so that a restart does not tell who exists."""
    (sealed,) = service.store.redact(Revision(0, 0, RequestContext(), (_SALTS,))).changes
    made = DummyCredentials(digest((sealed.after or "").encode(), b"salts", sha256), service.state.snapshot)
    service.subscribe(made.follow)
    return made


def principal_mapping_of(listener: EndPoint, service: Service) -> Callable[[bytes], str | None]:
    """From a client's certificate (DER) to its principal; None: no rule fits. Raises ValueError if it is not DER."""
    from kconf.security.x509_names import subject_of
    from kconf.server.auth.tls_context import PrincipalRules

    text = listener.setting(service.state.ladder.effective, "ssl.principal.mapping.rules")
    rules = PrincipalRules.parse(text or "DEFAULT")

    def name(der: bytes) -> str | None:
        found = rules.apply(subject_of(der))
        return None if found is None else f"User:{found}"

    return name

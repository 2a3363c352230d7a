"""Data about dynamic broker keys, and about keys with a listener prefix.

`listener.name.<listener>.<key>` sets a key for one listener, `listener.name.<listener>.<mechanism>.<key>` for one SASL
mechanism of it. This module has only data; the engine checks changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kconf.configdef.broker import BROKER
from kconf.configdef.group import GROUP
from kconf.configdef.key import ConfigDef, UpdateMode
from kconf.configdef.learned import learned_key
from kconf.configdef.topic import TOPIC
from kconf.model.resource import ResourceType

DYNAMIC: Final = frozenset(name for name, key in BROKER.items() if key.mode is not UpdateMode.READ_ONLY)
PER_BROKER: Final = frozenset(name for name, key in BROKER.items() if key.mode is UpdateMode.PER_BROKER)
CLUSTER_WIDE: Final = DYNAMIC - PER_BROKER
PASSWORDS: Final = tuple(name for name, key in BROKER.items() if key.sensitive and name in DYNAMIC)

# Refused without a listener prefix.
SSL_STORES: Final = frozenset(
    [
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    ]
)

# The only keys that may have a listener prefix in the cluster-wide default, too.
PREFIXED_CLUSTER_WIDE: Final = frozenset(["max.connection.creation.rate", "max.connections", "num.network.threads"])

# The keys that can change for an existing listener; its other prefixed keys keep their values.
LISTENER_MAY_CHANGE: Final = SSL_STORES | PREFIXED_CLUSTER_WIDE

# Keys without a listener prefix whose change makes the broker reload its listeners.
LISTENER_KEYS: Final = (PER_BROKER - SSL_STORES - {"cordoned.log.dirs"}) | PREFIXED_CLUSTER_WIDE

# At least 1, at least half and at most twice the current number.
THREAD_POOLS: Final = frozenset(
    [
        "background.threads",
        "log.cleaner.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
        "remote.log.manager.copier.thread.pool.size",
        "remote.log.manager.expiration.thread.pool.size",
        "remote.log.manager.follower.thread.pool.size",
        "remote.log.reader.threads",
    ]
)

# A change must be above 0, although the validator accepts 0.
ABOVE_ZERO: Final = frozenset(["max.connection.creation.rate", "max.connections"])

# The defaults of topic keys.
LOG_DEFAULTS: Final = frozenset(key.fallbacks[0].name for key in TOPIC.values() if key.fallbacks)

# Custom keys of the JMX reporter, whose values must be regular expressions.
JMX_FILTERS: Final = frozenset(["metrics.jmx.exclude", "metrics.jmx.include"])

# Keys that may have a listener and mechanism prefix.
MECHANISM_KEYS: Final = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)

# Keys that control authentication. They may have a listener and mechanism prefix.
AUTHENTICATION: Final = frozenset(
    [
        "allow.everyone.if.no.acl.found",
        "authorizer.class.name",
        "connections.max.reauth.ms",
        "principal.builder.class",
        "sasl.client.callback.handler.class",
        "sasl.enabled.mechanisms",
        "sasl.jaas.config",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.principal.to.local.rules",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "sasl.mechanism.inter.broker.protocol",
        "sasl.server.callback.handler.class",
        "security.providers",
        "ssl.allow.dn.changes",
        "ssl.allow.san.changes",
        "ssl.client.auth",
        "ssl.engine.factory.class",
        "ssl.principal.mapping.rules",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
        "super.users",
    ]
)
_AUTHENTICATION_SUFFIXES: Final = tuple(f".{name}" for name in AUTHENTICATION)
# a listener may require no authentication
_LISTENERS: Final = frozenset(["listener.security.protocol.map", "listeners"])
_OAUTH: Final = "sasl.oauthbearer."

LISTENER_NAME: Final = re.compile(r"listener\.name\.[^.]*\.(.*)")


def _bounds(keys: ConfigDef) -> dict[str, tuple[str | None, str | None]]:
    return {name: key.range_keys for name, key in keys.items() if key.range_keys != (None, None)}


# Broker keys whose values are the minimum and maximum of a group key or its broker default.
GROUP_BOUNDS: Final[Mapping[str, tuple[str | None, str | None]]] = _bounds(GROUP)
BROKER_BOUNDS: Final[Mapping[str, tuple[str | None, str | None]]] = _bounds(BROKER)

# The first must be greater than the second, also for the broker keys with the prefix "group.".
SESSION_OVER_HEARTBEAT: Final = tuple(
    (f"{protocol}.session.timeout.ms", f"{protocol}.heartbeat.interval.ms")
    for protocol in ("consumer", "share", "streams")
)


def is_password_name(name: str) -> bool:
    """Whether a stored key is a password: its name ends with a dynamic PASSWORD key."""
    return name.endswith(PASSWORDS)


def is_authentication_key(name: str) -> bool:
    """Whether a broker key, possibly with a listener and mechanism prefix, controls authentication."""
    if name in AUTHENTICATION or name in _LISTENERS:
        return True
    return name.endswith(_AUTHENTICATION_SUFFIXES) or _OAUTH in name


def without_listener(name: str) -> str:
    """The name without `listener.name.<listener>.`, but with the mechanism, if any."""
    match = LISTENER_NAME.fullmatch(name)
    return match[1] if match else name


def base_name(name: str) -> str:
    """The name without its listener and mechanism prefix, if any."""
    match = LISTENER_NAME.fullmatch(name)
    if match is None:
        return name
    return next((key for key in MECHANISM_KEYS if match[1].endswith(key)), match[1])


_ALIASES: Final = {
    name: tuple(fallback.name for fallback in key.fallbacks) for name, key in BROKER.items() if key.fallbacks
}


def broker_synonyms(name: str) -> tuple[str, ...]:
    """The names under which a broker key is looked up at each source, in order of precedence."""
    aliases = _ALIASES.get(name)
    if aliases is not None:
        return aliases
    return (name, base_name(name)) if LISTENER_NAME.fullmatch(name) else (name,)


def is_broker_secret(key: str) -> bool:
    """Whether the value of a broker key must be encrypted: it is a PASSWORD, or unknown."""
    known = BROKER.get(key) or BROKER.get(base_name(key)) or learned_key(ResourceType.BROKER, key)
    return known is None or known.sensitive

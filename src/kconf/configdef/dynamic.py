"""Facts about broker keys that change while a broker runs, and about names with a listener in them.

`listener.name.<listener>.<key>` sets a key for one listener, `listener.name.<listener>.<mechanism>.<key>` for one
SASL mechanism of it. Data only: which of these a change breaks is the engine's to say.
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

# Refused without a listener's name before them.
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

# The only ones that may have a listener's name before them in the cluster's default, too.
PREFIXED_CLUSTER_WIDE: Final = frozenset(["max.connection.creation.rate", "max.connections", "num.network.threads"])

# What a listener that exists may change; of its other prefixed keys it keeps the values.
LISTENER_MAY_CHANGE: Final = SSL_STORES | PREFIXED_CLUSTER_WIDE

# Keys without a listener prefix whose change makes the broker reload its listeners.
LISTENER_KEYS: Final = (PER_BROKER - SSL_STORES - {"cordoned.log.dirs"}) | PREFIXED_CLUSTER_WIDE

# At least 1, at least half and at most twice the number in force.
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

# A change must be above 0, although 0 passes the check.
ABOVE_ZERO: Final = frozenset(["max.connection.creation.rate", "max.connections"])

# The cluster's defaults of topic keys.
LOG_DEFAULTS: Final = frozenset(key.fallbacks[0].name for key in TOPIC.values() if key.fallbacks)

# Custom keys of the JMX reporter, whose values must be regular expressions.
JMX_FILTERS: Final = frozenset(["metrics.jmx.exclude", "metrics.jmx.include"])

# Keys that may have listener and mechanism before them.
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


# The broker keys whose values are the least and the greatest that a group's key, or its broker default, may have.
GROUP_BOUNDS: Final[Mapping[str, tuple[str | None, str | None]]] = _bounds(GROUP)
BROKER_BOUNDS: Final[Mapping[str, tuple[str | None, str | None]]] = _bounds(BROKER)

# The first must be greater than the second; with group. before both, so must the broker's.
SESSION_OVER_HEARTBEAT: Final = tuple(
    (f"{protocol}.session.timeout.ms", f"{protocol}.heartbeat.interval.ms")
    for protocol in ("consumer", "share", "streams")
)


def is_password_name(name: str) -> bool:
    """Whether a stored name counts as a password: it ends with a dynamic key that is one."""
    return name.endswith(PASSWORDS)


def is_authentication_key(name: str) -> bool:
    """Whether a broker key controls authentication; it may have a listener and mechanism prefix."""
    if name in AUTHENTICATION or name in _LISTENERS:
        return True
    return name.endswith(_AUTHENTICATION_SUFFIXES) or _OAUTH in name


def without_listener(name: str) -> str:
    """The name behind `listener.name.<listener>.`, its mechanism, if any, still before it."""
    match = LISTENER_NAME.fullmatch(name)
    return match[1] if match else name


def base_name(name: str) -> str:
    """The key behind listener and mechanism; a name without a listener is its own."""
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
    """Whether the value of a broker's key is to be locked: it is a PASSWORD, or nobody knows what it is."""
    known = BROKER.get(key) or BROKER.get(base_name(key)) or learned_key(ResourceType.BROKER, key)
    return known is None or known.sensitive

"""Rules that the dynamic configs of a broker, or of all brokers, must satisfy.

Checked on the broker that receives the request, against the whole property set that the resource would have; the
resulting configuration of this node is then checked against the rules of each component. Every failure is
INVALID_REQUEST (Kafka's own inconsistency: topics get INVALID_CONFIG).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from kconf.configdef.broker import BROKER
from kconf.configdef.dynamic import (
    ABOVE_ZERO,
    BROKER_BOUNDS,
    JMX_FILTERS,
    LISTENER_KEYS,
    LISTENER_MAY_CHANGE,
    PREFIXED_CLUSTER_WIDE,
    SSL_STORES,
    THREAD_POOLS,
    without_listener,
)
from kconf.configdef.java.parsing import InvalidValue, parse
from kconf.configdef.java.regex import is_java_regex
from kconf.configdef.key import ConfigDef, UpdateMode
from kconf.configdef.validate import validate
from kconf.engine.configs.resolver import ConfigResolver
from kconf.errors import InvalidConfig, InvalidRequest
from kconf.model.entry import ValueType
from kconf.model.resource import Overrides
from kconf.util.slices import in_slices


def check_broker(resolver: ConfigResolver, resulting: Overrides, stored: Overrides, *, everywhere: bool) -> None:
    """Refuse values with which a broker could not run."""
    _check_names(resolver, resulting, everywhere)
    _check_values(resolver, resulting)
    would_be = resolver.with_level(resulting, everywhere=everywhere)
    names = resulting.keys() | stored.keys()
    moved = {name for name in in_slices(names) if resulting.get(name) != stored.get(name)}
    moved -= BROKER.keys() - resolver.catalog.broker.keys()  # a key of a later release is a custom one here
    for rule in _RULES:
        rule(resolver, would_be, moved)


def _check_names(resolver: ConfigResolver, resulting: Collection[str], everywhere: bool) -> None:
    keys = resolver.catalog.broker
    fixed = sorted(name for name in in_slices(resulting) if name in keys and name not in resolver.catalog.dynamic)
    if fixed:
        raise InvalidRequest(f"these cannot be changed while a broker runs: {', '.join(fixed)}")
    bare = sorted(name for name in in_slices(resulting) if name in SSL_STORES)
    if bare:
        raise InvalidRequest(f"these need a listener prefix (listener.name.<listener>.): {', '.join(bare)}")
    if everywhere:
        own = sorted(name for name in in_slices(resulting) if _per_broker_only(name, keys))
        if own:
            raise InvalidRequest(f"these can be set for one broker only, not for all: {', '.join(own)}")


def _per_broker_only(name: str, keys: ConfigDef) -> bool:
    base = without_listener(name)
    if base != name:
        return base not in PREFIXED_CLUSTER_WIDE
    return name in keys and keys[name].mode is UpdateMode.PER_BROKER


def _check_values(resolver: ConfigResolver, resulting: Overrides) -> None:
    for name, text in in_slices(resulting.items()):
        base = without_listener(name)
        key = resolver.catalog.broker.get(base)
        if key is not None and base in resolver.catalog.dynamic:
            try:
                validate(key, text)
            except InvalidConfig as error:
                raise InvalidRequest(error.message) from None


Rule = Callable[[ConfigResolver, ConfigResolver, set[str]], None]
"""(the values now, the values after the change, the names of the keys that change)"""


def _threads(now: ConfigResolver, then: ConfigResolver, moved: set[str]) -> None:
    for name in THREAD_POOLS & moved - {_NETWORK}:
        _check_pool(name, now.number(name), then.number(name))


def _check_pool(name: str, old: int, new: int) -> None:
    if new == old:
        return
    if new < 1:
        raise InvalidRequest(f"{name} must be at least 1: {new}")
    if not old // 2 <= new <= old * 2:
        raise InvalidRequest(f"{name} is {old} and can at most be halved or doubled in one step: {new}")


_NETWORK = "num.network.threads"  # each listener has its own pool


def _listener_limits(now: ConfigResolver, then: ConfigResolver, moved: set[str]) -> None:
    """The value for each listener for clients: its own prefixed config, otherwise the one for all listeners."""
    if not any(name.endswith((_NETWORK, *ABOVE_ZERO)) for name in in_slices(moved)):
        return
    controllers = {name.upper() for name in _items(now.value("controller.listener.names"))}
    for listener in _listener_names(now.value("listeners")):
        if listener in controllers:
            continue
        prefix = f"listener.name.{listener.lower()}."
        if moved & {_NETWORK, prefix + _NETWORK}:
            _check_pool(prefix + _NETWORK, *(_listener_number(each, prefix, _NETWORK) for each in (now, then)))
        for name in ABOVE_ZERO:
            if prefix + name in moved and _listener_number(then, prefix, name) < 1:
                raise InvalidRequest(f"{prefix}{name} must be at least 1")


def _listener_number(resolver: ConfigResolver, prefix: str, name: str) -> int:
    own = resolver.effective.get(prefix + name)
    try:
        return resolver.number(name) if own is None else int(own)
    except ValueError:  # server.properties may contain anything after a listener prefix
        return resolver.number(name)


def _cleaner(_now: ConfigResolver, then: ConfigResolver, moved: set[str]) -> None:
    if moved & {"log.cleaner.threads", "log.cleaner.dedupe.buffer.size"}:
        threads, size = then.number("log.cleaner.threads"), then.number("log.cleaner.dedupe.buffer.size")
        if threads < 1 or size // threads <= 1024 * 1024:
            raise InvalidRequest(
                f"log.cleaner.dedupe.buffer.size ({size}) must provide more than 1 MiB for each of {threads} cleaner "
                "threads"
            )


def _retention(_now: ConfigResolver, then: ConfigResolver, moved: set[str]) -> None:
    if "log.retention.ms" in moved and then.inherited["retention.ms"].value == "0":
        raise InvalidRequest("log.retention.ms must be -1 or at least 1")
    for unit in ("bytes", "ms"):
        if moved & {f"log.retention.{unit}", f"log.local.retention.{unit}"}:
            total = int(then.inherited[f"retention.{unit}"].value or -1)
            local = int(then.inherited[f"local.retention.{unit}"].value or -2)
            if total > -1 and local != -2 and (local == -1 or local > total):
                raise InvalidRequest(
                    f"log.local.retention.{unit} must be -2 or not above log.retention.{unit} ({total})"
                )


def _rolls(_now: ConfigResolver, then: ConfigResolver, moved: set[str]) -> None:
    for name, topic_key, least in (("log.roll.ms", "segment.ms", 1), ("log.roll.jitter.ms", "segment.jitter.ms", 0)):
        if name in moved and int(then.inherited[topic_key].value or least) < least:
            raise InvalidRequest(f"{name} must be at least {least}: {then.inherited[topic_key].value}")


def _remote(now: ConfigResolver, then: ConfigResolver, moved: set[str]) -> None:
    for name in moved & {
        "remote.log.index.file.cache.total.size.bytes",
        "remote.log.manager.copy.max.bytes.per.second",
        "remote.log.manager.fetch.max.bytes.per.second",
    }:
        if then.number(name) < 1 and then.number(name) != now.number(name):
            raise InvalidRequest(f"{name} must be at least 1: {then.number(name)}")


def _intervals(_now: ConfigResolver, then: ConfigResolver, moved: set[str]) -> None:
    for name, (lowest, highest) in BROKER_BOUNDS.items():
        if name not in moved:
            continue
        value = then.number(name)
        if (lowest and value < then.number(lowest)) or (highest and value > then.number(highest)):
            raise InvalidRequest(f"{name} must be between {lowest} and {highest}: {value}")


def _connections(_now: ConfigResolver, then: ConfigResolver, moved: set[str]) -> None:
    if "max.connections.per.ip.overrides" in moved:
        _check_ip_overrides(then.effective.get("max.connections.per.ip.overrides", ""))
    if moved & {"max.connections.per.ip", "max.connections.per.ip.overrides"}:
        overrides = (then.effective.get("max.connections.per.ip.overrides") or "").strip()
        if then.number("max.connections.per.ip") == 0 and not overrides:
            raise InvalidRequest("max.connections.per.ip=0 requires max.connections.per.ip.overrides")
    for name in moved & ABOVE_ZERO:
        if then.number(name) < 1:
            raise InvalidRequest(f"{name} must be at least 1: {then.number(name)}")


# An empty host is the local one, as in Java.
_HOST = re.compile(r"([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)?|\[?[0-9a-fA-F:]*:[0-9a-fA-F:.]*\]?")


def _check_ip_overrides(text: str) -> None:
    for item in _items(text):
        try:
            read_ip_override(item)
        except ValueError:
            raise InvalidRequest(f"max.connections.per.ip.overrides takes host:count items: {item[:200]}") from None


def read_ip_override(item: str) -> tuple[str, int]:
    """A host and its number of connections. Raises ValueError."""
    host, colon, count = item.rpartition(":")
    if not colon or not _HOST.fullmatch(host.strip()):
        raise InvalidValue("must be host:count")
    return host.strip(), int(parse(ValueType.INT, count))  # type: ignore[arg-type]  # an INT


def _log_dirs(_now: ConfigResolver, then: ConfigResolver, moved: set[str]) -> None:
    if "cordoned.log.dirs" not in moved:
        return
    cordoned = set(_items(then.effective.get("cordoned.log.dirs")))
    known = _items(then.value("log.dirs")) or _items(then.value("log.dir"))
    if cordoned != {"*"} and not cordoned <= set(known):
        raise InvalidRequest("cordoned.log.dirs must name log directories of this broker, or be exactly *")


def _jmx(_now: ConfigResolver, then: ConfigResolver, moved: set[str]) -> None:
    for name in moved & JMX_FILTERS:
        text = then.effective.get(name)
        if text is not None and not is_java_regex(text):
            raise InvalidRequest(f"{name} must be a valid regular expression")


_REPORTERS = frozenset(["org.apache.kafka.common.metrics.JmxReporter"])  # the only one that Kafka ships


def _reporters(_now: ConfigResolver, then: ConfigResolver, moved: set[str]) -> None:
    if "metric.reporters" in moved:
        unknown = sorted(set(_items(then.value("metric.reporters"))) - _REPORTERS)
        if unknown:
            raise InvalidRequest(f"metric.reporters contains unknown metrics reporters: {', '.join(unknown)}")


_PRINCIPAL_BUILDERS = frozenset(["org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"])


def _principals(_now: ConfigResolver, then: ConfigResolver, moved: set[str]) -> None:
    if "principal.builder.class" in moved and then.value("principal.builder.class") not in _PRINCIPAL_BUILDERS:
        raise InvalidRequest("principal.builder.class must be a class that implements KafkaPrincipalSerde")


_ENDPOINT = re.compile(r"([A-Za-z0-9_-]+)://(.*):(-?[0-9]+)")


def _listeners(now: ConfigResolver, then: ConfigResolver, moved: set[str]) -> None:
    if not moved & LISTENER_KEYS:
        return
    names = _listener_names(then.value("listeners"))
    known = _protocols(then.value("listener.security.protocol.map"))
    for name in names:
        if name not in known:
            raise InvalidRequest(f"listener {name} has no entry in listener.security.protocol.map")
    advertised = then.effective.get("advertised.listeners")
    if advertised is not None and not set(_listener_names(advertised)) <= set(names):
        raise InvalidRequest("the listener names of advertised.listeners must be a subset of those of listeners")
    controllers = {name.upper() for name in _items(then.value("controller.listener.names"))}
    if "controller" in _items(then.value("process.roles")) and controllers.isdisjoint(names):
        raise InvalidRequest("a controller needs one of controller.listener.names among its listeners")
    before = _protocols(now.value("listener.security.protocol.map"))
    for name in _listener_names(now.value("listeners")):
        if name in names and before.get(name) != known.get(name):
            raise InvalidRequest(f"the security protocol of listener {name} cannot be changed while it runs")
        if name in names:
            _check_kept(now, then, name)


def _check_kept(now: ConfigResolver, then: ConfigResolver, listener: str) -> None:
    """The prefixed configs of a running listener cannot change, except key stores and connection limits."""
    prefix = f"listener.name.{listener.lower()}."
    for name, text in then.effective.items():
        if name.startswith(prefix) and name[len(prefix) :] not in LISTENER_MAY_CHANGE and now.static.get(name) != text:
            raise InvalidRequest(f"{name} cannot be changed while the listener runs")


def _listener_names(text: str | None) -> list[str]:
    found = []
    for item in _items(text):
        match = _ENDPOINT.fullmatch(item)
        if match is None:
            raise InvalidRequest(f"a listener must be NAME://host:port: {item}")
        found.append(match[1].upper())
    if len(set(found)) < len(found):
        raise InvalidRequest("listener names must be unique")
    return found


def _protocols(text: str | None) -> dict[str, str]:
    pairs = (item.partition(":") for item in _items(text))
    return {name.strip().upper(): protocol.strip().upper() for name, _, protocol in pairs}


def _items(text: str | None) -> list[str]:
    return [item.strip() for item in (text or "").split(",") if item.strip()]


_RULES: tuple[Rule, ...] = (
    _cleaner,
    _threads,
    _listener_limits,
    _retention,
    _rolls,
    _remote,
    _intervals,
    _connections,
    _log_dirs,
    _jmx,
    _reporters,
    _principals,
    _listeners,
)

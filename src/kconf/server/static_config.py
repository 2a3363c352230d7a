"""The static layer: server.properties and what the command line lays over it.

kconf reads Kafka's own file. What would change who may do what, and what kconf cannot do, stops the start: silence
would leave a door open that the file says is shut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from errno import EADDRINUSE
from pathlib import Path

from kconf.configdef.broker import BROKER
from kconf.configdef.server_settings import check_settings
from kconf.configdef.validate import validate
from kconf.errors import ConfigurationError, InvalidConfig
from kconf.server.auth.authorizer import check_authorizer
from kconf.server.policy.manager import ALTER, CREATE
from kconf.util.java_properties import read_properties

_UNABLE = {"principal.builder.class": "a principal builder"}
_KAFKAS_OWN = ("org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",)
_OURS = frozenset([ALTER, CREATE])  # Python classes: server/policy/manager.py finds them, or says why not


@contextmanager
def naming(host: str, port: int) -> Iterator[None]:
    """Say of an address that cannot be listened on which it is, and why."""
    try:
        yield
    except (OSError, UnicodeError) as error:  # a host that cannot be a name is a UnicodeError
        why = getattr(error, "strerror", None) or error
        advice = "; --listen HOST:0 takes a free port" if getattr(error, "errno", None) == EADDRINUSE else ""
        raise ConfigurationError(f"cannot listen on {host}:{port}: {why}{advice}") from None


def load_static(path: Path | None, overrides: Iterable[str], *, node_id: int | None) -> dict[str, str]:
    """server.properties, then key=value overrides, then the node id; broker.id and node.id always agree."""
    static: dict[str, str] = {}
    if path is not None:
        try:
            static = read_properties(path.read_text("utf-8"))
        except OSError as error:
            raise ConfigurationError(f"cannot read {path}: {error.strerror}") from None
        except (ValueError, ConfigurationError) as error:
            raise ConfigurationError(f"{path}: {error}") from None
    for each in overrides:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise ConfigurationError(f"--override takes key=value: {each!r}")
        static[name.strip()] = value
    if node_id is not None:
        static["node.id"] = static["broker.id"] = str(node_id)
    for own, other in (("node.id", "broker.id"), ("broker.id", "node.id")):
        if own in static:
            static.setdefault(other, static[own])
    if static.get("node.id") != static.get("broker.id"):
        raise ConfigurationError("node.id and broker.id differ; give one of them, or the same number to both")
    return static


def node_id(static: Mapping[str, str]) -> int:
    """The id of this node; 1 where nothing names one."""
    text = static.get("node.id", "1")
    try:
        number = validate(BROKER["node.id"], text)
    except InvalidConfig as error:
        raise ConfigurationError(str(error)) from None
    assert isinstance(number, int)
    return number


def check_static(static: Mapping[str, str]) -> None:
    """Refuse what cannot be honoured, and values that their keys do not take."""
    check_authorizer(static)
    check_settings(static)
    for name, what in _UNABLE.items():
        if static.get(name, "").strip() not in ("", *_KAFKAS_OWN):
            raise ConfigurationError(f"{name} asks for {what}, which this version of kconf does not have")
    for name, text in static.items():
        key = BROKER.get(name)
        if key is not None and name not in _OURS:
            try:
                validate(key, text)
            except InvalidConfig as error:
                raise ConfigurationError(f"server.properties: {error}") from None

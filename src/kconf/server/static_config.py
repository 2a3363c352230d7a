"""The static configuration: server.properties, with overrides from the command line.

kconf reads Kafka's own file. If it contains an access control setting that kconf does not support, the server does not
start, because ignoring the setting would allow what the file denies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from kconf.configdef.broker import BROKER
from kconf.configdef.server_settings import (
    ACL_FILE,
    DELEGATION_TOKENS,
    FILE_DIRECTORIES,
    SCRAM_FILE,
    SCRAM_LOGINS,
    SERVER_SETTINGS,
    check_settings,
    flag_setting,
    text_setting,
)
from kconf.configdef.validate import validate
from kconf.errors import ConfigurationError, InvalidConfig
from kconf.model.resource import NO_OVERRIDES
from kconf.security.allowed_files import AllowedFiles
from kconf.store.base import STANDARD_AUTHORIZERS, UNNAMED_AUTHORIZER
from kconf.util.java_properties import read_properties

ALTER_POLICY: Final = "alter.config.policy.class.name"
CREATE_POLICY: Final = "create.topic.policy.class.name"
_PYTHON_CLASSES: Final = frozenset([ALTER_POLICY, CREATE_POLICY])  # checked by policy/loader.py, which loads them
_MISSPELLED: Final = {"alter.configs.policy.class.name": ALTER_POLICY, "create.topics.policy.class.name": CREATE_POLICY}
"""Misspelled keys, as in KIP-133. They are refused, because ignoring a policy would allow everything."""
_OF_GATEWAYS: Final = "gateway."
_PRINCIPAL_BUILDER: Final = "principal.builder.class"
_UNSUPPORTED: Final = {_PRINCIPAL_BUILDER: "a principal builder"}
_STORE_LOCATIONS: Final = ("ssl.keystore.location", "ssl.truststore.location")  # with or without a listener prefix
_AUTHORIZER: Final = "authorizer.class.name"
_AUTHORIZER_SETTINGS: Final = (_AUTHORIZER, "super.users", "allow.everyone.if.no.acl.found")
_MECHANISMS: Final = "sasl.enabled.mechanisms"
_CLIENT_AUTH: Final = "ssl.client.auth"
_MAPPING_RULES: Final = "ssl.principal.mapping.rules"
_DEFAULT_RULES: Final = "DEFAULT"
_SUBJECT_CLAIM: Final = "sasl.oauthbearer.sub.claim.name"
_DEFAULT_CLAIM: Final = "sub"
_DEFAULT_CLASSES: Final = ("org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",)


def load_static(path: Path | None, overrides: Iterable[str], *, node_id: int | None) -> dict[str, str]:
    """Load server.properties, apply key=value overrides, and set both broker.id and node.id to the node id."""
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
            raise ConfigurationError(f"--override requires key=value: {each!r}")
        static[name.strip()] = value
    if node_id is not None:
        static["node.id"] = static["broker.id"] = str(node_id)
    for own, other in (("node.id", "broker.id"), ("broker.id", "node.id")):
        if own in static:
            static.setdefault(other, static[own])
    if static.get("node.id") != static.get("broker.id"):
        raise ConfigurationError("node.id and broker.id differ; set only one of them, or both to the same number")
    return static


def node_id(static: Mapping[str, str]) -> int:
    """The node id, by default 1."""
    text = static.get("node.id", "1")
    try:
        number = validate(BROKER["node.id"], text)
    except InvalidConfig as error:
        raise ConfigurationError(str(error)) from None
    assert isinstance(number, int)
    return number


def allowed_files(static: Mapping[str, str]) -> AllowedFiles:
    """The files that dynamic broker configs may refer to."""
    directories = (each.strip() for each in text_setting(static, FILE_DIRECTORIES).split(","))
    paths = (value.strip() for name, value in static.items() if name.endswith(_STORE_LOCATIONS))
    return AllowedFiles.of(filter(None, directories), filter(None, paths))


def check_static(static: Mapping[str, str]) -> None:
    """Refuse access control settings that kconf does not support, and invalid values."""
    check_settings(static)
    for name, right in _MISSPELLED.items():
        if static.get(name, "").strip():
            raise ConfigurationError(f"{name} is not a Kafka key, so the policy would be disabled; use {right}")
    _check_gateway_names(static)
    for name, what in _UNSUPPORTED.items():
        if static.get(name, "").strip() not in ("", *_DEFAULT_CLASSES):
            raise ConfigurationError(f"{name} requires {what}, which kconf does not support")
    for name, text in static.items():
        key = BROKER.get(name)
        if key is not None and name not in _PYTHON_CLASSES:
            try:
                validate(key, text)
            except InvalidConfig as error:
                raise ConfigurationError(f"server.properties: {error}") from None


def _check_gateway_names(static: Mapping[str, str]) -> None:
    """Refuse misspelled settings of a gateway: ignoring one of its ACLs or logins could allow everything."""
    for name in static:
        if name.startswith(_OF_GATEWAYS) and name not in SERVER_SETTINGS:
            known = [each for each in SERVER_SETTINGS if each.startswith(_OF_GATEWAYS)]
            raise ConfigurationError(f"{name} is not a setting; the settings of a gateway are {', '.join(known)}")


def has_rights(own: Mapping[str, str]) -> bool:
    """Whether a gateway has ACLs of its own, or the settings to apply those of a cluster with an authorizer."""
    return bool(text_setting(own, ACL_FILE)) or not _missing_authorizer_settings(own)


def check_gateway(
    own: Mapping[str, str], authorizer: str | None, *, brokers: Mapping[str, str] = NO_OVERRIDES, reads_log: bool = True
) -> None:
    """Refuse a gateway whose clients would all have its rights, or could not log in.

    `authorizer` is that of the brokers, and `brokers` are their static configs. `reads_log`: the gateway follows the
    metadata log, which contains the SCRAM credentials.
    """
    if text_setting(own, ACL_FILE):
        if own.get(_AUTHORIZER, "").strip():
            raise ConfigurationError(
                f"{ACL_FILE} and {_AUTHORIZER} are both set; use either the file or the cluster's ACLs"
            )
    elif authorizer is not None:
        _check_authorizer_settings(own, authorizer)
        _check_principals(own, brokers, f"configure the gateway's own ACLs ({ACL_FILE})")
    if flag_setting(own, DELEGATION_TOKENS):
        _check_principals(own, brokers, f"remove {DELEGATION_TOKENS}, which makes the gateway act as its clients")
    _check_scram(own, reads_log=reads_log)


def _check_authorizer_settings(own: Mapping[str, str], authorizer: str) -> None:
    if authorizer not in STANDARD_AUTHORIZERS and authorizer != UNNAMED_AUTHORIZER:
        raise ConfigurationError(
            f"gateways do not support the cluster's authorizer {authorizer}: configure the gateway's own ACLs"
            f" ({ACL_FILE}). They are also required with {DELEGATION_TOKENS}=true, because the gateway answers reads"
            " from its own state, without asking the brokers"
        )
    missing = _missing_authorizer_settings(own)
    if missing:
        raise ConfigurationError(
            "the cluster has an authorizer, but does not show all of its settings: configure the gateway with the"
            f" brokers' {', '.join(missing)} (--config or --override), or with its own ACLs ({ACL_FILE}); without"
            " them, every client would have the gateway's rights"
        )


def _missing_authorizer_settings(own: Mapping[str, str]) -> list[str]:
    # Without a class there is no authorizer, so an empty one is missing. Empty super users are a valid setting.
    return [name for name in _AUTHORIZER_SETTINGS if name not in own or (name == _AUTHORIZER and not own[name].strip())]


def _check_principals(own: Mapping[str, str], brokers: Mapping[str, str], otherwise: str) -> None:
    """Refuse a gateway at which a client would have another principal than at the brokers.

    `otherwise`: what to do if the brokers' setting cannot be used.
    """
    builders = _values(brokers, _PRINCIPAL_BUILDER).difference(("", *_DEFAULT_CLASSES))
    if builders:
        raise ConfigurationError(
            f"the brokers have {_PRINCIPAL_BUILDER}={', '.join(sorted(builders))}, which kconf does not support, so a"
            f" client could have another principal at the gateway than at the brokers; {otherwise}"
        )
    for setting, default, is_used_by in (
        (_MAPPING_RULES, _DEFAULT_RULES, _accepts_certificates),
        (_SUBJECT_CLAIM, _DEFAULT_CLAIM, _accepts_tokens),
    ):
        if is_used_by(own):
            theirs = _values(brokers, setting) or ({default} if is_used_by(brokers) else set())
            _check_equal(_values(own, setting), theirs, setting, default, otherwise)


def _check_equal(ours: set[str], theirs: set[str], name: str, default: str, otherwise: str) -> None:
    """Refuse a gateway with another value than the brokers, if they have one.

    Listeners can have different values. An empty value is one that the brokers do not show.
    """
    are_equal = bool(ours) if "" in theirs else theirs >= (ours or {default})
    if theirs and not are_equal:
        raise ConfigurationError(
            f"the brokers have {name}={'; '.join(sorted(theirs))}, which determines the principals in the cluster's"
            f" ACLs: configure the gateway with the same value, or {otherwise}"
        )


def _accepts_certificates(configs: Mapping[str, str]) -> bool:
    return any(each.lower() in ("required", "requested") for each in _values(configs, _CLIENT_AUTH))


def _accepts_tokens(configs: Mapping[str, str]) -> bool:
    return any("OAUTHBEARER" in each for each in _values(configs, _MECHANISMS))


def _values(configs: Mapping[str, str], name: str) -> set[str]:
    """The values of a key, for all listeners or for one."""
    return {value.strip() for each, value in configs.items() if each == name or each.endswith(f".{name}")}


def _check_scram(own: Mapping[str, str], *, reads_log: bool) -> None:
    """Refuse a gateway that accepts SCRAM and has no credentials, or two kinds of them."""
    has_file, from_log = bool(text_setting(own, SCRAM_FILE)), flag_setting(own, SCRAM_LOGINS)
    if has_file and from_log:
        raise ConfigurationError(
            f"{SCRAM_FILE} and {SCRAM_LOGINS} are both set; use either the file or the cluster's SCRAM credentials"
        )
    for name, value in own.items():
        if not name.endswith(_MECHANISMS) or "SCRAM" not in value or has_file:
            continue
        if not reads_log:
            raise ConfigurationError(
                f"{name}={value}: without --controllers a gateway cannot authenticate the cluster's users with SCRAM,"
                " since only the metadata log contains their credentials; give the gateway its own SCRAM users"
                f" ({SCRAM_FILE}), or use PLAIN, OAUTHBEARER or TLS client certificates"
            )
        if not from_log:
            raise ConfigurationError(
                f"{name}={value}: set {SCRAM_LOGINS}=true to let the gateway read the SCRAM credentials of the"
                f" cluster's users from the metadata log, give the gateway its own SCRAM users ({SCRAM_FILE}), or use"
                " PLAIN, OAUTHBEARER or TLS client certificates"
            )

"""The settings of a kconf server that are not Kafka broker keys: one row each, and functions to read them.

To add a setting, add a row and read it with `int_setting`, `text_setting` or `flag_setting`. The server does not start
with a value out of bounds. `kconf explain --server` and docs/reference/server-settings.md list the table. The settings
of Kafka's authorizer are here too, since they are not Kafka broker keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kconf.configdef.define import BOOLEAN, HIGH, INT, LONG, LOW, MEDIUM, READ_ONLY, STRING
from kconf.configdef.java.parsing import InvalidValue, Value
from kconf.configdef.key import ConfigKey
from kconf.configdef.validate import validate
from kconf.configdef.validators import AT_LEAST_1, Validator, at_least_one_or, between, one_of
from kconf.errors import ConfigurationError, InvalidConfig
from kconf.model.entry import ValueType

ARCHIVE_DIRECTORY: Final = "archive.directory"
ARCHIVE_INTERVAL: Final = "archive.interval.ms"
ARCHIVE_SEGMENT: Final = "archive.segment.bytes"
CHANGE_FEED_MAX_WAIT: Final = "change.feed.max.wait.ms"
READ_REVISION_MAX_WAIT: Final = "read.revision.max.wait.ms"
REFUSE_STALE_READS: Final = "refuse.stale.reads"
RETENTION_MS: Final = "journal.retention.ms"
NOTIFICATION_RETENTION: Final = "zookeeper.notification.retention.ms"
RETENTION_REVISIONS: Final = "journal.retention.revisions"
POLICY_FILE: Final = "policy.file"
POLICY_TIMEOUT: Final = "policy.timeout.ms"
SUPER_USERS: Final = "super.users"
ALLOW_EVERYONE: Final = "allow.everyone.if.no.acl.found"
AUTHENTICATION_RIGHT: Final = "authentication.configs.super.users.only"
FILE_DIRECTORIES: Final = "dynamic.files.directories"
POLL_INTERVAL: Final = "gateway.poll.interval.ms"
SCRAM_LOGINS: Final = "gateway.scram.logins"
SCRAM_FILE: Final = "gateway.scram.file"
BROKER_PORTS: Final = "gateway.broker.ports"
RELAY_TIMEOUT: Final = "gateway.request.timeout.ms"
DELEGATION_TOKENS: Final = "gateway.delegation.tokens"
ACL_FILE: Final = "gateway.acl.file"


class ServerSetting(NamedTuple):
    """A key of server.properties, an option of `kconf serve`, or both."""

    key: ConfigKey
    option: str | None = None
    in_file: bool = True

    @property
    def set_by(self) -> str:
        """Where the setting is set, for display."""
        return " or ".join([*(["server.properties"] if self.in_file else []), *([self.option] if self.option else [])])


def _test_principals(value: Value) -> None:
    for each in principals(str(value)):
        if not each.partition(":")[2]:
            raise InvalidValue(
                f"must contain principals of the form TYPE:NAME, separated by semicolons; {each!r} is not"
            )


def principals(text: str) -> frozenset[str]:
    """Parse principals, separated by semicolons, since names may contain commas: `User:alice;User:CN=bob,O=ours`."""
    return frozenset(each.strip() for each in text.split(";") if each.strip())


def _test_ports(value: Value) -> None:
    read_ports(str(value))


def read_ports(text: str) -> tuple[int, int] | None:
    """Parse `9200-9299`, or `9200` without an upper limit. None for `none`. Raises InvalidValue."""
    if text.strip() == "none":
        return None
    first, dash, last = (each.strip() for each in text.partition("-"))
    numbers = (first, last) if dash else (first, "65535")
    if not all(each.isascii() and each.isdecimal() for each in numbers):
        raise InvalidValue("must be a port, a range of ports such as 9200-9299, or none")
    low, high = map(int, numbers)
    if not 0 < low <= high <= 65535:
        raise InvalidValue("must be ports from 1 to 65535, the lower one first")
    return low, high


PORTS: Final = Validator("FIRST, FIRST-LAST or none", _test_ports)
LIMIT: Final = at_least_one_or("-1 for no limit")
PRINCIPALS: Final = Validator("TYPE:NAME;TYPE:NAME;…", _test_principals)


def _key(
    name: str,
    type: ValueType,  # noqa: A002
    default: str | None,
    validator: Validator | None,
    importance: str,
    about: str,
) -> ConfigKey:
    return ConfigKey(
        name=name, type=type, default=default, validator=validator, importance=importance, mode=READ_ONLY, about=about
    )


_ROWS: Final = (
    ServerSetting(_key(ARCHIVE_DIRECTORY, STRING, None, None, MEDIUM, "Directory to which the journal is archived; if unset, nothing is archived."), "--archive"),
    ServerSetting(_key(ARCHIVE_INTERVAL, INT, "60000", AT_LEAST_1, LOW, "Maximum time before a change is archived.")),
    ServerSetting(_key(ARCHIVE_SEGMENT, INT, "8388608", AT_LEAST_1, LOW, "Changes are archived without waiting for the interval when they exceed this number of bytes.")),
    ServerSetting(_key(CHANGE_FEED_MAX_WAIT, INT, "300000", between(0, 3_600_000), LOW, "How long a ListConfigChanges request may wait for a change (long-poll); 0 answers every request immediately.")),
    ServerSetting(_key(READ_REVISION_MAX_WAIT, INT, "5000", between(0, 60_000), LOW, "How long a request with a minimum revision waits for this server to reach it before it fails with REQUEST_TIMED_OUT.")),
    ServerSetting(_key(REFUSE_STALE_READS, BOOLEAN, "false", None, MEDIUM, "Whether requests fail with REQUEST_TIMED_OUT while changes by other servers may be missing, instead of returning results marked as stale.")),
    ServerSetting(_key(RETENTION_MS, LONG, "-1", LIMIT, MEDIUM, "How long revisions stay in the journal. Default with ZooKeeper: 7 days.")),
    ServerSetting(_key(RETENTION_REVISIONS, LONG, "-1", LIMIT, MEDIUM, "How many revisions stay in the journal. Default with ZooKeeper: 100,000.")),
    ServerSetting(_key(POLICY_FILE, STRING, None, None, MEDIUM, "YAML file with policy rules; reloaded when it changes.")),
    ServerSetting(_key(POLICY_TIMEOUT, INT, "1000", between(1, 600_000), LOW, "How long a policy class may take before the request is refused.")),
    ServerSetting(_key(SUPER_USERS, STRING, "", PRINCIPALS, HIGH, "Principals that may do everything, separated by semicolons. As in Kafka.")),
    ServerSetting(_key(ALLOW_EVERYONE, BOOLEAN, "false", None, HIGH, "Whether every principal may access resources that have no ACLs. As in Kafka.")),
    ServerSetting(_key(NOTIFICATION_RETENTION, LONG, "900000", AT_LEAST_1, LOW, "How long change notifications stay in ZooKeeper after every live server has processed them. If Kafka brokers use the same ensemble, at least 15 minutes, as in Kafka.")),
    ServerSetting(_key(AUTHENTICATION_RIGHT, BOOLEAN, "true", None, HIGH, "Whether only super users may change broker configs that control authentication; false follows Kafka: ALTER_CONFIGS on the cluster is enough.")),
    ServerSetting(_key(FILE_DIRECTORIES, STRING, None, None, MEDIUM, "Directories, separated by commas, from which dynamic broker configs may load key stores and trust stores. By default, the directories of the key stores and trust stores in server.properties.")),
    ServerSetting(_key(POLL_INTERVAL, INT, "10000", between(1000, 3_600_000), MEDIUM, "How often a gateway without controllers reads its cluster. Changes by others are seen after at most this time, if the cluster responds.")),
    ServerSetting(_key(SCRAM_LOGINS, BOOLEAN, "false", None, HIGH, "Whether users of the cluster can log in to a gateway (--upstream) with SCRAM and their own passwords. Their SCRAM credentials are read from the metadata log and stored only in memory.")),
    ServerSetting(_key(SCRAM_FILE, STRING, None, None, HIGH, "For a gateway: file with the SCRAM credentials of its own users, as printed by `kconf scram credential`; reloaded when it changes. Use it instead of gateway.scram.logins, for example without controllers.")),
    ServerSetting(_key(BROKER_PORTS, STRING, None, PORTS, MEDIUM, "For a gateway: the ports for single brokers. Broker N is at FIRST + N. `none`: all brokers have the address of the listener, and requests about one broker are refused unless the client sends that broker's id in ApiVersions (KIP-1242). By default FIRST is the port after that of the listener, if the cluster has several brokers. Can be set per listener: listener.name.NAME.gateway.broker.ports.")),
    ServerSetting(_key(RELAY_TIMEOUT, INT, "30000", between(1, 600_000), LOW, "For a gateway: how long a broker may take to respond to a forwarded request; after that the client's connection is closed.")),
    ServerSetting(_key(DELEGATION_TOKENS, BOOLEAN, "false", None, HIGH, "Whether a gateway (--upstream) makes each change as the user who requested it, with a delegation token of the cluster, instead of with its own account.")),
    ServerSetting(_key(ACL_FILE, STRING, None, None, HIGH, "For a gateway: YAML file with its own ACLs, which apply instead of the ACLs of the cluster; reloaded when it changes. Required if the cluster has an authorizer other than Kafka's own.")),
    ServerSetting(_key("--store", STRING, "sqlite:///kconf.db", None, HIGH, "Where state and journal are stored: sqlite:///PATH, zookeeper://HOST:PORT[,HOST:PORT]/CHROOT or memory:."), "--store", in_file=False),
    ServerSetting(_key("--feature", STRING, "eligible.leader.replicas.version=1", None, LOW, "Levels of Kafka's features for a new store: eligible.leader.replicas.version is 0 or 1. An existing store keeps its levels."), "--feature", in_file=False),
    ServerSetting(_key("--read-only", BOOLEAN, "false", None, HIGH, "Serve only reads; refuse changes."), "--read-only", in_file=False),
    ServerSetting(_key("--recover", BOOLEAN, "false", None, LOW, "Ignore the dynamic broker configs in the store, and list them; for a server that does not start because of them."), "--recover", in_file=False),
    ServerSetting(_key("--metrics", STRING, None, None, MEDIUM, "The HOST:PORT on which Prometheus metrics and /health are served."), "--metrics", in_file=False),
    ServerSetting(_key("--log-level", STRING, "INFO", one_of("DEBUG", "INFO", "WARN", "ERROR"), LOW, "Minimum level of messages that are logged."), "--log-level", in_file=False),
)  # fmt: skip

SERVER_SETTINGS: Final[Mapping[str, ServerSetting]] = {each.key.name: each for each in _ROWS}


def check_settings(static: Mapping[str, str]) -> None:
    """Raise an error for values in server.properties that are out of bounds."""
    for name in static:
        if name in SERVER_SETTINGS:
            _value(static, name)


def int_setting(static: Mapping[str, str], name: str) -> int:
    value = _value(static, name)
    assert isinstance(value, int)
    return value


def text_setting(static: Mapping[str, str], name: str) -> str:
    """The text of a setting, or "" if it is not set."""
    value = _value(static, name)
    assert value is None or isinstance(value, str)
    return value or ""


def flag_setting(static: Mapping[str, str], name: str) -> bool:
    value = _value(static, name)
    assert isinstance(value, bool)
    return value


def _value(static: Mapping[str, str], name: str) -> Value | None:
    """The value of a setting, or the default if it is not set or blank. Raises ConfigurationError if it is invalid."""
    key = SERVER_SETTINGS[name].key
    text = static.get(name, "").strip() or key.default
    if text is None:
        return None
    try:
        return validate(key, text)
    except InvalidConfig as error:
        raise ConfigurationError(f"server.properties: {error}") from None

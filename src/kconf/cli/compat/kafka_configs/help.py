"""The output of `kafka-configs --help`. Its examples are run by tests/cli/compat/test_kafka_configs.py."""

from __future__ import annotations

OPTIONS = """\
usage: kafka-configs --bootstrap-server HOST:PORT (--describe | --alter) ENTITY [OPTION...]

cluster:
  --bootstrap-server HOST:PORT[,...]      brokers to connect to
  --bootstrap-controller HOST:PORT[,...]  KRaft controllers, instead of brokers
  --command-config FILE                   properties file of a Java admin client (TLS, SASL, timeouts)

action, one of:
  --describe                              show configs
  --alter                                 change configs

entities, long form:
  --entity-type TYPE                      topics, clients, users, brokers, broker-loggers, ips, client-metrics or
                                          groups; users and clients can be combined
  --entity-name NAME                      the i-th name belongs to the i-th type; without it, --describe shows all
  --entity-default                        the default of clients, users, brokers or ips, instead of a name

  --entity-names-file FILE                names, one per line, - for stdin; for topics, brokers, broker-loggers,
                                          client-metrics or groups
  --entity-regex PATTERN                  all entities whose whole name matches, for the same types

entities, short form:
  --topic NAME     --client NAME          --user NAME       --broker ID          --broker-logger ID
  --ip ADDRESS     --client-metrics NAME  --group NAME
  --client-defaults   --user-defaults     --broker-defaults   --ip-defaults

with --describe:
  --all                                   also static, inherited and default values

with --alter:
  --add-config K=V,K=[V,V]                configs to set; put a value with commas in brackets
  --add-config-file FILE                  configs to set, from a Java properties file
  --delete-config K,K                     configs to delete; may be repeated
  --dry-run                               validate on the server, show old -> new, change nothing
  --reason TEXT                           reason, recorded in the journal of a kconf server

output and behavior:
  --output text|json                      Kafka's own output format, or JSON
  --strict-compat                         behave exactly like Kafka 4.3.1, including its pitfalls
  --no-resolve                            do not resolve the host name given with --ip
  --debug                                 print a stack trace with errors
  --help, --version"""

EXAMPLES = """\
examples:
  kafka-configs --bootstrap-server localhost:9092 --describe --topic orders
  kafka-configs --bootstrap-server localhost:9092 --describe --topic orders --all
  kafka-configs --bootstrap-server localhost:9092 --alter --topic orders \\
      --add-config retention.ms=86400000,cleanup.policy=[compact,delete]
  kafka-configs --bootstrap-server localhost:9092 --alter --topic orders --delete-config retention.ms --dry-run
  kafka-configs --bootstrap-server localhost:9092 --alter --broker-defaults --add-config log.retention.ms=3600000
  kafka-configs --bootstrap-server localhost:9092 --alter --user alice --client-defaults \\
      --add-config producer_byte_rate=1048576
  kafka-configs --bootstrap-server localhost:9092 --alter --user alice \\
      --add-config SCRAM-SHA-512=[password=env:ALICE_PASSWORD]
  kafka-configs --bootstrap-server localhost:9092 --describe --entity-type topics --output json
  kafka-configs --bootstrap-server localhost:9092 --alter --entity-type topics --entity-regex 'ord.*' \
      --add-config segment.ms=3600000 --dry-run

Exit code: 0 success; 1 failed, or the entity does not exist. Pass passwords as password=@FILE, password=env:NAME or
password=- (stdin): everyone who can list processes can see the command line."""


def help_text() -> str:
    return f"{OPTIONS}\n\n{EXAMPLES}\n\n{_names()}"


def _names() -> str:
    """All config names, by entity type."""
    from kconf.configdef.client_metrics import CLIENT_METRICS
    from kconf.configdef.dynamic import DYNAMIC
    from kconf.configdef.group import GROUP
    from kconf.configdef.quota import CLIENT_QUOTA, IP_QUOTA, SCRAM, USER_QUOTA
    from kconf.configdef.topic import TOPIC

    listed = {
        "topics": [name for name, key in TOPIC.items() if not (key.internal or key.legacy)],
        "brokers": DYNAMIC,
        "users": [*SCRAM, *USER_QUOTA],
        "clients": CLIENT_QUOTA,
        "ips": IP_QUOTA,
        "client-metrics": CLIENT_METRICS,
        "groups": GROUP,
    }
    parts = ["configs:"]
    for kind, names in listed.items():
        parts.append(f"  for {kind}:")
        parts.extend(f"\t{name}" for name in sorted(names))
    return "\n".join(parts)

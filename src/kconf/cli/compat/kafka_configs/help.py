"""The output of `kafka-configs --help`. Its examples are run by tests/cli/compat/test_kafka_configs.py."""

from __future__ import annotations

OPTIONS = """\
usage: kafka-configs --bootstrap-server HOST:PORT (--describe | --alter) ENTITY [OPTION...]

the cluster:
  --bootstrap-server HOST:PORT[,...]      brokers to begin with
  --bootstrap-controller HOST:PORT[,...]  KRaft controllers, in place of brokers
  --command-config FILE                   Java properties of an admin client: TLS, SASL, time limits

what to do, one of:
  --describe                              tell what is set
  --alter                                 change what is set

entities, long:
  --entity-type TYPE                      topics, clients, users, brokers, broker-loggers, ips, client-metrics or
                                          groups; users and clients may be given together
  --entity-name NAME                      the i-th name belongs to the i-th type; without one, --describe tells of all
  --entity-default                        the default of clients, users, brokers or ips, in the place of a name

  --entity-names-file FILE                names, one per line, - for stdin; of topics, brokers, broker-loggers,
                                          client-metrics or groups
  --entity-regex PATTERN                  all whose whole name it matches, of the same types

entities, short:
  --topic NAME     --client NAME          --user NAME       --broker ID          --broker-logger ID
  --ip ADDRESS     --client-metrics NAME  --group NAME
  --client-defaults   --user-defaults     --broker-defaults   --ip-defaults

with --describe:
  --all                                   also what is not set here: static, inherited and default values

with --alter:
  --add-config K=V,K=[V,V]                values to set; brackets hold a value with commas
  --add-config-file FILE                  the same as Java properties, taken as they are
  --delete-config K,K                     values to delete; may be repeated
  --dry-run                               let the server validate, show old -> new, change nothing
  --reason TEXT                           a note for the journal of a kconf server

answers:
  --output text|json                      lines as Kafka's own tool prints them, or JSON
  --strict-compat                         keep to the letter of Kafka 4.3.1, its hazards included
  --no-resolve                            do not look up the host that --ip names
  --debug                                 a stack trace with an error
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

Exit code: 0 done; 1 not done, or the named entity is not there. A password is best given as password=@FILE,
password=env:NAME or password=- (stdin): what stands on a command line is seen by all who may list processes."""


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

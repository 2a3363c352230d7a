"""`kconf policy test` on a real broker: the same rules, any Kafka."""

from __future__ import annotations

from pathlib import Path

from lab.broker import KafkaBroker
from tests.policies.conftest import until
from tests.policies.test_command import findings, kconf
from tests.support.admin import BROKER, CLIENT_METRICS, GROUP, SET, TOPIC, Admin

RULES = """\
rules:
  - {id: keep, selector: topic:policy-command.*, key: retention.ms, condition: {max: 1d}}
  - {id: parts, selector: topic:policy-command.*, key: partitions, condition: {max: 4}, severity: warn}
  - {id: own, selector: topic:policy-command.*, key: flush.ms, condition: {required: true}}
  - {id: broker, selector: broker, key: log.cleaner.backoff.ms, condition: {max: 14s}}
  - {id: group, selector: group:policy-command, key: consumer.session.timeout.ms, condition: {max: 46s}}
  - {id: metrics, selector: client-metrics:policy-command, key: interval.ms, condition: {min: 10s}}
"""


def test_a_real_cluster_is_checked_by_the_same_rules(kafka_431: KafkaBroker, tmp_path: Path) -> None:
    rules = tmp_path / "policy.yaml"
    rules.write_text(RULES)
    with Admin(kafka_431.bootstrap) as admin:
        admin.create("policy-command.long", partitions=5, factor=1, configs={"retention.ms": "-1", "flush.ms": "5"})
        admin.create("policy-command.fine", partitions=1, factor=1, configs={"retention.ms": "1", "flush.ms": "5"})
        admin.create("policy-command.bare", partitions=1, factor=1, configs={"retention.ms": "1"})
        admin.alter((GROUP, "policy-command"), ("consumer.session.timeout.ms", SET, "50000"))
        admin.alter((CLIENT_METRICS, "policy-command"), ("interval.ms", SET, "9000"))
        until(lambda: not admin.describe((TOPIC, "policy-command.bare"))[0].error_code)
        until(lambda: admin.entries((CLIENT_METRICS, "policy-command"))["interval.ms"].value == "9000")

        done = kconf("test", rules, "-b", kafka_431.bootstrap)

        assert done.returncode == 1
        assert findings(done) == [
            "topic:policy-command.bare: error: flush.ms must be set on topic:policy-command.bare (rule own)",
            "topic:policy-command.long: error: retention.ms is -1 but must be at most 1d (rule keep)",
            "topic:policy-command.long: warn: partitions is 5 but must be at most 4 (rule parts)",
            "broker:1: error: log.cleaner.backoff.ms is 15000 but must be at most 14s (rule broker)",
            "client-metrics:policy-command: error: interval.ms is 9000 but must be at least 10s (rule metrics)",
            "group:policy-command: error: consumer.session.timeout.ms is 50000 but must be at most 46s (rule group)",
        ]
        assert done.stderr.endswith("against 6 rules: 5 errors, 1 warning\n")
        admin.delete("policy-command.long", "policy-command.bare", "policy-command.fine")
        assert admin.alter((BROKER, ""), dry=True).error_code == 0


def test_a_test_that_refuses_nothing_exits_with_0(kafka_431: KafkaBroker, tmp_path: Path) -> None:
    rules = tmp_path / "policy.yaml"
    rules.write_text("rules: [{id: r, selector: broker, key: num.io.threads, condition: {min: 1}}]\n")

    done = kconf("test", rules, "-b", kafka_431.bootstrap)

    assert (done.returncode, done.stderr) == (0, "2 resources checked against 1 rule: 0 errors, 0 warnings\n")

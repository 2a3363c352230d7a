"""Policies that raise, hang, are missing or return invalid results: only their resource fails."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from kconf.protocol.messages.alter_client_quotas import AlteredQuota, QuotaOp
from kconf.protocol.messages.describe_client_quotas import QuotaEntityPart
from tests.policies import recorder
from tests.policies.conftest import ALTER, CREATE, Asked, classes, until
from tests.support.admin import BROKER_LOGGER, SET, TOPIC, Admin, codes
from tests.support.process import KconfProcess

LOUD = ("flush.ms", SET, "8")
UNABLE = "the policy could not be evaluated; see the server's log"


@pytest.mark.parametrize("deed", ["RAISE", "EXIT", "OTHER", "NONSENSE"])
@pytest.mark.parametrize("dry", [False, True])
def test_a_failing_policy_refuses_only_its_resource(
    server: KconfProcess, admin: Admin, topic: str, deed: str, dry: bool
) -> None:
    names = [f"{topic}-1", f"{topic}.alter.{deed}", f"{topic}-2"]
    admin.create(*names)

    said = admin.alter_all([((TOPIC, name), [LOUD]) for name in names], dry=dry)

    assert codes(said) == [0, 44, 0]
    assert said[1].error_message == UNABLE
    assert admin.overrides(names[1]) == {}
    assert "policy Both failed: " in server.log()
    assert server.is_running


@pytest.mark.parametrize("deed", ["RAISE", "EXIT", "NONSENSE"])
def test_a_failing_create_policy_refuses_only_its_topic(admin: Admin, topic: str, deed: str) -> None:
    said = admin.create(f"{topic}-1", f"{topic}.create.{deed}", f"{topic}-2")

    assert codes(said) == [0, 44, 0]
    assert said[1].error_message == UNABLE


def test_the_log_names_the_failure_and_its_location(server: KconfProcess, admin: Admin) -> None:
    name = "logged.alter.RAISE"
    admin.create(name)
    admin.alter((TOPIC, name), LOUD)

    line = next(each for each in server.log().splitlines() if "ValueError" in each)
    assert "level=ERROR" in line
    assert "policy Both failed: ValueError at " in line
    assert "recorder.py:" in line
    assert line.endswith(': broken inside"')


def test_other_requests_are_answered_while_a_policy_runs() -> None:
    """Checked by order, not by time: the policy returns only after all others have been answered."""
    with (
        classes("Alter", **{"policy.timeout.ms": "60000"}) as server,
        Admin(server.bootstrap) as one,
        Admin(server.bootstrap) as other,
        ThreadPoolExecutor(1) as thread,
    ):
        asked = Asked(server)
        one.create("slow.alter.HANG", "quick")
        slow = thread.submit(one.alter, (TOPIC, "slow.alter.HANG"), LOUD)
        asked.wait()

        assert other.entries((TOPIC, "quick"))["flush.ms"].value != "8"
        assert codes(other.create("made-meanwhile")) == [0]
        assert other.grow("made-meanwhile", 9).error_code == 0
        assert codes(other.delete("made-meanwhile")) == [0]
        assert other.alter((BROKER_LOGGER, "1"), ("kconf.service", SET, "INFO")).error_code == 0
        assert other.alter((TOPIC, "quick"), ("no.such.key", SET, "1")).error_code == 40
        quota = AlteredQuota([QuotaEntityPart("user", "ada")], [QuotaOp("producer_byte_rate", 5.0, False)])
        assert codes(other.ask("AlterClientQuotas", 1, entries=[quota], validate_only=False).entries) == [0]
        assert not slow.done()

        (server.directory / recorder.GO).touch()
        assert slow.result(60).error_code == 0
        assert one.overrides("slow.alter.HANG") == {"flush.ms": "8"}


def test_a_policy_that_hangs_for_one_topic_refuses_only_that_topic() -> None:
    with classes("Both", "Both", **{"policy.timeout.ms": "1500"}) as server, Admin(server.bootstrap) as admin:
        names = ["one", "two.alter.HANG", "three", "four.alter.HANG", "five"]
        admin.create(*names)

        said = admin.alter_all([((TOPIC, name), [LOUD]) for name in names])

        assert codes(said) == [0, 44, 0, 44, 0]
        assert said[1].error_message == UNABLE
        assert codes(admin.create("six.create.HANG", "seven")) == [44, 0]
        assert server.log().count("policy Both did not return within 1.5 s for topic:two.alter.HANG") == 1


def test_a_policy_that_always_hangs_is_skipped_with_a_refusal_until_it_returns() -> None:
    with classes("Alter", **{"policy.timeout.ms": "200"}) as server, Admin(server.bootstrap) as admin:
        asked = Asked(server)
        names = [f"t-{number}.alter.HANG" for number in range(50)]
        admin.create(*names)

        assert codes(admin.alter_all([((TOPIC, name), [LOUD]) for name in names])) == [44] * 50
        assert len(asked()) == 4  # three spare threads also hang; the other 46 did not wait
        assert admin.alter((TOPIC, names[0]), LOUD).error_code == 44
        assert asked() == []
        assert admin.entries((TOPIC, names[0]))

        (server.directory / recorder.GO).touch()
        until(lambda: codes(admin.alter_all([((TOPIC, name), [LOUD]) for name in names])) == [0] * 50)


def test_a_server_whose_policy_hangs_can_be_stopped() -> None:
    with classes("Closed", **{"policy.timeout.ms": "200"}) as server, Admin(server.bootstrap) as admin:
        admin.create("slow.alter.HANG")
        assert admin.alter((TOPIC, "slow.alter.HANG"), LOUD).error_code == 44

        assert server.stop() == 0


def test_a_class_is_closed_when_the_server_stops() -> None:
    with classes("Closed") as server:
        asked = Asked(server)

        assert server.stop() == 0
        assert asked() == [{"kind": "close"}]


# -- missing policies prevent the start -----------------------------------------------------------------------------


@pytest.mark.parametrize("setting", [ALTER, CREATE])
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no.such.module:Policy", "cannot import no.such.module"),
        ("/no/such/file.py:Policy", "cannot import /no/such/file.py"),
        (f"{recorder.__file__}:Nobody", "has no class 'Nobody'"),
        ("org.example.Strict", "looks like a Java class"),
        ("kconf:rules", "requires policy.file"),
    ],
)
def test_a_missing_policy_prevents_the_start(setting: str, name: str, sentence: str) -> None:
    with pytest.raises(RuntimeError, match=sentence) as stopped, KconfProcess(properties={setting: name}):
        pass
    assert "ended with 1" in str(stopped.value)
    assert "Traceback" not in str(stopped.value)
    assert setting in str(stopped.value)

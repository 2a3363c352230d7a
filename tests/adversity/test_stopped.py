"""SIGTERM and SIGINT: received requests are answered, acknowledged changes are stored, and the port is released."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.adversity.alterations import ALTER, BROKER, DESCRIBE, altering, create, describing, topic, values
from tests.adversity.fleet import until
from tests.adversity.lines import Line, complaints, read
from tests.adversity.writers import SHARED, Writer, check_store, writing
from tests.support.process import KconfProcess

PATIENT = """
from kconf.cli.main import main
from kconf.server.network import connection_registry
connection_registry._GRACE = 3600.0
raise SystemExit(main())
"""


class PatientProcess(KconfProcess):
    """At its stop it waits up to an hour for open requests, so a test that should not wait fails if it does."""

    def _command(self) -> list[str]:
        python, _, _, *words = super()._command()  # python -m kconf
        return [python, "-c", PATIENT, *words]


@pytest.fixture
def patient() -> Iterator[KconfProcess]:
    with PatientProcess() as process:
        yield process


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_server_stopped_under_load_acknowledges_every_committed_change(sign: signal.Signals) -> None:
    writers = [Writer(number) for number in range(8)]
    with KconfProcess() as kconf:
        with Line(kconf) as line:
            create(line, SHARED, *(name for writer in writers for name in writer.topics))
        with writing(kconf, writers):
            until(lambda: min(each.acknowledged for each in writers) > 5)
            os.kill(kconf.pid, sign)
            status = kconf.stop()  # which is a second signal

        assert status == 0
        acknowledged = [writer.acknowledged for writer in writers]
        check_store(kconf.store, writers)
        assert [writer.acknowledged for writer in writers] == acknowledged  # every applied change was acknowledged
        assert [error for writer in writers for error in writer.errors] == []
        kconf.start()  # on the same port
        assert complaints(kconf) == []


def test_a_stopping_server_answers_every_request_that_it_has_read() -> None:
    """300 alterations sent in one write are read together and committed one after the other."""
    with KconfProcess() as kconf, Line(kconf) as line:
        create(line, "orders")
        line.send(*(altering({topic("orders"): {"retention.ms": str(n)}}, correlation=n) for n in range(1, 301)))
        first = line.receive()
        os.kill(kconf.pid, signal.SIGTERM)

        answers = [first, *line.rest()]

        assert kconf.stop() == 0
        assert [read(*ALTER, each, correlation=n).responses[0].error_code for n, each in enumerate(answers, 1)] == [
            0
        ] * 300
        kconf.start()
        with Line(kconf) as again:
            again.send(describing(topic("orders"), keys=["retention.ms"]))
            assert values(read(*DESCRIBE, again.receive())) == {"retention.ms": "300"}


def test_a_stop_does_not_wait_for_idle_connections_and_incomplete_requests(patient: KconfProcess) -> None:
    with Line(patient) as silent, Line(patient) as slow:
        whole = describing(topic("orders"))
        slow.send(whole[:-3])
        with Line(patient) as line:
            line.send(whole)
            line.receive()

        assert patient.stop() == 0

        assert silent.is_closed()
        assert slow.is_closed()


def test_a_stop_does_not_wait_for_a_peer_that_does_not_read(patient: KconfProcess) -> None:
    with Line(patient) as line:
        line.socket.settimeout(0.5)
        with suppress(TimeoutError):
            while True:
                line.send(describing(BROKER) * 100)

        assert patient.stop() == 0

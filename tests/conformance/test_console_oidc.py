"""People of an OIDC provider on a real Kafka: through a gateway they change it as themselves, directly they look."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest

from kconf import JournalTrimmed, NewTopic, Resource, SyncAdminClient
from kconf.client.contexts.context import Context
from kconf.console.console import Console
from kconf.console.security.oidc.login import OidcLogin
from kconf.console.security.oidc.provider import Provider
from kconf.console.settings import ConsoleSettings, ListenAddress
from kconf.operations.target import Target
from lab.broker import KafkaBroker
from tests.support.process import KconfProcess
from tests.support.token_server import key_set
from tests.unit.console.oidc.world import ISSUER, SIGNER, Browser, FakeHttp, settings
from tests.unit.console.test_security import token

PATIENCE = 60.0
TOKENS = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}


class World(NamedTuple):
    browser: Browser
    gateway: KconfProcess
    topic: str
    first: int  # the first revision in the journal of the gateway


@pytest.fixture(scope="module")
def world(kafka_431: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A gateway that accepts tokens, and a console where ana is logged in."""
    topic = f"console-oidc-{uuid4().hex[:8]}"
    with SyncAdminClient(kafka_431.bootstrap) as admin:
        admin.create_topics([NewTopic(topic, 1, 1)]).raise_for_failures()
    keys: Path = tmp_path_factory.mktemp("keys") / "keys.json"
    keys.write_text(key_set(SIGNER))
    prefix = "listener.name.sasl_plaintext.oauthbearer.sasl.oauthbearer"
    properties = {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{prefix}.jwks.endpoint.url": keys.as_uri(),
        f"{prefix}.expected.issuer": ISSUER,
        f"{prefix}.expected.audience": "kafka",
    }
    args = ("--upstream", kafka_431.bootstrap, "--controllers", kafka_431.address("CONTROLLER"))
    listeners = ("PLAINTEXT", "SASL_PLAINTEXT")
    with KconfProcess(properties=properties, listeners=listeners, args=args) as gateway:
        contexts = [
            Context("gateway", gateway.address("SASL_PLAINTEXT"), properties=TOKENS),
            Context("kafka", kafka_431.bootstrap),
        ]
        http = FakeHttp()
        http.answer = {"access_token": SIGNER.token(iss=ISSUER, aud="kafka", sub="ana")}
        given = ConsoleSettings(
            ListenAddress("127.0.0.1", 8080), [Target(each) for each in contexts], oidc=settings(), interval=1.0
        )
        with Console(given) as console:
            console.oidc = OidcLogin(settings(), Provider(settings(), http))
            browser = Browser.of(console, http)
            assert browser.log_in().status_code == 303
            yield World(browser, gateway, topic, _first_revision(gateway))


def _first_revision(gateway: KconfProcess) -> int:
    with SyncAdminClient(gateway.address("PLAINTEXT")) as admin, pytest.raises(JournalTrimmed) as caught:
        admin.list_changes(0, limit=1)
    return caught.value.oldest


def page(world: World, path: str, until: Callable[[str], bool]) -> str:
    """A page, after waiting for a condition."""
    end = time.monotonic() + PATIENCE
    while True:
        found = world.browser.client.get(path).text
        if until(found):
            return found
        assert time.monotonic() < end, found
        time.sleep(0.1)


def test_a_gateway_makes_the_change_as_the_person(world: World) -> None:
    client = world.browser.client
    form = page(world, f"/gateway/change?resource=topic:{world.topic}", lambda found: "Dry run" in found)
    fields = {"resource": f"topic:{world.topic}", "key.0": "retention.ms", "op.0": "set", "value.0": "8d"}
    dry_run = client.post("/gateway/change", data={"token": token(form), **fields}).headers["location"]
    confirm = token(client.get(dry_run).text)
    assert client.post(dry_run, data={"token": confirm, "do": "apply", "reason": "INC-24"}).status_code == 303
    with SyncAdminClient(world.gateway.address("PLAINTEXT")) as admin:
        value = admin.describe_configs([Resource.topic(world.topic)])[Resource.topic(world.topic)]["retention.ms"]
        revisions = admin.list_changes(world.first - 1, limit=1000).revisions
    assert [str(each.caller.principal) for each in revisions if each.caller.reason == "INC-24"] == ["User:ana"]
    assert value.value == str(8 * 86_400_000)


def test_a_kafka_that_cannot_identify_the_person_is_read_only(world: World) -> None:
    found = page(world, f"/kafka/topics?q={world.topic}", lambda text: f">{world.topic}<" in text)
    assert "You can view this cluster but not change it" in found
    assert world.browser.client.get(f"/kafka/change?resource=topic:{world.topic}").status_code == 403

"""The policies that server.properties may name, and the errors for those that cannot be loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.configdef.server_settings import POLICY_FILE as FILE
from kconf.configdef.server_settings import POLICY_TIMEOUT as TIMEOUT
from kconf.engine.policy.hooks import AlterProposal, TopicProposal
from kconf.errors import ConfigurationError
from kconf.server.policy.loader import load_policies
from kconf.server.static_config import ALTER_POLICY, CREATE_POLICY

CATALOGUE = kafka_43()
HERE = "tests.unit.server.policy.test_loader"


class AlterOnly:
    def check_alter(self, proposal: AlterProposal) -> None: ...


class NeedsArguments(AlterOnly):
    def __init__(self, required: str) -> None: ...


class Configured(AlterOnly):
    made: list[Configured] = []  # noqa: RUF012 – read by a test

    def check_create(self, proposal: TopicProposal) -> None: ...

    def configure(self, properties: dict[str, str]) -> None:
        Configured.made.append(self)
        self.properties = properties
        if properties.get("oops"):
            raise ValueError(f"bad {properties['oops']}")


def test_one_class_for_both_policies_is_created_once_with_the_properties() -> None:
    Configured.made.clear()

    static = {ALTER_POLICY: f"{HERE}:Configured", CREATE_POLICY: f"{HERE}:Configured", "team.names": "payments"}
    assert load_policies(static, CATALOGUE)
    (made,) = Configured.made
    assert made.properties["team.names"] == "payments"


def test_a_class_can_be_loaded_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("class Mine:\n    def check_alter(self, proposal): pass\n")

    assert load_policies({ALTER_POLICY: f"{tmp_path / 'mine.py'}:Mine"}, CATALOGUE)


@pytest.mark.parametrize(
    ("static", "sentence"),
    [
        ({ALTER_POLICY: "org.acme.Policy"}, "looks like a Java class"),
        ({CREATE_POLICY: "no.such.module:Policy"}, "cannot import no.such.module: ModuleNotFoundError"),
        ({CREATE_POLICY: f"{HERE}:Nobody"}, "has no class 'Nobody'"),
        ({CREATE_POLICY: f"{HERE}:AlterOnly"}, "has no method check_create"),
        ({ALTER_POLICY: "/no/such.py:X"}, "cannot import /no/such.py: FileNotFoundError"),
        ({ALTER_POLICY: f"{HERE}:NeedsArguments"}, "cannot create .*: TypeError"),
        ({ALTER_POLICY: f"{HERE}:Configured", "oops": "hunter2"}, r"cannot create .*: ValueError: bad \[hidden\]"),
        ({ALTER_POLICY: "kconf:rules"}, "requires policy.file"),
        ({FILE: "/no/such.yaml"}, "cannot read /no/such.yaml: No such file"),
        ({FILE: "x.yaml", ALTER_POLICY: f"{HERE}:AlterOnly"}, "policy.file is set, but neither"),
        ({TIMEOUT: "soon"}, "Invalid value soon for configuration policy.timeout.ms: expected an integer"),
        ({TIMEOUT: "0"}, "Invalid value 0 for configuration policy.timeout.ms: must be from 1 to 600000"),
    ],
)
def test_an_unusable_setting_prevents_the_start_with_one_sentence(static: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        load_policies(static, CATALOGUE)


def test_errors_in_the_policy_file_prevent_the_start_and_are_all_reported(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("verson: 1\nrules: {}\n")

    with pytest.raises(ConfigurationError) as stopped:
        load_policies({ALTER_POLICY: "kconf:rules", FILE: str(tmp_path / "p")}, CATALOGUE)
    assert len(str(stopped.value).splitlines()) == 2

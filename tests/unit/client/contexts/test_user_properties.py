"""A client that logs in as a person: with the context's mechanism, but none of its credentials."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconf.client.contexts.config_providers import user_properties
from kconf.client.contexts.context import Context
from kconf.errors import ConfigurationError

SASL = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512"}


def test_user_and_password_are_taken_literally_and_quoted() -> None:
    found = user_properties(Context("home", properties=SASL), "ana", '${env:HOME}"; \\')
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    assert found["sasl.jaas.config"] == f'{module} required username="ana" password="${{env:HOME}}\\"; \\\\";'


def test_the_credential_of_the_context_is_neither_used_nor_looked_up(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text('sasl.jaas.config=module required username="service" password="${env:NOT_SET}";\nclient.id=x\n')
    context = Context("home", "h:1", str(file), SASL, user="service", password_command="exit 1")
    found = user_properties(context, "ana", "secret")
    assert found["client.id"] == "x"
    assert "service" not in str(found)


@pytest.mark.parametrize("properties", [{}, {"security.protocol": "SSL"}, {**SASL, "sasl.mechanism": "OAUTHBEARER"}])
def test_a_context_without_passwords_cannot_be_logged_in_to(properties: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=r"does not support logins|needs sasl\.mechanism"):
        user_properties(Context("home", properties=properties), "ana", "secret")

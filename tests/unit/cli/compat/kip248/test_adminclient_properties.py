"""`--adminclient-property`: values with equals signs and commas, and options that are repeated."""

from __future__ import annotations

import pytest

from kconf.cli.compat.kip248.adminclient_properties import parse_properties
from kconf.errors import ConfigurationError

JAAS = 'org.example.ScramLoginModule required username="a" password="x=1,client.id=y";'


@pytest.mark.parametrize(
    ("options", "properties"),
    [
        (["client.id=a"], {"client.id": "a"}),
        (["client.id=a,security.protocol=SSL"], {"client.id": "a", "security.protocol": "SSL"}),
        (["client.id=a", "security.protocol=SSL"], {"client.id": "a", "security.protocol": "SSL"}),
        (["client.id=a", "client.id=b"], {"client.id": "b"}),
        (["bootstrap.servers=a:1,b:2,client.id=c"], {"bootstrap.servers": "a:1,b:2", "client.id": "c"}),
        (["client.id=[a,b=c],x=1"], {"client.id": "a,b=c", "x": "1"}),
        ([f"sasl.jaas.config={JAAS}"], {"sasl.jaas.config": JAAS}),
        ([f"client.id=c,sasl.jaas.config={JAAS},x=1"], {"client.id": "c", "sasl.jaas.config": JAAS, "x": "1"}),
        (['p="a\\",b=c"'], {"p": '"a\\",b=c"'}),
        (["client.id="], {"client.id": ""}),
    ],
)
def test_properties_are_split_at_commas_and_the_last_of_a_name_counts(
    options: list[str], properties: dict[str, str]
) -> None:
    assert parse_properties(options) == properties


@pytest.mark.parametrize("option", ["secret", 'sasl.jaas.config=a password="secret', "client.id=[secret"])
def test_an_unreadable_value_is_refused_without_printing_it(option: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse_properties([option])

    assert "secret" not in str(refused.value)

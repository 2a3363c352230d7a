"""Which settings a gateway needs, by the authorizer of its cluster."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kconf.errors import ConfigurationError
from kconf.server.static_config import check_gateway
from kconf.store.base import UNNAMED_AUTHORIZER

KAFKAS = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
RANGER = "org.example.RangerAuthorizer"
SETTINGS = {"authorizer.class.name": KAFKAS, "super.users": "User:root", "allow.everyone.if.no.acl.found": "false"}
FILE = {"gateway.acl.file": "acls.yaml"}
TOKENS = {"gateway.delegation.tokens": "true"}


@pytest.mark.parametrize(
    ("own", "authorizer"),
    [
        ({}, None),
        (FILE, None),
        (SETTINGS, None),
        (SETTINGS, KAFKAS),
        (SETTINGS, UNNAMED_AUTHORIZER),
        (FILE, KAFKAS),
        (FILE, RANGER),
        (FILE, UNNAMED_AUTHORIZER),
        ({**FILE, **TOKENS}, RANGER),
        ({**SETTINGS, **TOKENS}, RANGER),
    ],
)
def test_rights_that_are_enough(own: Mapping[str, str], authorizer: str | None) -> None:
    check_gateway(own, authorizer)


@pytest.mark.parametrize(
    ("own", "authorizer", "message"),
    [
        ({}, KAFKAS, "authorizer.class.name, super.users, allow.everyone.if.no.acl.found"),
        ({}, UNNAMED_AUTHORIZER, "the cluster has an authorizer, but does not show all of its settings"),
        (TOKENS, RANGER, "does not show all of its settings"),
        ({}, RANGER, f"do not support the cluster's authorizer {RANGER}"),
        (SETTINGS, RANGER, "gateway.acl.file"),
        ({**SETTINGS, **FILE}, KAFKAS, "are both set"),
        ({**SETTINGS, **FILE}, None, "are both set"),
    ],
)
def test_rights_that_are_missing_stop_the_start(own: Mapping[str, str], authorizer: str | None, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_gateway(own, authorizer)

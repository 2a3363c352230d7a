"""Which settings a gateway needs, by the authorizer of its cluster."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kconf.errors import ConfigurationError
from kconf.server.static_config import check_gateway, check_static
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
        ({**SETTINGS, "super.users": ""}, KAFKAS),
    ],
)
def test_sufficient_settings_about_rights_are_accepted(own: Mapping[str, str], authorizer: str | None) -> None:
    check_gateway(own, authorizer)


@pytest.mark.parametrize(
    ("own", "authorizer", "message"),
    [
        ({}, KAFKAS, "authorizer.class.name, super.users, allow.everyone.if.no.acl.found"),
        ({}, UNNAMED_AUTHORIZER, "the cluster has an authorizer, but does not show all of its settings"),
        (TOKENS, KAFKAS, "does not show all of its settings"),
        ({**SETTINGS, **TOKENS}, RANGER, "gateway.acl.file"),
        ({**SETTINGS, "authorizer.class.name": ""}, KAFKAS, r"the brokers' authorizer\.class\.name \("),
        ({**SETTINGS, "authorizer.class.name": " "}, UNNAMED_AUTHORIZER, r"the brokers' authorizer\.class\.name \("),
        ({}, RANGER, f"do not support the cluster's authorizer {RANGER}"),
        (SETTINGS, RANGER, "gateway.acl.file"),
        ({**SETTINGS, **FILE}, KAFKAS, "are both set"),
        ({**SETTINGS, **FILE}, None, "are both set"),
    ],
)
def test_missing_settings_about_rights_prevent_the_start(
    own: Mapping[str, str], authorizer: str | None, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_gateway(own, authorizer)


RULES = {"ssl.principal.mapping.rules": "RULE:^CN=(.*?),.*$/$1/"}
LISTENER_RULES = {"listener.name.clients.ssl.principal.mapping.rules": ""}
CERTIFICATES = {**SETTINGS, "listener.name.tls.ssl.client.auth": "required"}


@pytest.mark.parametrize("brokers", [RULES, LISTENER_RULES])
def test_certificates_need_the_mapping_rules_of_the_brokers(brokers: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=r"the brokers have ssl\.principal\.mapping\.rules"):
        check_gateway(CERTIFICATES, KAFKAS, brokers=brokers)


OTHER_RULES = {"ssl.principal.mapping.rules": "DEFAULT"}


@pytest.mark.parametrize(("own", "brokers"), [(RULES, OTHER_RULES), (OTHER_RULES, RULES)])
def test_certificates_need_the_same_mapping_rules_as_on_the_brokers(
    own: dict[str, str], brokers: dict[str, str]
) -> None:
    with pytest.raises(ConfigurationError, match="configure the gateway with the same value"):
        check_gateway({**CERTIFICATES, **own}, KAFKAS, brokers=brokers)


CLAIM = "sasl.oauthbearer.sub.claim.name"
TOKEN_LOGINS = {**SETTINGS, "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER"}


@pytest.mark.parametrize(
    ("own", "brokers"),
    [
        ({}, {CLAIM: "email"}),
        ({CLAIM: "upn"}, {CLAIM: "email"}),
        ({CLAIM: "email"}, {CLAIM: "sub"}),
        ({}, {f"listener.name.clients.{CLAIM}": ""}),
    ],
)
def test_tokens_need_the_claim_of_the_brokers(own: dict[str, str], brokers: dict[str, str]) -> None:
    """A client could have the rights of another principal."""
    with pytest.raises(ConfigurationError, match=r"the brokers have sasl\.oauthbearer\.sub\.claim\.name="):
        check_gateway({**TOKEN_LOGINS, **own}, KAFKAS, brokers=brokers)
    check_gateway({**SETTINGS, **own}, KAFKAS, brokers=brokers)
    check_gateway({**FILE, **own, "sasl.enabled.mechanisms": "OAUTHBEARER"}, KAFKAS, brokers=brokers)


@pytest.mark.parametrize(
    ("own", "brokers"),
    [
        ({}, {}),
        ({}, {CLAIM: "sub"}),
        ({CLAIM: "email"}, {CLAIM: "email"}),
        ({CLAIM: "email"}, {f"listener.name.clients.{CLAIM}": ""}),
    ],
)
def test_tokens_with_the_claim_of_the_brokers_are_accepted(own: dict[str, str], brokers: dict[str, str]) -> None:
    check_gateway({**TOKEN_LOGINS, **own}, KAFKAS, brokers=brokers)


def test_a_setting_that_the_brokers_do_not_set_has_its_default_if_they_use_it() -> None:
    brokers = {"listener.name.clients.sasl.enabled.mechanisms": "OAUTHBEARER"}
    with pytest.raises(ConfigurationError, match=r"the brokers have sasl\.oauthbearer\.sub\.claim\.name=sub"):
        check_gateway({**TOKEN_LOGINS, CLAIM: "email"}, KAFKAS, brokers=brokers)
    check_gateway(TOKEN_LOGINS, KAFKAS, brokers=brokers)
    check_gateway({**TOKEN_LOGINS, CLAIM: "email"}, KAFKAS, brokers={"sasl.enabled.mechanisms": "PLAIN"})

    brokers = {"ssl.client.auth": "requested"}
    with pytest.raises(ConfigurationError, match=r"the brokers have ssl\.principal\.mapping\.rules=DEFAULT"):
        check_gateway({**CERTIFICATES, **RULES}, KAFKAS, brokers=brokers)
    check_gateway(CERTIFICATES, KAFKAS, brokers=brokers)
    check_gateway({**CERTIFICATES, **RULES}, KAFKAS, brokers={"ssl.client.auth": "none"})


BUILDER = "principal.builder.class"


@pytest.mark.parametrize("name", [BUILDER, f"listener.name.clients.{BUILDER}"])
def test_principals_that_only_the_brokers_can_build_prevent_the_start(name: str) -> None:
    brokers = {name: "com.example.ByDepartment"}
    with pytest.raises(ConfigurationError, match=r"principal\.builder\.class=com\.example\.ByDepartment"):
        check_gateway(SETTINGS, KAFKAS, brokers=brokers)
    check_gateway(FILE, KAFKAS, brokers=brokers)
    check_gateway({}, None, brokers=brokers)
    kafkas = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
    check_gateway(SETTINGS, KAFKAS, brokers={name: kafkas})


@pytest.mark.parametrize(
    ("own", "authorizer", "brokers"),
    [
        ({**CERTIFICATES, **RULES}, KAFKAS, RULES),
        ({**CERTIFICATES, **RULES}, KAFKAS, {}),
        (CERTIFICATES, KAFKAS, OTHER_RULES),
        ({**CERTIFICATES, "listener.name.tls.ssl.principal.mapping.rules": "DEFAULT"}, KAFKAS, LISTENER_RULES),
        (CERTIFICATES, KAFKAS, {}),
        (SETTINGS, KAFKAS, RULES),
        ({"ssl.client.auth": "required"}, None, RULES),
        ({**FILE, "ssl.client.auth": "required"}, KAFKAS, RULES),
    ],
)
def test_mapping_rules_matter_only_for_certificates_and_acls_of_the_cluster(
    own: dict[str, str], authorizer: str | None, brokers: dict[str, str]
) -> None:
    check_gateway(own, authorizer, brokers=brokers)


@pytest.mark.parametrize("authorizer", [KAFKAS, RANGER, None])
def test_a_gateway_that_acts_as_its_users_needs_the_principals_of_the_brokers_also_with_its_own_acls(
    authorizer: str | None,
) -> None:
    own = {**FILE, **TOKENS, "ssl.client.auth": "required"}
    with pytest.raises(ConfigurationError, match=r"the brokers have ssl\.principal\.mapping\.rules="):
        check_gateway(own, authorizer, brokers=RULES)
    with pytest.raises(ConfigurationError, match=r"acme\.X, .*; remove gateway\.delegation\.tokens"):
        check_gateway(own, authorizer, brokers={BUILDER: "com.acme.X"})
    check_gateway({**own, **RULES}, authorizer, brokers=RULES)


SCRAM = {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512"}


@pytest.mark.parametrize(
    ("own", "reads_log", "message"),
    [
        ({}, False, r"give the gateway its own SCRAM users \(gateway\.scram\.file\)"),
        ({"gateway.scram.logins": "true"}, False, r"without --controllers .* \(gateway\.scram\.file\)"),
        ({}, True, r"set gateway\.scram\.logins=true .*gateway\.scram\.file"),
        ({"gateway.scram.logins": "true", "gateway.scram.file": "users"}, True, "are both set"),
    ],
)
def test_scram_logins_need_credentials(own: dict[str, str], reads_log: bool, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_gateway({**SCRAM, **own}, None, reads_log=reads_log)


def test_scram_logins_use_the_file_or_the_metadata_log() -> None:
    check_gateway({**SCRAM, "gateway.scram.file": "users"}, None, reads_log=False)
    check_gateway({**SCRAM, "gateway.scram.file": "users"}, None)
    check_gateway({**SCRAM, "gateway.scram.logins": "true"}, None)


@pytest.mark.parametrize("name", ["gateway.acl.files", "gateway.delegation.token", "gateway.poll.interval"])
def test_a_misspelled_setting_of_a_gateway_prevents_the_start(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is not a setting; .* gateway.acl.file"):
        check_static({name: "true"})

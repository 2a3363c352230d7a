"""Each mechanism of client properties gets its credentials from `sasl.jaas.config`."""

from __future__ import annotations

import pytest

from kconf import ConfigurationError, MskIam, OAuthBearer, Scram
from kconf.client.auth.jaas_login import sasl_from_properties
from tests.unit.client.auth.exchanges import messages


def test_every_login_module_configures_its_mechanism() -> None:
    scram = 'x.ScramLoginModule required username="u" password="p" tokenauth="true";'
    oidc = 'x.OAuthBearerLoginModule required clientId="id" clientSecret="s3cret" extension_logicalCluster="lkc";'
    iam = 'software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName="dev";'
    url = {"sasl.oauthbearer.token.endpoint.url": "https://idp/token"}

    found = sasl_from_properties({"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": scram})
    assert isinstance(found, Scram)
    assert found.mechanism == "SCRAM-SHA-256"
    assert messages(found)[0].endswith(b",tokenauth=true")

    bearer = sasl_from_properties({"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": oidc, **url})
    assert isinstance(bearer, OAuthBearer)
    assert "s3cret" not in repr(bearer) + repr(bearer._token)
    assert bearer._extensions == {"logicalCluster": "lkc"}

    assert isinstance(sasl_from_properties({"sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": iam}), MskIam)
    handler = {"sasl.login.callback.handler.class": "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler"}
    plain = "x.OAuthBearerLoginModule required;"
    assert isinstance(
        sasl_from_properties({"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": plain, **handler}), MskIam
    )
    with pytest.raises(ConfigurationError, match="token callable"):
        sasl_from_properties({"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": plain})
    with pytest.raises(ConfigurationError, match="PlainLoginModule needs password"):
        sasl_from_properties(
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": 'x.PlainLoginModule required username="u";'}
        )

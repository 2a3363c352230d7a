"""The Java classes that are accepted as values.

Kafka checks whether its JVM can load a class. kconf has no JVM, so it accepts the classes that Kafka ships for a key,
and refuses all others.
"""

from __future__ import annotations

from typing import Final

_SECURITY = "org.apache.kafka.common.security."
_COMMON = "org.apache.kafka.common."

KNOWN_CLASSES: Final = frozenset(
    [
        # principals, logins and their callbacks
        _SECURITY + "authenticator.AbstractLogin$DefaultLoginCallbackHandler",
        _SECURITY + "authenticator.DefaultKafkaPrincipalBuilder",
        _SECURITY + "authenticator.DefaultLogin",
        _SECURITY + "authenticator.SaslClientCallbackHandler",
        _SECURITY + "authenticator.SaslServerCallbackHandler",
        _SECURITY + "kerberos.KerberosClientCallbackHandler",
        _SECURITY + "kerberos.KerberosLogin",
        _SECURITY + "plain.internals.PlainServerCallbackHandler",
        _SECURITY + "scram.internals.ScramServerCallbackHandler",
        # OAuth
        _SECURITY + "oauthbearer.BrokerJwtValidator",
        _SECURITY + "oauthbearer.ClientCredentialsJwtRetriever",
        _SECURITY + "oauthbearer.ClientJwtValidator",
        _SECURITY + "oauthbearer.DefaultJwtRetriever",
        _SECURITY + "oauthbearer.DefaultJwtValidator",
        _SECURITY + "oauthbearer.FileJwtRetriever",
        _SECURITY + "oauthbearer.JwtBearerJwtRetriever",
        _SECURITY + "oauthbearer.OAuthBearerLoginCallbackHandler",
        _SECURITY + "oauthbearer.OAuthBearerValidatorCallbackHandler",
        _SECURITY + "oauthbearer.internals.OAuthBearerRefreshingLogin",
        _SECURITY + "oauthbearer.internals.OAuthBearerSaslClientCallbackHandler",
        _SECURITY + "oauthbearer.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler",
        _SECURITY + "oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler",
        # TLS
        _SECURITY + "ssl.DefaultSslEngineFactory",
        # metrics, replica selection, configuration providers
        _COMMON + "config.provider.DirectoryConfigProvider",
        _COMMON + "config.provider.EnvVarConfigProvider",
        _COMMON + "config.provider.FileConfigProvider",
        _COMMON + "metrics.JmxReporter",
        _COMMON + "replica.RackAwareReplicaSelector",
        # authorizers
        "kafka.security.authorizer.AclAuthorizer",  # up to 3.9
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        # groups and shares
        "org.apache.kafka.coordinator.group.assignor.RangeAssignor",
        "org.apache.kafka.coordinator.group.assignor.SimpleAssignor",
        "org.apache.kafka.coordinator.group.assignor.UniformAssignor",
        "org.apache.kafka.server.share.persister.DefaultStatePersister",
        "org.apache.kafka.server.share.persister.NoOpStatePersister",
        # the remote tier
        "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
    ]
)

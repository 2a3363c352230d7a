"""The names of errors in Kafka's tools: the exception classes of the Java client."""

from __future__ import annotations

from kconf.errors import ErrorCode, KafkaError

PACKAGE = "org.apache.kafka.common.errors."

_OTHERS = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "UnknownServerException",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ClusterAuthorizationException",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "TopicAuthorizationException",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "GroupAuthorizationException",
    ErrorCode.SASL_AUTHENTICATION_FAILED: "SaslAuthenticationException",
    ErrorCode.INVALID_CONFIG: "InvalidConfigurationException",
    ErrorCode.REQUEST_TIMED_OUT: "TimeoutException",
    ErrorCode.TOPIC_ALREADY_EXISTS: "TopicExistsException",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "InvalidTopicException",
    ErrorCode.NETWORK_EXCEPTION: "NetworkException",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "UnknownTopicOrPartitionException",
}


def class_name(code: ErrorCode) -> str:
    """`INVALID_REQUEST` is an `InvalidRequestException`; some names are irregular."""
    return _OTHERS.get(code) or "".join(map(str.capitalize, code.name.split("_"))) + "Exception"


def sentence(error: KafkaError) -> str:
    """An error in one line, with the name that scripts look for."""
    message = " ".join((error.message or "").split())
    return f"{class_name(error.code)}: {message}" if message else class_name(error.code)

"""Spark's settings for lakes and archives on S3: jars, and the address of the store, but no credentials.

hadoop-aws finds credentials in the environment or by the role of the machine, on the driver and on each worker. It
depends on a bundle of all AWS services, 700 MB; the modules that it uses are 20 MB. Jars that Spark ships are left out.
Sessions that only use local paths do not get these jars.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from kconf.lake.storage.location import endpoint
from kconf.spark.startup import cache

_HADOOP: Final = "3.5.0"  # the Hadoop version that Spark ships
_SDK: Final = "2.35.4"  # the version that this hadoop-aws requires
_PACKAGES: Final = (
    f"org.apache.hadoop:hadoop-aws:{_HADOOP}",
    *(f"software.amazon.awssdk:{name}:{_SDK}" for name in ("s3", "sts", "s3-transfer-manager")),
)
_EXCLUDED: Final = (
    "software.amazon.awssdk:bundle",
    "io.netty:*",
    "org.slf4j:slf4j-api",
    "commons-codec:commons-codec",
    "commons-logging:commons-logging",
    "org.apache.httpcomponents:httpclient",
    "org.apache.httpcomponents:httpcore",
)
_SDK_MODULES: Final = (
    "annotations", "apache-client", "arns", "auth", "aws-core", "aws-query-protocol", "aws-xml-protocol",
    "checksums", "checksums-spi", "crt-core", "endpoints-spi", "http-auth", "http-auth-aws",
    "http-auth-aws-eventstream", "http-auth-spi", "http-client-spi", "identity-spi", "json-utils", "metrics-spi",
    "netty-nio-client", "profiles", "protocol-core", "regions", "retries", "retries-spi", "s3",
    "s3-transfer-manager", "sdk-core", "sts", "third-party-jackson-core", "utils", "utils-lite",
)  # fmt: skip
_JARS: Final = (
    f"org.apache.hadoop_hadoop-aws-{_HADOOP}.jar",
    "org.reactivestreams_reactive-streams-1.0.4.jar",
    "org.wildfly.openssl_wildfly-openssl-2.2.5.Final.jar",
    "software.amazon.eventstream_eventstream-1.0.1.jar",
    "software.amazon.s3.analyticsaccelerator_analyticsaccelerator-s3-1.3.1.jar",
    *(f"software.amazon.awssdk_{name}-{_SDK}.jar" for name in _SDK_MODULES),
)
_PROVIDERS: Final = (
    "software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider",
    "software.amazon.awssdk.auth.credentials.WebIdentityTokenFileCredentialsProvider",
    "org.apache.hadoop.fs.s3a.auth.IAMInstanceCredentialsProvider",
)


def jars() -> list[Path]:
    """The jars, where Spark's resolver puts them."""
    return [cache.ivy() / "jars" / name for name in _JARS]


def are_downloaded() -> bool:
    return all(each.is_file() for each in jars())


def with_s3(settings: dict[str, str]) -> dict[str, str]:
    """Settings of Spark, with those for S3."""
    return {
        **settings,
        **(_local(settings) if are_downloaded() else _downloaded(settings)),
        "spark.hadoop.fs.s3a.aws.credentials.provider": ",".join(_PROVIDERS),
        **_address(),
    }


def _local(settings: dict[str, str]) -> dict[str, str]:
    """The jars as files. `local:` jars are used where they are; other machines receive them from Spark."""
    prefix = "local:" if settings["spark.master"].startswith("local") else ""
    return {"spark.jars": _joined(settings, "spark.jars", [f"{prefix}{each}" for each in jars()])}


def _downloaded(settings: dict[str, str]) -> dict[str, str]:
    """An instruction to download them."""
    return {
        "spark.jars.packages": _joined(settings, "spark.jars.packages", _PACKAGES),
        "spark.jars.excludes": _joined(settings, "spark.jars.excludes", _EXCLUDED),
    }


def _joined(settings: dict[str, str], name: str, more: list[str] | tuple[str, ...]) -> str:
    return ",".join([*filter(None, [settings.get(name)]), *more])


def _address() -> dict[str, str]:
    """The settings for the address of the store. Servers other than AWS have the bucket in the path."""
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    found = {"spark.hadoop.fs.s3a.endpoint.region": region} if region else {}
    address = endpoint()
    if address is None:
        return found
    return {
        **found,
        "spark.hadoop.fs.s3a.endpoint": address,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": str(address.startswith("https://")).lower(),
    }

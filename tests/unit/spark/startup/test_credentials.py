"""Credentials are not accepted as Spark settings, and Spark redacts them in what it writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kconf.cli.common.pipeline.spark_session import spark_settings
from kconf.errors import ConfigurationError

SECRET = "planted/s3+value"
NAMES = (
    "fs.s3a.secret.key",
    "fs.s3a.access.key",
    "fs.s3a.bucket.prod.Secret.Key",
    "fs.s3a.session.token",
    "fs.s3a.encryption.key",
    "fs.s3a.server-side-encryption.key",
    "fs.s3.awsAccessKeyId",
    "fs.azure.account.key.account.dfs.core.windows.net",
    "fs.azure.sas.container.account.blob.core.windows.net",
    "fs.azure.sas.fixed.token",
    "fs.azure.account.oauth2.client.secret",
    "fs.gs.auth.service.account.private.key",
    "google.cloud.auth.refresh.token",
    "some.store.api_key",
    "javax.net.ssl.keyStorePassword",
)
VALUES = (
    f"spark.executor.extraJavaOptions=-Xss4m -Djavax.net.ssl.trustStorePassword={SECRET}",
    f"spark.jars.repositories=https://user:{SECRET}@repo.example/maven",
    f"spark.hadoop.some.store.url=https://a.blob.core.windows.net/c?sv=2024&sig={SECRET}",
    f"spark.hadoop.some.store.connection=AccountName=a;AccountKey={SECRET}",
    f"spark.hadoop.some.pem=-----BEGIN PRIVATE KEY-----{SECRET}",
)


@pytest.mark.parametrize(
    "word",
    [
        *(f"{prefix}{name}={SECRET}" for prefix in ("spark.hadoop.", "spark.", "") for name in NAMES),
        *(f"spark.hadoop.{name}={SECRET}".upper().replace("SPARK", "spark", 1) for name in NAMES),
        *VALUES,
    ],
)
def test_a_credential_is_refused_on_the_command_line(word: str) -> None:
    with pytest.raises(ConfigurationError, match=r"would show a credential to everyone .* core-site\.xml") as raised:
        spark_settings([word])

    assert SECRET.lower() not in str(raised.value).lower()


def test_a_setting_without_an_equals_sign_is_refused_without_printing_it() -> None:
    with pytest.raises(ConfigurationError, match="contains no =") as raised:
        spark_settings([f"spark.hadoop.fs.s3a.secret.key:{SECRET}"])

    assert SECRET not in str(raised.value)


def test_settings_that_only_name_where_credentials_are_found_are_accepted() -> None:
    words = [
        "spark.hadoop.fs.s3a.aws.credentials.provider=a.b.C",
        "spark.hadoop.hadoop.security.credential.provider.path=jceks://hdfs@nn1.example.com:9001/user/keys.jceks",
        "spark.hadoop.fs.azure.sas.token.provider.type=a.b.C",
        "spark.hadoop.fs.azure.account.keyprovider.account=a.b.C",
        "spark.hadoop.fs.gs.auth.service.account.json.keyfile=/etc/keys/gs.json",
        "spark.security.credentials.hive.enabled=false",
        "spark.executor.extraJavaOptions=-Djava.security.krb5.conf=/etc/krb5.conf",
        "spark.jars.repositories=https://repo.example/maven",
        "spark.sql.shuffle.partitions=4",
    ]

    assert len(spark_settings(words)) == len(words)


@pytest.mark.full
def test_credentials_of_core_site_xml_are_not_in_spark_s_log_or_event_log(tmp_path: Path) -> None:
    """Spark's own pattern does not know the keys of Azure and Google Cloud."""
    given = "".join(f"<property><name>{name}</name><value>{SECRET}</value></property>" for name in NAMES)
    (tmp_path / "core-site.xml").write_text(f"<configuration>{given}</configuration>")
    (tmp_path / "events").mkdir()
    program = (
        "import sys; from pathlib import Path; from kconf.spark import session; "
        "settings = {'spark.eventLog.enabled': 'true', 'spark.eventLog.dir': sys.argv[1] + '/events', "
        "'spark.eventLog.compress': 'false', 'spark.logConf': 'true'}; "
        "spark = session.start('local[1]', log=Path(sys.argv[1], 'spark.log'), quick=True, settings=settings); "
        "found = spark.sparkContext._jsc.hadoopConfiguration().get('fs.s3a.secret.key'); "
        "session.stop(spark); print(found)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True, text=True, timeout=280, check=False, env={**os.environ, "HADOOP_CONF_DIR": str(tmp_path)},
    )  # fmt: skip

    assert done.stdout == f"{SECRET}\n", done.stderr
    written = [each for each in tmp_path.rglob("*") if each.is_file() and each.name != "core-site.xml"]
    text = "".join(each.read_text(errors="replace") for each in written)
    assert "fs.azure.sas.fixed.token" in text
    assert SECRET not in text

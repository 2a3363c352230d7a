"""A local S3 server: moto in its own process, because deltalake blocks Python while it waits.

It supports conditional writes (`If-None-Match`), like AWS, MinIO, Ceph and R2.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

BUCKET: Final = "kconf-test"
KEY_ID, SECRET = "AKIAKCONFPLANTED", "planted/s3+secret"
_SERVE: Final = """
import logging, sys
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
server.stop()
"""


@contextmanager
def object_store() -> Iterator[dict[str, str]]:
    """Environment variables for a client of the server, which has an empty bucket."""
    process = subprocess.Popen([sys.executable, "-c", _SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline())
        environment = {
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        client(environment).create_bucket(Bucket=BUCKET)
        yield environment
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(60)


def client(environment: dict[str, str]) -> Any:
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=environment["AWS_ENDPOINT_URL"],
        aws_access_key_id=KEY_ID,
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
    )


def objects(environment: dict[str, str]) -> dict[str, bytes]:
    """All objects of the bucket."""
    s3 = client(environment)
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
    names = [each["Key"] for page in pages for each in page.get("Contents", ())]
    return {name: s3.get_object(Bucket=BUCKET, Key=name)["Body"].read() for name in names}

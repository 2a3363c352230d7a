"""Passwords in Kafka's format. Compared with the real class in tests/conformance/test_password_encoder.py."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kconf.errors import ConfigurationError
from kconf.security.password_encoder import PasswordEncoder, UndecodablePassword
from kconf.security.value_cipher import Secrets

# Written by Kafka 3.9.2 with the secret "s".
OF_KAFKA = (
    "initializationVector:9XJXHo/G9VmD9cNIc1v1wA==,keyLength:128,salt:EQ/1D6wMgsonAp4LoqU+7R+6zp28qSqAuSNMLmp74pYilWUKFEKe/"
    "drrBg0KE19fLk6vzeQ1bi9OMCnjE9BgaBOc/4sePWxjSmqjspPpoYX47b64JwruEF0t1IQFc9eofiBKz1MgbNbaSsb/PUkQHfAsGqw271zLdsJInUxkcV"
    "DGiQ0vRbY/x/TRLzjzmPG8qX7P+qnGoWtz9XavAMIZ5P1hQVEoRK5yieqSU+oodRw7cVpT7+JIkiU0f6NboEm593fhwMTMXJBLoVFcbpIjh2KVueQRWkiB"
    "CLX6T1F7Pd8r1s4oiB3deRBaeqDTm7JC2vw4QAPIu2ovI+4yRxBvhA==,keyFactoryAlgorithm:PBKDF2WithHmacSHA512,cipherAlgorithm:AES/"
    "CBC/PKCS5Padding,iterations:4096,passwordLength:5,encryptedPassword:yc7DGjs7QGn1GMlU4WsFwg=="
)


def test_a_password_encoded_by_kafka_is_decoded() -> None:
    assert PasswordEncoder(Secrets("s")).decode(OF_KAFKA) == ("pä𝄞x", True)


def test_encoding_a_password_twice_gives_different_texts() -> None:
    encoder = PasswordEncoder(Secrets("s"))
    one, other = encoder.encode("x"), encoder.encode("x")
    assert one != other
    assert encoder.decode(one) == encoder.decode(other) == ("x", True)


def test_values_encrypted_with_the_old_secret_are_recognized() -> None:
    rolling = PasswordEncoder(Secrets("new", "s"))
    assert rolling.decode(OF_KAFKA) == ("pä𝄞x", False)
    again = rolling.renewed(OF_KAFKA)
    assert again is not None
    assert PasswordEncoder(Secrets("new")).decode(again) == ("pä𝄞x", True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "a:b",
        OF_KAFKA.replace("iterations:4096", "iterations:99999999999"),
        OF_KAFKA.replace("iterations:4096", "iterations:-1"),
        OF_KAFKA.replace("keyLength:128", "keyLength:100000000"),
        OF_KAFKA.replace("passwordLength:5", "passwordLength:4"),
        OF_KAFKA.replace("AES/CBC/PKCS5Padding", "AES/CTR/NoPadding"),
        OF_KAFKA.replace("HmacSHA512", "HmacMD5"),
        OF_KAFKA.replace("encryptedPassword:yc7DGjs7QGn1GMlU4WsFwg==", "encryptedPassword:"),
        OF_KAFKA.replace("encryptedPassword:yc7DGjs7QGn1GMlU4WsFwg==", "encryptedPassword:yc7D"),
        OF_KAFKA.replace("initializationVector:9XJX", "initializationVector:"),
        OF_KAFKA.replace("salt:EQ/1", "salt:!!!!"),
    ],
)
def test_a_value_that_cannot_be_decrypted_is_refused_without_printing_it(text: str) -> None:
    with pytest.raises(UndecodablePassword) as raised:
        PasswordEncoder(Secrets("s")).decode(text)
    assert not text or text not in str(raised.value)


def test_the_password_encoder_is_configured_by_kafkas_properties() -> None:
    static = {
        "password.encoder.secret": "s",
        "password.encoder.cipher.algorithm": "AES/GCM/NoPadding",
        "password.encoder.keyfactory.algorithm": "PBKDF2WithHmacSHA256",
        "password.encoder.key.length": "256",
        "password.encoder.iterations": "2000",
    }
    encoder = PasswordEncoder.of(static)
    assert encoder == PasswordEncoder(Secrets("s"), "PBKDF2WithHmacSHA256", "AES/GCM/NoPadding", 256, 2000)
    assert "'s'" not in repr(encoder)
    assert "'x'" not in repr(encoder.decode(encoder.encode("x")))
    assert PasswordEncoder.of({}) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cipher.algorithm", "DES"),
        ("keyfactory.algorithm", "MD5"),
        ("key.length", "100"),
        ("key.length", "long"),
        ("iterations", "1"),
    ],
)
def test_an_unsupported_setting_of_the_encoder_is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"password.encoder.{name}"):
        PasswordEncoder.of({"password.encoder.secret": "s", f"password.encoder.{name}": value})


def test_without_the_package_a_message_names_what_to_install() -> None:
    script = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from kconf.security.password_encoder import PasswordEncoder\n"
        "from kconf.errors import ConfigurationError\n"
        "try: PasswordEncoder.of({'password.encoder.secret': 's'})\n"
        "except ConfigurationError as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "kconf[tls]" in said

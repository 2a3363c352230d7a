"""kconf and Kafka 3.9.2 decode each other's encoded passwords in ZooKeeper."""

from __future__ import annotations

import subprocess
from base64 import b64decode, b64encode
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from kconf.security.password_encoder import PasswordEncoder, UndecodablePassword
from kconf.security.value_cipher import Secrets
from lab.jars import classpath
from lab.java import QUICK, java

PEER = Path(__file__).parent / "java" / "Passwords.java"
FACTORIES = [f"PBKDF2WithHmacSHA{size}" for size in (1, 224, 256, 384, 512)]
CIPHERS = ["AES/CBC/PKCS5Padding", "AES/GCM/NoPadding"]
WAYS = [*product(FACTORIES, CIPHERS, (128,), (4096,)), ("PBKDF2WithHmacSHA512", CIPHERS[0], 256, 1024)]
PASSWORDS = ["", "x", "s3cret", "fifteen-letters", "sixteen--letters", "long " * 100, "pä𝄞 名前", "a,b:c=d\n\t"]
SECRETS = ["encoder-secret", "gehéim 名", "s" * 200]


class Question(NamedTuple):
    """A line to Kafka's class."""

    verb: str
    secret: str
    factory: str
    cipher: str
    bits: int
    iterations: int
    text: str

    def __str__(self) -> str:
        _, secret, *how, text = self
        return "\t".join([self.verb, _wrapped(secret), *map(str, how), _wrapped(text)])


def ask_kafka(questions: list[Question]) -> list[str]:
    """Run all of them in one JVM. A result that begins with `!` is an exception."""
    done = subprocess.run(
        [java(), *QUICK, "-cp", classpath("3.9.2"), str(PEER)],
        input="".join(f"{each}\n" for each in questions),
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    answers = done.stdout.splitlines()
    assert len(answers) == len(questions), done.stderr
    return [each if each.startswith("!") else b64decode(each).decode() for each in answers]


def _wrapped(text: str) -> str:
    return b64encode(text.encode()).decode()


def test_kconf_and_kafka_decode_each_others_passwords() -> None:
    cases = list(product(SECRETS, WAYS, PASSWORDS))
    written = ask_kafka([Question("encode", secret, *way, password) for secret, way, password in cases])
    for (secret, _way, password), text in zip(cases, written, strict=True):
        assert PasswordEncoder(Secrets(secret)).decode(text) == (password, True)  # the text says how
    ours = [PasswordEncoder(Secrets(secret), *way).encode(password) for secret, way, password in cases]
    questions = [Question("decode", secret, *way, text) for (secret, way, _), text in zip(cases, ours, strict=True)]
    assert ask_kafka(questions) == [password for _, _, password in cases]


def test_neither_side_decodes_a_password_with_another_secret() -> None:
    ways = [WAYS[-2], WAYS[-1], ("PBKDF2WithHmacSHA512", CIPHERS[1], 128, 4096)]
    written = ask_kafka([Question("encode", "right", *way, "s3cret") for way in ways])
    for text in written:
        with pytest.raises(UndecodablePassword) as raised:
            PasswordEncoder(Secrets("wrong", "also wrong")).decode(text)
        assert text not in str(raised.value)
    ours = [PasswordEncoder(Secrets("right"), *way).encode("s3cret") for way in ways]
    questions = [Question("decode", "wrong", *way, text) for way, text in zip(ways, ours, strict=True)]
    assert all(each.startswith("!") for each in ask_kafka(questions))


def test_values_encrypted_again_after_a_rotation_are_readable_by_kafka() -> None:
    (text,) = ask_kafka([Question("encode", "old", *WAYS[-2], "s3cret")])
    rolling = PasswordEncoder(Secrets("new", "old"))
    assert rolling.decode(text) == ("s3cret", False)
    again = rolling.renewed(text)
    assert again is not None
    assert rolling.renewed(again) is None
    assert ask_kafka([Question("decode", "new", *WAYS[0], again)]) == ["s3cret"]

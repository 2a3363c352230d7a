"""The class names that a value may have are those in Kafka's jars: kconf has no JVM to check them."""

from __future__ import annotations

from zipfile import ZipFile

from kconf.configdef.java.classes import KNOWN_CLASSES
from lab.jars import classpath, jar_dir

OF_3_9 = {"kafka.security.authorizer.AclAuthorizer"}  # also means kconf's authorizer, like its successor


def test_every_accepted_class_name_is_in_kafkas_jars() -> None:
    classpath("4.3.1")  # downloads the jars if they are missing
    shipped: set[str] = set()
    for jar in jar_dir("4.3.1").glob("*.jar"):
        with ZipFile(jar) as file:
            names = [each for each in file.namelist() if each.endswith(".class")]
        shipped.update(each.removesuffix(".class").replace("/", ".") for each in names)

    assert KNOWN_CLASSES - shipped == OF_3_9

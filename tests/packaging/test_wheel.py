"""Builds sdist and wheel, installs the wheel in an empty environment, and checks that it works."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kconf.cli.main import parser
from kconf.version import __version__

ROOT = Path(__file__).parents[2]
READY = re.compile(r"ready: listening on (\S+)")


def run(*command: str | Path, cwd: Path | None = None, status: int = 0) -> str:
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the sdist, which shows that the sdist is complete."""
    place = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", place, ROOT)
    return place


@pytest.fixture(scope="module")
def alone(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with only the wheel and its dependencies."""
    place = tmp_path_factory.mktemp("alone")
    venv.create(place, with_pip=True)
    (wheel,) = built.glob("*.whl")
    run(place / "bin/python", "-m", "pip", "install", "--quiet", wheel)
    return place / "bin"


@pytest.fixture
def server(alone: Path, tmp_path: Path) -> Iterator[str]:
    command = [str(alone / "kconf"), "serve", "--listen", "127.0.0.1:0", "--store", "sqlite:///kconf.db"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        ready = READY.search(said)
        assert ready, said
        yield ready[1]
    finally:
        process.terminate()
        process.communicate(timeout=120)


def test_the_wheel_has_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()

    tops = {name.partition("/")[0] for name in names}
    assert tops <= {"kconf", "pyspark_kconf.py", f"kconf-{__version__}.dist-info"}
    assert "kconf/py.typed" in names


def test_the_sdist_has_what_is_needed_to_build_and_test(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as files:
        tops = {"/".join(name.split("/")[1:2]) for name in files.getnames()}

    assert {
        "src",
        "tests",
        "lab",
        "docs",
        "examples",
        "Makefile",
        "mkdocs.yml",
        "pyproject.toml",
        "README.md",
        "LICENSE",
    } <= tops


def test_the_version_is_defined_in_one_place(alone: Path) -> None:
    assert run(alone / "kconf", "--version").strip() == f"kconf {__version__}"


def test_the_server_and_the_commands_work_without_any_extra(alone: Path, server: str) -> None:
    made = "SyncAdminClient(sys.argv[1]).create_topics([NewTopic('orders', 1, 1)]).raise_for_failures()"
    code = f"import sys; from kconf import SyncAdminClient, NewTopic; {made}"
    run(alone / "python", "-c", code, server)

    run(alone / "kconf", "set", "topic:orders", "retention.ms=7d", "-b", server)

    assert "7d" in run(alone / "kconf", "describe", "topic:orders", "-b", server)
    asked = ("--bootstrap-server", server, "--describe", "--topic", "orders")
    assert "retention.ms=604800000" in run(alone / "kafka-configs", *asked)


def test_every_command_has_a_help_that_needs_no_extra(alone: Path) -> None:
    listed = run(alone / "kconf", "--help")
    names = re.findall(r"^    ([a-z][a-z-]+)(?= |$)", listed, re.MULTILINE)

    assert len(names) > 30
    for name in names:
        assert "usage:" in run(alone / "kconf", name, "--help"), name


def test_the_container_starts_commands_that_exist() -> None:
    """Docker is not available in tests, so the container's commands are only parsed by the program."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    words = json.loads(next(line.removeprefix("CMD ") for line in lines if line.startswith("CMD ")))

    options = parser(words[0]).parse_args(words)

    assert options.store == "sqlite:////var/lib/kconf/kconf.db"

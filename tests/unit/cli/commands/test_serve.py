"""`kconf serve` refuses options that contradict each other, before it connects to anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconf.cli.main import main


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--archive", "archive"), "of a gateway needs --controllers"),
        (("--override", "archive.directory=archive"), "of a gateway needs --controllers"),
        (("--controllers", "127.0.0.1:1", "--recover"), "cannot be combined with --recover"),
        (("--controllers", "127.0.0.1:1", "--read-only"), "or --read-only"),
    ],
)
def test_a_gateway_refuses_options_that_contradict_it(
    words: tuple[str, ...],
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["serve", "--upstream", "127.0.0.1:1", *words]) == 1
    assert why in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["--controllers", "--controller-properties", "--upstream-properties"])
def test_options_of_gateways_are_refused_without_upstream(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the refusal, somebody who forgets --upstream would start a plain server."""
    monkeypatch.chdir(tmp_path)
    assert main(["serve", "--store", "sqlite:///missing/kconf.db", option, "127.0.0.1:1"]) == 1
    assert f"{option} is for gateways: also pass --upstream" in capsys.readouterr().err


def test_a_host_without_a_port_is_interpreted_as_a_context(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--upstream", "kafka"]) == 1
    assert "--upstream takes a context or HOST:PORT: no context 'kafka'" in capsys.readouterr().err


def test_an_oidc_provider_is_refused_without_the_console(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--oidc-issuer", "https://idp.test", "--oidc-client-id", "console"]) == 1
    assert "--oidc-issuer needs --console" in capsys.readouterr().err

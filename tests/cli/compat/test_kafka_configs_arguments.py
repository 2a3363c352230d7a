"""How kafka-configs parses its command line: cli-spec 2 to 5, and ConfigCommandTest's checklist (16)."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest

from kconf.cli.compat.kafka_configs.arguments import Arguments, InvalidArguments
from kconf.cli.compat.kafka_configs.checks import check
from kconf.cli.compat.kafka_configs.credentials import parse_credential
from kconf.cli.compat.kafka_configs.entities import paired_with_a_later_type
from kconf.cli.compat.kafka_configs.grammar import config_specs, parse_pairs
from kconf.cli.compat.kafka_configs.secrets import masked, scrubbed
from kconf.model.scram import Mechanism

CONNECTIONS = ("--bootstrap-server", "--bootstrap-controller")


def read(line: str, *, connection: str = "--bootstrap-server") -> Arguments:
    return Arguments([connection, "localhost:9092", *line.split()])


LONG_AND_SHORT = {
    "topics": ("--topic", "t"),
    "clients": ("--client", "c"),
    "users": ("--user", "u"),
    "brokers": ("--broker", "0"),
    "broker-loggers": ("--broker-logger", "0"),
    "ips": ("--ip", "1.2.3.4"),
    "client-metrics": ("--client-metrics", "m"),
    "groups": ("--group", "g"),
}
CHANGES = ("--add-config a=b", "--add-config-file /f", "--delete-config a", "--add-config a=b --delete-config c")


@pytest.mark.parametrize("connection", CONNECTIONS)
@pytest.mark.parametrize("kind", LONG_AND_SHORT)
def test_every_entity_type_has_a_long_and_a_short_form(kind: str, connection: str) -> None:
    option, name = LONG_AND_SHORT[kind]
    for who in (f"--entity-type {kind} --entity-name {name}", f"{option} {name}"):
        assert check(read(f"--describe {who}", connection=connection)) == ((kind,), (name,))
        for change in CHANGES:
            assert check(read(f"--alter {who} {change}", connection=connection)) == ((kind,), (name,))


PAIRS = {
    "--entity-type users --entity-type clients --entity-name A --entity-default": ("users clients", ("A", "")),
    "--entity-default --entity-name B --entity-type users --entity-type clients": ("users clients", ("", "B")),
    "--entity-type clients --entity-type users --entity-name B --entity-name A": ("clients users", ("B", "A")),
    "--entity-type clients --entity-type users --entity-name A": ("clients users", ("A",)),
    "--entity-type users --entity-type clients": ("users clients", ()),
    "--entity-type clients --entity-default": ("clients", ("",)),
    "--entity-type users": ("users", ()),
    "--client B --user A": ("clients users", ("B", "A")),
    "--user A --client B": ("clients users", ("B", "A")),
    "--client B --user-defaults": ("clients users", ("B", "")),
    "--user-defaults --client B": ("clients users", ("B", "")),
    "--user A --client-defaults": ("users clients", ("A", "")),
    "--user-defaults --client-defaults": ("clients users", ("", "")),
    "--client-defaults": ("clients", ("",)),
    "--broker-defaults": ("brokers", ("",)),
    "--ip-defaults": ("ips", ("",)),
}


@pytest.mark.parametrize("line", PAIRS)
def test_names_are_assigned_to_types_by_position(line: str) -> None:
    types, names = PAIRS[line]

    assert check(read(f"--describe {line}")) == (tuple(types.split()), names)


def test_an_empty_name_means_the_default() -> None:
    words = ["--bootstrap-server", "x:1", "--describe", "--entity-type", "users", "--entity-name", ""]

    assert check(Arguments(words)).names == ("",)


def test_a_name_before_its_type_is_reported() -> None:
    swapped = read("--describe --entity-default --entity-name B --entity-type users --entity-type clients")
    short = read("--describe --entity-type clients --entity-type users --entity-name A")
    clear = read("--describe --entity-type users --entity-type clients --entity-name A --entity-name B")

    assert "users" in (paired_with_a_later_type(swapped) or "")
    assert "'A' is assigned to clients" in (paired_with_a_later_type(short) or "")
    assert paired_with_a_later_type(clear) is None


@pytest.mark.parametrize("kind", ["clients", "users", "brokers", "ips"])
def test_four_entity_types_have_a_default(kind: str) -> None:
    assert check(read(f"--describe --entity-type {kind} --entity-default")).names == ("",)


@pytest.mark.parametrize("kind", ["topics", "broker-loggers", "client-metrics", "groups"])
def test_four_entity_types_have_no_default(kind: str) -> None:
    for line in (f"--describe --entity-type {kind}", f"--alter --entity-type {kind} --add-config a=b"):
        with pytest.raises(InvalidArguments, match=kind):
            check(read(f"{line} --entity-default"))


REFUSED = {
    "--describe --entity-type planets": "Invalid entity type planets",
    "--describe --entity-type users --zookeeper z:1": "zookeeper is not a recognized option",
    "--alter --entity-type users --add-config a=b": "An entity-name or default entity must be specified",
    "--alter --entity-type client-metrics --add-config a=b": (
        "^An entity name must be specified with --alter of client-metrics$"
    ),
    "--alter --entity-type groups --add-config a=b": "^An entity name must be specified with --alter of groups$",
    "--alter --entity-type topics --add-config a=b": "^An entity name must be specified with --alter of topics$",
    "--describe --entity-type broker-loggers": ("^An entity name must be specified with --describe of broker-loggers$"),
    "--describe --broker x": "must be a valid integer broker id",
    "--alter --entity-type brokers --entity-name x --add-config a=b": "must be a valid integer broker id",
    "--alter --broker 1,2,3 --add-config a=b": "must be a valid integer broker id",
    "--describe --ip A,B": "valid IP or resolvable host",
    "--describe --ip RFC2606.invalid": "valid IP or resolvable host",
    "--describe --entity-type users --client x": "should not be used in conjunction",
    "--describe --user x --entity-name y": "should not be used in conjunction",
    "--alter --topic t --add-config a=b --add-config-file f": "Only one of --add-config or --add-config-file",
    "--alter --topic t": "At least one of --add-config",
    "--describe --topic t --output xml": "--output must be text or json",
    "--describe --topic t --dry-run": "--dry-run requires --alter",
    "--describe --topic t stray": "'stray' is not an option",
    "--describe --topic": "Option topic requires an argument",
    "--desc --topic t": "desc is not a recognized option; did you mean --describe?",
    "--describe --topic t --topic u": "Found multiple arguments for option topic",
}


@pytest.mark.parametrize("line", REFUSED)
def test_invalid_input_is_refused_in_one_sentence(line: str) -> None:
    with pytest.raises(InvalidArguments, match=REFUSED[line]) as refused:
        check(read(line))
    assert "\n" not in str(refused.value)


def test_a_host_that_does_not_resolve_is_accepted_with_no_resolve() -> None:
    assert check(read("--describe --ip RFC2606.invalid --no-resolve")).names == ("RFC2606.invalid",)


@pytest.mark.parametrize(
    "line", ["", "--topic t", "--describe --alter --topic t", "--describe --topic t --add-config a=b"]
)
def test_without_exactly_one_action_the_options_are_printed(line: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        check(read(line))
    assert refused.value.usage


VECTORS: dict[str, dict[str, str] | str] = {
    "a=b,c=d": {"a": "b", "c": "d"},
    "a=b,c=,d=e,f=": {"a": "b", "c": "", "d": "e", "f": ""},
    "a._-c=b": {"a._-c": "b"},
    "a,=b": "format",
    "=b": {"": "b"},
    "a==": "format",
    "a=b=c": "format",
    "a": "format",
    "": "format",
    "a=[]": {"a": ""},
    "metrics=": {"metrics": ""},
    "a=b]c": "format",
    "a=[b,c,d=e": "format",
    "a=b,c=[d,e ,f],g=[h,i]": {"a": "b", "c": "d,e ,f", "g": "h,i"},
    "a=b,": {"a": "b"},
    ",a=b": "format",
    "a=b,,c=d": "format",
    "a = b , c = d": {"a": "b", "c": "d"},
    "a=[b=c]": {"a": "b=c"},
    "a=[[1,2],[3,4]]": "format",
    "a=[x]y[z]": {"a": "xyz"},
    "a=b,a=c": {"a": "c"},
    "SCRAM-SHA-256=[iterations=8192,password=abc, def]": {"SCRAM-SHA-256": "iterations=8192,password=abc, def"},
    "SCRAM-SHA-512=[password=1234=abc]": {"SCRAM-SHA-512": "password=1234=abc"},
    "SCRAM-SHA-256=[password=a]b]": {"SCRAM-SHA-256": "password=ab"},
    "SCRAM-SHA-256=[password=a[b]": "format",
    r"match=[client_software_name=x,client_software_version=1\.2\..*]": {
        "match": r"client_software_name=x,client_software_version=1\.2\..*"
    },
    "SCRAM-SHA-256=[password=ab ]": {"SCRAM-SHA-256": "password=ab"},
}


@pytest.mark.parametrize("text", VECTORS)
def test_pairs_are_parsed_as_by_kafka(text: str) -> None:
    """cli-spec 5: the expected results come from ConfigCommand's own parser."""
    expected = VECTORS[text]
    if isinstance(expected, str):
        with pytest.raises(InvalidArguments, match=expected):
            parse_pairs(text, strict=True)
    else:
        assert parse_pairs(text, strict=True) == expected


@pytest.mark.parametrize("text", ["a=[x]y[z]", "SCRAM-SHA-256=[password=a]b]", "SCRAM-SHA-256=[password=ab ]"])
def test_a_value_that_parsing_would_truncate_is_refused(text: str) -> None:
    with pytest.raises(InvalidArguments, match="--add-config would remove the ") as refused:
        parse_pairs(text)
    assert "password=" not in str(refused.value)


def test_a_key_has_letters_digits_dots_dashes_and_underscores() -> None:
    with pytest.raises(InvalidArguments, match="Invalid character found for config key: a;c"):
        config_specs(read("--alter --topic t --add-config a;c=b"))


def test_repeated_delete_config_options_are_combined() -> None:
    assert config_specs(read("--alter --topic t --delete-config a,b --delete-config c")).delete == ["a", "b", "c"]
    with pytest.raises(InvalidArguments):
        config_specs(read("--alter --topic t --delete-config a,,b"))


def test_values_of_a_file_are_read_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "f.properties"
    file.write_text('plain=b\nspaced = d\njson = {"key": "val"}\nnested = [[1, 2], [3, 4]]\n')

    assert config_specs(read(f"--alter --topic t --add-config-file {file}")).add == {
        "plain": "b",
        "spaced": "d",
        "json": '{"key": "val"}',
        "nested": "[[1, 2], [3, 4]]",
    }


class TestCredentials:
    def test_iterations_default_to_4096(self) -> None:
        for text in ("password=a,b=c", "iterations=-1,password=a,b=c"):
            assert parse_credential("SCRAM-SHA-256", text) == (Mechanism.SCRAM_SHA_256, 4096, "a,b=c")

    def test_a_blank_after_the_comma_is_accepted(self) -> None:
        """The example in KIP-248 has a space there; Kafka's parser refuses it."""
        text = "iterations=8192, password=alice-secret"

        assert parse_credential("SCRAM-SHA-512", text) == (Mechanism.SCRAM_SHA_512, 8192, "alice-secret")
        with pytest.raises(InvalidArguments):
            parse_credential("SCRAM-SHA-512", text, strict=True)

    def test_too_few_iterations_are_refused_with_the_mechanism(self) -> None:
        with pytest.raises(
            InvalidArguments, match="Iterations 4 is less than the minimum 4096 required for SCRAM-SHA-256"
        ):
            parse_credential("SCRAM-SHA-256", "iterations=4,password=x")

    @pytest.mark.parametrize("text", ["hush", "iterations=hush,password=hush", "iterations=4096", "password:hush"])
    def test_a_wrong_syntax_is_reported_without_the_secret(self, text: str) -> None:
        for strict in (False, True):
            with pytest.raises(InvalidArguments, match="Invalid credential property SCRAM_SHA_256=") as refused:
                parse_credential("SCRAM-SHA-256", text, strict=strict)
            assert "hush" not in str(refused.value)

    def test_a_password_can_be_in_a_file_a_variable_or_stdin(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "secret").write_text("from a file\n")
        monkeypatch.setenv("ALICE", "from the environment")

        assert parse_credential("SCRAM-SHA-256", f"password=@{tmp_path}/secret").password == "from a file"
        assert parse_credential("SCRAM-SHA-256", "password=env:ALICE").password == "from the environment"
        monkeypatch.setattr("sys.stdin", StringIO("from stdin\nanother line\n"))
        assert parse_credential("SCRAM-SHA-256", "password=-").password == "from stdin"
        for missing in ("password=@/no/such/file", "password=env:NOBODY"):
            with pytest.raises(InvalidArguments):
                parse_credential("SCRAM-SHA-256", missing)
        assert parse_credential("SCRAM-SHA-256", "password=env:ALICE", strict=True).password == "env:ALICE"

    def test_the_repr_of_a_credential_hides_the_password(self) -> None:
        assert "hush" not in repr(parse_credential("SCRAM-SHA-256", "password=hush"))


class TestSecrets:
    def test_secrets_are_masked_in_a_repeated_command_line(self) -> None:
        pairs = "SCRAM-SHA-256=[password=hush]"
        words = ["--alter", "--user", "u", "--add-config", pairs, "--add-config=ssl.key.password=hush"]

        assert "hush" not in masked(words, "users")
        assert (
            masked(["--alter", "--topic", "t", "--add-config", "a=b"], "topics") == "--alter --topic t --add-config a=b"
        )
        assert masked(["--add-config", "password=[hush,a=b"], "users") == "--add-config [hidden]"

    def test_the_value_of_an_unknown_broker_key_is_masked(self) -> None:
        assert masked(["--add-config", "my.thing=x,log.retention.ms=5"], "brokers") == (
            "--add-config my.thing=[hidden],log.retention.ms=5"
        )

    def test_secrets_are_removed_from_a_servers_message(self) -> None:
        said = scrubbed("bad value hush for ssl.key.password", "brokers", {"ssl.key.password": "hush"})

        assert said == "bad value [hidden] for ssl.key.password"

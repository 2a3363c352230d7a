"""`kconf context`: manage named clusters."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.common.command import command
from kconf.cli.common.help import add_verb
from kconf.cli.common.target import add_output, add_target, on_each, targets
from kconf.cli.output.result import CommandResult, ResultColumn, sentence
from kconf.client.contexts.context import DEFAULT_BOOTSTRAP, Context
from kconf.client.contexts.load import load_contexts
from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.operations.target import Target

EXAMPLES: Final = """\
examples:
  kconf context add local -b localhost:9092
  kconf context add prod-eu -b kafka.example.com:9093 --properties client.properties --protected --label env=prod
  kconf context add team -b kafka.example.com:9093 --property security.protocol=SASL_SSL \\
      --property sasl.mechanism=SCRAM-SHA-512 --user alice --password-command 'pass show kafka/alice'
  kconf context list
  kconf context use local
  kconf context show prod-eu
  kconf context test local
  kconf context remove local

Contexts are stored in ~/.config/kconf/config.yaml, or in the file that KCONF_CONFIG names. Values may contain
${env:NAME}, ${file:PATH:KEY}, ${file:PATH} and ${password}, which is the output of the password command.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "context",
        help="manage contexts: named clusters and how to connect",
        description="Manage contexts: named clusters and how to connect to them.",
        epilog=EXAMPLES,
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listing = add_verb(verbs, "list", "list all contexts", "List all contexts; * marks the current one.", EXAMPLES)
    add_output(listing)
    listing.set_defaults(run=command("context list", list_contexts))
    use = add_verb(verbs, "use", "set the current context", "Set the current context.", EXAMPLES)
    use.add_argument("name", metavar="NAME", help="the context")
    add_output(use)
    use.set_defaults(run=command("context use", use_context))
    show = add_verb(verbs, "show", "show a context", "Show a context, without its secrets.", EXAMPLES)
    show.add_argument("name", metavar="NAME", nargs="?", help="the context (default: the current one)")
    add_output(show)
    show.set_defaults(run=command("context show", show_context))
    about = "Test which operations a cluster allows: yes, refused, unsupported or unreachable. Nothing is changed."
    test = add_verb(verbs, "test", "test the connection, and show which operations are allowed", about, EXAMPLES)
    test.add_argument("name", metavar="NAME", nargs="?", help="the context, same as -C")
    add_target(test, several=True)
    test.set_defaults(run=command("context test", _test))
    _add_add(verbs)
    about = "Remove a context from the file. Its journal, its properties file and the cluster are not changed."
    remove = add_verb(verbs, "remove", "remove a context", about, EXAMPLES)
    remove.add_argument("name", metavar="NAME", help="the context")
    add_output(remove)
    remove.set_defaults(run=command("context remove", remove_context))


def _add_add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = "Add a context; the first one becomes the current one."
    parser = add_verb(verbs, "add", "add a context", about, EXAMPLES)
    add = parser.add_argument
    add("name", metavar="NAME", help="name of the context")
    add("-b", "--bootstrap-server", metavar="HOST:PORT", required=True, help="any broker of the cluster")
    add("--properties", metavar="FILE", help="properties file of a Java admin client (TLS, SASL)")
    add("--property", metavar="KEY=VALUE", action="append", default=[], help="one client property; may be repeated")
    add("--user", metavar="NAME", help="SASL user name (PLAIN or SCRAM)")
    add("--password-command", metavar="COMMAND", help="command that prints the password")
    add("--password", metavar="REFERENCE", help="${env:NAME} or ${file:PATH:KEY}; a literal password is rejected")
    add("--read-only", action="store_true", help="reject every change")
    add("--protected", action="store_true", help="require typing the context's name before every change")
    add("--policy", metavar="FILE", help="policy rules for changes made through this context")
    add(
        "--ignore", metavar="RESOURCE", action="append", default=[], help="resources that plans ignore; may be repeated"
    )
    add("--journal", metavar="DIR", help="directory in which changes made through this context are recorded")
    add("--lake", metavar="URI", help="URI of the pipeline's tables")
    add(
        "--controllers",
        metavar="HOST:PORT,…",
        help="KRaft controllers of the cluster, to follow every change (kconf follow)",
    )
    add(
        "--controller-properties",
        metavar="FILE",
        help="properties file for the controllers, if their credentials differ",
    )
    add("--label", metavar="NAME=VALUE", action="append", default=[], help="a label; may be repeated")
    add("--use", action="store_true", help="make this the current context")
    add("--replace", action="store_true", help="replace an existing context of this name")
    add_output(parser)
    parser.set_defaults(run=command("context add", add_context))


def list_contexts(_: argparse.Namespace, result: CommandResult) -> None:
    found = load_contexts()
    result.columns = [
        ResultColumn("current", "", lambda item: "*" if item["current"] else ""),
        ResultColumn("context"),
        ResultColumn("bootstrap"),
        ResultColumn("read_only", show=lambda item: "read-only" if item["read_only"] else ""),
        ResultColumn("protected", show=lambda item: "protected" if item["protected"] else ""),
        ResultColumn("labels"),
    ]
    result.facts.update(file=found.path, current=found.current)
    for name, each in found.contexts.items():
        result.add(
            current=name == found.current,
            context=name,
            bootstrap=each.bootstrap,
            read_only=each.read_only,
            protected=each.protected,
            labels=dict(each.labels),
        )
    if not found.contexts:
        result.notes.append(f"no contexts in {found.path}; add one with `kconf context add`")


def use_context(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.client.contexts.file import with_current, write_file

    found = load_contexts()
    found.named(options.name)
    write_file(found.path, with_current(_text(found.path), options.name))
    result.add(context=options.name, file=found.path)
    result.notes.append(f"current context: {options.name}")


def remove_context(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.client.contexts.file import without_context, write_file

    found = load_contexts()
    found.named(options.name)
    write_file(found.path, without_context(_text(found.path), options.name))
    result.add(context=options.name, file=found.path)
    result.notes.append(f"removed {options.name} from {found.path}")
    if options.name == found.current:
        is_last = len(found.contexts) == 1
        then = (
            f"without a context, commands use {DEFAULT_BOOTSTRAP}"
            if is_last
            else "choose another with `kconf context use NAME`"
        )
        result.notes.append(f"{options.name} was the current context; {then}")


def show_context(options: argparse.Namespace, result: CommandResult) -> None:
    found = load_contexts()
    name = options.name or os.environ.get("KCONF_CONTEXT") or found.current
    if name is None:
        raise ConfigurationError("no current context is set; pass a context name")
    result.columns = [ResultColumn("field"), ResultColumn("value")]
    for field, value in shown_fields(found.named(name)).items():
        result.add(context=name, field=field, value=value)


def shown_fields(context: Context) -> dict[str, Any]:
    """The fields of a context. Secrets are hidden, references to secrets are not."""
    fields: dict[str, Any] = {}
    for name, value in context._asdict().items():
        if name in ("properties", "labels"):
            prefix = "property" if name == "properties" else "label"
            fields.update({f"{prefix} {key}": _hidden(key, each) for key, each in value.items()})
        elif value:
            fields[name] = _hidden(name, value) if name == "password" else value
    return fields


def _hidden(key: str, value: str) -> str:
    from kconf.client.contexts.config_providers import is_reference
    from kconf.configdef.sensitive import HIDDEN, looks_sensitive

    return HIDDEN if looks_sensitive(key) and not is_reference(value) else value


def add_context(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.client.contexts.file import with_context, with_current, write_file

    found = load_contexts()
    if options.name in found.contexts and not options.replace:
        raise ConfigurationError(f"context {options.name!r} already exists; pass --replace to replace it")
    text = with_context(_text(found.path), options.name, _fields(options))
    if options.use or not found.contexts:
        text = with_current(text, options.name)
    write_file(found.path, text)
    result.add(context=options.name, file=found.path)
    result.notes.append(f"added {options.name} to {found.path}; test it with `kconf context test {options.name}`")


def _fields(options: argparse.Namespace) -> dict[str, Any]:
    from kconf.client.settings import addresses

    if "${" not in options.bootstrap_server:
        addresses(options.bootstrap_server)
    fields: dict[str, Any] = {"bootstrap": options.bootstrap_server}
    properties = _pairs(options.property, "--property")
    if properties and options.properties:
        raise ConfigurationError("--properties and --property are mutually exclusive")
    fields["properties"] = properties or _absolute(options.properties)
    fields.update(user=options.user, password=_reference(options.password), password_command=options.password_command)
    fields.update(read_only=options.read_only, protected=options.protected, ignore=options.ignore)
    if options.controllers and "${" not in options.controllers:
        addresses(options.controllers)
    fields["controllers"] = options.controllers
    paths = ("policy", "journal", "lake", "controller_properties")
    fields.update({each: _absolute(getattr(options, each)) for each in paths})
    fields["labels"] = _pairs(options.label, "--label")
    for key, value in properties.items():
        if _hidden(key, value) != value:
            raise ConfigurationError(f"--property {key} is a secret; pass ${{env:NAME}} or ${{file:PATH:KEY}}")
    return {name: value for name, value in fields.items() if value}


def _reference(password: str | None) -> str | None:
    from kconf.client.contexts.config_providers import is_reference

    if password is not None and not is_reference(password):
        raise ConfigurationError("--password takes ${env:NAME} or ${file:PATH:KEY}, not the password itself")
    return password


def _absolute(path: str | None) -> str | None:
    return path if path is None or "://" in path else os.path.abspath(path)


def _pairs(words: list[str], option: str) -> dict[str, str]:
    for each in words:
        if "=" not in each or each.startswith("="):
            raise ConfigurationError(f"{option} takes NAME=VALUE")
    return dict(each.split("=", 1) for each in words)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None


def _test(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.operations.capabilities import Capability, probe_capabilities, probe_metadata_log

    if options.name is not None:
        if options.context is not None:
            raise ConfigurationError("the context is given twice, as an argument and with -C")
        options.context = options.name
    result.columns = [
        ResultColumn("context"),
        ResultColumn("capability"),
        ResultColumn("result"),
        ResultColumn("detail", "WHY"),
    ]

    def add(here: Target, found: Capability) -> None:
        detail = found.detail if found.failure is None else sentence(found.failure)
        result.add(context=here.name, capability=found.name, result=found.result, detail=detail)

    def probe(here: Target, admin: SyncAdminClient) -> None:
        for each in probe_capabilities(admin):
            add(here, each)
        if here.has_controllers:
            add(here, probe_metadata_log(here, admin.describe_cluster().cluster_id))

    on_each(targets(options), result, probe)

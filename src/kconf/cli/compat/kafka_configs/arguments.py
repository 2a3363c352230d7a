"""Parses the command line like Kafka's tools (jopt-simple): no abbreviations, `--opt value`, `--opt=value`, `-opt` as
well as `--opt`, an argument is taken literally even if it looks like an option, `--` ends the options."""

from __future__ import annotations

from typing import Final, Literal

from kconf.errors import ConfigurationError

Kind = Literal["flag", "one", "many"]

OPTIONS: Final[dict[str, Kind]] = {
    "bootstrap-server": "one",
    "bootstrap-controller": "one",
    "command-config": "one",
    "alter": "flag",
    "describe": "flag",
    "all": "flag",
    "entity-type": "many",
    "entity-name": "many",
    "entity-default": "flag",
    "add-config": "one",
    "add-config-file": "one",
    "delete-config": "many",
    "topic": "one",
    "client": "one",
    "client-defaults": "flag",
    "user": "one",
    "user-defaults": "flag",
    "broker": "one",
    "broker-defaults": "flag",
    "broker-logger": "one",
    "ip": "one",
    "ip-defaults": "flag",
    "client-metrics": "one",
    "group": "one",
    "help": "flag",
    "version": "flag",
    # Options that Kafka's tool does not have.
    "entity-names-file": "one",
    "entity-regex": "one",
    "dry-run": "flag",
    "output": "one",
    "strict-compat": "flag",
    "no-resolve": "flag",
    "reason": "one",
    "debug": "flag",
}


class InvalidArguments(ConfigurationError):
    """Invalid arguments. `usage`: also print the options."""

    def __init__(self, message: str, *, usage: bool = False) -> None:
        super().__init__(message)
        self.usage = usage


class Arguments:
    """The parsed command line: options with their values in order, and the remaining arguments."""

    def __init__(self, argv: list[str]) -> None:
        self.argv = argv
        self.given: list[tuple[str, str]] = []
        self.rest: list[str] = []
        waiting = iter(argv)
        for token in waiting:
            if token == "--":
                self.rest.extend(waiting)
            elif len(token) < 2 or token[0] != "-":
                self.rest.append(token)
            else:
                self._option(token, waiting)

    def _option(self, token: str, waiting: object) -> None:
        name, equals, value = token.lstrip("-").partition("=") if token[:3] != "---" else (token[2:], "", "")
        kind = OPTIONS.get(name)
        if kind is None:
            raise InvalidArguments(self._unknown(token, name))
        if kind != "flag" and not equals:
            following = next(waiting, None)  # type: ignore[call-overload]  # the iterator of our caller
            if following is None:
                raise InvalidArguments(f"Option {name} requires an argument")
            value = following
        self.given.append((name, value))

    def _unknown(self, token: str, name: str) -> str:
        # A single dash starts a group of one-letter options; the error names the first one.
        shown = name if token.startswith("--") else name[:1]
        message = f"{shown} is not a recognized option"
        if "--strict-compat" in self.argv:
            return message
        from difflib import get_close_matches

        starts = [each for each in OPTIONS if name and each.startswith(name)]
        near = starts or get_close_matches(name, OPTIONS, n=1)
        return f"{message}; did you mean --{near[0]}?" if near else message

    def has(self, name: str) -> bool:
        return any(each == name for each, _ in self.given)

    def all(self, name: str) -> list[str]:
        return [value for each, value in self.given if each == name]

    def one(self, name: str) -> str | None:
        """The value of an option that may be given once."""
        values = self.all(name)
        if len(values) > 1:
            raise InvalidArguments(f"Found multiple arguments for option {name}, but you asked for only one")
        return values[0] if values else None

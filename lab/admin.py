"""Kafka's Java Admin client, driven from Python.

`AdminProbe.call(method, args)` calls a method of the Java client with JSON arguments; the result is JSON too. An error
for one resource is a value in its place, `{"error": "UnknownTopicOrPartitionException", "message": "…"}`; an error of
the whole call is raised as `AdminError`. `lab/java/*Calls.java` define the arguments of each method.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any

from lab.java import LabError
from lab.jvm import JsonJvm

_NUMBERS = itertools.count(1)
_DEFAULTS = {"default.api.timeout.ms": "20000", "request.timeout.ms": "15000"}


class AdminError(Exception):
    """An exception of the Java client: the simple name of its class, and its message."""

    def __init__(self, name: str, message: str | None) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message


class AdminProbe:
    """One Java Admin client of one release, opened by the first call.

    Probes that share a `jvm` (see `probe_jvm`) save its start time, and wait for each other's calls.
    """

    def __init__(
        self,
        bootstrap: str,
        version: str = "4.3.1",
        *,
        properties: Mapping[str, str] | None = None,
        jvm: JsonJvm | None = None,
        timeout: float = 60.0,
    ) -> None:
        self.bootstrap = bootstrap
        self.properties = {"bootstrap.servers": bootstrap, **_DEFAULTS, **(properties or {})}
        self._owned = jvm is None
        self._jvm = jvm or probe_jvm(version)
        self._name = str(next(_NUMBERS))
        self._timeout = timeout

    @property
    def version(self) -> str:
        return self._jvm.version

    def __enter__(self) -> AdminProbe:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, method: str, args: Mapping[str, object] | None = None, *, timeout: float | None = None) -> Any:
        """`call("describeConfigs", {"resources": [{"type": "TOPIC", "name": "orders"}], "synonyms": True})`."""
        question = {"admin": self._name, "properties": self.properties, "method": method, "args": dict(args or {})}
        answer = self._jvm.ask(question, timeout=self._timeout if timeout is None else timeout)
        if "error" in answer:
            raise AdminError(answer["error"], answer["message"])
        return answer["result"]

    def wait_for(
        self,
        method: str,
        args: Mapping[str, object] | None = None,
        *,
        until: Callable[[Any], bool],
        timeout: float = 15.0,
    ) -> Any:
        """Repeat a call until its result meets a condition.

        In KRaft the controller acknowledges a change before the broker, which responds to describes, has seen it.
        """
        deadline = time.monotonic() + timeout
        while not until(answer := self.call(method, args)):
            if time.monotonic() > deadline:
                raise LabError(f"{method} still returns {answer} after {timeout:.0f} s.")
            time.sleep(0.02)
        return answer

    def close(self) -> None:
        """Close the client; a later call opens it again."""
        if self._owned:
            self._jvm.close()
        elif self._jvm.running:
            self.call("close")


def probe_jvm(version: str = "4.3.1", *, options: tuple[str, ...] = ()) -> JsonJvm:
    """A JVM for any number of probes of one release; the caller closes it."""
    return JsonJvm("AdminProbe", version, options=options)

"""The connection options of the Spark source, and the clients that it opens with them.

    bootstrap.servers      any broker of the cluster; for authentication, set `properties` too
    bootstrap.controllers  controllers of a KRaft cluster; only for changes, which are read from the metadata log
    properties             a Java client properties file; read on the driver and on each worker
    context                the name of a context; for snapshots also several names separated by commas, or a glob
    config                 the file with the contexts (default: as for commands); read on the driver and on each worker

Options contain no credentials, because Spark shows options in plans and in its web UI.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient

_CONNECTION: Final = ("bootstrap.servers", "properties", "context", "config")
_CONTROLLERS: Final = "bootstrap.controllers"
SNAPSHOT_OPTIONS: Final = (*_CONNECTION, "rows", "partitions", "topics")
CHANGE_OPTIONS: Final = (
    *(*_CONNECTION, _CONTROLLERS, "rows"),
    *("startingOffsets", "maxChangesPerTrigger", "failOnDataLoss"),
)


@dataclass(frozen=True)
class SourceOptions:
    """How to reach the cluster. Has no credentials: they are read from a file wherever a connection is opened."""

    bootstrap: str | None = None
    properties: str | None = None
    context: str | None = None
    config: str | None = None
    controllers: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, str], names: Sequence[str] = SNAPSHOT_OPTIONS) -> SourceOptions:
        """The options of a source that has those `names`; keys are in lower case."""
        known = {each.lower() for each in names}
        for name in options:
            if name.lower() not in known:
                raise ConfigurationError(
                    f"the kconf source has no option {name}; use {', '.join(names)}. Credentials come from the "
                    "context or the properties file, never from an option"
                )
        found = cls(*(options.get(each) or None for each in (*_CONNECTION, _CONTROLLERS)))
        if found.context is None:
            if not any((found.bootstrap, found.properties, found.controllers)):
                usable = [each for each in ("bootstrap.servers", _CONTROLLERS, "properties") if each in names]
                raise ConfigurationError(f"the kconf source requires {', '.join(usable)} or context")
            return found
        if any((found.bootstrap, found.properties, found.controllers)):
            raise ConfigurationError(
                "context cannot be combined with bootstrap.servers, bootstrap.controllers or properties"
            )
        from kconf.client.contexts.load import config_path

        return cls(context=found.context, config=os.path.abspath(found.config or config_path()))

    def each(self) -> list[SourceOptions]:
        """One connection setting per cluster: a context pattern may match several."""
        if self.context is None:
            return [self]
        from kconf.client.contexts.load import load_contexts

        contexts = load_contexts(self.config)
        words = [each.strip() for each in self.context.split(",") if each.strip()]
        names = dict.fromkeys(found.name for word in words for found in contexts.matching(word))
        return [replace(self, context=name) for name in names]

    def open(self) -> SyncAdminClient:
        """A client of the brokers."""
        from kconf.client.admin_sync import SyncAdminClient

        if self.context is None:
            return SyncAdminClient.from_properties(self.properties or {}, self.bootstrap or ())
        from kconf.client.contexts.config_providers import bootstrap, client_properties
        from kconf.client.contexts.load import load_contexts

        context = load_contexts(self.config).named(self.context)  # a worker may have another home directory
        return SyncAdminClient.from_properties(client_properties(context), bootstrap(context))

    def open_controllers(self) -> SyncAdminClient | None:
        """A client of the controllers; None if neither an option nor the context names them."""
        from kconf.client.admin_sync import SyncAdminClient

        if self.controllers is not None:
            return SyncAdminClient.from_properties(self.properties or {}, bootstrap_controllers=self.controllers)
        if self.context is None:
            return None
        from kconf.client.contexts.config_providers import controller_properties, controllers
        from kconf.client.contexts.load import load_contexts

        context = load_contexts(self.config).named(self.context)
        if not context.controllers:
            return None
        return SyncAdminClient.from_properties(
            controller_properties(context), bootstrap_controllers=controllers(context)
        )

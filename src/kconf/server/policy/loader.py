"""Loads the policies configured in server.properties: Python classes, or rules from a policy file."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from kconf.configdef.catalog import Catalog
from kconf.configdef.server_settings import POLICY_FILE, POLICY_TIMEOUT, int_setting, text_setting
from kconf.errors import ConfigurationError
from kconf.server.policy.manager import PolicyManager
from kconf.server.policy.rules_file import RulesFile
from kconf.server.policy.user_code import UserCodeFailed, call_user_code
from kconf.server.static_config import ALTER_POLICY, CREATE_POLICY

RULES: Final = "kconf:rules"


def load_policies(static: Mapping[str, str], catalog: Catalog) -> PolicyManager:
    """Load the configured policies. Raises ConfigurationError if one cannot be loaded."""
    named = {name: static.get(name, "").strip() for name in (ALTER_POLICY, CREATE_POLICY)}
    path = text_setting(static, POLICY_FILE)
    if path and not any(named.values()):
        named = dict.fromkeys(named, RULES)
    if path and RULES not in named.values():
        raise ConfigurationError(
            f"{POLICY_FILE} is set, but neither {ALTER_POLICY} nor {CREATE_POLICY} is {RULES}: set at least one of "
            f"them to {RULES}, or remove {POLICY_FILE}"
        )
    if not path and RULES in named.values():
        setting = next(each for each in named if named[each] == RULES)
        raise ConfigurationError(f"{setting}: {RULES} requires {POLICY_FILE}, the path of the policy file")
    rules = RulesFile(path, catalog) if path else None
    loaded: dict[str, Any] = {}
    for setting, method in ((ALTER_POLICY, "check_alter"), (CREATE_POLICY, "check_create")):
        name = named[setting]
        if name and name != RULES:
            policy = loaded.get(name) or _new_instance(setting, name, static, catalog)
            if not callable(getattr(policy, method, None)):
                raise ConfigurationError(f"{setting}: {name} has no method {method}")
            loaded[name] = policy
    loaded[RULES] = rules
    timeout = int_setting(static, POLICY_TIMEOUT) / 1000
    return PolicyManager(loaded.get(named[ALTER_POLICY]), loaded.get(named[CREATE_POLICY]), timeout=timeout)


def find_class(setting: str, name: str) -> Any:
    """The class of `package.module:Class` or `path/to/file.py:Class`. Raises ConfigurationError."""
    module_name, colon, class_name = name.rpartition(":")
    if not colon:
        raise ConfigurationError(
            f"{setting}: {name} looks like a Java class, which kconf cannot run; use a Python class "
            "(package.module:Class), or kconf:rules with policy.file"
        )
    try:
        module = call_user_code(lambda: _import(module_name))
    except UserCodeFailed as failed:
        raise ConfigurationError(f"{setting}: cannot import {module_name}: {failed}") from None
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        raise ConfigurationError(f"{setting}: {module_name} has no class {class_name!r}")
    return found


def _import(name: str) -> ModuleType:
    return _from_file(Path(name)) if name.endswith(".py") else importlib.import_module(name)


def _from_file(path: Path) -> ModuleType:
    name = f"kconf_policy_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module in sys.modules
    spec.loader.exec_module(module)
    return module


def _new_instance(setting: str, name: str, static: Mapping[str, str], catalog: Catalog) -> Any:
    """An instance, configured with the server's properties if it has a `configure` method."""
    policy_class = find_class(setting, name)

    def make() -> Any:
        policy = policy_class()
        configure = getattr(policy, "configure", None)
        if callable(configure):
            configure(dict(static))
        return policy

    secrets = [value for key, value in static.items() if key not in catalog.broker or catalog.broker[key].sensitive]
    try:
        return call_user_code(make, secrets=secrets)
    except UserCodeFailed as failed:
        raise ConfigurationError(f"{setting}: cannot create {name}: {failed}") from None

"""The lab's fixtures: real brokers, tools and a real ZooKeeper, started when a test first asks."""

from __future__ import annotations

pytest_plugins = ["lab.pytest_plugin"]

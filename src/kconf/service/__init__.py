"""The single writer of this process. Read service.py first: it submits a change; writer.py commits it."""

from kconf.service.job import MAX_CHANGES
from kconf.service.service import Service
from kconf.service.state import Planner, State

__all__ = ["MAX_CHANGES", "Planner", "Service", "State"]

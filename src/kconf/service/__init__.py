"""The single writer of this process (service.py), its state (state.py), and submitted changes (job.py)."""

from kconf.service.job import MAX_CHANGES
from kconf.service.service import Service
from kconf.service.state import Planner, State

__all__ = ["MAX_CHANGES", "Planner", "Service", "State"]

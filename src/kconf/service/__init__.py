"""The one writer of this process (service.py), the state it makes (state.py), and the changes on their way (job.py)."""

from kconf.service.job import MAX_CHANGES
from kconf.service.service import Service
from kconf.service.state import Planner, State

__all__ = ["MAX_CHANGES", "Planner", "Service", "State"]

"""The server process. server.py starts and stops it.

`network/` reads requests from connections, `auth/` logs clients in, `api/` answers, `journal/` has the change feed and
the archive, `quotas/` measures rates and throttles, `policy/` runs policies, `upstream/` sends requests of a gateway to
its cluster. static_config.py reads server.properties, counters.py and metrics.py have the metrics.
"""

"""Notebook cells: SQL queries on the tables of a lake, without Spark. python -m examples.lake_notebook LAKE

Needs the extra `spark`, but no JDK. LAKE is the value of `kconf pipeline run --lake`: a directory, or s3://bucket/path.
`kconf lake tables` lists the tables, and docs/reference/tables.md explains them.
"""

# %% The lake as of its last finished run
from __future__ import annotations

import sys

from kconf.lake.sql import LakeSql

lake = LakeSql(sys.argv[1] if len(sys.argv) > 1 else "lake")
print(lake.query("SELECT run, finished FROM runs ORDER BY run DESC LIMIT 1"))

# %% Which values do topics have, and how many have each?
values = """
    SELECT key, value, count(*) AS topics FROM history
    WHERE open AND resource_type = 'topic' AND key <> ''
    GROUP BY ALL ORDER BY key, topics DESC, value
"""
print(lake.query(values))

# %% Who set the values that the topics of each owner have now?
authors = """
    SELECT t.owner, h.principal, count(*) AS values, max(h.since) AS last
    FROM history h JOIN topics t ON t.cluster = h.cluster AND t.topic = h.resource_name
    WHERE h.open AND h.resource_type = 'topic' AND h.key <> '' AND t."exists"
    GROUP BY ALL ORDER BY values DESC
"""
print(lake.query(authors))

# %% The same as an Arrow table, for pandas, Polars and plotting libraries
table = lake.arrow(values)
print(f"{table.num_rows} rows: {', '.join(table.column_names)}")

# %% Errors are clear messages
try:
    lake.query("SELECT * FROM histroy")
except Exception as error:
    print(error)

# %%
lake.close()

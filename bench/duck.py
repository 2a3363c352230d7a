"""The work of the pipeline in DuckDB: the history of a journal, and its comparison with a snapshot.

The queries read the Parquet files that Spark wrote, and write Parquet, with every column of the pipeline and all its
logic: clocks that are set back, unrecorded changes, values that were changed back, incarnations of topics. `same`
compares two histories, all columns of all rows.
"""

from __future__ import annotations

import time
from pathlib import Path

import duckdb

from kconf.lake.schemas import HISTORY

_HISTORY = """
COPY (
  WITH ordered AS (
    SELECT *, max(time) OVER (by_key ROWS UNBOUNDED PRECEDING) AS since, after IS NOT NULL AS is_set,
      lead(time) OVER by_key AS n_since, lead(epoch) OVER by_key AS n_epoch, lead(revision) OVER by_key AS n_revision,
      lead(line) OVER by_key AS n_line, lead(principal) OVER by_key AS n_principal,
      lead(reason) OVER by_key AS n_reason, lead(origin) OVER by_key AS n_origin,
      lead(before) OVER by_key AS n_before, lead(after IS NOT NULL) OVER by_key AS n_is_set,
      lag(before) OVER by_key AS l_before, lag(after IS NOT NULL) OVER by_key AS l_is_set,
      lag(epoch) OVER by_key AS l_epoch, lag(revision) OVER by_key AS l_revision, lag(line) OVER by_key AS l_line
    FROM read_parquet('{journal}')
    WINDOW by_key AS (PARTITION BY cluster, resource_type, resource_name, key ORDER BY epoch, revision, line)
  ), lives AS MATERIALIZED (
    SELECT cluster, resource_type, resource_name, time AS since, epoch, revision, line, principal, reason, origin,
      {{'e': epoch, 'r': revision, 'l': line}} AS place, json_extract_string(after, '$.id') AS id,
      NOT is_set OR before IS NULL OR
        json_extract_string(before, '$.id') IS DISTINCT FROM json_extract_string(after, '$.id') AS new
    FROM ordered WHERE kind = 'topic'
  ), lived AS (
    SELECT cluster, resource_type, resource_name, list(lives ORDER BY place) AS all_lives FROM lives GROUP BY ALL
  ), placed AS (
    SELECT *, coalesce(len(all_lives) = 1 AND all_lives[1].place <= place, false) AS once,
      CASE WHEN once THEN all_lives[1].id
        ELSE list_filter(all_lives, lambda x: x.place <= place)[-1].id END AS topic_id,
      CASE WHEN kind = 'config' AND NOT once THEN
        list_filter(all_lives, lambda x: x.new AND x.place > place)[1] END AS gone,
      CASE WHEN once THEN CASE WHEN all_lives[1].new THEN all_lives[1].place END
        ELSE list_filter(all_lives, lambda x: x.new AND x.place <= place)[-1].place END AS began
    FROM (SELECT *, {{'e': epoch, 'r': revision, 'l': line}} AS place FROM ordered WHERE is_set)
    LEFT JOIN lived USING (cluster, resource_type, resource_name)
  ), cut AS (
    SELECT *, gone IS NOT NULL AND (n_epoch IS NULL
      OR (gone.epoch, gone.revision, gone.line) < (n_epoch, n_revision, n_line)) AS is_cut
    FROM placed
  )
  SELECT cluster, kind, resource_type, resource_name, entity, topic_id, key, after AS value, before, sensitive, since,
    epoch, revision, line, origin, op, principal, client_id, host, api, request_id, reason,
    NULL::TIMESTAMPTZ AS not_before, NULL::TIMESTAMPTZ AS seen_at,
    CASE WHEN is_cut THEN greatest(least(gone.since, n_since), since)
      WHEN n_epoch IS NOT NULL THEN greatest(n_since, since) END AS "until",
    CASE WHEN is_cut THEN gone.epoch ELSE n_epoch END AS until_epoch,
    CASE WHEN is_cut THEN gone.revision ELSE n_revision END AS until_revision,
    CASE WHEN is_cut THEN gone.line ELSE n_line END AS until_line,
    CASE WHEN is_cut THEN gone.principal ELSE n_principal END AS until_principal,
    CASE WHEN is_cut THEN gone.reason ELSE n_reason END AS until_reason,
    CASE WHEN is_cut THEN gone.origin ELSE n_origin END AS until_origin,
    CASE WHEN is_cut OR (NOT n_is_set AND gone.epoch = n_epoch AND gone.revision = n_revision) THEN 'deleted'
      WHEN n_is_set THEN 'replaced'
      WHEN n_epoch IS NOT NULL THEN CASE WHEN kind = 'topic' THEN 'deleted' ELSE 'removed' END END AS ended,
    n_epoch IS NOT NULL AND NOT is_cut AND n_before IS DISTINCT FROM after AS slipped,
    CASE WHEN slipped THEN n_before END AS found,
    coalesce(l_is_set AND l_before = after AND op <> 'rewrite'
      AND (began IS NULL OR (l_epoch, l_revision, l_line) >= (began.e, began.r, began.l)), false) AS returned,
    n_epoch IS NULL AND NOT is_cut AS open
  FROM cut
) TO '{target}' (FORMAT parquet)"""

_DIFFERENCES = """
COPY (
  WITH looked AS (
    FROM (
      SELECT cluster, kind, resource_type, resource_name, key, arg_max({{'value': value, 'source': source,
        'sensitive': sensitive, 'gone': gone, 'taken': taken}}, taken) AS fact
      FROM read_parquet('{snapshot}') GROUP BY ALL
    ) WHERE NOT fact.gone
  ), looks AS (
    SELECT cluster, make_timestamptz(fact.value::BIGINT * 1000) AS began, fact.taken AS taken
    FROM looked WHERE kind = 'snapshot'
  ), told AS (
    SELECT h.cluster, resource_type, resource_name, key, CASE WHEN NOT sensitive THEN
        CASE WHEN regexp_full_match(trim(value), '[+-]?[0-9]{{1,19}}') THEN trim(value)::BIGINT::VARCHAR ELSE value END
      END AS value, sensitive,
      coalesce(since BETWEEN began AND taken OR "until" BETWEEN began AND taken, false) AS moved
    FROM read_parquet({history}, hive_partitioning=true) h JOIN looks USING (cluster)
    WHERE kind = 'config' AND resource_type NOT IN ('broker-logger', 'acl') AND since <= taken
      AND ("until" IS NULL OR "until" >= began)
  ), seen AS (
    SELECT cluster, resource_type, resource_name, key, fact.value AS value, fact.sensitive AS sensitive
    FROM looked WHERE kind = 'config' AND fact.source = 'DYNAMIC_TOPIC_CONFIG'
  )
  SELECT cluster, resource_type, resource_name, key, j.value AS expected, s.value AS found
  FROM told j FULL JOIN seen s USING (cluster, resource_type, resource_name, key)
  WHERE NOT coalesce(j.moved, false) AND j.value IS DISTINCT FROM s.value
) TO '{target}' (FORMAT parquet)"""

_EVERY_COLUMN = ", ".join(
    f'epoch_us("{name}")' if kind == "timestamp" else f'"{name}"::VARCHAR' for name, kind, _ in HISTORY.columns
)


def history(journal: str, target: Path) -> float:
    """Build the history from the files of a journal; returns the seconds."""
    return _timed(_HISTORY.format(journal=journal, target=target))


def differences(history: list[str], snapshot: str, target: Path) -> tuple[float, int]:
    """Compare a snapshot with the history; returns the seconds and the number of differences."""
    seconds = _timed(_DIFFERENCES.format(history=history, snapshot=snapshot, target=target))
    (found,) = duckdb.connect().execute(f"SELECT count(*) FROM read_parquet('{target}')").fetchall()[0]
    return seconds, found


def same(ours: list[str], theirs: Path) -> bool:
    """Whether the files have the same rows, in any order."""
    base = duckdb.connect()
    told = f"SELECT count(*), sum(hash(row({_EVERY_COLUMN}))) FROM read_parquet(?, hive_partitioning=true)"
    mine, other = (base.execute(told, [files]).fetchall() for files in (ours, [str(theirs)]))
    return bool(mine == other)


def _timed(query: str) -> float:
    base = duckdb.connect()
    base.execute("SET TimeZone = 'UTC'")
    began = time.perf_counter()
    base.execute(query)
    return time.perf_counter() - began

"""All benchmarks in one table: `python -m bench`. Memory comes after the work of the shared servers."""

from bench import alter, bulk, describe, feed, growth, memory, mixed, quotas, start
from bench.arena import main

if __name__ == "__main__":
    main(describe.rows, alter.rows, mixed.rows, bulk.rows, memory.rows, start.rows, growth.rows, feed.rows, quotas.rows)

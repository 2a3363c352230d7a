"""Spark looks for data sources in modules of this name: `spark.read.format("kconf")` needs no registration."""

from kconf.spark.source.data_source import KconfSource as DefaultSource  # noqa: F401

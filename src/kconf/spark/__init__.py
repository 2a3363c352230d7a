"""The pipeline: turns archives, snapshots and declared files into tables of past and current configuration.

`transforms` derives tables from each other (DataFrame -> DataFrame), `delta_tables` reads and writes them, `runner`
sets the order. Only this package imports Spark and Delta Lake; table schemas are in kconf.lake.schemas.
"""

"""The pipeline: from the archive, snapshots and declared files to tables that answer what was, what is and why.

`schemas` says what each table holds, `transforms` how one follows from others (DataFrame -> DataFrame), `lake` where
they are and how they are written, `runner` in which order. Only this room knows Spark and Delta Lake.
"""

"""A live cluster as a Spark data source, the format `kconf`: for batches its state, for streams its changes.

`data_source` is what Spark calls, `options` defines how to reach the cluster. `snapshot_reader` reads the state,
`change_stream` the changes, which come from one of the `change_feeds`.
"""

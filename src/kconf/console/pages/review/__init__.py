"""Pages that compare a cluster with something: another cluster, another time, files, rules, the lake."""

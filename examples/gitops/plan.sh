#!/bin/sh
# Shows what a pull request would change. CI runs it with KCONF_CONTEXT set. Exit code: 0 no differences, 3 differences,
# anything else is an error.
set -u
here=$(dirname "$0")

kconf plan -f "$here/cluster" --out kconf.plan
status=$?
case $status in
  0) echo "No differences: the cluster matches the files." ;;
  3) echo "Review the plan above; after the merge: kconf apply kconf.plan --yes" ;;
esac
exit $status

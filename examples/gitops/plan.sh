#!/bin/sh
# What a pull request would change. CI runs it with KCONF_CONTEXT set: 0 nothing, 3 differences, else something is wrong.
set -u
here=$(dirname "$0")

kconf plan -f "$here/cluster" --out kconf.plan
status=$?
case $status in
  0) echo "The cluster is what the files say." ;;
  3) echo "Review the plan above; after the merge: kconf apply kconf.plan --yes" ;;
esac
exit $status

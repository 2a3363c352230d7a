#!/bin/sh
# Quotas for many users in one command: examples/bulk_quotas.sh HOST:PORT [HOW MANY]
# The file may come from anywhere; kconf sends it in large requests, reports each line that fails, and continues with the rest.
set -eu
bootstrap=$1
count=${2:-1000}
file=$(mktemp)
trap 'rm -f "$file"' EXIT

{
  echo user,producer_byte_rate,consumer_byte_rate
  seq "$count" | sed 's/.*/user-&,1048576,2097152/'
} > "$file"

kconf quota load --format csv "$file" --dry-run --output csv -b "$bootstrap" | tail -n +2 | wc -l
kconf quota load --format csv "$file" --yes --output csv -b "$bootstrap" | tail -n +2 | cut -d, -f 9 | sort | uniq -c
kconf quota explain --user "user-$count" --client-id reports producer_byte_rate -b "$bootstrap"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Counts the instructions of one event of a bare replay, which repeat exactly where times do not,
# and fails above a bound.
#   instructions.sh BENCH_REPLAY RECORDING BOUND
set -euo pipefail
bench=$1
recording=$2
bound=$3
command -v valgrind >/dev/null || {
  echo "valgrind is missing (Debian: apt-get install valgrind)"
  exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bench" script "$recording" >"$work/script"
events=$(wc -l <"$work/script")
[ "$events" -gt 1000 ] || {
  echo "$recording gave a script of $events events"
  exit 1
}
# Reading the script costs the same in both runs, so the difference is ten repetitions.
count() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bench" run "$1" 2.9 \
    <"$work/script" 2>&1 >/dev/null | sed -n 's/.*Collected : *//p'
}
one=$(count 1)
eleven=$(count 11)
each=$(((eleven - one) / (10 * events)))
echo "$each instructions per event over $events events, bound $bound"
[ "$each" -gt 0 ] && [ "$each" -le "$bound" ]

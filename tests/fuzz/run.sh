#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Replays a corpus through a libFuzzer program, then lets it look for more.
#   run.sh PROGRAM CORPUS SECONDS      0 seconds: replay only
set -euo pipefail
program=$1
corpus=$2
seconds=$3
[ -n "$(ls -A "$corpus")" ] || {
  echo "$corpus holds no input"
  exit 1
}
if [ "$seconds" = 0 ]; then
  exec "$program" -runs=0 -rss_limit_mb=2048 "$corpus"
fi
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
# What breaks it stays in the build folder; a minimised copy of it belongs into the corpus.
"$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
  -artifact_prefix="$(dirname "$program")/crash-$(basename "$program")-" "$found" "$corpus"

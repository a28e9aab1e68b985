#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# compare.sh PROGRAM ROOT: the walk in docs/architecture.md is what the program prints today.
set -euo pipefail
program=$1
root=$2
cd "$root"
shown=$(awk '/^```text follow_entry/ { on = 1; next } /^```/ { on = 0 } on' docs/architecture.md)
printed=$("$program" traces/attention_peak_tiny_full.pickle 12)
if [ -z "$shown" ] || [ "$shown" != "$printed" ]; then
  echo "docs/architecture.md no longer shows what follow_entry prints:"
  diff <(printf '%s\n' "$shown") <(printf '%s\n' "$printed") || true
  exit 1
fi

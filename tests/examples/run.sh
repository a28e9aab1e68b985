#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs one example and compares what it prints with what its source says it prints: the last
# comment, from "Prints:" on.
#   run.sh SOURCE PROGRAM      in the root of the tree
set -euo pipefail
expected=$(sed -n '/^ \* Prints:/,/\*\//p' "$1" | sed -e 1d -e 's,^ \*/$,,' -e 's,^ \* \{0\,3\},,')
got=$("$2")
if [ "$got" != "$expected" ]; then
  diff <(echo "$expected") <(echo "$got") || true
  exit 1
fi

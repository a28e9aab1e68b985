#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The program from outside: run.sh PROGRAM [CASE...] runs the cases (default: all of them), each in a
# clean folder. A case is a script that uses the functions below; the first one that fails ends it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ $# -ne 2 ]; then
  program=$1
  shift
  [ $# -gt 0 ] || set -- $(cd "$here" && ls ./*.sh | sed 's,^./,,; s,\.sh$,,' | grep -vx run)
  failed=0
  for name in "$@"; do
    if bash "${BASH_SOURCE[0]}" "$program" "$name"; then
      echo "ok $name"
    else
      echo "FAILED $name"
      failed=1
    fi
  done
  exit $failed
fi
ULLAGE=$1
# The interpreter itself: what is called python3 may be a slow script that looks for it.
PYTHON=$(python3 -c 'import sys; print(sys.executable)')
ROOT=$(cd "$here/../.." && pwd)
TRACES=$ROOT/traces
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
unset NO_COLOR COLUMNS
export LC_ALL=C TERM=dumb

fail() {
  echo "case $(basename "$case_file"), line ${BASH_LINENO[1]}: $1"
  echo "--- command: ullage ${last[*]}"
  echo "--- stdout"
  head -c 4000 out
  echo "--- stderr"
  head -c 2000 err
  exit 1
}

# run ARGUMENTS...: the program's output lands in the files out and err, its exit code in $code.
run() {
  last=("$@")
  code=0
  "$ULLAGE" "$@" >out 2>err || code=$?
}

expect_exit() { [ "$code" -eq "$1" ] || fail "exit code $code, expected $1"; }
expect_out() { grep -qF -- "$1" out || fail "stdout lacks: $1"; }
expect_no_out() { ! grep -qF -- "$1" out || fail "stdout has: $1"; }
expect_err() { grep -qF -- "$1" err || fail "stderr lacks: $1"; }
expect_silent() { [ ! -s err ] || fail "stderr is not empty"; }
expect_nothing() { [ ! -s out ] || fail "stdout is not empty"; }
expect_err_lines() { [ "$(wc -l <err)" -eq "$1" ] || fail "stderr has not $1 lines"; }
expect_first() { [[ $(head -n 1 out) == $1 ]] || fail "the first line is not: $1"; }
# expect_that DESCRIPTION COMMAND...: any other condition.
expect_that() {
  local what=$1
  shift
  "$@" >that 2>&1 || {
    cat that
    fail "not so: $what"
  }
}
# expect_schema NAME [FILE]: stdout, or FILE, is a document of docs/schema/NAME.schema.json.
expect_schema() {
  "$PYTHON" "$ROOT/scripts/validate_json" "$ROOT/docs/schema/$1.schema.json" "${2:-out}" >that ||
    fail "not a document of $1: $(head -n 3 that)"
}
# json EXPRESSION: prints what the Python expression of `d`, the document in out, gives.
json() { "$PYTHON" -c 'import json, sys; d = json.load(open("out")); print(eval(sys.argv[1]))' "$1"; }
# expect_json EXPRESSION VALUE
expect_json() {
  local got
  got=$(json "$1")
  [ "$got" = "$2" ] || fail "$1 is $got, expected $2"
}

last=()
: >out >err
case_file=$here/$2.sh
. "$case_file"

# SPDX-License-Identifier: MIT
for trace in "$TRACES"/*.pickle "$TRACES"/*.pickle.*; do
  run info "$trace"
  expect_exit 0
  expect_silent
  expect_out "$trace: snapshot"
  expect_that "lines of $trace fit" awk -v f="$trace" 'length > 80 && index($0, "/") == 0 { print; exit 1 }' out
  run info --json "$trace"
  expect_exit 0
  expect_silent
  expect_schema info
  # Segments are made of their blocks, and every entry has one kind.
  expect_json 'all(sum(v["total_bytes"] for v in x["blocks"].values() if isinstance(v, dict)) == x["segments"]["total_bytes"] for x in d["devices"])' True
  expect_json 'all(sum(x["actions"].values()) == x["entries"] for x in d["devices"])' True
done

run info "$TRACES/tiny_12seg.pickle" --bytes
expect_exit 0
expect_no_out MiB
run info -q "$TRACES/tiny_12seg.pickle"
expect_exit 0
expect_no_out Streams
run info "$TRACES/tiny_12seg.pickle" "$TRACES/lm_bf16_128.pickle.zst"
expect_exit 0
expect_out lm_bf16_128

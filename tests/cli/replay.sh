# SPDX-License-Identifier: MIT
trace=$TRACES/lm_bf16_128.pickle.zst

run replay "$trace"
expect_exit 0
expect_silent
expect_first '[1-9]* of [1-9]* placements exact, *'
expect_that "it fits one screen" test "$(wc -l <out)" -le 40
expect_that "and its columns" awk 'length > 80 { print; exit 1 }' out

for trace in "$TRACES"/*.pickle "$TRACES"/*.pickle.*; do
  run replay --json "$trace"
  expect_exit 0
  expect_silent
  expect_schema replay
  expect_json 'd["devices"][[x["device"] for x in d["devices"]].index(d["device"])]["peak"] == d["peak"]' True
  expect_json 'max(x["peak"]["reserved_bytes"] for x in d["devices"]) == d["peak"]["reserved_bytes"]' True
  # Every reserved byte has one class.
  expect_json 'all(l["reserved_bytes"] == sum(v or 0 for k, v in l.items() if k not in ("event", "reserved_bytes")) for x in d["devices"] for l in (x["lost_at_peak"], x["lost_at_end"]))' True
  expect_json 'all(len(set(map(len, x["curve"].values()))) == 1 for x in d["devices"])' True
  run replay "$trace"
  expect_exit 0
  expect_first '* of * placements exact*'
done

# More, less, and other forms.
trace=$TRACES/lm_bf16_128.pickle.zst
run replay -q "$trace"
expect_exit 0
expect_that "quiet is short" test "$(wc -l <out)" -le 8
run replay -v "$trace"
expect_exit 0
expect_out 'reserved_bytes.all.peak'
run replay --bytes "$trace"
expect_exit 0
expect_no_out ' GiB'
run replay --top 0 --json "$trace"
expect_json 'len(d["holders"]) == d["holder_count"]' True
run replay --top 2 --json --stack none "$trace"
expect_schema replay
expect_json 'len(d["holders"]), "at" in d["holders"][0]' "(2, False)"
run replay --top 2 --json --stack user "$trace"
expect_json '"at" in d["holders"][0], "frames" in d["holders"][0]' "(True, False)"
run replay --stack full "$trace"
expect_exit 0
LC_ALL=C.UTF-8 run replay "$trace"
expect_exit 0
expect_out "$(printf '\342\226\210')" # a full block in the curve

# Several traces.
run replay "$TRACES/tiny_12seg.pickle" "$trace" --json
expect_exit 0
expect_schema replay_list
expect_json 'len(d["replays"])' 2
run replay "$TRACES/tiny_12seg.pickle" "$trace"
expect_exit 0
expect_out "==> $trace <=="

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
  expect_that "the document agrees with itself" "$PYTHON" - <<'PYTHON'
import json
d = json.load(open("out"))
main = [x for x in d["devices"] if x["device"] == d["device"]]
assert [{k: d[k] for k in x} == x for x in main] == [True], "the first members are the main device's"
assert max(x["peak"]["reserved_bytes"] for x in d["devices"]) == d["peak"]["reserved_bytes"]
for x in d["devices"]:
    for lost in (x["lost_at_peak"], x["lost_at_end"]):
        parts = [v or 0 for k, v in lost.items() if k not in ("event", "reserved_bytes")]
        assert sum(parts) == lost["reserved_bytes"], "every reserved byte has one class"
    assert len(set(map(len, x["curve"].values()))) == 1, "columns of one length"
PYTHON
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

# SPDX-License-Identifier: MIT
# --from and --to: what is reported, never what is replayed. Expected figures are summed up from the
# file's own entries by Python.
trace=$TRACES/attention_peak_tiny_full.pickle
reserved() { # most reserved after entries FROM ... TO, and the first entry after which
  python3 - "$trace" "$1" "$2" <<'P'
import pickle, sys
path, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
now, best, at = 0, -1, 0
for i, e in enumerate(pickle.load(open(path, "rb"))["device_traces"][0][:last + 1]):
    # the request that a segment is made for comes right behind it, and is what makes it
    now += e["size"] if e["action"] == "segment_alloc" else 0
    if i >= first and e["action"] != "segment_alloc" and now > best:
        best, at = now, i
print(f"({best}, {at})")
P
}

for window in "0 96" "20 40" "60 61" "90 96"; do
  set -- $window
  run replay --json --from "$1" --to "$2" "$trace"
  expect_exit 0
  expect_schema replay
  expect_json 'd["peak"]["reserved_bytes"], d["peak"]["event"]' "$(reserved "$1" "$2")"
  expect_json 'd["window"]["from_event"], d["window"]["to_event"]' "($1, $2)"
  expect_json 'd["proof"]["exact"]' 36
done
run replay --json "$trace"
expect_json 'd["window"]' None

# A time since the first entry, and the marks of a run.
run replay --json --from 900ms "$trace"
expect_json 'd["trace"]["first_time_ns"] + 900000000 <= d["curve"]["first_time_ns"][0]' True
# (bisect over the file's own times: its first optimizer step is entries 2195 to 3834)
run replay --json --from '@Optimizer.step#NIUAdam.step' --to '@Optimizer.step#NIUAdam.step' \
  "$TRACES/lm_fwdbwd_ctx100_full.pickle.zst"
expect_exit 0
expect_json 'd["window"]["from_event"], d["window"]["to_event"]' "(2195, 3834)"

# What makes no window is said.
run replay --from 97 "$trace"
expect_exit 2
expect_err 'from 97 to the end: its events are 0 to 96'
run replay --from 9 --to 3 "$trace"
expect_exit 2
run replay --from soon "$trace"
expect_exit 2
expect_err 'an event number, a time'
run replay --to @step:3 "$trace"
expect_exit 2
expect_err "no mark 'ProfilerStep#3'"
run replay --from 1 "$TRACES/tiny_12seg.pickle"
expect_exit 2

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

# The same facts, counted by Python in the unpickled file.
for trace in "$TRACES"/*.pickle "$ROOT"/tests/data/golden/torch2.[19].*.pickle.gz; do
  [ -e "$trace" ] || continue
  run info --json "$trace"
  expect_exit 0
  expect_that "Python counts the same in $trace" "$PYTHON" - "$trace" <<'PYTHON'
import collections, gzip, json, pickle, sys
opened = gzip.open if sys.argv[1].endswith(".gz") else open
snapshot = pickle.load(opened(sys.argv[1], "rb"))
for d in json.load(open("out"))["devices"]:
    segments = [s for s in snapshot["segments"] if s["device"] == d["device"]]
    blocks = [b for s in segments for b in s["blocks"]]
    assert d["segments"]["count"] == len(segments)
    assert d["segments"]["total_bytes"] == sum(s["total_size"] for s in segments)
    assert d["segments"]["small"]["count"] == sum(s["segment_type"] == "small" for s in segments)
    for state in "active_allocated", "active_pending_free", "inactive":
        of_state = [b["size"] for b in blocks if b["state"] == state]
        assert d["blocks"][state] == {"count": len(of_state), "total_bytes": sum(of_state)}, state
    traces = snapshot["device_traces"]
    entries = traces[d["device"]] if d["device"] < len(traces) else []
    counts = collections.Counter(e["action"] for e in entries)
    assert d["entries"] == len(entries)
    assert {k: v for k, v in d["actions"].items() if v} == dict(counts)
    for stream in d["streams"]:
        handle = int(stream["handle"], 16)
        of_stream = [s["total_size"] for s in segments if s["stream"] == handle]
        assert stream["segments"] == {"count": len(of_stream), "total_bytes": sum(of_stream)}
        sizes = [e["size"] for e in entries if e["action"] == "alloc" and e["stream"] == handle]
        assert stream["requests"] == {"count": len(sizes), "total_bytes": sum(sizes)}
    # Complete: nothing freed or left that was not allocated before in the list.
    live, older_frees = set(), 0
    for e in entries:
        if e["action"] == "alloc":
            live.add(e["addr"])
        elif e["action"] == "free_completed":
            older_frees += e["addr"] not in live
            live.discard(e["addr"])
    active = {b["address"] for b in blocks if b["state"] != "inactive"}
    if entries and d["has_trace"]:
        assert d["history"]["older_blocks"] == len(active - live), len(active - live)
        assert d["history"]["older_frees"] == older_frees
PYTHON
done

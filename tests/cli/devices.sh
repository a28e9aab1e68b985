# SPDX-License-Identifier: MIT
# Several devices: one that recorded nothing does not undo the proof of the other.
golden=$ROOT/tests/data/golden/torch2.9.1_two_devices.pickle.gz
python3 - "$golden" half.pickle <<'P'
import gzip, pickle, sys
snapshot = pickle.loads(gzip.open(sys.argv[1]).read())
snapshot["device_traces"][0] = []
pickle.dump(snapshot, open(sys.argv[2], "wb"))
P
run replay half.pickle
expect_exit 0
expect_out 'Proved'
expect_no_out 'NOT PROVED'
expect_out 'has no trace'
run replay --json half.pickle
expect_schema replay
expect_json '[(d["device"], d["trace"]["has_trace"], d["proof"]["final_blocks"]["recorded"] is None) for d in d["devices"]]' \
  "[(0, False, True), (1, True, False)]"
run replay --strict half.pickle
expect_exit 1

# Every device has its holders, as many as were asked for.
run replay --top 0 "$golden"
expect_no_out '(--top)'

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does the proof notice? mutate.py PROGRAM ROOT

Changes one thing in a recording that replays exactly, for every kind of change below, and asks the
program. The proof must fail (exit 1 under --strict) and name the changed entry; the unchanged
recording must hold. Then cuts recordings at many places, as a full ring buffer does: every rest
must still be proved, with the state before it concluded.

What is changed, and what must be named:
  address, request      of an alloc, free_requested, free_completed or segment entry: that entry
  doubled entry         one of the two
  dropped entry         an entry of the same allocation, or the first one later that comes out
                        differently without it
  final block           anything: the entry that disagrees, or the end
"""
import copy
import gzip
import json
import pathlib
import pickle
import random
import subprocess
import sys
import tempfile

PROGRAM, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
GOLDEN = ROOT / "tests" / "data" / "golden"
WHOLE_LIVES = [ROOT / "traces" / "attention_peak_tiny_full.pickle",
               GOLDEN / "torch2.9.1_two_devices.pickle.gz",
               GOLDEN / "torch2.9.1_multistream_lag.pickle.gz",
               GOLDEN / "torch2.9.1_gpt_expandable.pickle.gz"]
CUT = ["gpt_default", "gpt_expandable", "empty_cache", "multistream_lag", "oom_retry", "gpt_max_split",
       "oom_retry_expandable", "mlp_default", "resnet_small", "lstm"]
failures = []


def load(path):
    data = path.read_bytes()
    return pickle.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


def ask(snapshot, folder):
    """Exit code under --strict and the JSON report of device 0."""
    path = pathlib.Path(folder) / "changed.pickle"
    path.write_bytes(pickle.dumps(snapshot))
    done = subprocess.run([PROGRAM, "replay", "--json", "--strict", str(path)], capture_output=True,
                          text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"exit {done.returncode}: {done.stderr}")
    report = json.loads(done.stdout)
    return done.returncode, next(d for d in report["devices"] if d["device"] == 0)


def expect(what, condition, report):
    if not condition:
        failures.append(what)
        print(f"FAIL {what}: {report['proof']['first_difference']}")


def named(report):
    difference = report["proof"]["first_difference"]
    return difference["event"] if difference else None


def same_allocation(trace, at):
    """Entries near enough to blame for a dropped one: those of the same address."""
    return {i - (i > at) for i, entry in enumerate(trace)
            if entry.get("addr") == trace[at].get("addr")} | {at}


def change(trace, at, key, delta):
    trace[at] = dict(trace[at])
    trace[at][key] += delta


def mutations(snapshot, count):
    """Yields (description, changed snapshot, entries that may be named; None: any)."""
    trace = snapshot["device_traces"][0]
    for _ in range(count):
        at = random.randrange(len(trace))
        action = trace[at]["action"]
        if action in ("snapshot", "oom"):
            continue
        segment = action.startswith("segment")
        for kind in ("address", "request", "doubled", "dropped"):
            changed = copy.deepcopy(snapshot)
            t = changed["device_traces"][0]
            allowed = {at}
            if kind == "address":
                # half a block aside: no other entry's address
                change(t, at, "addr", 256)
            elif kind == "request":
                change(t, at, "size", 2 << 20 if segment else 1)
                if t[at].get("addr") and not segment and trace[at]["size"] == 0:
                    continue
            elif kind == "doubled":
                t.insert(at, dict(t[at]))
                allowed = {at, at + 1}
            else:
                allowed = same_allocation(trace, at) | set(range(at, len(trace) + 1))
                del t[at]
            yield f"{kind} {action} at entry {at}", changed, allowed
    for _ in range(count // 2):
        changed = copy.deepcopy(snapshot)
        segments = [s for s in changed["segments"] if s["device"] == 0]
        block = random.choice(random.choice(segments)["blocks"])
        if block["state"] == "inactive":
            block["state"] = "active_allocated"
        else:
            block["requested_size"] += 1
        yield f"final block at {block.get('address', 0):#x}", changed, None


def main():
    random.seed(20260101)
    asked = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in WHOLE_LIVES:
            snapshot = load(path)
            code, report = ask(snapshot, folder)
            expect(f"{path.name} unchanged", code == 0 and not named(report), report)
            for what, changed, allowed in mutations(snapshot, 12):
                code, report = ask(changed, folder)
                asked += 1
                expect(f"{path.name}: {what}: must fail", code == 1, report)
                if code == 1 and allowed is not None:
                    expect(f"{path.name}: {what}: must be named", named(report) in allowed, report)
        for name in CUT:
            snapshot = load(GOLDEN / f"torch2.9.1_{name}.pickle.gz")
            trace = snapshot["device_traces"][0]
            for _ in range(5):
                at = random.randrange(1, len(trace) - 2)
                snapshot["device_traces"][0] = trace[at:]
                code, report = ask(snapshot, folder)
                asked += 1
                expect(f"{name} without its first {at} entries", code == 0, report)
    print(f"{asked} recordings asked, {len(failures)} wrong")
    if failures or asked < 200:
        raise SystemExit(1)


main()

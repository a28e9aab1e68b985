#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the small snapshots of this folder and the seeds of the fuzz targets that read them.

  tests/data/snapshots/make.py

Everything is made up here; nothing is recorded. Run it again after a change: the files are the same
as long as this script is.
"""
import gzip
import io
import pathlib
import pickle
import pickletools
import struct
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = HERE.parent.parent / "fuzz" / "corpus"
MIB = 1 << 20
BASE = 0x7F0000000000
US = 1700000000000000


def frame(name, line):
    return {"name": name, "filename": "train.py", "line": line}


def tiny():
    """Two devices, with every kind of entry of release 2.15. tests/unit/test_parse_snapshot.c knows
    what must come out."""
    forward, backward = [frame("forward", 10), frame("main", 20)], [frame("backward", 11)]
    small, large = BASE, BASE + 20 * MIB
    stream = 0x55550000

    def entry(action, addr, size, time, frames=forward, **more):
        return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": US + time,
                "compile_context": "N/A", "user_metadata": "", "pool_id": (0, 0),
                "frames": frames, **more}

    trace = [
        entry("free_completed", small + 1536, 100, 0),  # asked for before the recording
        entry("free_requested", small + 512, 200, 1),  # allocated before it
        entry("free_completed", small + 512, 200, 2),
        entry("segment_alloc", large, 20 * MIB, 3),
        entry("alloc", large, 2 * MIB, 4, user_metadata="step 1"),
        entry("alloc", large + 2 * MIB, 3 * MIB - 1, 5, user_metadata="step 1", stream=stream),
        entry("free_requested", large, 2 * MIB, 6, backward),  # waits for another stream
        entry("snapshot", 0, 6 * MIB, 7),
        entry("alloc", small + 512, 300, 8, pool_id=(0, 3)),
        entry("free_completed", large, 2 * MIB, 9, backward),
        {**entry("oom", 0, 900 * MIB, 10), "device_free": 7 * MIB},
        entry("alloc", small + 1024, 1, 11, compile_context="Torch-Compiled Region: 0/0"),
        entry("free_requested", small + 1024, 1, 12),  # still waits at the end
    ]
    del trace[10]["addr"]
    other = [entry("alloc", BASE, 512, 3), entry("alloc", BASE + 512, 512, 4)]

    def block(address, size, requested, state, frames=()):
        return {"address": address, "size": size, "requested_size": requested, "state": state,
                "frames": list(frames)}

    def segment(device, address, size, kind, blocks, **more):
        active = [b for b in blocks if b["state"] != "inactive"]
        return {"device": device, "address": address, "total_size": size,
                "allocated_size": sum(b["size"] for b in active
                                      if b["state"] == "active_allocated"),
                "active_size": sum(b["size"] for b in active),
                "requested_size": sum(b["requested_size"] for b in active), "stream": 0,
                "segment_type": kind, "segment_pool_id": (0, 0), "is_expandable": False,
                "frames": [], "blocks": blocks, **more}

    segments = [
        segment(0, large, 20 * MIB, "large", [
            block(large, 2 * MIB, 2 * MIB, "inactive"),
            block(large + 2 * MIB, 3 * MIB, 3 * MIB - 1, "active_allocated", forward),
            block(large + 5 * MIB, 15 * MIB, 0, "inactive")], stream=stream),
        segment(0, small, 2 * MIB, "small", [
            block(small, 512, 400, "active_allocated"),
            block(small + 512, 512, 300, "active_allocated", forward),
            block(small + 1024, 512, 1, "active_pending_free", forward),
            block(small + 1536, 2 * MIB - 1536, 100, "inactive")], segment_pool_id=(0, 3),
            is_expandable=True),
        segment(2, BASE, 2 * MIB, "small", [
            block(BASE, 512, 512, "active_allocated", forward),
            block(BASE + 512, 512, 512, "active_allocated", forward),
            block(BASE + 1024, 2 * MIB - 1024, 0, "inactive")]),
    ]
    annotations = [
        {"stage": "START", "name": "Optimizer.step", "device": 0, "time_us": US + 4},
        {"name": "Optimizer.step", "stage": "END", "device": 0, "time_us": US + 100},
    ]
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "old text", "max_split_size": 64 * MIB,
                "garbage_collection_threshold": 0.6, "expandable_segments": True,
                "pinned_num_register_threads": 1, "release_lock_on_cudamalloc": False,
                "pinned_use_cuda_host_register": False,
                "graph_capture_record_stream_reuse": False, "max_round_threshold": -1,
                "max_cached_size": -1,
                "roundup_power2_divisions": {str(1 << i): 4 if i == 2 else 0 for i in range(16)}}
    return {"segments": segments, "device_traces": [trace, [], other],
            "allocator_settings": settings, "external_annotations": annotations,
            "host_segments": [], "host_traces": [[entry("alloc", 1, -5, 0)]]}


def history():
    """The blocks of 1.13 and 2.0."""
    owners = [{"addr": BASE, "real_size": 300, "frames": [frame("new", 1)],
               "cpp_frames": ["at::empty", "main"]},
              {"addr": BASE, "real_size": 400}]
    blocks = [{"size": 512, "state": "active_allocated", "history": owners},
              {"size": 1024, "state": "inactive", "history": owners[1:]},
              {"size": 2 * MIB - 1536, "state": "inactive"}]
    return {"segments": [{"device": 0, "address": BASE, "total_size": 2 * MIB,
                          "allocated_size": 512, "active_size": 512, "stream": 0,
                          "segment_type": "small", "blocks": blocks}],
            "device_traces": [[{"action": "snapshot", "addr": 0, "size": 512, "stream": 0}]]}


class CppPickler:
    """The habits of TorchScript's pickler: strings by value in the memo, long integers of 8 bytes,
    containers never memoised, empty ones filled with nothing."""

    def __init__(self):
        self.out = io.BytesIO(b"")
        self.out.write(b"\x80\x02")
        self.strings = {}

    def value(self, x):
        write = self.out.write
        if x is True or x is False:
            write(b"\x88" if x else b"\x89")
        elif isinstance(x, int):
            if 0 <= x < 256:
                write(b"K" + bytes([x]))
            elif 0 <= x < 65536:
                write(b"M" + struct.pack("<H", x))
            elif -2**31 <= x < 2**31:
                write(b"J" + struct.pack("<i", x))
            else:
                write(b"\x8a\x08" + struct.pack("<q", x))
        elif isinstance(x, float):
            write(b"G" + struct.pack(">d", x))
        elif isinstance(x, str):
            self.string(x)
        elif isinstance(x, tuple):
            for item in x:
                self.value(item)
            write(b"\x86")
        elif isinstance(x, list):
            write(b"](")
            for item in x:
                self.value(item)
            write(b"e")
        else:
            write(b"}(")
            for key, item in x.items():
                self.value(key)
                self.value(item)
            write(b"u")

    def string(self, x):
        write = self.out.write
        if x in self.strings:
            number = self.strings[x]
            write(b"h" + bytes([number]) if number < 256 else b"j" + struct.pack("<I", number))
            return
        number = self.strings[x] = len(self.strings)
        data = x.encode()
        write(b"X" + struct.pack("<I", len(data)) + data)
        write(b"q" + bytes([number]) if number < 256 else b"r" + struct.pack("<I", number))

    def dump(self, x):
        self.value(x)
        self.out.write(b".")
        return self.out.getvalue()


def system(protocol):
    class Trap:
        def __reduce__(self):
            import os
            return os.system, ("echo this must never run",)
    return pickle.dumps({"segments": [Trap()], "device_traces": []}, protocol)


def one_segment(**block):
    base = {"address": BASE, "size": 2 * MIB, "requested_size": 5, "state": "active_allocated",
            "frames": []}
    return {"device": 0, "address": BASE, "total_size": 2 * MIB, "stream": 0,
            "segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": False,
            "blocks": [{**base, **block}]}


def main():
    files = {f"tiny_p{p}.pickle": pickle.dumps(tiny(), p) for p in range(6)}
    files["tiny_cpp.pickle"] = CppPickler().dump(tiny())
    files["tiny_plain.pickle"] = pickletools.optimize(pickle.dumps(tiny(), 4))
    files["history_113.pickle"] = pickle.dumps(history(), 4)
    files["list_only.pickle"] = pickle.dumps(tiny()["segments"], 4)
    for name, data in files.items():
        (HERE / name).write_bytes(data)

    for target in ("bytes_in", "pickle", "snapshot"):
        (CORPUS / target).mkdir(parents=True, exist_ok=True)
    tiny4 = files["tiny_p4.pickle"]
    zipped = gzip.compress(tiny4, 9, mtime=0)
    packed = subprocess.run(["zstd", "-19", "-c"], input=tiny4, stdout=subprocess.PIPE,
                            check=True).stdout
    seeds = {
        "bytes_in": {
            "empty": b"", "plain": b"plain bytes", "gzip": zipped, "zstd": packed,
            "gzip_twice": gzip.compress(gzip.compress(b"inner", mtime=0), mtime=0),
            "gzip_in_zstd": subprocess.run(["zstd", "-c"], input=zipped, check=True,
                                           stdout=subprocess.PIPE).stdout,
            "members": gzip.compress(b"one", mtime=0) + gzip.compress(b"two", mtime=0),
            "padded": gzip.compress(b"one", mtime=0) + bytes(7),
            "trailing": gzip.compress(b"one", mtime=0) + b"garbage",
            "cut_gzip": zipped[:-9], "cut_zstd": packed[:-3],
            "bomb": gzip.compress(bytes(3 * MIB), 9, mtime=0),
            "damaged": zipped[:100] + b"\xff" + zipped[101:],
        },
        "pickle": {
            **{name.split(".")[0]: data for name, data in files.items()},
            "system_p0": system(0), "system_p2": system(2), "system_p4": system(4),
            "mixed": pickle.dumps([None, True, False, -1, 2**40, -2**70, 1.5, "é", b"ab",
                                   (1, 2), (), (1,), (1, 2, 3), {1: 2}, {"k": [[]]}], 4),
            "text": pickle.dumps([None, True, 7, -2**70, 1.5, "é\n\\", {"a": (1, 2, 3, 4)}], 0),
            "sets": pickle.dumps([b"x" * 300, "y" * 300], 5) + b"trailing",
            "self": b"]\x94h\x00a.", "self_dict": b"}\x94(K\x01h\x00u.",
            "late": b"]\x94(K\x01e\x86\x94.", "dup": b"]2a.", "pop": b"](K\x010\x30K\x01a.",
            "memo_far": b"K\x01r\xff\xff\xff\x7f.", "marks": b"(" * 300 + b"t" * 300 + b".",
            "lists": b"]" * 200 + b"a" * 199 + b".", "long4": b"\x8b\x09\x00\x00\x00" + b"\xff" * 9
            + b".", "set": b"\x8f(K\x01K\x02\x90.", "frozen": b"(K\x01K\x02\x91.",
            "bytearray": b"\x96\x02\x00\x00\x00\x00\x00\x00\x00ab.",
        },
        "snapshot": {
            **{name.split(".")[0]: data for name, data in files.items()},
            "gzip": zipped, "zstd": packed, "system": system(4),
            "empty": pickle.dumps({"segments": [], "device_traces": []}, 4),
            "list_empty": b"].", "not_one": pickle.dumps({"a": [1, 2]}, 4),
            "no_blocks": pickle.dumps([{**one_segment(), "blocks": []}], 4),
            "negative": pickle.dumps([one_segment(size=-5)], 4),
            "huge": pickle.dumps([one_segment(size=2**61)], 4),
            "short": pickle.dumps([one_segment(size=512)], 4),
            "long": pickle.dumps([one_segment(size=4 * MIB)], 4),
            "twice": pickle.dumps([one_segment(), one_segment()], 4),
            "shared": pickle.dumps([one_segment()] * 2, 4),
            "state": pickle.dumps([one_segment(state="odd")], 4),
            "html": b"<!DOCTYPE html>\n<html>", "json": b'{"traceEvents": []}',
            "zip": b"PK\x03\x04rest", "text": b"CUDA out of memory.",
        },
    }
    for target, named in seeds.items():
        for name, data in named.items():
            (CORPUS / target / name).write_bytes(data)


if __name__ == "__main__":
    main()

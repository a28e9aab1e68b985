#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints a workload for the bare model and the real library alike, as a script (tests/oracle).

  tests/bench/workload.py NAME

cache      eight sizes from 512 B to 200 MiB, each allocated and freed at once
training   steps of a 48-layer model: activations freed in reverse, temporaries, the optimizer's
free1k, free10k, free100k
           that many free blocks of the small pool between live ones; random sizes come and go
random100k 100,000 live and 100,000 free blocks, a random victim each time
large1k, large10k
           that many free blocks of 1 to 60 MiB, nearly all of different size

What stands before the line "mark" is set-up; what follows leaves nothing allocated.
"""
import random
import sys

KIB, MIB = 1 << 10, 1 << 20


class Script:
    def __init__(self):
        self.lines, self.next = [], 1

    def alloc(self, size):
        self.lines.append(f"a {self.next} {size} 0")
        self.next += 1
        return self.next - 1

    def free(self, number):
        self.lines.append(f"f {number}")

    def mark(self):
        self.lines.append("mark")


def cache(s, rng):
    sizes = [512, 4 * KIB, 100 * KIB, 900 * KIB, 3 * MIB, 11 * MIB, 50 * MIB, 200 * MIB]
    for size in sizes:
        s.free(s.alloc(size))
    s.mark()
    for _ in range(10000):
        for size in sizes:
            s.free(s.alloc(size))


def training(s, rng):
    layers = 48
    saved = [2 * MIB, 6 * MIB, 8 * MIB, 512 * KIB, 2048, 24 * MIB]
    for _ in range(layers):
        for size in [12 * MIB, 4 * MIB, 8 * KIB]:
            s.alloc(size)
    s.mark()
    for _ in range(20):
        activations = []
        for _ in range(layers):
            temporaries = [s.alloc(size) for size in (4 * MIB, 1536, 16 * MIB)]
            activations.append([s.alloc(size) for size in saved])
            for number in temporaries:
                s.free(number)
        gradients = []
        for block in reversed(activations):
            temporaries = [s.alloc(size) for size in (8 * MIB, 24 * MIB, 4096)]
            gradients += [s.alloc(size) for size in (12 * MIB, 4 * MIB, 8 * KIB)]
            for number in reversed(block):
                s.free(number)
            for number in temporaries:
                s.free(number)
        for number in gradients:
            temporary = s.alloc(12 * MIB)
            s.free(temporary)
            s.free(number)


def come_and_go(s, rng, holes, size, window, events):
    """Holes between live blocks, then random sizes in a window of live ones."""
    blocks = [s.alloc(size()) for _ in range(2 * holes)]
    for number in blocks[::2]:
        s.free(number)
    s.mark()
    live = []
    for _ in range(events // 2):
        if len(live) >= window:
            at = rng.randrange(len(live))
            live[at], live[-1] = live[-1], live[at]
            s.free(live.pop())
        live.append(s.alloc(size()))
    for number in live:
        s.free(number)


def small(rng):
    return lambda: rng.randrange(1, 64 * KIB)


def large(rng):
    return lambda: rng.randrange(MIB + 1, 60 * MIB)


WORKLOADS = {
    "cache": cache,
    "training": training,
    "free1k": lambda s, r: come_and_go(s, r, 1000, small(r), 100, 100000),
    "free10k": lambda s, r: come_and_go(s, r, 10000, small(r), 1000, 200000),
    "free100k": lambda s, r: come_and_go(s, r, 100000, small(r), 10000, 400000),
    "random100k": lambda s, r: come_and_go(s, r, 100000, small(r), 100000, 800000),
    "large1k": lambda s, r: come_and_go(s, r, 1000, large(r), 100, 100000),
    "large10k": lambda s, r: come_and_go(s, r, 10000, large(r), 1000, 200000),
}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in WORKLOADS:
        sys.exit(__doc__)
    script = Script()
    WORKLOADS[sys.argv[1]](script, random.Random(1))
    print("\n".join(script.lines))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""Random event scripts for the oracle, one kind of life per profile. The same profile, seed and
release give the same script."""
import random

from alloc_conf import SETTINGS, divisions, number, some_settings
from life import GIB, MIB, USUAL, BIG, Life, Sizes

# name -> (first release, function that prepares a life and returns weights of actions)
PROFILES = {}
LOOK = {"churn": 100, "burst": 1, "drain": 0.4, "stats": 0.5, "snap": 0.3, "trace": 0.5, "zero": 0.1, "reset": 0.1,
        "absurd": 0.1, "e": 0.5}


def profile(since=113):
    return lambda function: PROFILES.setdefault(function.__name__, (since, function))


def tight(life, factor=None):
    """A device that the life hardly fits on."""
    expected = life.sizes.typical() * max(life.most, 1) // 2
    life.total = max(64 * MIB, int(expected * (factor or life.rng.uniform(0.3, 1.4))))
    if life.rng.random() < 0.7:
        life.total = life.total // (2 * MIB) * 2 * MIB


@profile()
def default(life):
    return LOOK


@profile()
def small(life):
    life.sizes = Sizes(life.rng, {"tiny": 3, "small": 4, "edge": 0.3}, life.rng.randint(3, 30), 0.3)
    life.most = 400
    return LOOK


@profile()
def many_free(life):
    kinds = life.rng.choice([{"small": 1}, {"middle": 1}, USUAL, {"large": 1, "middle": 3}])
    life.sizes = Sizes(life.rng, kinds, life.rng.randint(2, 60), life.rng.choice([0.02, 0.5]))
    life.total = 1 << 45
    for _ in range(life.rng.randint(200, 2500)):
        life.alloc()
    for index in range(len(life.live) - 1, -1, -life.rng.choice([1, 2, 2, 3])):
        life.free(index)
    life.most = life.target = len(life.live) + 100
    life.policy = "any"
    return {**LOOK, "drain": 0.02, "snap": 0.02, "stats": 0.2, "trace": 0.1, "e": 0.1}


@profile()
def near_oom(life):
    life.sizes = Sizes(life.rng, life.rng.choice([USUAL, BIG]), life.rng.randint(3, 20), 0.3)
    tight(life)
    return {**LOOK, "ext": 2, "absurd": 0.5, "e": 1}


@profile()
def streams(life):
    life.streams = life.rng.choice([[0, 1], [0, 1, 2, 5], [3]])
    life.other = life.rng.choice([9, 9, 2])
    life.manual = life.rng.random() < 0.7
    if life.rng.random() < 0.4:
        tight(life)
    return {**LOOK, "r": 10, "used": 15, "s": 6, "e": 1}


@profile()
def streams_many(life):
    """Blocks that several streams used: the order of events is that of a hash table of streams."""
    life.streams = life.rng.choice([[0], [0, 1]])
    life.other, life.others = 9, life.rng.sample(range(1, 40), life.rng.randint(2, 9))
    life.manual = life.rng.random() < 0.7
    return {**LOOK, "r": 12, "used": 15, "s": 6, "e": 1}


@profile()
def devices(life):
    """Several devices, each with a life of its own; some lines are for all of them."""
    life.start_devices(life.rng.randint(2, 4))
    life.streams = life.rng.choice([[0], [0, 1]])
    life.other = life.rng.choice([None, 9])
    life.manual = life.rng.random() < 0.5
    if life.release >= 201 and life.rng.random() < 0.3:
        life.conf = "expandable_segments:True"
    if life.rng.random() < 0.5:
        tight(life)
    weights = {**LOOK, "dev": 12, "r": 4, "used": 4, "s": 3, "e": 2, "frac": 0.5, "ext": 0.5, "hist": 0.3, "conf": 0.2}
    return {**weights, "pool": 4} if life.release >= 201 and life.rng.random() < 0.4 else weights


@profile()
def empty_cache(life):
    life.streams = life.rng.choice([[0], [0, 1, 2]])
    return {**LOOK, "e": 8, "drain": 2}


def pooled(life):
    life.streams = life.rng.choice([[0], [0, 1], [0, 1, 2]])
    life.sizes = Sizes(life.rng, life.rng.choice([USUAL, BIG, {"small": 1, "middle": 1}]), life.rng.randint(2, 10), 0.2)
    life.most = life.rng.choice([10, 40])
    return {**LOOK, "pool": 8, "e": 2, "drain": 1.5}


@profile()
def pools(life):
    life.pool_count = 1
    return pooled(life)


@profile()
def pools_many(life):
    life.pool_count = life.rng.randint(2, 5)
    return pooled(life)


@profile()
def pools_oom(life):
    weights = pooled(life)
    life.pool_count = life.rng.randint(1, 3)
    tight(life)
    return {**weights, "ext": 1, "e": 1}


@profile()
def captures(life):
    """Frees of blocks that other streams used, while a routing exists."""
    weights = pooled(life)
    life.other = 9
    life.manual = life.rng.random() < 0.7
    life.pool_count = life.rng.randint(1, 3)
    return {**weights, "r": 10, "used": 15, "s": 4}


@profile(209)
def captures_many(life):
    """The same with several blocks that wait, without a history. Not where numbers of blocks are told or decide."""
    weights = pooled(life)
    life.other, life.others = 9, life.rng.choice([(), (8, 9, 10)])
    life.manual = life.rng.random() < 0.7
    life.pool_count, life.unordered, life.lines = life.rng.randint(1, 3), True, []
    if life.rng.random() < 0.3:
        life.conf = "expandable_segments:True"
    used = 0 if life.release in (211, 212) else 12
    return {**weights, "r": used, "used": used, "s": 4, "trace": 0, "snap": 0}


@profile(206)
def pools_own(life):
    """Pools with an allocator of their own, or that serve others, made before they are used."""
    weights = pooled(life)
    life.pool_count = life.rng.randint(1, 6)
    life.custom = 0.5
    life.odd = life.rng.choice([0.0, 0.2])
    if life.rng.random() < 0.4:
        life.conf = life.rng.choice(["expandable_segments:True", "max_split_size_mb:64"])
    if life.rng.random() < 0.7:
        tight(life)
    return {**weights, "pool": 14, "e": 1, "ext": 1}


@profile(201)
def checkpoints(life):
    """States of pools kept and brought back: of pools with one segment of each kind, whose order is known."""
    life.sizes = Sizes(life.rng, life.rng.choice([{"tiny": 1}, {"tiny": 2, "small": 1}]), life.rng.randint(2, 10), 0.5)
    life.most, life.target, life.pool_count, life.no_split = 10, 5, life.rng.randint(1, 2), 0.0
    life.other = life.rng.choice([None, None, 9])
    life.conf = life.rng.choice(["", "", "expandable_segments:True", "roundup_power2_divisions:4"])
    return {**LOOK, "churn": 60, "burst": 0, "pool": 10, "ckpt": 8, "restore": 8, "r": 2, "e": 1, "absurd": 0}


@profile(201)
def pools_expandable(life):
    weights = pooled(life)
    life.conf = "expandable_segments:True"
    life.pool_count = life.rng.randint(1, 3)
    life.total = life.rng.choice([GIB, 3 * GIB, 80 * GIB])
    return {**weights, "ext": 1, "e": 2}


@profile()
def odd_calls(life):
    """What the library answers with an error."""
    weights = pooled(life)
    life.odd = 0.3
    return {**weights, "pool": 15, "frac": 1, "conf": 1}


@profile()
def max_split(life):
    life.conf = some_settings(life.rng, life.release, [("max_split_size_mb", SETTINGS["max_split_size_mb"][1](life.rng, 0))], 1,
                              ("expandable_segments",))
    life.sizes = Sizes(life.rng, BIG, life.rng.randint(3, 20), 0.3)
    tight(life, life.rng.choice([None, 4]))
    return {**LOOK, "ext": 0.5}


@profile()
def roundup(life):
    life.conf = f"roundup_power2_divisions:{divisions(life.rng, life.release)}"
    if life.release == 113 and life.rng.random() < 0.5:
        life.conf += f",roundup_bypass_threshold_mb:{life.rng.choice([1, 2, 8, 32, 100])}"
    return LOOK


@profile()
def collect(life):
    life.conf = some_settings(life.rng, life.release, [("garbage_collection_threshold", f"{life.rng.uniform(0.05, 0.95):.2f}")], 1)
    life.sizes = Sizes(life.rng, BIG, life.rng.randint(3, 20), 0.2)
    life.streams = life.rng.choice([[0], [0, 1]])
    tight(life)
    life.emit(f"frac {life.rng.choice([1.0, 0.95, 0.8, 0.5])}")
    return {**LOOK, "frac": 0.3}


@profile()
def fraction(life):
    tight(life)
    return {**LOOK, "frac": 1.5, "ext": 0.5}


@profile()
def device_bytes(life):
    tight(life)
    life.conf = life.rng.choice(["", "expandable_segments:True" if life.release >= 201 else ""])
    return {**LOOK, "total": 2, "ext": 1, "frac": 0.5}


def expandable_life(life, extra=()):
    life.conf = some_settings(life.rng, life.release, [("expandable_segments", "True"), *extra], 0)
    life.streams = life.rng.choice([[0], [0], [0, 1, 2]])
    life.total = life.rng.choice([2 * GIB, 16 * GIB, 80 * GIB])
    return {**LOOK, "e": 3, "drain": 1}


@profile(201)
def expandable(life):
    return expandable_life(life)


@profile(201)
def expandable_oom(life):
    weights = expandable_life(life)
    life.sizes = Sizes(life.rng, life.rng.choice([USUAL, BIG]), life.rng.randint(3, 20), 0.3)
    tight(life)
    return {**weights, "ext": 2}


@profile(201)
def expandable_split(life):
    weights = expandable_life(life, [("max_split_size_mb", str(life.rng.choice([21, 64, 128, 200])))])
    life.sizes = Sizes(life.rng, BIG, life.rng.randint(3, 20), 0.3)
    if life.rng.random() < 0.5:
        tight(life)
    return weights


@profile(201)
def expandable_streams(life):
    weights = expandable_life(life)
    life.streams, life.other = [0, 1, 2], 9
    life.manual = life.rng.random() < 0.7
    return {**weights, "r": 10, "used": 15, "s": 6}


@profile(211)
def large_segment(life):
    life.conf = some_settings(life.rng, life.release, [("large_segment_size_mb", SETTINGS["large_segment_size_mb"][1](life.rng, 0))], 2)
    if life.rng.random() < 0.4:
        tight(life)
    return {**LOOK, "e": 1}


@profile(206)
def non_split_rounding(life):
    life.conf = some_settings(life.rng, life.release, [
        ("max_non_split_rounding_mb", SETTINGS["max_non_split_rounding_mb"][1](life.rng, 0)),
        ("max_split_size_mb", str(life.rng.choice([32, 64, 128])))], 0)
    life.sizes = Sizes(life.rng, BIG, life.rng.randint(3, 20), 0.3)
    return LOOK


@profile(212)
def throw_oom(life):
    life.conf = some_settings(life.rng, life.release, [("throw_on_cudamalloc_oom", "True")], 1)
    tight(life)
    return {**LOOK, "ext": 1, "frac": 0.2}


@profile(215)
def reserves(life):
    key = life.rng.choice(["expandable_segments_reserve", "expandable_segments_reserve_by_class"])
    weights = expandable_life(life, [(key, SETTINGS[key][1](life.rng, 0))])
    life.sizes = Sizes(life.rng, life.rng.choice([USUAL, BIG]), life.rng.randint(3, 20), 0.3)
    if life.rng.random() < 0.5:
        tight(life)
    return weights


def settings_life(life):
    life.conf = some_settings(life.rng, life.release, (), 5)
    life.sizes = Sizes(life.rng, life.rng.choice([USUAL, BIG]), life.rng.randint(3, 20), 0.3)
    life.total = life.rng.choice([2 * GIB, 16 * GIB, 80 * GIB])
    if life.rng.random() < 0.5:
        tight(life)


@profile()
def settings(life):
    settings_life(life)
    return {**LOOK, "frac": 0.3, "ext": 0.5}


@profile()
def conf(life):
    """Settings at run time. max_split_size_mb stays what it was: switched on over larger split blocks it breaks
    the library; and with it expandable_segments stays, which splits such blocks."""
    if life.rng.random() < 0.3:
        life.fixed = [("max_split_size_mb", "64"), ("large_segment_size_mb", None)]
        if life.release >= 201:
            life.fixed.append(("expandable_segments", life.rng.choice(["True", "False"])))
    life.conf = some_settings(life.rng, life.release, life.fixed, 2, ("max_split_size_mb",))
    life.odd = 0.1
    if life.rng.random() < 0.5:
        tight(life)
    return {**LOOK, "conf": 2, "e": 2, "frac": 0.2}


@profile()
def broken(life):
    """max_split_size_mb set where larger blocks are split: the library may break, the model must say so."""
    life.sizes = Sizes(life.rng, BIG, life.rng.randint(3, 20), 0.3)
    tight(life)
    life.run(life.rng.randint(20, 150), {**LOOK, "burst": 3})
    life.emit(f"conf max_split_size_mb:{life.rng.choice([21, 32, 64])}")
    return LOOK


@profile(213)
def at(life):
    life.streams = [0]
    life.conf = life.rng.choice(["", "", "expandable_segments:True", "max_split_size_mb:64", "roundup_power2_divisions:4"])
    return {**LOOK, "at": 8, "e": 1}


@profile(200)
def history(life):
    return {**LOOK, "hist": 3, "trace": 5, "snap": 2}


def mixed_life(life):
    settings_life(life)
    life.streams, life.other = life.rng.choice([[0], [0, 1]]), life.rng.choice([None, 9])
    life.manual = life.rng.random() < 0.5
    life.pool_count = life.rng.randint(1, 3)
    others = {"conf": 0.3, "wild_id": 0.5, **({"at": 2} if life.release >= 213 else {}), "ext": 1, "total": 0.3, "frac": 0.5, "e": 2, "pool": 4, "r": 5, "used": 8, "s": 3, "hist": 0.3}
    return {**LOOK, **{key: others[key] for key in life.rng.sample(list(others), life.rng.randint(1, 6))}}


@profile()
def mixed(life):
    """Everything at once."""
    return mixed_life(life)


@profile()
def wild(life):
    """Pools and captures in any order. From 2.4 on no block waits: see life.py."""
    life.streams = life.rng.choice([[0], [0, 1, 2]])
    life.sizes = Sizes(life.rng, life.rng.choice([USUAL, {"small": 1, "middle": 1}]), life.rng.randint(2, 10), 0.2)
    life.most, life.pool_count = life.rng.choice([10, 40]), life.rng.randint(1, 3)
    life.other = 9 if life.release < 204 and life.rng.random() < 0.5 else None
    if life.release >= 201 and life.rng.random() < 0.3:
        life.conf = "expandable_segments:True"
    if life.rng.random() < 0.3:
        tight(life)
    life.odd = 0.2
    return {**LOOK, "churn": 40, "wild": life.rng.choice([2, 10, 30]), "r": 3, "used": 3, "s": 1, "wild_id": 2, "frac": 0.3}


@profile(201)
def wild_checkpoints(life):
    """The same with checkpoints of pools that have a segment at most."""
    life.sizes = Sizes(life.rng, {"tiny": 1}, life.rng.randint(2, 10), 0.5)
    life.most, life.target, life.pool_count, life.no_split = 10, 5, 2, 0.0
    life.conf = life.rng.choice(["", "", "expandable_segments:True"])
    return {**LOOK, "burst": 0, "churn": 40, "wild": 8, "wild_ckpt": 8, "pool": 8, "absurd": 0}


@profile(201)
def checkpoints_many(life):
    """Pools with several segments and streams. Not where creation numbers of blocks are told or decide: they
    follow the order of a hash table of pointers."""
    life.sizes = Sizes(life.rng, life.rng.choice([USUAL, {"small": 1, "middle": 1}, BIG]), life.rng.randint(2, 10), 0.3)
    life.streams = life.rng.choice([[0], [0, 1]])
    life.most, life.target, life.pool_count, life.no_split = 40, 15, life.rng.randint(1, 2), 0.0
    life.conf = life.rng.choice(["", "", "expandable_segments:True", "max_split_size_mb:64"])
    life.several, life.lines = True, []
    many = 0 if life.release in (211, 212) else 6
    return {**LOOK, "pool": 10, "ckpt": many, "restore": many, "e": 2, "trace": 0, "conf": 0}


@profile(200)
def history_small(life):
    """A history that is soon full, whatever else happens."""
    weights = mixed_life(life)
    life.ring = life.rng.choice([1, 2, 3, 5, 10, 30])
    return {**weights, "hist": 1, "trace": 5, "snap": 2}


@profile()
def long(life):
    """A long life."""
    weights = mixed_life(life)
    life.most = 300
    life.run(life.rng.randint(2000, 6000), weights)
    return weights


@profile()
def variables(life):
    """Settings by another variable, which older releases do not obey."""
    settings_life(life)
    life.variable = life.rng.choice(["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF"])
    return {**LOOK, "frac": 0.3, "conf": 0.3}


@profile()
def rising(life):
    """Addresses that are never used again."""
    weights = mixed_life(life)
    life.bump = True
    return weights


@profile()
def conf_split(life):
    """max_split_size_mb at run time, mostly with nothing cached; where the library breaks, the model says so."""
    life.conf = some_settings(life.rng, life.release, [("max_split_size_mb", life.rng.choice(["21", "64", "200"]))], 2)
    life.sizes = Sizes(life.rng, BIG, life.rng.randint(3, 20), 0.3)
    tight(life, life.rng.choice([None, 3]))
    for _ in range(life.rng.randint(1, 4)):
        life.run(len(life.lines) + life.rng.randint(20, 150), {**LOOK, "ext": 0.5, "frac": 0.3})
        if life.rng.random() < 0.8:
            life.policy = "any"
            for _ in range(len(life.live)):
                life.free()
            life.emit("e")
        life.emit(f"conf {some_settings(life.rng, life.release, (), 4)}".rstrip())
    return LOOK


@profile(201)
def devices_pools(life):
    """Several devices with pools, captures and settings that change."""
    life.start_devices(life.rng.randint(2, 3))
    weights = pooled(life)
    life.streams, life.pool_count = life.rng.choice([[0], [0, 1]]), life.rng.randint(1, 3)
    life.custom = 0.2
    life.conf = life.rng.choice(["", "", "expandable_segments:True", "garbage_collection_threshold:0.5"])
    if life.rng.random() < 0.5:
        tight(life)
    return {**weights, "dev": 12, "pool": 10, "frac": 0.5, "ext": 0.5, "total": 0.2, "hist": 0.2, "conf": 0.2, "wild_id": 0.5}


@profile(213)
def at_wide(life):
    """allocateWithAddress among everything else."""
    weights = mixed_life(life)
    life.streams = [0]
    return {**weights, "at": 8, "pool": 3, "conf": 0.2}


@profile()
def collect_wide(life):
    """Garbage collection with expandable segments, pools and limits that change."""
    life.conf = some_settings(life.rng, life.release, [("garbage_collection_threshold", f"{life.rng.uniform(0.05, 0.95):.2f}")], 3)
    life.sizes = Sizes(life.rng, BIG, life.rng.randint(3, 20), 0.2)
    life.streams = life.rng.choice([[0], [0, 1, 2]])
    life.other = life.rng.choice([None, 9])
    tight(life)
    life.emit(f"frac {life.rng.choice([1.0, 0.95, 0.8, 0.5])}")
    return {**LOOK, "frac": 1, "pool": 3, "e": 1, "r": 2, "used": 3, "s": 2, "conf": 0.3, "total": 0.3}


@profile()
def gradual(life):
    """Sizes that grow by steps, as sequence lengths do; all are freed before each step."""
    life.conf = life.rng.choice(["", "", "roundup_power2_divisions:4", "max_split_size_mb:64",
                                 "expandable_segments:True" if life.release >= 201 else ""])
    if life.rng.random() < 0.5:
        life.total = 8 * GIB
    base = life.rng.randint(1, 4 * MIB)
    for step in range(life.rng.randint(5, 40)):
        for _ in range(life.rng.randint(1, 20)):
            life.alloc(max(1, base + step * life.rng.choice([512, 4096, 100000, MIB]) * life.rng.randint(1, 3)))
            if life.rng.random() < 0.3:
                life.free()
        life.do_drain()
    return LOOK


def make(name, seed, release, probe=None):
    """The script of this profile and seed for a release such as "2.9.1": environment and lines."""
    rng = random.Random(f"{name} {seed}")
    life = Life(rng, number(release))
    life.probe = probe
    if life.release >= 200 and rng.random() < 0.8:
        life.emit("hist on")
    weights = PROFILES[name][1](life)
    if life.ring:
        life.lines = [f"hist on {life.ring}"] + [line for line in life.lines if line != "hist on"]
    if life.release < 200:
        weights = {key: value for key, value in weights.items() if key not in ("trace", "hist")}
    length = rng.choice([rng.randint(10, 60), rng.randint(60, 300), rng.randint(60, 300), rng.randint(300, 1000)])
    life.run(len(life.lines) + length, weights)
    life.close()
    return life.environment(), life.lines

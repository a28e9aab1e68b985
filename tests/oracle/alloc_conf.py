# SPDX-License-Identifier: MIT
"""Random settings strings that a release accepts."""


def number(release):
    """209 for 2.9.1."""
    major, minor = release.split(".")[:2]
    return int(major) * 100 + int(minor)


def list_of_divisions(rng, release):
    names = sorted(rng.sample(range(16), rng.randint(1, 5)))
    values = ([0] if release >= 204 else []) + [1, 2, 4, 8, 16]
    entries = [f"{1 << name}:{rng.choice(values)}" for name in names]
    if rng.random() < 0.7:
        entries.insert(rng.choice([len(entries), len(entries), 0]), f">:{rng.choice(values)}")
    return "[" + ",".join(entries) + "]"


def divisions(rng, release):
    if release >= 200 and rng.random() < 0.5:
        return list_of_divisions(rng, release)
    return str(rng.choice([1, 2, 4, 8, 16, 32]))


def reserve(rng):
    return rng.choice(["0.01", "0.1", "0.25", "0.5", "1.0", "2.0", "1G", "2G", "3G", "8G"])


# key: (first release, value)
SETTINGS = {
    "max_split_size_mb": (113, lambda rng, release: str(rng.choice([21, 32, 64, 100, 128, 200, 512]))),
    "roundup_power2_divisions": (113, divisions),
    "garbage_collection_threshold": (113, lambda rng, release: f"{rng.uniform(0.02, 0.98):.2f}"),
    "roundup_bypass_threshold_mb": (113, lambda rng, release: str(rng.choice([1, 2, 8, 32, 100]))),
    "expandable_segments": (201, lambda rng, release: rng.choice(["True", "True", "True", "False"])),
    "release_lock_on_cudamalloc": (204, lambda rng, release: rng.choice(["True", "False"])),
    "max_non_split_rounding_mb": (206, lambda rng, release: str(rng.choice([21, 30, 64, 100, 200]))),
    "per_process_memory_fraction": (210, lambda rng, release: f"{rng.choice([0.3, 0.5, 0.9, 0.97, 1.0])}"),
    "large_segment_size_mb": (211, lambda rng, release: str(rng.choice([11, 12, 16, 21, 33, 48, 64, 128]))),
    "throw_on_cudamalloc_oom": (212, lambda rng, release: rng.choice(["True", "True", "False"])),
    "expandable_segments_reserve": (215, lambda rng, release: reserve(rng)),
    "expandable_segments_reserve_by_class": (
        215, lambda rng, release: f"[small:{reserve(rng)},large:{reserve(rng)}]"),
}
ONLY = {"roundup_bypass_threshold_mb": 113}  # key: last release


def known(key, release):
    return SETTINGS[key][0] <= release <= ONLY.get(key, release)


def some_settings(rng, release, fixed=(), most=4, without=()):
    """A string of settings that the release accepts: fixed are (key, value) pairs in it."""
    chosen = dict(fixed)
    others = [key for key in SETTINGS if known(key, release) and key not in chosen and key not in without]
    for key in rng.sample(others, min(len(others), rng.randint(0, most))):
        chosen[key] = SETTINGS[key][1](rng, release)
    chosen = {key: value for key, value in chosen.items() if value is not None}
    if "large_segment_size_mb" in chosen:  # the others may not be below it
        for key in ("max_split_size_mb", "max_non_split_rounding_mb"):
            if key in chosen and int(chosen[key]) < int(chosen["large_segment_size_mb"]):
                chosen["large_segment_size_mb"] = str(rng.choice([11, 16, 21]))
    items = list(chosen.items())
    rng.shuffle(items)
    return ",".join(f"{key}:{value}" for key, value in items)

# SPDX-License-Identifier: MIT
"""A program's life as the oracle's script: what it asks of its allocator, step by step, at random.

What the real library leaves to the order of a hash table keyed by heap addresses is not asked for:
from 2.9 on at most one block at a time waits for the end of a routing, or nothing is looked at that
the order decides. From 2.4 on, what a stream was noted for during a routing sticks to the block's
object, and to its place on the heap when it is gone: such blocks are freed during a routing only,
which ends it."""
from alloc_conf import some_settings

MIB = 1 << 20
GIB = 1 << 30
EDGES = [1, 512, 1024, 2048, 4096, 1 * MIB, 2 * MIB, 3 * MIB, 9 * MIB, 10 * MIB, 11 * MIB, 12 * MIB,
         19 * MIB, 20 * MIB, 21 * MIB, 32 * MIB, 64 * MIB, 128 * MIB, 200 * MIB, 256 * MIB]
NUDGES = [-1 * MIB - 1, -1 * MIB, -513, -512, -1, 0, 0, 0, 1, 511, 512, 513, 1 * MIB, 1 * MIB + 1]
KINDS = {  # logarithmically even between the two
    "tiny": (1, 4096), "small": (512, MIB), "middle": (MIB, 10 * MIB), "large": (10 * MIB, 256 * MIB),
    "huge": (256 * MIB, 8 * GIB)}
USUAL = {"tiny": 2, "small": 3, "middle": 3, "large": 2, "edge": 2, "round": 1}
BIG = {"middle": 2, "large": 5, "edge": 2, "round": 3}


class Sizes:
    """What a program asks for: some sizes again and again, some only once."""

    def __init__(self, rng, kinds, recurring, fresh):
        self.rng, self.fresh = rng, fresh
        self.names, self.weights = list(kinds), list(kinds.values())
        self.recurring = [self.new() for _ in range(recurring)] or [512]

    def new(self):
        kind = self.rng.choices(self.names, self.weights)[0]
        if kind == "edge":
            return max(1, self.rng.choice(EDGES) + self.rng.choice(NUDGES))
        if kind == "round":
            return self.rng.randint(1, 64) * MIB
        low, high = KINDS[kind]
        return int(low * (high / low) ** self.rng.random())

    def pick(self):
        return self.new() if self.rng.random() < self.fresh else self.rng.choice(self.recurring)

    def typical(self):
        return sum(self.recurring) // len(self.recurring)


class Life:
    """One script in the making."""

    def __init__(self, rng, release):
        self.rng, self.release = rng, release
        self.lines, self.live, self.next = [], [], 1  # live: [id, stream, waits for another stream, device, pool]
        self.conf, self.total, self.manual, self.bump = "", 80 * GIB, False, False
        self.variable, self.ring = "PYTORCH_CUDA_ALLOC_CONF", None  # ring: entries of the history
        self.sizes = Sizes(rng, USUAL, rng.randint(3, 20), rng.choice([0.05, 0.3, 0.8]))
        self.streams, self.other = [0], None
        self.target, self.most = 20, 100
        self.policy = rng.choice(["any", "any", "last", "first"])
        self.uses, self.routes, self.dead = {}, [], set()  # pools: uses; [(pool, stream, is capture)]
        self.waiting, self.pool_count, self.fixed, self.odd = 0, 3, (), 0.0
        self.probe = None
        self.others = ()  # more streams that use blocks; none: self.other alone
        self.no_split = 0.3
        self.custom = 0.0  # of pools created: with an allocator of their own
        self.noted = set()  # ids used by other streams during a routing
        self.unordered = False  # several blocks at once wait for the end of a routing, in any release
        self.several = False  # segments of each kind in pools that are brought back
        self.kept = {}  # checkpoints: number: (pool, live entries of that pool)
        self.device, self.devices, self.elsewhere = 0, 1, {}  # elsewhere: what is so on other devices

    def emit(self, line):
        self.lines.append(line)

    # ---- requests and frees
    def alloc(self, size=None, stream=None):
        stream = self.rng.choice(self.streams) if stream is None else stream
        self.emit(f"a {self.next} {self.sizes.pick() if size is None else size} {stream}")
        self.live.append([self.next, stream, False, self.device, self.pool_of(stream)])
        self.next += 1
        if not self.routes:
            self.waiting = 0

    def free(self, index=None):
        if not self.live:
            return
        if index is None:
            index = {"last": len(self.live) - 1, "first": 0}.get(self.policy, self.rng.randrange(len(self.live)))
            if self.rng.random() < 0.2:
                index = self.rng.randrange(len(self.live))
        if self.live[index][0] in self.noted and not self.routes:
            return
        if self.live[index][2] and self.routes:
            if self.waiting and self.release >= 209 and not self.unordered:
                return
            self.waiting += 1
        self.emit(f"f {self.live.pop(index)[0]}")

    def do_churn(self):
        if self.rng.random() < 0.02:
            self.target = self.rng.randint(0, self.most)
        if self.rng.random() < (0.75 if len(self.live) < self.target else 0.25):
            self.alloc()
        else:
            self.free()

    def do_burst(self):
        """Many requests of one kind; some, all or every other one freed again."""
        size = self.sizes.pick()
        first = len(self.live)
        for _ in range(self.rng.randint(3, 20)):
            self.alloc(max(1, size + self.rng.choice([0, 0, 0, 512, -512, 1 * MIB])))
        step = self.rng.choice([1, 2, 2, 3])
        for index in range(len(self.live) - 1, first - 1, -step):
            self.free(index)

    def do_drain(self):
        keep = self.rng.choice([0, 0, 1, 3])
        for _ in range(len(self.live) - keep):
            self.free(self.rng.randrange(len(self.live)))

    def do_zero(self):
        self.alloc(0)

    def do_absurd(self):
        self.alloc(self.rng.choice([1 << 40, 1 << 50, (1 << 60) - 1, 1 << 60, (1 << 60) + 1, 1 << 62, 1 << 63,
                                    self.total, self.total + 1, self.total - 1]))

    # ---- streams
    def another(self):
        if self.others:
            return self.rng.choice(self.others)
        return self.other + self.device  # devices share no streams

    def note(self, number):
        if self.routes and self.release >= 204:
            self.noted.add(number)

    def do_r(self):
        if self.live and self.other is not None:
            index = self.rng.randrange(len(self.live))
            each = self.live[index]
            other = self.another()
            self.emit(f"r {each[0]} {other}")
            each[2] = each[2] or each[1] != other
            self.note(each[0])

    def do_used(self):
        """A request that another stream uses, too, and its free."""
        self.alloc()
        if self.other is not None and self.live[-1][1] != self.other + self.device:
            for _ in range(self.rng.choice([1, 1, 2, 4]) if self.others else 1):
                self.emit(f"r {self.live[-1][0]} {self.another()}")
            self.live[-1][2] = True
            self.note(self.live[-1][0])
            if self.rng.random() < 0.7:
                self.free(len(self.live) - 1)

    def do_s(self):
        self.emit("s" if self.rng.random() < 0.7 or self.other is None else f"s {self.another()}")

    # ---- the environment and the caller
    def do_e(self):
        self.emit("e")
        if not self.routes:
            self.waiting = 0

    def do_ext(self):
        self.emit(f"ext {self.rng.choice([0, self.rng.randint(0, self.total // 2), self.total // 10])}")

    def do_total(self):
        self.emit(f"total {self.rng.choice([self.total, int(self.total * self.rng.uniform(0.5, 1.5))])}")

    def do_frac(self):
        if self.rng.random() < self.odd:
            self.emit(f"frac {self.rng.choice([-0.1, 1.5])}")
        else:
            self.emit(f"frac {self.rng.choice([1.0, 0.9, 0.5, round(self.rng.random(), 3)])}")

    def do_conf(self):
        if self.rng.random() < self.odd:
            self.emit("conf " + self.rng.choice([
                "max_split_size_mb:5", "garbage_collection_threshold:1.5", "nonsense:1", "roundup_power2_divisions:3",
                "expandable_segments:true", "garbage_collection_threshold:0.5,nonsense:1", "max_split_size_mb"]))
        else:
            self.emit(f"conf {some_settings(self.rng, self.release, self.fixed, 3, ('max_split_size_mb',))}".rstrip())

    def do_stats(self):
        if self.unordered:  # peaks and sums hang on the order of frees
            self.emit("reset_peak")
            self.emit("reset_acc")
        self.emit("stats")

    def do_snap(self):
        self.emit("snap")

    def do_trace(self):
        self.emit("trace")

    def do_reset(self):
        self.emit(self.rng.choice(["reset_peak", "reset_acc"]))

    def do_hist(self):
        self.emit(self.rng.choice(["hist off", "hist on", f"hist on {self.rng.choice([1, 2, 10, 50])}"]))

    def do_at(self):
        """allocateWithAddress, at places where free memory is, if the probe can tell."""
        offset = self.rng.choice([0, 512 * self.rng.randint(0, 200), 2 * MIB * self.rng.randint(0, 20),
                                  self.rng.randint(0, 4096), self.rng.randint(0, 64 * MIB)])
        size, stream = self.sizes.pick(), 0
        free = self.probe(self) if self.probe and self.rng.random() < 0.5 else []
        if free:
            start, length, stream = self.rng.choice(free)
            within = self.rng.choice([0, 0, 512 * self.rng.randint(0, max(0, length // 512 - 1)),
                                      self.rng.randint(0, length - 1)])
            offset, size = start + within, self.rng.choice([length - within, self.rng.randint(1, length - within), 1])
        size = 0 if self.rng.random() < 0.02 else size
        if stream == 0:  # it serves the current stream only
            self.emit(f"at {self.next} {size} {offset:x}")
            self.live.append([self.next, 0, False, self.device, self.pool_of(0)])
            self.next += 1

    # ---- private pools
    def routed(self, pool):
        return any(route[0] == pool for route in self.routes)

    def begin(self):
        if self.routes and (self.release <= 200 or len(self.routes) >= 3 or self.rng.random() < 0.6):
            return
        pool = self.rng.randint(1, self.pool_count)
        if (self.routed(pool) or pool in self.dead) and self.rng.random() >= self.odd:
            return
        stream = self.rng.choice(self.streams) if self.rng.random() < 0.5 else None
        if self.release in (201, 202):
            stream = self.rng.choice(self.streams)
            if any(route[1] == stream for route in self.routes):
                return
        capture = self.rng.random() < 0.5 and not any(route[2] for route in self.routes)
        if self.devices > 1 and self.release >= 213:  # the pretend driver knows one capture on all devices
            capture = False
        self.emit(f"{'cap' if capture else 'pool'} begin {pool}" + ("" if stream is None else f" {stream}"))
        self.routes.append((pool, stream, capture))
        self.uses[pool] = self.uses.get(pool, 0) + 1

    def end(self):
        if self.routes:
            pool, stream, capture = self.routes.pop(self.rng.choice([-1, -1, -1, 0]))
            self.emit(f"{'cap' if capture else 'pool'} end {pool}" + ("" if stream is None else f" {stream}"))

    def release_pool(self):
        idle = [pool for pool, uses in self.uses.items() if uses and not (uses == 1 and self.routed(pool))]
        if idle:
            pool = self.rng.choice(idle)
            self.emit(f"pool release {pool}")
            self.uses[pool] -= 1
            if not self.uses[pool]:
                self.dead.add(pool)
                if self.release >= 208 and self.rng.random() < 0.3:
                    self.emit(f"e {pool}")

    def create(self):
        pool = self.rng.randint(1, self.pool_count + 2)
        if self.release < 206 or pool in self.dead:
            return
        if pool in self.uses and self.rng.random() < 0.7:
            return
        custom = self.release >= 208 and self.rng.random() < self.custom
        self.emit(f"pool {'custom' if custom else 'create'} {pool}")
        self.uses[pool] = self.uses.get(pool, 0) + 1
        if self.release >= 211 and self.rng.random() < 0.1:
            self.emit(f"pool notoom {pool}")
        if self.release >= 208 and self.rng.random() < 0.5:
            self.emit(f"pool oom {pool}")
        if self.release >= 210 and self.rng.random() < self.no_split:
            self.emit(f"pool nosplit {pool}")

    def do_pool(self):
        self.rng.choice([self.begin, self.begin, self.end, self.end, self.release_pool, self.create])()

    def pool_of(self, stream):
        """Where a request on the stream goes."""
        fit = [pool for pool, of, _ in self.routes if self.release <= 200 or of is None or of == stream]
        return (fit[-1] if self.release >= 210 or self.release < 203 else fit[0]) if fit else 0

    # ---- devices
    def start_devices(self, count):
        """All of them are named, so that each is there."""
        self.devices = count
        for device in list(range(1, count)) + [0]:
            self.emit(f"dev {device}")

    def do_dev(self):
        mine = ("live", "uses", "routes", "dead", "waiting", "kept")
        self.elsewhere[self.device] = {name: getattr(self, name) for name in mine}
        self.device = self.rng.randrange(self.devices)
        self.emit(f"dev {self.device}")
        fresh = {"live": [], "uses": {}, "routes": [], "dead": set(), "waiting": 0, "kept": {}}
        for name, value in self.elsewhere.get(self.device, fresh).items():
            setattr(self, name, value)

    # ---- calls that no program makes, or not in this order
    def do_wild(self):
        pool, stream = self.rng.randint(1, self.pool_count), self.rng.choice(["", "", " 0", " 1", " 2"])
        self.emit(self.rng.choice([
            f"pool begin {pool}{stream}", f"pool begin {pool}{stream}", f"pool end {pool}{stream}",
            f"pool end {pool}{stream}", f"cap begin {pool}{stream}", f"cap end {pool}{stream}",
            f"cap end {pool}{stream}", f"pool release {pool}", f"pool release {pool}", f"pool create {pool}",
            f"pool custom {pool}", f"pool oom {pool}", f"pool notoom {pool}", "e", f"e {pool}", f"e {pool}",
            f"pool nosplit {pool}" if self.no_split else "e"]))

    def do_wild_ckpt(self):
        self.emit(f"{self.rng.choice(['ckpt', 'restore'])} {self.rng.randint(1, self.pool_count)} {self.rng.randint(1, 4)}")

    def do_wild_id(self):
        """Ids that name nothing, or something for the second time; uses by the block's own stream."""
        number = self.rng.randint(1, self.next + 3)
        if all(each[0] != number for each in self.live) and self.rng.random() < 0.7:
            self.emit(self.rng.choice([f"f {number}", f"r {number} 3", f"r {number}"]))
        elif self.live:
            each = self.rng.choice(self.live)
            self.emit(f"r {each[0]} {each[1]}")

    # ---- checkpoints
    def do_ckpt(self):
        pools = [pool for pool, uses in self.uses.items() if uses and pool not in self.dead]
        if pools or self.rng.random() < self.odd:
            pool = self.rng.choice(pools) if pools else 9
            number = self.rng.randint(1, 3)
            self.emit(f"ckpt {pool} {number}")
            self.kept[number] = pool, [list(each) for each in self.live if each[4] == pool]

    def do_restore(self):
        if self.kept:
            number = self.rng.choice(list(self.kept))
            pool, entries = self.kept[number]
            self.emit(f"restore {pool} {number}")
            self.live = [each for each in self.live if each[4] != pool] + [list(each) for each in entries]
            if self.several:  # peaks hang on the order of segments, which is that of a table of pointers
                self.emit("reset_peak")
                self.emit("reset_acc")

    # ---- the whole
    def run(self, events, weights):
        names, odds = list(weights), list(weights.values())
        while len(self.lines) < events:
            getattr(self, "do_" + self.rng.choices(names, odds)[0])()

    def close(self):
        """Ends what is under way, mostly, and shows everything."""
        if self.rng.random() < 0.8:
            while self.routes:
                self.end()
        if self.rng.random() < 0.5:
            self.do_drain()
        if self.rng.random() < 0.5 and not self.routes:
            self.emit("e")
        self.do_stats()
        for line in ("used",) if self.unordered else ("snap", "used", "trace")[:3 if self.release >= 200 else 2]:
            self.emit(line)

    def environment(self):
        return {self.variable: self.conf, "FAKE_TOTAL": str(self.total),
                **({"FAKE_DEVICES": str(self.devices)} if self.devices > 1 else {}),
                "FAKE_EVENTS": "manual" if self.manual else "now", "FAKE_PLACE": "bump" if self.bump else "first"}

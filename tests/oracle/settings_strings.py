# SPDX-License-Identifier: MIT
"""Settings strings, right and wrong ones, in scripts whose requests tell settings apart."""
import random
import re

from alloc_conf import number, some_settings

MIB, GIB = 1 << 20, 1 << 30
VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
AT_RUN_TIME = 12  # strings of one script, besides the one it starts with

FLAGS = ["True", "False", "True", "False", "true", "1", "Truee", "TRUE", "", "[True]", "None"]
WHOLE = ["0", "1", "10", "11", "19", "20", "21", "24", "32", "64", "128", "200", "256", "512", "-1", "-21", "+64", "0064",
         "0x40", "64.9", "64MB", "1e3", "2147483647", "2147483648", "4294967295", "4294967296", "17592186044415",
         "17592186044416", "18446744073709551615", "18446744073709551616", "99999999999999999999999", "", "x", "--5", "+-5",
         "\t64", "64\t", "6 4", "\xa064", "- 5"]
OVERFLOWING = {"-1", "-21", "17592186044415", "17592186044416", "18446744073709551615", "- 5"}  # no driver grants such segments
PARTS = ["0", "0.0", "-0.0", "1", "1.0", "0.5", "0.8", ".5", "5.", "0.999999999999999999", "0.0001", "1.0001", "-0.5",
         "nan", "inf", "-inf", "1e-3", "1e-400", "1e400", "4.9e-324", "0x1p-1", "0x.8", "0,5", "0.5x", "x0.5", "", "1e",
         "5e-1", "+0.5", "infinity", "NAN(1)"]
RESERVES = ["0.01", "0.5", "1.0", "1.125", "2.0", "1G", "2g", "0.5G", "40G", "0", "-1", "0G", "G", "", "x", "1M", "1GB",
            "1e1G", "inf", "infG", "nan", "1e400", "1e-400", "0x1p0", "0x1G", "+1", "+1G", "1.G", ".5g", "1 G", "9e99G",
            "1e999999999G"]
POWERS = ["0", "1", "2", "3", "4", "8", "16", "32", "64", "128", "256", "512", "65536", "1099511627776", "-1", "-2",
          "-9223372036854775808", "2147483648", "9223372036854775808", "4x", "x", "", "+4", "04", ">"]
BACKENDS = ["native", "native", "native", "cudaMallocAsync", "cudamallocasync", "Native", "mine", "", "[native]"]


def one_of(values):
    return lambda rng: rng.choice(values)


def list_of(names, values, most=5):
    def make(rng):
        if rng.random() < 0.15:
            return rng.choice(values)
        entries = [f"{rng.choice(names)}{rng.choice([':'] * 12 + ['', '::', ',', ']'])}{rng.choice(values)}"
                   for _ in range(rng.randint(0, most))]
        text = "".join(entry + rng.choice([","] * 12 + ["", ",,", ":", "]"]) for entry in entries)
        if rng.random() < 0.85:
            text = text.rstrip(",")
        return rng.choice(["["] * 15 + ["", "[["]) + text + rng.choice(["]"] * 15 + ["", "]]", ",]"])
    return make


VALUES = {
    "max_split_size_mb": one_of(WHOLE),
    "roundup_power2_divisions": list_of(POWERS + [">"] * 6, POWERS),
    "garbage_collection_threshold": one_of(PARTS),
    "roundup_bypass_threshold_mb": one_of(WHOLE),
    "backend": one_of(BACKENDS),
    "expandable_segments": one_of(FLAGS),
    "release_lock_on_cudamalloc": one_of(FLAGS),
    "release_lock_on_hipmalloc": one_of(FLAGS),
    "pinned_use_cuda_host_register": one_of(FLAGS),
    "pinned_use_hip_host_register": one_of(FLAGS),
    "pinned_num_register_threads": one_of(POWERS),
    "pinned_use_background_threads": one_of(FLAGS),
    "max_non_split_rounding_mb": one_of(WHOLE),
    "graph_capture_record_stream_reuse": one_of(FLAGS),
    "per_process_memory_fraction": one_of(PARTS),
    "pinned_reserve_segment_size_mb": one_of(WHOLE),
    "large_segment_size_mb": one_of([value for value in WHOLE if value not in OVERFLOWING]),
    "throw_on_cudamalloc_oom": one_of(FLAGS),
    "pinned_free_catch_all": one_of(FLAGS),
    "pinned_max_round_threshold_mb": one_of(WHOLE),
    "pinned_max_cached_size_mb": one_of(WHOLE),
    "expandable_segments_reserve": one_of(RESERVES),
    "expandable_segments_reserve_by_class": list_of(["small", "large", "", "x y", ">"], RESERVES),
}
NOBODYS = ["max_split_size", "max_split_size_MB", "Expandable_Segments", "expandable_segment", "garbage_collection", "foo",
           "", "native", "1", "True", "pinned_", "roundup_power2", "async", "backend ", "x" * 60, "gar\tbage", "key\xe9"]
HUGE = re.compile(r"(large_segment_size_mb[^,]{0,4}?\d{6})\d+")  # no driver has room for such segments
LONG = re.compile(r"([^,:\[\] ]{100})")  # ullage quotes the beginning of longer words
SOUP = [",", ":", "[", "]", " ", "\t", ">", "\v", "True", "64", "0.5", "x", "\r"]


def item(rng, damage):
    key = rng.choice(NOBODYS) if rng.random() < 0.1 * damage else rng.choice(list(VALUES))
    if rng.random() < 0.05 * damage:
        return rng.choice([key, "", key + "::" + "1", ":" + key, key + ":1:2", key + "="])
    return f"{key}:{VALUES.get(key, one_of(WHOLE))(rng)}"


def scattered(rng, text, what, times):
    for _ in range(times):
        at = rng.randint(0, len(text))
        text = text[:at] + rng.choice(what) + text[at:]
    return text


def odd(rng, text):
    """The same string with a little damage."""
    kind = rng.random()
    if kind < 0.3:
        text = scattered(rng, text, [" ", " ", "\t", "\v", "\r", "\f"], rng.randint(1, 4))
    elif kind < 0.5 and text:
        at = rng.randrange(len(text))
        text = text[:at] + text[at + 1:]
    elif kind < 0.6:
        text = scattered(rng, text, [",", ":", "[", "]"], 1)
    elif kind < 0.7:
        text = rng.choice([",", ",,", ":", " ", ""]) + text + rng.choice([",", ",,", ":", " , ", "]"])
    elif kind < 0.75:
        text = text[:rng.randint(0, len(text))]
    elif kind < 0.8:
        text = text + "," + text
    return text


def string(rng, release):
    """One string; about half are taken by most releases."""
    kind = rng.random()
    if kind < 0.35:
        text = some_settings(rng, release)
    elif kind < 0.55:
        text = ",".join([some_settings(rng, release, most=2), item(rng, 0.3)]).strip(",")
    elif kind < 0.9:
        text = ",".join(item(rng, 1) for _ in range(rng.randint(0, 4)))
    else:
        text = "".join(rng.choice(SOUP * 3 + [",", ":"] * 6 + list(VALUES)) for _ in range(rng.randint(0, 14)))
    if rng.random() < 0.35:
        text = odd(rng, text)
    text = HUGE.sub(r"\1", text.strip(" \t\r\n\v\f"))
    return LONG.sub(r"\1,", text)


def variables(rng, release):
    """The variables that are set, most often the one that all releases obey."""
    names = [name for name, chance in zip(VARIABLES, rng.choice([(1, 0, 0)] * 3 + [(0, 1, 0), (0, 0, 1), (0.5, 0.5, 0.5)]))
             if rng.random() < chance]
    return {name: string(rng, release) for name in names}


def requests(rng, names):
    """A few allocations that splitting, rounding, segments, limits and collection show in."""
    lines, live = [], []
    for _ in range(rng.randint(3, 9)):
        size = rng.choice([rng.randint(1, 4096), rng.randint(1, MIB), rng.randint(MIB, 12 * MIB), 25 * MIB, 70 * MIB,
                           rng.randint(12 * MIB, 300 * MIB), 130 * MIB, 33 * MIB])
        name = next(names)
        lines.append(f"a {name} {size} {rng.choice([0, 0, 0, 1])}")
        live.append(name)
        if rng.random() < 0.4:
            lines.append(f"f {live.pop(rng.randrange(len(live)))}")
    lines += [f"f {name}" for name in live if rng.random() < 0.85]
    return lines + (["stats"] if rng.random() < 0.2 else []) + (["e"] if rng.random() < 0.25 else [])


def make(seed, release):
    """Environment and lines of one script; the same seed and release are the same script."""
    release = number(release)
    rng = random.Random(f"settings {seed} {release}")
    names = iter(range(1, 1 << 30))
    environment = {"FAKE_TOTAL": str(rng.choice([GIB, 2 * GIB, 80 * GIB])), **variables(rng, release)}
    lines = requests(rng, names)
    for _ in range(AT_RUN_TIME):
        lines.append(f"conf {string(rng, release)}".rstrip(" "))
        lines += requests(rng, names)
    return environment, lines + ["snap"]


# ---- what is compared ----

CONTROL = re.compile(r"[\x00-\x1f\x7f]")  # ullage shows a question mark
RAISES = re.compile(r'; PyTorch \S+ raises "(.*)"$', re.DOTALL)
INTERNAL = re.compile(r'^.* INTERNAL ASSERT FAILED at "[^"]*":\d+, please report a bug to PyTorch\. ')
UNDEFINED = re.compile(r"(the list lacks its '\]'|was asked for as well)\|?$")
ELSEWHERE = re.compile(INTERNAL.pattern + r"(\||$)")  # an assertion that says nothing
NOT_THERE = re.compile(r"does not yet support|is not meaningful")  # what cudaMallocAsync lacks
ASYNC = "cudaMallocAsync does not yet support attachOutOfMemoryObserver"


def raised(text, model):
    """What is raised for a settings string; None: nothing, or something else is."""
    text = CONTROL.sub("?", text).rstrip("|")
    if model:
        quoted = RAISES.search(text)
        return quoted.group(1) if quoted else None
    if ELSEWHERE.search(text):
        return None
    return INTERNAL.sub("", text.split("|Exception raised from ")[0]).rstrip("|")


def marked(answer):
    """The model's answer up to where the library reads beyond its string: what it finds there cannot be
    compared."""
    for index, line in enumerate(answer):
        if line.startswith("X ") and any(UNDEFINED.search(each) for each in answer[index:index + 2]):
            event = line.split()[1]
            return answer[:index] + [f"X {0 if event == '999999999' else event} broken"]
    return answer


def like(expected, actual):
    """Of another backend only strings are compared: the model is told so in the library's way."""
    return [line for line in expected[:1] if ASYNC in line] + actual


def beginning(answer, model):
    """(text, line) of what the start of the process raises; text None: it crashes; None: it starts."""
    for line in answer:
        letter, event, text = (line.split(" ", 2) + ["", ""])[:3]
        if letter == "X" and event == "0" and ASYNC not in text:
            return (None if text.startswith("crash signal") else raised(text, model)), line
        if letter == "X" and event == "999999999" and not text.startswith("exit 1 "):
            text = text.split(" ", 2)[2].removeprefix("terminate called after throwing an instance of 'c10::Error'|")
            return raised(text.strip().removeprefix("what():").strip(), model), line
    return None


def compared(expected, lines):
    """How many strings the library came to."""
    if beginning(expected, False):
        return 1
    ends = [int(line.split()[1]) for line in expected if " crash signal " in line]
    return 1 + sum(line.startswith("conf") for line in lines[:ends[0] if ends else None])


def plain(answer, model):
    """Lines that both sides have alike: (line, whole line)."""
    begins = beginning(answer, model)
    if begins:
        return [(f"X 0 {begins[0]}", begins[1])]
    only_strings = any(ASYNC in line for line in answer)
    kept, before = [], ""
    for line in answer:
        letter, event, text = (line.split(" ", 2) + ["", ""])[:3]
        if letter == "X" and event not in ("0", "999999999") and not only_strings:
            kept.append((f"X {event}", line))
        elif letter == "M" and before == "X" and raised(text, model) is not None and not NOT_THERE.search(text):
            kept.append((f"M {event} {raised(text, model)}", line))
        elif letter not in "MX" and not only_strings:
            kept.append((line, line))
        before = letter
    return kept

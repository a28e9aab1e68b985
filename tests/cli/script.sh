# SPDX-License-Identifier: MIT
# Answers of docs/examples/fragmented.script, by hand: blocks of the sizes asked for, in units of
# 2 MiB from 0 on; 24 MiB are free at the end and 8 MiB cached.
example=$ROOT/docs/examples/fragmented.script
run script --torch 2.9 --section place "$example"
expect_exit 0
expect_silent
expect_first "D 1 M 0 20971520"
expect_out "A 2 2 1400000 10485760"
expect_out "A 5 4 0 12582912"
expect_out "D 7 F 1400000 10485760"
expect_out "O 7 5"
expect_no_out "G 8"
run script --torch 2.9 --section snap,stats "$example"
expect_exit 0
expect_out "B 8 c00000 8388608 20971520 inactive 0"
expect_no_out "A 1"

# Out of memory is an answer; only --strict calls it a failure.
run script --strict --torch 2.9 "$example"
expect_exit 1
run script --strict --torch 2.9 --memory 1GiB "$example"
expect_exit 0
expect_no_out "O 7"
run script --torch 2.9 --conf max_split_size_mb:30 --section place "$example"
expect_exit 0
expect_out "A 5 4 0 12582912"

# Every section together is what the sections are one by one.
run script --torch 2.9 "$example"
sort out >all
for section in place message stats newstats snap trace; do
  run script --torch 2.9 --section $section "$example"
  cat out
done | sort >parts
expect_that "sections add up" diff all parts

# Carriers, standard input, several scripts.
gzip -c "$example" >example.gz
cp "$example" example
run script --torch 2.9 example
cp out plain
run script --torch 2.9 example.gz
expect_that "gzip makes no difference" diff plain out
last=(script -)
"$ULLAGE" script --torch 2.9 - <"$example" >out 2>err
expect_that "standard input makes no difference" diff plain out
run script --torch 2.9 example example.gz
expect_exit 0
expect_first "==> example <=="
expect_out "==> example.gz <=="

# Documents.
run script --json --torch 2.9 "$example"
expect_exit 0
expect_schema script
expect_json '[d[k] for k in ("torch", "complete", "events", "served", "ooms", "errors", "broken")]' "['2.9', True, 8, 4, 1, 0, None]"
expect_json '[a["address"] for a in d["answers"] if a.get("result") == "served"]' "['0x0', '0x1400000', '0x1e00000', '0x0']"
expect_json '[(a["event"], a["line"], a["id"]) for a in d["answers"] if a.get("result") == "oom"]' "[(7, 9, 5)]"
expect_json '[sum(b["bytes"] for b in s["blocks"]) == s["bytes"] for a in d["answers"] for s in a.get("segments", [])]' "[True, True]"
printf 'a 1 5\nr 1 3\nf 1\nf 1\ns\ne\nstats\nused\na 2 0\nfrac 2\npool nosplit 1\n' >kinds
run script --json --torch 2.9 --section place,stats,message,newstats,snap kinds
expect_exit 0
expect_schema script
expect_json '[(a["command"], a["result"]) for a in d["answers"] if "result" in a and a["command"] not in ("sync", "empty_cache")]' "[('alloc', 'served'), ('alloc', 'empty'), ('fraction', 'error'), ('pool_no_split', 'missing')]"
expect_json '[a["used_bytes"] for a in d["answers"] if "used_bytes" in a]' "[0]"
expect_json '[a["statistics"]["allocated_bytes.all.peak"] for a in d["answers"] if "statistics" in a]' "[512]"
run script --json --torch 2.9 example absent example.gz
expect_exit 3
expect_schema script_list
expect_json '[s["script"] for s in d["scripts"]]' "['example', 'example.gz']"
run script --json absent absent
expect_exit 3
expect_schema script_list
run script --json --torch 2.9 kinds kinds
expect_schema script_list

# Several devices. Answers of the library of 2.9.1 on three pretend ones.
printf '# env FAKE_DEVICES=3\na 1 5\ndev 2\na 2 5\nf 1\nf 2\na 3 5 1\nused\ne\nsnap\n' >devices
run script --torch 2.9 --section place,snap devices
expect_exit 0
expect_out "D 8 F ffff800000000000 2097152"
expect_out "D 8 F 0 2097152"
expect_out "U 7 4194304"
expect_out "G 9 200000 2097152 512 512 5 1 small 0,0 0"
run script --json --torch 2.9 --section place devices
expect_schema script
expect_json '[(a["device"], a["command"]) for a in d["answers"]]' "[(0, 'alloc'), (2, 'alloc'), (2, 'alloc'), (2, 'used'), (0, 'empty_cache'), (2, 'empty_cache')]"

# A long script takes no more memory than a short one; the answers come as it is read.
seq 1 300000 | sed 's/.*/a & 1000\nf &/' >long
run script --torch 2.9 --section stats long
expect_exit 0
expect_nothing
# AddressSanitizer reserves terabytes of addresses for itself.
grep -q __asan_init "$ULLAGE" && most=unlimited || most=262144
(ulimit -v "$most"; "$ULLAGE" script --torch 2.9 - <long | tail -1) >out
expect_out "A 599999 300000 0 1024"

# Refusals: one sentence with the line, after the answers to the lines before.
refused() {
  printf "$2" >bad
  run script --torch 2.9 --section place bad
  expect_exit 3
  expect_err_lines 1
  expect_err "ullage: bad:$1"
}
refused "3: expected a, f, r, s, e," 'a 1 5\n# comment\nxyzzy 3\na 2 5\n'
expect_out "A 1 1 0 512"
expect_no_out "A 2"
refused "2: expected an id that is not allocated, found 7" 'a 7 5\na 7 5\n'
refused "2: expected text, found a zero byte" 'a 1 5\na \0 5\n'
refused "1: FAKE_TOTAL: expected a number of bytes" '# env FAKE_TOTAL=many\na 1 5\n'
head -c 70000 /dev/zero | tr '\0' a >bad
run script bad
expect_exit 3
expect_err "bad:1: expected a line of at most 65536 bytes"
run script --json bad
expect_exit 3
expect_schema script
expect_json 'd["complete"]' False
printf '# env PYTORCH_CUDA_ALLOC_CONF=nonsense:1\na 1 5\n' >bad
run script bad
expect_exit 2
expect_err "bad:1: "
run script absent
expect_exit 3
expect_err_lines 1
expect_err "absent: "
gzip -c "$example" | head -c 60 >bad
run script bad
expect_exit 3
run script --json --output here "$example"
expect_exit 0
expect_schema script here
run script --output gone bad
expect_exit 3
expect_that "nothing is left of a failed output" test ! -e gone
# Settings of the head: what the release ignores, or does not take as it looks, is said once.
printf '# env PYTORCH_ALLOC_CONF=max_split_size_mb:64\na 1 5\n' >head
run script --torch 2.9 head
expect_exit 0
expect_err_lines 1
expect_err 'head: PyTorch 2.9 ignores PYTORCH_ALLOC_CONF: its CUDA allocator obeys PYTORCH_CUDA_ALLOC_CONF only'
run script --torch 2.10 head
expect_exit 0
expect_silent
run script --quiet --torch 2.9 head
expect_silent
printf '# env FAKE_DEVICES=2\n# env PYTORCH_CUDA_ALLOC_CONF=expandable_segments_reserve:much\na 1 5\n' >head
run script --torch 2.15 head
expect_exit 0
expect_err_lines 1
expect_err "head: expandable_segments_reserve: 'much' is neither a part of the device like 0.5 nor a size like 40G, and is ignored"

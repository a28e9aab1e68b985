# SPDX-License-Identifier: MIT
run models
expect_exit 0
expect_silent
expect_first 'Backends:'
expect_out '  native'
expect_out '  2.9   run 2.9.1    PYTORCH_CUDA_ALLOC_CONF'
expect_out '  2.10  run 2.10.0   PYTORCH_CUDA_ALLOC_CONF, else PYTORCH_ALLOC_CONF'
expect_out '  roundup_bypass_threshold_mb, in 1.13 only'
expect_out '  expandable_segments, from 2.1 on'
expect_out '  tie: address; from 2.12 on block; from 2.13 on segment'
expect_that "lines fit 90 columns" awk 'length > 90 { exit 1 }' out

# One release only.
run models --torch 2.6
expect_exit 0
expect_out '  tie: address'
expect_out '  2.6   run 2.6.0'
expect_no_out '  2.7   run'
expect_no_out 'large_segment_size_mb, from'
expect_no_out 'roundup_bypass_threshold_mb'
run models --torch 2.12.1+cu128
expect_first 'Backends:'
expect_out '  tie: block'

# Releases map to the nearest that is modelled, and that is said.
while read -r typed said; do
  run models --torch "$typed"
  expect_exit 0
  expect_first "PyTorch $typed $said*"
done <<'END'
2.6.0a0+git12 is a development version; it is taken as 2.6 (run 2.6.0)
2.6.1 is taken as 2.6 (run 2.6.0)
2.16.0.dev20270101 is not modelled; it is taken as 2.15 (run 2.15.0)
END
run models --torch 1.12
expect_exit 2
expect_err_lines 2
expect_err 'older than the oldest release modelled, 1.13'
run models --torch ''
expect_exit 2
run models nonsense
expect_exit 2

run models --json
expect_exit 0
expect_schema models
expect_json 'd["torch"]' None
expect_json '[r["release"] for r in d["releases"]][0] + " " + d["releases"][-1]["release"]' '1.13 2.15'
expect_json '[s["last"] for s in d["settings"] if s["name"] == "roundup_bypass_threshold_mb"]' "['1.13']"
expect_json '[s["first"] for s in d["settings"] if s["name"] == "large_segment_size_mb"]' "['2.11']"
expect_json '[c["value"] for r in d["rules"] if r["name"] == "tie" for c in r["changes"]]' "['address', 'block', 'segment']"
expect_json '[b["name"] for b in d["backends"] if b["name"] in ("native", "naive")]' "['native', 'naive']"
run models --json --torch 2.6.1
expect_schema models
expect_json 'd["torch"]["exact"]' False
expect_json 'len(d["releases"])' 1
expect_json '[r["value"] for r in d["rules"] if r["name"] == "tie"]' "['address']"

# --conf takes variables, and what a release ignores is said.
printf 'a 1 30000000\n' >script
run script --torch 2.9 --conf PYTORCH_ALLOC_CONF=max_split_size_mb:1 script
expect_exit 0
expect_err 'PyTorch 2.9 ignores PYTORCH_ALLOC_CONF: its CUDA allocator obeys PYTORCH_CUDA_ALLOC_CONF only'
run script --torch 2.10 --conf PYTORCH_ALLOC_CONF=expandable_segments:True script
expect_exit 0
expect_silent
expect_out 'D 1 P'
run script --torch 2.10 --conf PYTORCH_ALLOC_CONF=expandable_segment:True script
expect_exit 2
expect_err 'did you mean expandable_segments? known from 2.1 on'
run script --torch 2.9 --conf PYTORCH_CUDA_ALLOC_CONF=large_segment_size_mb:32 script
expect_exit 2
expect_err 'PyTorch 2.9 does not know the setting large_segment_size_mb (known from 2.11 on)'
run script --torch 2.9.0 --conf expandable_segments:False script
expect_exit 0
expect_err 'PyTorch 2.9.0 is taken as 2.9 (run 2.9.1)'
run script --backend nativ script
expect_exit 2
expect_err "did you mean 'native'?"

# The table in docs/settings.md is the program's.
run models --json
expect_that "docs/settings.md has the keys that 'ullage models' has" "$PYTHON" - "$ROOT/docs/settings.md" <<'END'
import json, sys
for s in json.load(open("out"))["settings"]:
    row = (s["name"], s["first"], s["last"] or "", s["value"], s["default"], s["effect"])
    print("| `%s` | %s | %s | %s | %s | %s |" % row, file=open("want", "a"))
page = [line for line in open(sys.argv[1]) if line.startswith("| `")]
table = page[: len(open("want").readlines())]
sys.exit("".join(table) != open("want").read())
END

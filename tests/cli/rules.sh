# SPDX-License-Identifier: MIT
# Which release made a recording: every rule set that the file's keys and settings allow is replayed.
golden=$ROOT/tests/data/golden
made_by_211=$golden/torch2.11.0_gpt_default.pickle.gz

# The text, on one line.
expect_model() {
  expect_that "the model line says: $1" grep -qF -- "$1" <(tr -s '\n ' ' ' <out)
}

# 2.12 chose otherwise among equals; the others would have made the same file.
run replay "$made_by_211"
expect_exit 0
expect_model 'torch 2.11, settings default: proves every placement; 2.10, 2.13, 2.14, 2.15 alike; 2.12 refuted at entry 93'
run replay --json "$made_by_211"
expect_schema replay
expect_json 'd["devices"][0]["model"]["alike"]' "['2.10', '2.13', '2.14', '2.15']"
expect_json 'd["devices"][0]["model"]["refuted"]' "{'2.12': 93}"

# --torch asks beside the proof. What has its rules has no other answer, and says so.
run replay --torch 2.15 "$made_by_211"
expect_exit 0
expect_err 'device 0: PyTorch 2.15 has the rules of the proof, so there is no what-if'
run replay --quiet --torch 2.15 "$made_by_211"
expect_silent
run replay --torch 2.6.1 "$made_by_211"
expect_exit 0
expect_err 'PyTorch 2.6.1 is taken as 2.6 (run 2.6.0)'
expect_model 'What if: torch 2.6, settings default'
run replay --torch 2.12.0a0+git1 "$made_by_211"
expect_exit 0
expect_err 'is a development version; it is taken as 2.12 (run 2.12.1)'
run replay --torch 1.12 "$made_by_211"
expect_exit 2
expect_nothing
expect_err 'PyTorch 1.12 is older than the oldest release modelled, 1.13'

# changed FILE PYTHON: the recording with other settings in it, as the file x.
changed() {
  "$PYTHON" - "$1" "$2" <<'CHANGE'
import gzip, pickle, sys
recording = pickle.load(gzip.open(sys.argv[1]))
settings = recording["allocator_settings"]
exec(sys.argv[2])
pickle.dump(recording, open("x", "wb"))
CHANGE
}

# A list of divisions with a gap, as 2.3 writes it, too, though it takes no list with a 0 in it.
changed "$golden/torch2.4.1_gpt_default.pickle.gz" 'settings["roundup_power2_divisions"] = {"1": 4, "2": 0, "4": 0, "8": 8}'
run replay x
expect_exit 0
expect_model 'settings roundup_power2_divisions:[1:4,8:8]'

# Keys that only the recorded string tells. Releases that do not know one did not make the file.
changed "$made_by_211" 'settings["PYTORCH_CUDA_ALLOC_CONF"] = " large_segment_size_mb : 48,foo:1,max_non_split_rounding_mb:64"'
run replay x
expect_exit 0
expect_model 'settings large_segment_size_mb:48,max_non_split_rounding_mb:64'
expect_that "2.10 is not mentioned" eval "! grep -q 'alike.*2\.10\|2\.10 alike\|2\.10,' <(tr '\n' ' ' <out)"
changed "$made_by_211" 'settings["PYTORCH_CUDA_ALLOC_CONF"] = "large_segment_size_mb:3,max_non_split_rounding_mb:1"'
run replay x
expect_exit 0
expect_model 'torch 2.11, settings default: proves every placement'

# Settings that no release takes.
changed "$made_by_211" 'settings["max_split_size"] = 5 << 20'
run replay x
expect_exit 3
expect_err_lines 1
expect_err 'x: the recorded settings: setting max_split_size_mb: expected at least 20, found 5'

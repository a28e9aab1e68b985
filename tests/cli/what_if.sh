# SPDX-License-Identifier: MIT
trace=$TRACES/lm_fwdbwd_ctx100_full.pickle.zst
run replay --json "$trace"
peak=$(json 'd["peak"]["reserved_bytes"]')
expect_json 'd["what_if"]' None

run replay --json --memory "$peak" "$trace"
expect_exit 0
expect_schema replay
expect_json 'd["what_if"]["fits"], d["what_if"]["memory_bytes"]' "(True, $peak)"
expect_json 'd["proof"]["holds"]' True

# Less than what is live at once cannot do.
run replay --json --memory $((peak / 4)) "$trace"
expect_exit 1
expect_schema replay
expect_json 'd["what_if"]["fits"], d["what_if"]["oom_count"] > 0' "(False, True)"
run replay --memory $((peak / 4)) "$trace"
expect_exit 1
expect_out 'DOES NOT FIT'
expect_err "--memory $((peak / 4)) is "

# What others hold counts, and a size is said as it was understood.
run replay --memory $((peak * 2)) --reserve $((peak * 7 / 4)) "$trace"
expect_exit 1
run replay --memory 24GB "$trace"
expect_err '--memory 24GB is 22.35 GiB (24000000000 bytes)'
expect_exit 0
run replay --gpu h200 "$trace"
expect_exit 0
expect_err '139.80 GiB'

run replay --json --conf expandable_segments:True "$trace"
expect_exit 0
expect_schema replay
expect_json '"expandable_segments:True" in d["what_if"]["settings"]' True
run replay --json --torch 2.9 "$trace"
expect_exit 0
expect_json 'd["what_if"]["torch"]' 2.9

run replay --torch 99.1 "$trace"
expect_exit 0
expect_err 'PyTorch 99.1 is not modelled; it is taken as 2.15 (run 2.15.0), the nearest release that is'
run replay --torch 2.9.1+cu128 "$trace"
expect_exit 0
expect_silent
run replay --torch newest "$trace"
expect_exit 2
expect_nothing
run replay --conf no_such_setting:1 "$trace"
expect_exit 2
expect_nothing

# What has the rules of the proved replay is no other case; without a limit nothing is said to fit.
run replay --json --torch 2.7 "$TRACES/attention_peak_tiny_full.pickle"
expect_json 'd["what_if"]' None
run replay --conf expandable_segments:True "$trace"
expect_no_out 'Fits'
run replay --memory 200MiB "$TRACES/lm_bf16_128.pickle.zst"
expect_exit 1
expect_out 'are held before the first event already'
run replay --gpu A100 "$trace"
expect_exit 2
expect_err 'A100-40GB, A100-80GB'
run replay --conf nonsense:1 "$trace"
expect_exit 2
expect_err '--conf: unknown setting'

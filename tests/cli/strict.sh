# SPDX-License-Identifier: MIT
run replay --strict "$TRACES/lm_bf16_128.pickle.zst"
expect_exit 0

run replay "$TRACES/synthetic_inconsistent_mosaic.pickle.zst"
expect_exit 0
expect_out 'NOT PROVED'
expect_out 'First difference: '
expect_out 'unproven'
run replay --strict "$TRACES/synthetic_inconsistent_mosaic.pickle.zst"
expect_exit 1
expect_silent
run replay --strict --json "$TRACES/synthetic_inconsistent_mosaic.pickle.zst"
expect_exit 1
expect_schema replay
expect_json 'd["proof"]["holds"]' False

# A state without a trace proves nothing.
run replay --strict "$TRACES/vllm_private_pools_state.pickle.zst"
expect_exit 1

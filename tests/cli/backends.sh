# SPDX-License-Identifier: MIT
# direct: a driver call for every request and every free, as the compiled library makes them under
# PYTORCH_NO_CUDA_MEMORY_CACHING=1.
printf 'a 1 700\na 2 3000000\nf 1\na 3 800\nfrac 0.1\na 4 900000000\na 5 200000000\nstats\n' >script
run script --backend direct --memory 1GiB --section place,message script
expect_exit 0
expect_silent
cat >want <<'END'
D 1 M 0 700
A 1 1 0 2097152
D 2 M 200000 3000000
A 2 2 200000 4194304
D 3 F 0 2097152
D 4 M 0 800
A 4 3 0 2097152
D 6 M 600000 900000000
A 6 4 600000 901775360
D 7 m - 200000000
O 7 5
M 7 CUDA error: out of memory
END
expect_that "the library's own lines" diff want out

# cudaMallocAsync: the settings choose it, and its answers are marked.
printf 'a 1 600000000\nf 1\na 2 300000000\nstats\na 3 900000000\n' >script
for choice in '--backend async' '--conf backend:cudaMallocAsync'; do
  run script $choice --torch 2.10 --memory 1GiB script
  expect_exit 0
  expect_err 'answers are estimates'
  expect_out 'S 4 reserved_bytes 601882624 601882624'
  expect_out 'S 4 allocated_bytes 300000256 600000000'
  expect_out 'M 5 Allocation on device 0 would exceed allowed memory. (out of memory)'
done
run script --quiet --backend async script
expect_silent
run script --conf backend:cudaMallocAsync,max_split_size_mb:32 script
expect_err 'backend:cudaMallocAsync reads no other key'
run script --backend native --conf backend:cudaMallocAsync script
expect_exit 2
expect_err 'the settings ask for cudaMallocAsync, and the backend native was asked for as well'
run script --torch 1.13 --conf backend:cudaMallocAsync script
expect_exit 2

# A replay under it stands beside the proof, as an estimate.
trace=$TRACES/lm_fp32_128.pickle.zst
run replay --conf backend:cudaMallocAsync "$trace"
expect_exit 0
expect_out 'An estimate'
run replay --json --conf backend:cudaMallocAsync "$trace"
expect_schema replay
expect_json 'd["what_if"]["approximate"]' True
run replay --json --conf expandable_segments:True "$trace"
expect_json 'd["what_if"]["approximate"]' False

for backend in native direct async naive; do
  run models
  expect_out "  $backend"
done

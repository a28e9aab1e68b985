# SPDX-License-Identifier: MIT
trace=$TRACES/tiny_12seg.pickle
only() { [ "$(ls -A folder)" = "$1" ]; }
mkdir folder

run info --json "$trace" -o folder/result.json
expect_exit 0
expect_nothing
expect_schema info folder/result.json
expect_that "no other file is left" only result.json
expect_that "anybody may read it" test "$(stat -c %a folder/result.json)" = "$(printf '%o' $((0666 & ~0$(umask))))"

# An existing file stays, unless --force replaces it.
echo mine >folder/result.json
run info --json "$trace" -o folder/result.json
expect_exit 2
expect_err '--force'
expect_that "it is untouched" grep -q mine folder/result.json
run info --json "$trace" --output=folder/result.json --force
expect_exit 0
expect_schema info folder/result.json
expect_that "no other file is left" only result.json

# Not even then is an input overwritten.
cp "$trace" input
run info input -o input --force
expect_exit 2
expect_that "the input is untouched" cmp input "$trace"

# A failure leaves nothing.
run info --json nowhere -o folder/other.json
expect_exit 3
expect_that "nothing appeared" only result.json
run info --json "$trace" -o nowhere/other.json
expect_exit 4
expect_err nowhere/other.json
run info --json "$trace" -o folder
expect_exit 4
expect_err directory
# Strict's answer "no" is a result all the same.
run replay --strict -o folder/no "$TRACES/synthetic_inconsistent_mosaic.pickle.zst"
expect_exit 1
expect_that "it is there" grep -q 'NOT PROVED' folder/no

# A full device.
for command in "info $trace" "replay --json $trace" help "version --json"; do
  code=0
  last=($command)
  "$ULLAGE" $command >/dev/full 2>err || code=$?
  expect_exit 4
  expect_err_lines 1
  expect_err 'No space left'
done
run info "$trace" -o /dev/full
expect_exit 4
expect_that "/dev/full is still a device" test -c /dev/full

# Standard output that is closed from the start, and a reader that leaves.
code=0
"$ULLAGE" info "$trace" >&- 2>err || code=$?
expect_exit 4
set +o pipefail
for command in "replay --json $TRACES/lm_bf16_128.pickle.zst" help; do
  "$ULLAGE" $command 2>err | true
  code=${PIPESTATUS[0]}
  expect_exit 0
  expect_silent
done
set -o pipefail

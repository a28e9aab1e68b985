# SPDX-License-Identifier: MIT
for arguments in help --help -h 'help replay' 'replay --help' 'replay -h' 'info --help'; do
  run $arguments
  expect_exit 0
  expect_silent
  expect_out 'Usage: ullage'
  expect_out 'Exit codes:'
  expect_that "lines of '$arguments' fit 90 columns" awk 'length > 90 { exit 1 }' out
done

run help
for command in replay info script models version help; do
  expect_out "  $command "
done
run help replay
expect_out '--memory SIZE'
expect_out 'H100-80GB'
run help info
expect_no_out '--memory SIZE'

run help --json
expect_exit 0
expect_schema help
expect_json '[c["name"] for c in d["commands"]]' "['replay', 'info', 'script', 'models', 'version', 'help']"
expect_json '[e["code"] for e in d["exit_codes"]]' '[0, 1, 2, 3, 4]'
run help info --json
expect_schema help
expect_json 'len(d["commands"])' 1

run help nonsense
expect_exit 2
expect_err_lines 2
run help replay info
expect_exit 2

# SPDX-License-Identifier: MIT
run version
expect_exit 0
expect_silent
expect_first 'ullage [0-9]*.[0-9]*.[0-9]*'

run --version
expect_exit 0
expect_first 'ullage [0-9]*.[0-9]*.[0-9]*'

run version --verbose
expect_exit 0
expect_out 'ullage.replay/1'

run version --json
expect_exit 0
expect_schema version
# Every document that the program says it writes has its schema in the tree.
for name in $(json '" ".join(s.split(".")[1].split("/")[0] for s in d["schemas"])'); do
  expect_that "$name has a schema" test -f "$ROOT/docs/schema/$name.schema.json"
done

run version nonsense
expect_exit 2
expect_err_lines 2
expect_nothing

# SPDX-License-Identifier: MIT
# The option lists of the manual are the program's own, word for word.
for command in replay info script models; do
  page=$ROOT/docs/man/ullage-$command.1.scd
  run help --man $command
  expect_exit 0
  awk '/^# OPTIONS$/ { on = 1; getline; next } /^# / { on = 0 } on' "$page" >from_page
  expect_that "the options in $page are those of 'ullage help --man $command'" diff from_page out
done
run help --man
expect_exit 2

# Every exit code that the program names is in the manual.
run help --json
for code_name in $(json '" ".join(str(e["code"]) for e in d["exit_codes"])'); do
  expect_that "exit code $code_name is described" grep -q "^\*$code_name\*" "$ROOT/docs/man/ullage.1.scd"
done
for command in $(json '" ".join(c["name"] for c in d["commands"])'); do
  expect_that "$command is described" grep -q "\*$command\*" "$ROOT/docs/man/ullage.1.scd"
done
if command -v scdoc >/dev/null; then
  for page in "$ROOT"/docs/man/*.scd; do
    expect_that "$page is a manual page" scdoc <"$page"
  done
fi

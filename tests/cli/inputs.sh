# SPDX-License-Identifier: MIT
# unreadable PIECE FILE: exit 3, nothing on stdout, one line on stderr that names FILE.
unreadable() {
  for command in info replay; do
    run $command "$2"
    expect_exit 3
    expect_nothing
    expect_err_lines 1
    expect_err "$2: "
    expect_err "$1"
  done
}
trace=$TRACES/tiny_12seg.pickle

unreadable "No such file" nowhere.pickle
mkdir folder
unreadable "directory" folder
: >empty
unreadable "" empty
head -c 3000 /dev/zero | tr '\0' 'x' >text
unreadable "" text
head -c 1000 "$trace" >cut
unreadable "" cut
printf "cos\nsystem\n(S'touch touched'\ntR." >call
unreadable "system" call
expect_that "nothing was executed" test ! -e touched

# Standard input is a file like any other, and names do not matter.
run info - <"$trace"
expect_exit 0
expect_silent
cp "$trace" renamed.json
run info renamed.json
expect_exit 0
gzip -c "$trace" >twice.gz
gzip -c twice.gz >twice.gz.gz
run info twice.gz.gz --json
expect_exit 0
expect_json 'd["trace"]["carriers"]' gzip+gzip

# Of several files the readable ones are reported; the exit code tells of the others.
run info "$trace" nowhere.pickle renamed.json --json
expect_exit 3
expect_err_lines 1
expect_schema info_list
expect_json 'len(d["infos"])' 2

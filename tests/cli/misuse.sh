# SPDX-License-Identifier: MIT
# misuse PIECE ARGUMENTS...: exit 2, nothing on stdout, two lines on stderr, PIECE in them.
misuse() {
  local piece=$1
  shift
  run "$@"
  expect_exit 2
  expect_nothing
  expect_err_lines 2
  expect_err "$piece"
}
trace=$TRACES/tiny_12seg.pickle

misuse "no command given"
misuse "did you mean 'replay'?" replya "$trace"
misuse "unknown command 'xyzzy'" xyzzy
misuse "comes before the command" --json replay "$trace"
misuse "no trace given" replay
misuse "no trace given" info --json
misuse "no script given" script --json
misuse "--backend: there is no 'xyzzy'; 'ullage models' lists them" script --backend xyzzy -
misuse "did you mean 'place'?" script --section stats,plase -
misuse "--section has no 'xyzzy'" script --section xyzzy -
misuse "--section has no ''" script --section "" -
misuse "--torch names no release" script --torch "" -
misuse "is not a PyTorch release" script --torch nonsense -
misuse "--conf: " script --conf nonsense:1 -
misuse "leaves nothing" script --memory 0 -
misuse "did you mean '--json'?" replay --jsno "$trace"
misuse "unknown option '--xyzzy'" replay "$trace" --xyzzy=1
misuse "unknown option '-z'" replay -z "$trace"
misuse "unknown option '--memory'" info --memory 24GiB "$trace"
misuse "needs an argument" replay "$trace" --torch
misuse "takes no argument" replay --json=yes "$trace"
misuse "takes a number" replay --top many "$trace"
misuse "takes a number" replay --top -3 "$trace"
misuse "takes a number" replay --device 99999999999 "$trace"
misuse "one of user|full|none" replay --stack some "$trace"
misuse "unknown unit 'XB'" replay --memory 24XB "$trace"
misuse "larger than any memory" replay --memory 99999999999T "$trace"
misuse "leaves nothing" replay --memory 0 "$trace"
misuse "give one of them" replay --memory 24GiB --gpu T4 "$trace"
misuse "give one of them too" replay --reserve 1GiB "$trace"
misuse "leaves nothing" replay --memory 1GiB --reserve 2GiB "$trace"
misuse "did you mean 'H100-80GB'?" replay --gpu H100-80G "$trace"
misuse "unknown GPU" replay --gpu abacus "$trace"
misuse "there is no device" replay --device 70000 "$trace"

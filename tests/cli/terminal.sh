# SPDX-License-Identifier: MIT
# on_terminal NAME=VALUE... -- ARGUMENTS...: the program on a terminal of its own, 100 columns wide.
on_terminal() {
  last=("$@")
  "$PYTHON" - "$ULLAGE" "$@" >out 2>err <<'PYTHON' || fail "no terminal"
import fcntl, os, pty, struct, sys, termios
split = sys.argv.index("--")
for pair in sys.argv[2:split]:
    name, _, value = pair.partition("=")
    os.environ[name] = value
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    os.execv(sys.argv[1], [sys.argv[1]] + sys.argv[split + 1:])
while True:
    try:
        piece = os.read(fd, 65536)
    except OSError:
        break
    if not piece:
        break
    sys.stdout.buffer.write(piece)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PYTHON
}
trace=$TRACES/lm_bf16_128.pickle.zst
escape=$(printf '\033')

on_terminal TERM=xterm -- replay "$trace"
expect_out "$escape[1"
expect_that "the width is used" awk '{ sub(/\r$/, "") } length > 90 { found = 1 } END { exit !found }' out
on_terminal TERM=xterm NO_COLOR=1 -- replay "$trace"
expect_no_out "$escape[1"
on_terminal TERM=dumb -- replay "$trace"
expect_no_out "$escape"
on_terminal TERM=xterm -- replay --json "$trace"
expect_no_out "$escape[1"

# No colour and no progress on a pipe, whatever the terminal's name.
TERM=xterm run replay "$trace"
expect_silent
expect_no_out "$escape"

# A bar appears once half a second has passed, and leaves nothing behind.
mkfifo slow
for expected in yes no; do
  { sleep 0.7 && cat "$trace"; } >slow &
  if [ $expected = yes ]; then
    on_terminal TERM=xterm -- info slow
    expect_out 'reading '
    expect_out "$escape[K"
  else
    on_terminal TERM=xterm -- info --no-progress slow
    expect_no_out 'reading '
  fi
  wait
done

/**
 * The shell that stands above a command, for no engine says when a command ends while something it left still holds its
 * output, nor how to signal one. Its words, `ESC ] gantry-<token> ; <word> BEL`, are first its own process id and then the
 * exit code; they are on the error stream, or on the terminal. What a terminal sends it is for the command alone. Its
 * own errors are silenced: a shell would remark that its child was killed.
 *
 * Arguments: token, columns and rows (or nothing), directory, then the command.
 */
export const ABOVE = `t=$1 c=$2 r=$3 d=$4
shift 4
trap : INT QUIT HUP
exec 3>&2 2>/dev/null
case $c in ?*) stty cols "$c" rows "$r" ;; esac
printf '\\033]gantry-%s;%s\\007' "$t" "$$" >&3
(
  exec 2>&3 3>&-
  cd -- "$d" 2>/dev/null || { printf '%s\\n' "No such directory: $d" >&2; exit 126; }
  exec "$@"
)
code=$?
printf '\\033]gantry-%s;%s\\007' "$t" "$code" >&3
exit "$code"`

/**
 * Signals all that descends from a command or bears its mark, until a round finds nobody new. It must not fork: it is needed
 * when no more processes are allowed. Who is to be killed is stopped first, for what runs can fork faster than it dies. The shell above is spared, for it tells the code, but not from a kill.
 *
 * Arguments: mark, process id of the shell above, name of the signal.
 */
export const SIGNAL = `mark=$1 above=$2 signal=$3 sent=$3 done=" $$ $2 "
[ "$signal" != KILL ] || sent=STOP
bears() {
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in *"$mark"*) return 0 ;; esac
    line=
  done
  return 1
}
ours() {
  case $family in *" $1 "*) return 1 ;; esac
  parent=0
  { while read -r key value rest; do case $key in PPid:) parent=$value; break ;; esac; done </proc/$1/status; } 2>/dev/null
  case $family in *" $parent "*) return 0 ;; esac
  { bears </proc/$1/environ; } 2>/dev/null
}
round=0
while [ $round -lt 20 ]; do
  round=$((round + 1)) family=" $above " grew=1
  while [ $grew = 1 ]; do
    grew=0
    for each in /proc/[0-9]*; do
      each=\${each#/proc/}
      [ "$each" != $$ ] && ours "$each" && family="$family$each " && grew=1
    done
  done
  fresh=0
  for each in $family; do
    case $done in *" $each "*) continue ;; esac
    done="$done$each " fresh=1
    kill -s "$sent" "$each" 2>/dev/null
  done
  [ $fresh = 1 ] || break
done
[ "$signal" = KILL ] || exit 0
for each in $done; do [ "$each" = $$ ] || kill -s KILL "$each" 2>/dev/null; done`

/** Becomes a connection to a port, after one byte that says there is somebody. Argument: the port. */
export const DIAL = `here=$(printf '%04X' "$1")
listens() {
  { while read -r no local remote state rest; do
    case $local,$state in *:$here,0A) return 0 ;; esac
  done </proc/net/$1; } 2>/dev/null
  return 1
}
listens tcp || listens tcp6 || exit 1
if command -v nc >/dev/null; then printf +; exec nc 127.0.0.1 "$1"; fi
command -v bash >/dev/null || exit 1
printf +
exec bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1; cat <&3 & cat >&3; wait' bash "$1"`

/** What a sandbox does that was not told to do anything. It must end at the polite signal, or every stop would wait. */
export const IDLE = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 86400 & wait $!; done'] as const

/**
 * What is run inside a sandbox to touch its files: constant scripts for any POSIX shell with GNU or busybox tools. Whatever varies
 * comes as an argument, never as text of the script. The last arguments are the folders to stay within; none means anywhere.
 *
 * Confinement is judged on what was opened or entered, never on the path alone: a link that is swapped meanwhile leads nowhere.
 */

/** By exit status, what a script found. */
export const FOUND = {
  missing: 71,
  notFile: 72,
  notDirectory: 73,
  denied: 74,
  outside: 75,
  cut: 76,
  taken: 77,
} as const

export const PRELUDE = `
export LC_ALL=C
missing() { exit ${FOUND.missing}; }
not_file() { exit ${FOUND.notFile}; }
not_directory() { exit ${FOUND.notDirectory}; }
denied() { exit ${FOUND.denied}; }
outside() { exit ${FOUND.outside}; }
# Sets $real: where we are, or what a link is, whatever is in the name; a substitution would drop its last newlines.
here() { real=$(pwd -P; echo x); real=\${real%?x}; }
target() { real=$(readlink "$@" && echo x) || return 1; real=\${real%?x}; }
within() {
  [ $# -eq 0 ] && return 0
  for root; do
    root=$(cd -P -- "$root" 2>/dev/null && pwd -P && echo x) || continue
    root=\${root%?x}
    case $real in "$root" | "\${root%/}"/*) return 0 ;; esac
  done
  return 1
}
`

const STAT = `stat -L -c '%f %s %i %Y %a %y %z'`

/** path, roots… → one line. */
export const STAT_SCRIPT = `${PRELUDE}
path=$1; shift
[ -e "$path" ] || missing
target -f "$path" && within "$@" || outside
${STAT} "$path"
`

/**
 * path, the name to look for should it be a directory, roots… → that name or `-`, and one line about the file; then, ordered by a line with an offset and a
 * length, that part of it. Without such a line nothing more.
 */
export const READ_SCRIPT = `${PRELUDE}
path=$1 index=$2; shift 2
if [ $# -gt 0 ]; then
  [ $# -gt 1 ] || [ -d "$1" ] || missing
  target -f "$path" || missing
  within "$@" || outside
fi
[ -d "$path" ] || index=
[ -z "$index" ] || path=\${path%/}/$index
[ -e "$path" ] || missing
[ -f "$path" ] || not_file
[ -r "$path" ] || denied
exec 5<"$path"
if [ $# -gt 0 ]; then
  target /proc/self/fd/5 && within "$@" || outside
fi
printf '%s ' "\${index:--}"
${STAT} /proc/self/fd/5 || exit 1
read -r from count || exit 0
if [ "$from" -eq 0 ]; then head -c "$count" <&5
else tail -c "+$((from + 1))" <&5 | head -c "$count"
fi
`

/** Enters the directory that is the first argument, to list it. */
const ENTER = `
path=$1; shift
[ -e "$path" ] || missing
[ -d "$path" ] || not_directory
cd -P -- "$path" 2>/dev/null || denied
here; within "$@" || outside
[ -r . ] || denied
`

/** path, roots… → for each entry its kind and its name, NUL after each. */
export const LIST_SCRIPT = `${PRELUDE}${ENTER}
for name in * .[!.]* ..?*; do
  if [ -L "./$name" ]; then kind=l
  elif [ -d "./$name" ]; then kind=d
  elif [ -f "./$name" ]; then kind=f
  elif [ -e "./$name" ]; then kind=o
  else continue
  fi
  printf '%s%s\\0' "$kind" "$name"
done
`

/**
 * path, roots… → for each entry mode, size, time and `./name/`, a line each: a name may hold anything but a slash. For links that
 * lead to something within the roots a second one follows, about that.
 */
export const DETAILS_SCRIPT = `${PRELUDE}${ENTER}
find . ! -name . -prune -exec stat -c '%f %s %Y %n/' {} + 2>/dev/null
if [ $# -eq 0 ]; then find . ! -name . -prune -type l -exec stat -L -c '%f %s %Y %n/' {} + 2>/dev/null
else
  for name in * .[!.]* ..?*; do
    [ -L "./$name" ] && target -f "./$name" && within "$@" || continue
    facts=$(stat -c '%f %s %Y' "$real" 2>/dev/null) && printf '%s ./%s/\\n' "$facts" "$name"
  done
fi
exit 0
`

/** Enters the deepest folder there is of $dir, and sets $top to it and $rest to what is missing below. */
const DESCEND = `
top=\${dir:-/}
while [ ! -d "$top" ]; do
  if [ -e "$top" ] || [ -L "$top" ]; then not_directory; fi
  top=\${top%/*}; top=\${top:-/}
done
rest=\${dir#"$top"}; rest=\${rest#/}
cd -P -- "$top" 2>/dev/null || denied
here; within "$@" || outside
top=$real
`

/** path, roots… */
export const MAKE_DIRECTORY_SCRIPT = `${PRELUDE}
dir=$1; shift
if [ -e "$dir" ] && [ ! -d "$dir" ]; then not_directory; fi
umask 022
${DESCEND}
[ -z "$rest" ] || mkdir -p -- "./$rest" || exit 1
`

/**
 * path, token, roots…; the content on standard input, and after it the token. Without the token at its end the content is not
 * whole, whatever the reason, even the end of the server: then everything is as it was before.
 */
export const WRITE_SCRIPT = `${PRELUDE}
path=$1 token=$2; shift 2
umask 022
if [ -L "$path" ]; then target -f "$path" || missing; path=$real; fi
[ -d "$path" ] && not_file
dir=\${path%/*} name=\${path##*/}
${DESCEND}
temp=.gantry-$token
undo() {
  rm -f "./$temp"
  cd -P -- "$top" || return
  while [ -n "$rest" ]; do
    rmdir "./$rest" 2>/dev/null || return
    case $rest in */*) rest=\${rest%/*} ;; *) rest= ;; esac
  done
}
trap undo EXIT
trap 'exit 143' HUP INT TERM
if [ -n "$rest" ]; then
  mkdir -p -- "./$rest" || exit 1
  cd -P -- "./$rest" || denied
  here; within "$@" || outside
fi
mode= owner=
if [ -e "./$name" ]; then
  [ -f "./$name" ] || not_file
  [ -w "./$name" ] || denied
  mode=$(stat -L -c %a "./$name")
  owner=$(stat -L -c %u:%g "./$name")
fi
umask 077
cat >"./$temp" || exit 1
[ "$(tail -c \${#token} "./$temp")" = "$token" ] || exit ${FOUND.cut}
size=$(stat -c %s "./$temp") || exit 1
dd if=/dev/null of="./$temp" bs=1 count=0 seek=$((size - \${#token})) 2>/dev/null || exit 1
[ -z "$owner" ] || chown "$owner" "./$temp" 2>/dev/null
chmod "\${mode:-644}" "./$temp" || exit 1
sync "./$temp" 2>/dev/null
[ -d "./$name" ] && not_file
mv -f "./$temp" "./$name" || exit 1
trap - EXIT
sync . 2>/dev/null
exit 0
`

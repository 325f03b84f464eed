import { PRELUDE } from './file-scripts.ts'

/** By exit status, what a script found beside what all of them may find. */
export const TOLD = { noRepository: 81, severalRepositories: 82, badRef: 83 } as const

/**
 * Nothing that a repository says makes git run a program: neither hooks, monitors, pagers, external diffs nor text conversions.
 * Filters are named by attributes and cannot be switched off one by one, so what reads the work tree does not read the
 * repository's own settings at all (see below).
 */
const GIT = `
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_OPTIONAL_LOCKS=0
export GIT_NO_LAZY_FETCH=1 GIT_PAGER=cat GIT_EXTERNAL_DIFF= GIT_CEILING_DIRECTORIES=
unset GIT_EXTERNAL_DIFF GIT_CEILING_DIRECTORIES GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS
ask() {
  git -C "$repo" -c core.fsmonitor= -c core.hooksPath=/dev/null -c core.attributesFile=/dev/null -c core.pager=cat \\
    -c core.sshCommand=false -c credential.helper= -c safe.directory='*' -c protocol.allow=never "$@" 2>/dev/null
}
enter() {
  [ -e "$path" ] || missing
  [ -d "$path" ] || not_directory
  cd -P -- "$path" 2>/dev/null || denied
  here; path=$real
}
# Sets $repo to the repository that $path is in, or to the only one up to three levels below; $count says how many.
find_repository() {
  count=0 repo=$path
  if ask rev-parse --git-dir >/dev/null; then count=1; return; fi
  for found in "$path"/*/.git "$path"/*/*/.git "$path"/*/*/*/.git "$path"/.[!.]*/.git; do
    [ -e "$found" ] || continue
    repo=\${found%/.git}
    ask rev-parse --git-dir >/dev/null && count=$((count + 1)) && only=$repo
  done
  repo=\${only-}
}
# Prints $1 facts, each ended by NUL.
facts() {
  if [ "$count" -ne 1 ]; then printf '\\0\\0\\0\\0\\0'; return; fi
  printf '%s\\0' "$(ask config --get remote.origin.url)" "$(ask symbolic-ref --quiet --short HEAD)" \\
    "$(ask rev-parse --verify --quiet HEAD)" "$(ask rev-parse --show-toplevel)" "$base"
}
`

/**
 * path, base or nothing, patterns by line → facts, then a patch. The work tree is read through a repository made for the
 * moment, which borrows the real one's objects but none of its settings, and takes what is written: the real one stays untouched.
 */
export const GIT_DELTA_SCRIPT = `${PRELUDE}${GIT}
path=$1 given=$2 patterns=$3
command -v git >/dev/null || exit ${TOLD.noRepository}
enter
find_repository
[ "$count" -eq 0 ] && exit ${TOLD.noRepository}
[ "$count" -gt 1 ] && exit ${TOLD.severalRepositories}
if [ -n "$given" ]; then
  base=$(ask rev-parse --verify --quiet --end-of-options "$given^{commit}") || exit ${TOLD.badRef}
else
  base=$(ask rev-parse --verify --quiet '@{upstream}^{commit}') || {
    main=$(ask symbolic-ref --quiet refs/remotes/origin/HEAD) && base=$(ask merge-base HEAD "$main")
  } || base=
fi
objects=$(cd "$repo" && cd -P -- "$(ask rev-parse --git-path objects)" && pwd -P) || exit 1
format=$(ask rev-parse --show-object-format) || format=sha1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 143' HUP INT TERM
top=$(ask rev-parse --show-toplevel) || exit ${TOLD.noRepository}
git init --quiet --bare --template= --object-format="$format" "$scratch/git" || exit 1
mkdir -p "$scratch/git/info" "$scratch/git/objects/info"
printf '%s\\n' "$patterns" >"$scratch/git/info/exclude"
printf '%s\\n' "$objects" >"$scratch/git/objects/info/alternates"
cd -P -- "$repo" || exit 1
own() {
  git --git-dir="$scratch/git" --work-tree="$top" -c core.bare=false -c core.hooksPath=/dev/null -c core.fsmonitor= \\
    -c core.attributesFile=/dev/null -c diff.ignoreSubmodules=all -c core.autocrlf=false -c core.safecrlf=false "$@"
}
tree=$base
if [ -n "$base" ]; then own read-tree "$base" || exit 1
else tree=$(own hash-object -t tree --stdin </dev/null) || exit 1
fi
own add --all -- . >/dev/null || exit 1
facts
own diff --binary --cached --no-ext-diff --no-textconv --no-color --no-renames --ignore-submodules=all "$tree" -- .
`

/** path, manifest, options of tar… → facts, then a gzipped tar of the directory under its own name. */
export const TAR_SCRIPT = `${PRELUDE}${GIT}
path=$1 manifest=$2 base=; shift 2
enter
[ -r . ] || denied
count=0
command -v git >/dev/null && find_repository
name=\${path##*/} parent=\${path%/*}
[ -n "$name" ] || name=.
case $name in -*) name=./$name ;; esac
if [ -e "$path/archive_manifest.json" ] || ! scratch=$(mktemp -d); then
  facts
  exec tar -czf - "$@" -C "\${parent:-/}" "$name"
fi
trap 'rm -rf "$scratch"' EXIT
trap 'exit 143' HUP INT TERM
mkdir -p "$scratch/$name"
printf '%s\\n' "$manifest" >"$scratch/$name/archive_manifest.json"
facts
tar -czf - "$@" -C "\${parent:-/}" "$name" -C "$scratch" "$name/archive_manifest.json"
`

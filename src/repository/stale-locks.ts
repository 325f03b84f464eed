import { type Bench, script } from './git.ts'

/**
 * clone, seconds. Git marks what it changes by files that a killed one leaves behind. Whose they are stands nowhere: those that were
 * there before it turned out that no git runs in the sandbox are nobody's. One that runs is waited for: an earlier server's may still
 * fetch, and an agent's commit is soon done. What belongs to a worktree is left to who works there.
 */
const FREE = `cd -- "$1" && [ -r /proc/self/comm ] && seen=$(mktemp) || exit 0
trap 'rm -f -- "$seen"' EXIT
locks() { find . \\( -path ./objects -o -path ./worktrees \\) -prune -o -type f -name '*.lock' ! -newer "$seen" "$@"; }
runs() {
  for file in /proc/[0-9]*/comm; do
    read -r name <"$file" && case $name in git | git-*) return 0 ;; esac
  done 2>/dev/null
  return 1
}
for try in $(seq "$(($2 * 5))"); do
  : >"$seen"
  [ -n "$(locks -print)" ] || exit 0
  runs || { locks -exec rm -f -- {} +; exit 0; }
  sleep 0.2 2>/dev/null || sleep 1
done`

/** For whoever has the turn in a clone that is shared: no git that was killed there is in its way. */
export async function freeStaleLocks(bench: Bench, clone: string): Promise<void> {
  await script(bench, FREE, [clone, `${bench.limits.othersSeconds}`])
}

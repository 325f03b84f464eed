import { run } from '../../../sandbox/run.ts'
import type { Sandbox } from '../../../sandbox/sandbox.ts'

/**
 * Ends what bears the mark of a conversation, the second argument: what its earlier shell started, when the server that knew of it was
 * killed. What forks faster than it is found is ended with its sandbox.
 */
export const END_LEFT_OVERS = `n=0
while [ "$n" -lt 20 ] && left=$(grep -lsF "GANTRY_TERMINAL=$2" /proc/[0-9]*/environ || :) && [ -n "$left" ]; do
  for f in $left; do f=\${f#/proc/}; kill -s KILL "\${f%/environ}" 2>/dev/null; done
  n=$((n + 1))
done`

/** There may be many processes to look at. */
const LOOK_MS = 10_000

/** Ends what the terminal of a conversation left running under an earlier server. */
export async function endLeftOvers(sandbox: Sandbox, conversation: string): Promise<void> {
  const argv = ['/bin/sh', '-c', END_LEFT_OVERS, 'sh', '', conversation] as const
  await run(sandbox, { argv, cwd: '/', timeoutMs: LOOK_MS }, { limit: 4096 })
}

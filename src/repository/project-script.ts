import { fault } from '../api/errors.ts'
import { run } from '../sandbox/run.ts'
import type { Egress, Sandbox } from '../sandbox/sandbox.ts'
import { LOOK_MS, SCRIPT_BYTES } from './limits.ts'
import type { Step, Trust } from './repository.ts'

export interface ScriptOptions {
  trust: Trust
  signal: AbortSignal
  /** Narrower than the sandbox's. */
  egress?: Egress
}

/** $file as the program that its first line names, or the plain shell. */
export const BECOME = `IFS= read -r first <"$file"
case $first in '#!'*bash*) command -v bash >/dev/null && exec bash "$file" "$@" ;; esac
exec /bin/sh "$file" "$@"`

/** folder, file → its hash; nothing when it is not there. */
const HASH = `cd -- "$1" || exit 0
[ -f "$2" ] && [ -r "$2" ] || exit 0
[ "$(wc -c <"$2")" -le ${SCRIPT_BYTES} ] || exit 3
sha256sum <"$2"`

/** The hash of a script that a project brings, or what came of asking for it. */
export async function findScript(
  sandbox: Sandbox,
  folder: string,
  file: string,
  { trust, signal }: ScriptOptions,
): Promise<string | Step> {
  const argv = ['/bin/sh', '-c', HASH, 'sh', folder, file] as const
  const { stdout, code } = await run(sandbox, { argv, cwd: '/', timeoutMs: LOOK_MS, signal }, { limit: 4096 })
  signal.throwIfAborted()
  if (code === 3) throw fault('setup_failed', `${file} is larger than ${SCRIPT_BYTES} bytes`)
  const [sha256] = /^[0-9a-f]{64}/.exec(stdout.toString('latin1')) ?? []
  if (sha256 === undefined) return { outcome: 'skipped', detail: null }
  if (await trust(sha256)) return sha256
  return {
    outcome: 'refused',
    detail: `${file} was not run: nobody has approved it. PUT /api/v1/approvals/${sha256} approves what it says now (sha256 ${sha256}).`,
  }
}

import { posix } from 'node:path'
import type { HookConfig } from '../../api/hooks.ts'
import { run } from '../../sandbox/run.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { isTrusted, readHooks, type Trust, trustNeeded } from '../skills/trust.ts'

/** Of a `hooks.json`, in bytes: a few lines a hook. */
const FILE_BYTES = 256 * 1024
const PATIENCE_MS = 10_000

export interface ProjectHooks {
  /** Null where there are none, or none that may have an effect. */
  hooks: HookConfig | null
  /** What waits for somebody's yes. */
  untrusted: Trust | undefined
}

/**
 * The hooks a project brings, read inside its sandbox. They run without anybody being asked, so that they are handed out only when
 * the hash of their file is among those approved.
 */
export async function loadProjectHooks(
  sandbox: Sandbox,
  folder: string,
  signal: AbortSignal,
  approved: ReadonlySet<string> = new Set(),
): Promise<ProjectHooks> {
  const argv = ['head', '-c', String(FILE_BYTES), '--', posix.join(folder, '.openhands/hooks.json')] as const
  const command = { argv, cwd: '/', timeoutMs: PATIENCE_MS, signal, label: 'reading hooks' }
  const { stdout } = await run(sandbox, command, { limit: FILE_BYTES })
  signal.throwIfAborted()
  const text = stdout.toString()
  const trust = trustNeeded('hooks', text)
  const trusted = trust !== undefined && isTrusted(trust.hash, approved)
  return { hooks: trusted ? (readHooks(text) ?? null) : null, untrusted: trusted ? undefined : trust }
}

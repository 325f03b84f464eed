import assert from 'node:assert/strict'
import type { AgentRig } from './agent.ts'
import { ask } from './hands.ts'
import type { TestServer } from './server.ts'

/** Commits everything that a script has made in a repository of a `GitServer`. */
export const commit = (script: string): string => `${script}\ngit add -A; git commit -qm change`

/** A shell's words that write these files below a folder. */
export const writing = (files: Record<string, string>, folder = '.'): string =>
  Object.entries(files)
    .map(([path, text]) => {
      const encoded = Buffer.from(text).toString('base64')
      return `mkdir -p "$(dirname '${folder}/${path}')"; echo ${encoded} | base64 -d >'${folder}/${path}'`
    })
    .join('\n')

/** What a command in the default sandbox prints. */
export async function sh({ client }: TestServer, command: string): Promise<string> {
  const { exit_code, stdout, stderr } = await client.executeBashCommand({ body: { command } })
  assert.equal(exit_code, 0, `${command}: ${stderr}`)
  return (stdout ?? '').trim()
}

/** Calls with the key, as they stand. */
export const caller =
  (rig: () => AgentRig) =>
  (method: string, path: string, body?: unknown, key: string | null = rig().server.key) =>
    ask(rig().server, method, path, { key, ...(body !== undefined && { body }) })

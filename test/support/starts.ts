import type { AppConversationStartTask } from '../../src/api/app-conversations.ts'
import type { GitServer } from './git-server.ts'
import type { ServerOptions, TestServer } from './server.ts'
import { until } from './wait.ts'

export type StartOrder = NonNullable<Parameters<TestServer['client']['startAppConversation']>[0]>['body']

/** Orders a conversation, and waits until its start is over, whatever comes of it. */
export async function startOver(
  server: TestServer,
  body: StartOrder = {},
  headers: Record<string, string> = {},
): Promise<AppConversationStartTask> {
  return over(server, (await server.client.startAppConversation({ body, headers })).id)
}

export const over = (server: TestServer, id: string): Promise<AppConversationStartTask> =>
  until('the start is over', async () => {
    const [task] = await server.client.batchStartTasks({ query: { ids: [id] } })
    return task && (task.status === 'READY' || task.status === 'ERROR') ? task : undefined
  })

/** The same, for one that should succeed: the conversation it led to. */
export async function started(server: TestServer, body: StartOrder = {}) {
  const task = await startOver(server, body)
  if (task.status !== 'READY') throw new Error(`${task.status}: ${task.detail}`)
  return conversation(server, task.app_conversation_id!)
}

export async function conversation(server: TestServer, id: string) {
  const found = await server.client.getAppConversations({ query: { ids: [id] } })
  const [one] = Array.isArray(found) ? found : []
  if (!one) throw new Error(`There is no conversation ${id}`)
  return one
}

/** For a server whose sandboxes may reach a git server on this machine. */
export const reaching = (git: GitServer, more: object = {}): ServerOptions => ({
  env: {
    GANTRY_SANDBOX_SPECS: JSON.stringify([{ id: 'local', hosts: [git.host], ...more }]),
  },
})

/** Has repositories of github fetched from a git server on this machine; with a token, by that. */
export async function useAsGithub(server: TestServer, git: GitServer, token = 'a-token'): Promise<void> {
  const host = `http://${git.host}`
  await server.client.storeSettings({ body: { secrets_store: { provider_tokens: { github: { token, host } } } } })
}

/** What a command in the sandbox of a conversation prints. */
export async function inside(server: TestServer, sandbox: string, command: string): Promise<string> {
  const answer = await fetch(`${server.url}/sandboxes/${sandbox}/api/bash/execute_bash_command`, {
    method: 'POST',
    headers: { 'x-session-api-key': server.key, 'content-type': 'application/json' },
    body: JSON.stringify({ command, timeout: 30 }),
  })
  const { stdout, stderr, exit_code } = (await answer.json()) as {
    stdout: string | null
    stderr: string | null
    exit_code: number
  }
  if (exit_code !== 0) throw new Error(`${exit_code}: ${stdout}${stderr}`)
  return (stdout ?? '').trim()
}

import type { AppConversationStartTask, StartStatus } from '../../src/api/app-conversations.ts'
import type { TestServer } from './server.ts'
import type { StartOrder } from './starts.ts'
import { until } from './wait.ts'

/** What a start goes through when nothing goes wrong. */
export const STATUSES: readonly StartStatus[] = [
  'WORKING',
  'WAITING_FOR_SANDBOX',
  'PREPARING_REPOSITORY',
  'RUNNING_SETUP_SCRIPT',
  'SETTING_UP_GIT_HOOKS',
  'SETTING_UP_SKILLS',
  'STARTING_CONVERSATION',
  'READY',
]

/** Orders a conversation, does something the moment a status is told, and returns how the start ended with what that came to. */
export async function startAndAt<T>(
  server: TestServer,
  order: StartOrder,
  status: StartStatus,
  act: () => Promise<T>,
): Promise<{ task: AppConversationStartTask; came: T | undefined }> {
  const answer = await fetch(`${server.url}/api/v1/app-conversations/stream-start`, {
    method: 'POST',
    headers: { 'x-session-api-key': server.key, 'content-type': 'application/json' },
    body: JSON.stringify(order),
  })
  let text = ''
  let acting: Promise<T> | undefined
  for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (text.includes(`"status":"${status}","detail"`)) acting ??= act()
  }
  const tasks: AppConversationStartTask[] = JSON.parse(text)
  return { task: tasks.at(-1)!, came: await acting }
}

/** Sandboxes beside those of conversations, of which somebody would have to think later. */
export async function sandboxesLeft(server: TestServer): Promise<string[]> {
  const { items: sandboxes } = await server.client.searchSandboxes()
  const { items } = await server.client.searchAppConversations({ query: { include_sub_conversations: true } })
  const used = new Set(items.map(({ sandbox_id }) => sandbox_id))
  return sandboxes.map(({ id }) => id).filter(id => !used.has(id))
}

/** Waits until a start is over, or forgotten with its conversation. */
export const overOrForgotten = (server: TestServer, id: string): Promise<boolean> =>
  until('the start is over or forgotten', async () => {
    const [task] = await server.client.batchStartTasks({ query: { ids: [id] } })
    return !task || task.status === 'READY' || task.status === 'ERROR'
  })

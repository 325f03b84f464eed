import type { AppConversationStartTask } from '../../src/api/app-conversations.ts'
import type { Content } from '../../src/api/common.ts'
import type { Api } from '../api.ts'
import { orderOf } from '../conversation/caution.ts'
import { withHyphens } from '../ids.ts'
import type { Choices } from './choices.ts'

/** A start is asked after this often; its steps take from tenths of a second to minutes. */
const ASK_MS = 300

const TOOLS = ['terminal', 'file_editor', 'task_tracker', 'task_tool_set'].map(name => ({ name }))

export interface Starting {
  api: Api
  choices: Choices
  content: Content[]
  signal: AbortSignal
  /** Of what takes a while. */
  onProgress: (task: AppConversationStartTask) => void
}

/** Starts a conversation with its first message, and tells its id. */
export async function start(starting: Starting): Promise<string> {
  const { api, choices, content } = starting
  const id = choices.place === 'folder' ? await inFolder(starting) : await inOwnSandbox(starting)
  const params = { conversation_id: id }
  // The key of a profile stays on the server: the conversation is switched to it before it first thinks.
  if (choices.profile) await api.switchProfile({ params, body: { profile_name: choices.profile } })
  await api.sendMessage({ params, body: { role: 'user', content, run: true } })
  return id
}

async function inFolder({ api, choices, signal }: Starting): Promise<string> {
  const { id } = await api.startConversation({
    body: {
      agent: { kind: 'Agent', llm: { model: 'demo/guide', stream: true }, tools: TOOLS },
      workspace: { working_dir: choices.folder.trim(), kind: 'LocalWorkspace' },
      ...orderOf(choices.caution),
      ...(choices.budget && { max_budget_per_task: Number(choices.budget) }),
    },
    signal,
  })
  return id
}

/** Prepared first, and told what to do when it asks as often as it shall. */
async function inOwnSandbox(starting: Starting): Promise<string> {
  const { api, choices, signal } = starting
  const { repository, branch, spec, place } = choices
  const sandbox =
    place === 'sandbox' && spec ? await api.startSandbox({ query: { sandbox_spec_id: spec }, signal }) : undefined
  const task = await api.startAppConversation({
    body: {
      trigger: 'gui',
      ...(sandbox && { sandbox_id: sandbox.id }),
      ...(place === 'repository' && {
        selected_repository: repository.trim(),
        ...(branch.trim() && { selected_branch: branch.trim() }),
      }),
    },
    signal,
  })
  const params = { conversation_id: await ready(starting, task) }
  const { confirmation_policy, security_analyzer } = orderOf(choices.caution)
  if (security_analyzer) await api.setSecurityAnalyzer({ params, body: { security_analyzer } })
  await api.setConfirmationPolicy({ params, body: { policy: confirmation_policy } })
  if (choices.budget) await api.updateConversation({ params, body: { max_budget_per_task: Number(choices.budget) } })
  return params.conversation_id
}

async function ready({ api, signal, onProgress }: Starting, first: AppConversationStartTask): Promise<string> {
  const cancel = () => api.cancelStartTask({ params: { task_id: first.id } }).catch(() => undefined)
  signal.addEventListener('abort', cancel, { once: true })
  try {
    for (let task = first; ; ) {
      onProgress(task)
      if (task.status === 'READY' && task.app_conversation_id) return withHyphens(task.app_conversation_id)
      if (task.status === 'ERROR') throw new Error(task.detail ?? 'The start failed')
      await new Promise(resolve => setTimeout(resolve, ASK_MS))
      signal.throwIfAborted()
      const [next] = await api.batchStartTasks({ query: { ids: [first.id] }, signal })
      task = next ?? task
    }
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

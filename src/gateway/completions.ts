import { AgentSettings } from '../api/agent.ts'
import { AppConversationStartRequest } from '../api/app-conversations.ts'
import type {
  ChatCompletion,
  CompletionUsage,
  OpenAIChatCompletionRequest,
  OpenAIModelListResponse,
} from '../api/completions.ts'
import type { ConversationInfo } from '../api/conversations.ts'
import { Fault, fault } from '../api/errors.ts'
import type { LLM } from '../api/llm.ts'
import { conversationOrder } from '../app-conversation/conversation-order.ts'
import { meansFor } from '../app-conversation/means.ts'
import type { Control } from '../conversation/control.ts'
import type { Conversations } from '../conversation/conversations.ts'
import type { Feed } from '../conversation/feed.ts'
import type { Journal } from '../conversation/journal.ts'
import { settling } from '../conversation/settled.ts'
import { newId } from '../lib/id.ts'
import { openAll, type Vault } from '../policy/secrets.ts'
import type { LlmProfiles } from '../settings/profiles.ts'
import type { SettingsService } from '../settings/settings.ts'
import { type Prompt, promptOf } from './prompt.ts'

export interface CompletionsParts {
  feed: Feed
  journal: Journal
  conversations: Conversations
  control: Control
  profiles: LlmProfiles
  settings: SettingsService
  vault: Vault
  /** Where the conversations work. */
  workingDir(): string
}

export interface Caller {
  /** The conversation to go on with. */
  conversation: string | undefined
  /** Whether what is kept as a secret may be used. */
  trusted: boolean
  /** Aborted when nobody waits for the answer any more: then the agent is stopped. */
  signal: AbortSignal
}

/** One answer under way. */
export interface Turn extends Pick<ChatCompletion, 'id' | 'created' | 'model'> {
  conversation: string
  answer: Promise<ChatCompletion>
}

/** Models are called by the profiles they are of, behind this. */
const PREFIX = 'openhands_'

/** Answers under way at a time: each is an agent at work, and a connection that waits for it. */
const COMPLETIONS_AT_ONCE = 32

/** How long one may take: clients of this interface give up after ten minutes. */
const COMPLETION_MS = 590_000

/** The agent, as a model that is chatted with: each conversation of such a chat is a conversation. */
export class Completions {
  readonly #parts: CompletionsParts
  readonly #going = new Set<Promise<unknown>>()
  #taken = 0

  constructor(parts: CompletionsParts) {
    this.#parts = parts
  }

  async models(): Promise<OpenAIModelListResponse> {
    const { profiles } = await this.#parts.profiles.list()
    const data = profiles.map(({ name }) => ({
      id: `${PREFIX}${name}`,
      object: 'model' as const,
      created: 0,
      owned_by: 'openhands',
    }))
    return { object: 'list', data }
  }

  /** Resolves when the agent is at work. */
  async begin({ model, messages }: OpenAIChatCompletionRequest, caller: Caller): Promise<Turn> {
    if (this.#taken >= COMPLETIONS_AT_ONCE) throw fault('completion_limit', COMPLETIONS_AT_ONCE)
    this.#taken += 1
    const release = () => {
      this.#taken -= 1
    }
    try {
      const prompt = promptOf(messages)
      const llm = await this.#llm(model)
      const { id: conversation, before } = caller.conversation
        ? await this.#continue(caller.conversation, prompt, llm)
        : await this.#start(prompt, llm, caller.trusted)
      const turn = { id: `chatcmpl-${newId()}`, created: Math.floor(Date.now() / 1_000), model }
      const answer = this.#answer(conversation, before, turn, caller.signal).finally(release)
      const going = answer.catch(() => undefined).finally(() => this.#going.delete(going))
      this.#going.add(going)
      return { ...turn, conversation, answer }
    } catch (error) {
      release()
      throw error
    }
  }

  /** When the connections of all callers are closed: resolves when every agent has been stopped. */
  async close(): Promise<void> {
    await Promise.all(this.#going)
  }

  /** Sealed. */
  async #llm(model: string): Promise<LLM> {
    const name = model.startsWith(PREFIX) ? model.slice(PREFIX.length) : undefined
    try {
      if (name === undefined) throw fault('chat_model_not_found', model)
      return await this.#parts.profiles.forConversation(name)
    } catch (error) {
      throw error instanceof Fault && error.code === 'llm_profile_not_found'
        ? fault('chat_model_not_found', model)
        : error
    }
  }

  async #start({ content, system, title }: Prompt, llm: LLM, trusted: boolean) {
    const { conversations, settings, vault, workingDir } = this.#parts
    const agent = openAll(vault, AgentSettings, { ...(await settings.agentSettings()), llm })
    const id = newId()
    const order = conversationOrder({
      id,
      request: AppConversationStartRequest.parse({
        initial_message: { role: 'user', content, run: true },
        system_message_suffix: system,
        title,
      }),
      ...(await meansFor(this.#parts, agent, trusted)),
      folder: workingDir(),
      notes: [],
    })
    await conversations.start(order, () => trusted, false, undefined, { title })
    return { id, before: undefined }
  }

  async #continue(id: string, { content }: Prompt, llm: LLM) {
    const { conversations, control } = this.#parts
    const info = await conversations.get(id)
    if (info.execution_status === 'running') throw fault('conversation_running')
    if (info.execution_status === 'waiting_for_confirmation') throw fault('agent_waits', info.execution_status)
    if (info.agent.llm.usage_id !== llm.usage_id) await control.useLlm(id, llm)
    await conversations.send(id, { role: 'user', content, run: true })
    return { id, before: info }
  }

  async #answer(
    id: string,
    before: ConversationInfo | undefined,
    turn: Pick<ChatCompletion, 'id' | 'created' | 'model'>,
    signal: AbortSignal,
  ): Promise<ChatCompletion> {
    const { conversations, control } = this.#parts
    const late = AbortSignal.timeout(COMPLETION_MS)
    const { feed, journal } = this.#parts
    // Nobody here can say yes to an action: one that waits for it is at rest.
    const settled = settling(feed, journal, () => true)
    const status = await settled(id, AbortSignal.any([signal, late])).catch(async error => {
      await control.interrupt(id).catch(() => undefined)
      throw late.aborted ? fault('completion_timeout', COMPLETION_MS / 1_000) : error
    })
    if (status === 'error' || status === 'stuck')
      throw fault('agent_failed', (await control.lastError(id)) || `The agent is ${status}`)
    if (status === 'deleting') throw fault('conversation_not_found', id)
    if (status !== 'finished' && status !== 'idle') throw fault('agent_waits', status)
    const [content, after] = await Promise.all([control.finalResponse(id), conversations.get(id)])
    return {
      ...turn,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: usageSince(before, after),
    }
  }
}

/** What all models together used, for this answer alone. */
function usageSince(before: ConversationInfo | undefined, after: ConversationInfo): CompletionUsage {
  const sum = (info: ConversationInfo | undefined, key: 'prompt_tokens' | 'completion_tokens') =>
    Object.values(info?.stats.usage_to_metrics ?? {})
      .map(({ accumulated_token_usage: used }) => used?.[key] ?? 0)
      .reduce((a, b) => a + b, 0)
  const used = (key: 'prompt_tokens' | 'completion_tokens') => sum(after, key) - sum(before, key)
  const [prompt_tokens, completion_tokens] = [used('prompt_tokens'), used('completion_tokens')]
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
}

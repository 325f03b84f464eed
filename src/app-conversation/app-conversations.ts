import type {
  AppConversation,
  AppConversationUpdateRequest,
  AppSendMessageResponse,
  HookSummaries,
  SkillSummary,
} from '../api/app-conversations.ts'
import type { ConversationInfo } from '../api/conversations.ts'
import { fault } from '../api/errors.ts'
import type { SendMessageRequest } from '../api/events.ts'
import { hookStages } from '../api/hooks.ts'
import type { SandboxStatus } from '../api/sandboxes.ts'
import type { Conversations } from '../conversation/conversations.ts'
import type { Journal } from '../conversation/journal.ts'
import { hexUuid } from '../lib/id.ts'
import { Turns } from '../lib/turns.ts'
import { DEFAULT_SANDBOX } from '../sandbox/sandbox.ts'
import type { Asker, Sandboxes } from '../sandbox/sandboxes.ts'
import { infoOf, type SkillLibrary } from '../settings/skill-library.ts'
import type { ConversationFilter, ConversationQuery, ConversationRecord, Store } from '../store/store.ts'
import { APP, appConversation, type Lodging, readAppInfo } from './app-info.ts'
import type { Starts } from './starts.ts'

export interface AppConversationsParts {
  store: Store
  journal: Journal
  conversations: Conversations
  sandboxes: Sandboxes
  starts: Starts
  library: Pick<SkillLibrary, 'near' | 'hooks'>
}

interface Page extends Pick<ConversationQuery, 'order' | 'descending' | 'limit'> {
  id: string | null
}

/** Conversations as this generation shows them: with what was ordered, and with where their hands are. */
export class AppConversations {
  readonly #parts: AppConversationsParts
  /** Each change is made to what the one before left. */
  readonly #turns = new Turns()

  constructor(parts: AppConversationsParts) {
    this.#parts = parts
  }

  async search(filter: ConversationFilter, page: Page, asker: Asker) {
    const { store } = this.#parts
    const { items, next } = await store.searchConversations({
      ...filter,
      order: page.order,
      descending: page.descending,
      limit: page.limit,
      ...(page.id && { from: page.id }),
    })
    const shown = await this.#show(items, asker)
    return { items: shown.filter(item => item !== null), next_page_id: next ?? null }
  }

  count(filter: ConversationFilter): Promise<number> {
    return this.#parts.store.countConversations(filter)
  }

  /** Aligned with `ids`; null for those that do not exist. */
  async batch(ids: string[], asker: Asker): Promise<(AppConversation | null)[]> {
    const records = await this.#parts.store.conversations(ids)
    const shown = await this.#show(
      records.flatMap(record => record ?? []),
      asker,
    )
    const byId = new Map(shown.flatMap(one => (one ? [[one.id, one] as const] : [])))
    return ids.map(id => byId.get(hexUuid(id)) ?? null)
  }

  async update(id: string, given: AppConversationUpdateRequest, asker: Asker): Promise<AppConversation> {
    await this.#turns.take(id, () => this.#change(id, given))
    const [shown] = await this.batch([id], asker)
    if (!shown) throw fault('conversation_not_found', id)
    return shown
  }

  async #change(id: string, { title, ...app }: AppConversationUpdateRequest): Promise<void> {
    const { store, journal, conversations } = this.#parts
    const record = await conversations.record(id)
    const [parts] = await store.conversationParts([record.no], [APP])
    const old = readAppInfo(parts?.[APP])
    const cleared = app.selected_repository === null ? { selected_branch: null, git_provider: null } : {}
    const next = { ...old, ...cleared, ...app }
    await journal.transact(id, () => ({
      touches: true,
      ...(title !== undefined && { title }),
      parts: { [APP]: JSON.stringify(next) },
    }))
  }

  /** With those that were started for it, the start itself should it still be under way, and its sandbox if that was its own. */
  async delete(id: string): Promise<void> {
    const { store, conversations, starts } = this.#parts
    const cancelled = await starts.cancelFor(id)
    const [record] = await store.conversations([id])
    if (!record && cancelled) return
    if (!record) throw fault('conversation_not_found', id)
    await this.#deleteChildren(id)
    await conversations.delete(id)
    // Those that were begun meanwhile; later ones find no parent.
    await this.#deleteChildren(id)
  }

  async #deleteChildren(id: string): Promise<void> {
    const children = (await this.#parts.store.childrenOf([id])).get(id) ?? []
    for (const child of children) await this.delete(child).catch(ignoreMissing)
  }

  /** A sandbox that is paused is woken for it. */
  async send(
    id: string,
    message: Pick<SendMessageRequest, 'role' | 'content' | 'run'>,
  ): Promise<AppSendMessageResponse> {
    const { sandbox, was } = await this.wake(id)
    await this.#parts.conversations.send(id, message)
    return {
      success: true,
      sandbox_status: this.#parts.sandboxes.status(sandbox),
      message: was === 'PAUSED' ? 'The sandbox was paused and has been resumed' : null,
    }
  }

  /** Has the sandbox of a conversation run, or says why it cannot. */
  async wake(id: string): Promise<{ sandbox: string; was: SandboxStatus }> {
    const { conversations, sandboxes } = this.#parts
    const sandbox = placeOf(await conversations.record(id))
    const was = sandboxes.status(sandbox)
    if (was === 'MISSING') throw fault('sandbox_gone', sandbox)
    if (was === 'ERROR') throw fault('sandbox_error', sandbox, sandboxes.trouble(sandbox) ?? 'unknown')
    await sandboxes.wake(sandbox)
    return { sandbox, was }
  }

  /** The sandbox a conversation works in, and the folder. */
  async placeOf(id: string): Promise<{ sandbox: string; folder: string; isRunning: boolean }> {
    const { conversations, sandboxes } = this.#parts
    const { workspace } = await conversations.get(id)
    const sandbox = placeOf(await conversations.record(id))
    return { sandbox, folder: workspace.working_dir, isRunning: sandboxes.isRunning(sandbox) }
  }

  /** What it was given, what its folder brings while that can be looked at, and what the user keeps; the first of a name counts. */
  async skills(id: string): Promise<SkillSummary[]> {
    const { conversations, library } = this.#parts
    const { agent } = await conversations.get(id, true)
    const { sandbox, folder, isRunning } = await this.placeOf(id)
    const request = { load_user: true, load_project: isRunning, project_dir: folder }
    const { project, user } = await library.near(request, sandbox)
    const all = [...(agent.agent_context?.skills ?? []), ...project, ...user].map(infoOf)
    const byName = new Map(
      all.toReversed().map(({ name, type, content, triggers }) => [name, { name, type, content, triggers }]),
    )
    return [...byName.values()].reverse()
  }

  /** Those of its order, and those its folder brings as far as they are approved. */
  async hooks(id: string): Promise<HookSummaries> {
    const { conversations, library } = this.#parts
    const { hook_config } = await conversations.get(id)
    const { sandbox, folder, isRunning } = await this.placeOf(id)
    const project = isRunning ? await library.hooks(folder, sandbox) : null
    const hooks = Object.values(hookStages).map(event_type => ({
      event_type,
      matchers: [...(hook_config?.[event_type] ?? []), ...(project?.[event_type] ?? [])].map(({ matcher, hooks }) => ({
        matcher,
        hooks: hooks.map(({ type, command, timeout, async }) => ({ type, command, timeout, async })),
      })),
    }))
    return { hooks: hooks.filter(({ matchers }) => matchers.length > 0) }
  }

  async #show(records: ConversationRecord[], asker: Asker): Promise<(AppConversation | null)[]> {
    const { store, conversations } = this.#parts
    const infos = await conversations.batch(records.map(({ id }) => id))
    const parts = await store.conversationParts(
      records.map(({ no }) => no),
      [APP],
    )
    return records.map((record, i) => {
      const info: ConversationInfo | null | undefined = infos[i]
      return info ? appConversation(info, readAppInfo(parts[i]?.[APP]), this.#lodging(placeOf(record), asker)) : null
    })
  }

  #lodging(id: string, asker: Asker): Lodging {
    const { sandboxes } = this.#parts
    return { id, status: sandboxes.status(id), ...sandboxes.wayIn(id, asker) }
  }
}

const placeOf = ({ sandbox }: ConversationRecord): string => sandbox ?? DEFAULT_SANDBOX

function ignoreMissing(error: unknown): void {
  if ((error as { code?: string }).code !== 'conversation_not_found') throw error
}

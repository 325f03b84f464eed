import type { AppConversationStartRequest } from '../api/app-conversations.ts'
import { fault } from '../api/errors.ts'
import type { Conversations } from '../conversation/conversations.ts'
import { hexUuid } from '../lib/id.ts'
import { Turns } from '../lib/turns.ts'
import { DEFAULT_SANDBOX } from '../sandbox/sandbox.ts'
import type { Sandboxes } from '../sandbox/sandboxes.ts'
import type { SettingsService } from '../settings/settings.ts'
import type { Store } from '../store/store.ts'
import { type Candidate, chooseSandbox, folderFor, specFor } from './placement.ts'
import type { StartRecord, StartTask } from './start-task.ts'

export interface LodgingsParts {
  store: Store
  sandboxes: Sandboxes
  settings: SettingsService
  conversations: Conversations
}

/** Finds a sandbox for each conversation that is started, and lets go of those that nobody uses any more. */
export class Lodgings {
  readonly #parts: LodgingsParts
  /** By task: where somebody is about to move in. */
  readonly #expected = new Map<string, string>()
  /** Of those, the tasks for which it is still being made ready. */
  readonly #preparing = new Set<string>()
  /** Nobody may choose a sandbox while another is being let go of. */
  readonly #turns = new Turns()

  constructor(parts: LodgingsParts) {
    this.#parts = parts
  }

  /** Refuses at once what would only fail later for want of room. */
  async checkRoom(request: AppConversationStartRequest): Promise<void> {
    if (request.sandbox_id !== null) return this.#checkThere(request.sandbox_id)
    const { app } = await this.#parts.settings.full()
    if (app.sandbox_grouping_strategy === 'NO_GROUPING') this.#parts.sandboxes.checkRoom()
  }

  /** Where it will be. A sandbox of its own is named like the conversation, and made later. */
  place(task: StartTask): Promise<Pick<StartRecord, 'sandbox' | 'folder' | 'shared'>> {
    return this.#turns.take('place', async () => {
      const { sandboxes, settings, conversations } = this.#parts
      const { sandbox_id: given, parent_conversation_id: parent, selected_repository } = task.record.request
      const own = hexUuid(task.conversation)
      if (given !== null) this.#checkThere(given)
      const { app } = await settings.full()
      const sandbox = given ?? chooseSandbox(app.sandbox_grouping_strategy, await this.#candidates()) ?? own
      this.expect(task.id, sandbox)
      if (parent !== null) {
        const { workspace } = await conversations.get(parent)
        return { sandbox, folder: workspace.working_dir, shared: true }
      }
      const shared = sandbox !== own && (await this.#residents(sandbox, task.id)) > 0
      const workingDir = sandboxes.has(sandbox)
        ? sandboxes.workingDirOf(sandbox)
        : sandboxes.spec(app.default_sandbox_spec_id ?? undefined).working_dir
      const folder = folderFor(workingDir, { alone: !shared, id: own, repository: selected_repository })
      return { sandbox, folder, shared }
    })
  }

  /** Makes it where it is to be one of its own, and resolves when a command could run in it. */
  async enter({ id, conversation, record }: StartTask): Promise<void> {
    const { sandboxes } = this.#parts
    const sandbox = record.sandbox ?? DEFAULT_SANDBOX
    this.expect(id, sandbox)
    if (sandbox === hexUuid(conversation)) await this.#lodge(sandbox)
    await sandboxes.wake(sandbox)
  }

  /** Has one run again. One that is gone is made anew, without its files, where a conversation still belongs. */
  async resume(sandbox: string): Promise<void> {
    const { store, sandboxes } = this.#parts
    const isGone = !sandboxes.has(sandbox) && !sandboxes.isLodging(sandbox)
    if (isGone && (await store.countConversations({ sandbox })) > 0) await this.#lodge(sandbox)
    await sandboxes.resume(sandbox)
  }

  async #lodge(sandbox: string): Promise<void> {
    const { sandboxes, settings } = this.#parts
    const { app, flat } = await settings.full()
    await sandboxes.lodge(sandbox, specFor(sandboxes.spec(app.default_sandbox_spec_id ?? undefined), flat))
  }

  /** Somebody is on the way there, maybe since before a crash. */
  expect(task: string, sandbox: string): void {
    this.#expected.set(task, sandbox)
    this.#preparing.add(task)
  }

  /** All that was to be done for somebody before they move in is done. */
  prepared(task: string): void {
    this.#preparing.delete(task)
  }

  /** Whether it is being made ready for somebody. */
  isPreparing(sandbox: string): boolean {
    return [...this.#preparing].some(task => this.#expected.get(task) === sandbox)
  }

  /** Whoever was expected is there, or will not come. Returns where that was. */
  arrived(task: string): string | undefined {
    const sandbox = this.#expected.get(task)
    this.#expected.delete(task)
    this.#preparing.delete(task)
    return sandbox
  }

  /** Lets go of a sandbox that was made for conversations, if none is left in it nor on its way. */
  leave(sandbox: string): Promise<void> {
    return this.#turns.take('place', async () => {
      const { sandboxes } = this.#parts
      if (!sandboxes.isLodging(sandbox) || (await this.#residents(sandbox)) > 0) return
      await sandboxes.delete(sandbox).catch(() => undefined)
    })
  }

  /** After a crash: what was left behind between the end of a conversation and that of its sandbox. */
  async tidy(): Promise<void> {
    for (const id of this.#parts.sandboxes.lodgingIds()) await this.leave(id)
  }

  #checkThere(sandbox: string): void {
    if (sandbox !== DEFAULT_SANDBOX && !this.#parts.sandboxes.has(sandbox)) throw fault('sandbox_not_found')
  }

  async #candidates(): Promise<Candidate[]> {
    return Promise.all(
      this.#parts.sandboxes.lodgings().map(async ({ record, createdAt, lastUsed }) => ({
        id: record.id,
        createdAt,
        lastUsed,
        conversations: await this.#residents(record.id),
      })),
    )
  }

  async #residents(sandbox: string, except?: string): Promise<number> {
    const coming = [...this.#expected].filter(([task, id]) => id === sandbox && task !== except)
    return (await this.#parts.store.countConversations({ sandbox })) + coming.length
  }
}

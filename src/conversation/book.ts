import type { Book, Entry, OpenAction, Standing } from '../agent/book.ts'
import { view as viewOf } from '../agent/condense.ts'
import type { Delta } from '../agent/model.ts'
import { fault } from '../api/errors.ts'
import type { ActionEvent, Condensation, Event } from '../api/events.ts'
import { decide } from '../policy/decide.ts'
import { assess } from '../policy/risk.ts'
import type { EventRecord, Store } from '../store/store.ts'
import { readBranch, type Shown } from './branch.ts'
import { unplaced } from './draft.ts'
import type { Feed, Listener } from './feed.ts'
import type { Journal } from './journal.ts'
import { hashOf, isTreeNode, type State } from './state.ts'

export interface BookParts {
  store: Store
  journal: Journal
  feed: Feed
  /** Whether a tool of this name changes nothing. */
  isReadOnly(tool: string): boolean
}

/** How many of the newest events stay at hand: a run may last for days. */
const RECENT = 500

/** One conversation's log as the loop of a run sees it: kept up to date by the feed, whoever appends. */
export class ConversationBook implements Book, Listener {
  readonly #parts: BookParts
  readonly #id: string
  readonly #branch: Event[] = []
  #shown: Event[] = []
  #lastUserMessage: string | null = null
  /** What came before the branch had been read. */
  #early: EventRecord[] | undefined = []
  #leave: () => void

  private constructor(parts: BookParts, id: string) {
    this.#parts = parts
    this.#id = id
    this.#leave = parts.feed.listen(id, this)
  }

  static async open(parts: BookParts, id: string): Promise<ConversationBook> {
    const book = new ConversationBook(parts, id)
    try {
      await book.#read()
    } catch (error) {
      book.close()
      throw error
    }
    return book
  }

  get branch(): readonly Event[] {
    return this.#branch
  }

  get shown(): readonly Event[] {
    return this.#shown
  }

  get lastUserMessage(): string | null {
    return this.#lastUserMessage
  }

  async keep(decideOn: (now: Standing) => Entry): Promise<Standing> {
    const { state } = await this.#parts.journal.transact(this.#id, ({ state }) => {
      const { drafts = [], stands, metrics, learnt } = decideOn(this.#standing(state))
      const condensation = drafts.find(draft => draft.kind === 'Condensation')
      return {
        drafts,
        ...(condensation && { parts: { shown: JSON.stringify(this.#shownAfter(condensation as Condensation)) } }),
        ...((stands || metrics || learnt) && {
          also: after => ({
            ...(stands && { open: after.open.map(one => ({ ...one, stand: stands[one.id] ?? one.stand })) }),
            ...(learnt?.rules?.length && { activated_path_rules: [...after.activated_path_rules, ...learnt.rules] }),
            ...(learnt?.invoked?.length && { invoked_skills: union(after.invoked_skills, learnt.invoked) }),
            ...(metrics && { stats: { usage_to_metrics: { ...after.stats.usage_to_metrics, ...metrics } } }),
          }),
        }),
      }
    })
    return this.#standing(state)
  }

  tell({ content, reasoning }: Delta): void {
    const { feed } = this.#parts
    if (!feed.isHeard(this.#id)) return
    const delta = { content: content ?? null, reasoning_content: reasoning ?? null }
    feed.passing(this.#id, unplaced({ kind: 'StreamingDeltaEvent', source: 'agent', ...delta }))
  }

  events(records: readonly EventRecord[]): void {
    if (this.#early) this.#early.push(...records)
    else for (const record of records) this.#add(record)
  }

  passing(): void {}
  deleted(): void {}

  close(): void {
    this.#leave()
  }

  async #read(): Promise<void> {
    const view = await this.#parts.journal.view(this.#id)
    if (!view) throw fault('conversation_not_found', this.#id)
    const { events, before } = await readBranch(this.#parts.store, view.record, view.state)
    this.#branch.push(...before, ...events)
    const blocked = view.state.blocked_messages
    this.#shown = viewOf(
      events.filter(({ id }) => !(id in blocked)),
      before,
    )
    this.#lastUserMessage = view.state.last_user_message_id
    const early = this.#early ?? []
    this.#early = undefined
    for (const record of early) if (record.seq > view.record.head) this.#add(record)
  }

  #add(record: EventRecord): void {
    const event: Event = JSON.parse(record.json)
    if (isTreeNode(event)) {
      this.#branch.push(event)
      if (this.#branch.length > 2 * RECENT) this.#branch.splice(0, RECENT)
      this.#shown = viewOf([event], this.#shown)
    } else if (event.kind === 'ConversationStateUpdateEvent' && event.key === 'last_user_message_id')
      this.#lastUserMessage = event.value as string
  }

  #shownAfter(condensation: Condensation): Shown {
    return { condensation: condensation.id, ids: viewOf([condensation], this.#shown).map(({ id }) => id) }
  }

  #standing(state: State): Standing {
    const analyzer = state.security_analyzer
    return {
      running: state.execution_status === 'running',
      finished: state.execution_status === 'finished',
      open: state.open,
      blocked: state.blocked_actions,
      metrics: state.stats.usage_to_metrics,
      notes: state.agent_state,
      rules: state.activated_path_rules,
      lastUserMessage: state.last_user_message_id,
      risk: (claimed, readOnly) => (analyzer && !readOnly ? claimed : 'UNKNOWN'),
      allows: actions => {
        const unapproved = actions.filter(action => !isApproved(state.open, action))
        return unapproved.length === 0 || this.#allowed(state, unapproved)
      },
    }
  }

  #allowed(
    { confirmation_policy, security_analyzer, blocked_actions }: State,
    actions: readonly ActionEvent[],
  ): boolean {
    const judged = actions
      .filter(({ id }) => !(id in blocked_actions))
      .map(({ tool_name, action, security_risk }) => ({
        action: action!,
        risk: assess(security_analyzer, {
          toolName: tool_name,
          action: action!,
          claimed: security_risk,
          readOnly: this.#parts.isReadOnly(tool_name),
        }),
      }))
    return decide(confirmation_policy, judged) === 'allow'
  }
}

/** The yes was to this very action: what it does is what was shown. */
const isApproved = (open: readonly OpenAction[], action: ActionEvent): boolean =>
  open.some(one => one.id === action.id && one.stand === 'approved' && one.hash === hashOf(action))

const union = (one: readonly string[], other: readonly string[]): string[] => [...new Set([...one, ...other])]

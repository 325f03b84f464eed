import { batch, computed, type ReadonlySignal, signal } from '@preact/signals'
import { type Followed, follow } from '../../client/index.ts'
import type {
  ActionEvent,
  AgentErrorEvent,
  Event,
  ObservationEvent,
  UserRejectObservation,
} from '../../src/api/events.ts'
import { type Api, BASE, statusOf } from '../api.ts'
import type { Conversation } from '../conversations/conversations.ts'

/** Read at once when somebody scrolls back. */
const PAGE = 100
/** A replayed log changes state many times in a moment: what is true now is read once, after it. */
const SETTLE_MS = 250

/** What the agent is just saying: not in the log yet. */
export interface Draft {
  text: string
  reasoning: string
}

export type Connection = 'connecting' | 'live' | 'lost' | 'gone'

/** One conversation as it is looked at: the newest events, followed live, and older ones as far as somebody went back. */
export interface Session {
  readonly id: string
  readonly conversation: ReadonlySignal<Conversation | undefined>
  /** Why there is none. */
  readonly problem: ReadonlySignal<unknown>
  /** In order, without gaps, from as far back as was asked for to the newest. */
  readonly events: ReadonlySignal<readonly Event[]>
  /** The result of each action among them, by the action's event id. */
  readonly results: ReadonlySignal<ReadonlyMap<string, Event>>
  /** Whether there are events before the first of these. */
  readonly hasEarlier: ReadonlySignal<boolean>
  readonly draft: ReadonlySignal<Draft | undefined>
  readonly connection: ReadonlySignal<Connection>
  /** The actions that wait for a yes or a no. */
  readonly pending: ReadonlySignal<readonly ActionEvent[]>
  readEarlier(): Promise<void>
  /** Goes back until this event is among them; false when there is none. */
  reach(eventId: string): Promise<boolean>
  /** Reads what is true now, after something was asked of the server. */
  refresh(): Promise<void>
  close(): void
}

export function openSession({ api, quiet }: { api: Api; quiet: Api }, id: string): Session {
  const conversation = signal<Conversation>()
  const problem = signal<unknown>()
  const events = signal<readonly Event[]>([])
  const hasEarlier = signal(false)
  const draft = signal<Draft>()
  const connection = signal<Connection>('connecting')
  const controller = new AbortController()
  const params = { conversation_id: id }
  const known = new Set<string>()
  let earlier: string | undefined
  let settling: ReturnType<typeof setTimeout> | undefined

  const results = computed(() => {
    const found = new Map<string, Event>()
    // An error names the call it answers, not the event of the action: ids of calls may come again, the last one is meant.
    const calls = new Map<string, string>()
    for (const event of events.value) {
      if (event.kind === 'ActionEvent') calls.set(event.tool_call_id, event.id)
      else if (isResult(event))
        found.set('action_id' in event ? event.action_id : (calls.get(event.tool_call_id) ?? ''), event)
    }
    return found
  })

  const pending = computed(() =>
    conversation.value?.execution_status === 'waiting_for_confirmation'
      ? events.value.filter(
          (event): event is ActionEvent => event.kind === 'ActionEvent' && !results.value.has(event.id),
        )
      : [],
  )

  async function refresh(via = api): Promise<void> {
    try {
      const next = await via.getConversation({ params, signal: controller.signal })
      batch(() => {
        conversation.value = next
        problem.value = undefined
      })
    } catch (error) {
      if (!controller.signal.aborted) problem.value = error
    }
  }

  function settle(): void {
    clearTimeout(settling)
    settling = setTimeout(() => refresh(quiet), SETTLE_MS)
  }

  function take(arrived: readonly Followed[]): void {
    const added: Event[] = []
    let writing = draft.value
    for (const { event, passing } of arrived) {
      if (event.kind === 'StreamingDeltaEvent') {
        const { content, reasoning_content: reasoning } = event
        writing = {
          text: (writing?.text ?? '') + (content ?? ''),
          reasoning: (writing?.reasoning ?? '') + (reasoning ?? ''),
        }
        continue
      }
      if (event.kind === 'ConversationStateUpdateEvent') stateChanged(event.key, event.value)
      else if (event.source === 'agent') writing = undefined
      if (passing || known.has(event.id)) continue
      known.add(event.id)
      added.push(event)
    }
    batch(() => {
      draft.value = writing
      connection.value = 'live'
      if (added.length > 0) events.value = [...events.value, ...added]
    })
  }

  function stateChanged(key: string, value: unknown): void {
    const status =
      key === 'execution_status' ? value : key === 'full_state' ? (value as Conversation)?.execution_status : undefined
    const current = conversation.value
    if (typeof status === 'string' && current && current.execution_status !== status) {
      conversation.value = { ...current, execution_status: status as Conversation['execution_status'] }
      if (status !== 'running') draft.value = undefined
    }
    settle()
  }

  async function readEarlier(): Promise<void> {
    const page = await api.searchEvents({
      params,
      query: { limit: PAGE, sort_order: 'TIMESTAMP_DESC', ...(earlier && { page_id: earlier }) },
      signal: controller.signal,
    })
    const older = page.items.filter(event => !known.has(event.id)).reverse()
    for (const event of older) known.add(event.id)
    earlier = page.next_page_id ?? undefined
    batch(() => {
      events.value = [...older, ...events.value]
      hasEarlier.value = earlier !== undefined
    })
  }

  /** Pieces come faster than a screen is drawn: what came since the last picture is taken at once. */
  const arrived: Followed[] = []
  function draw(one: Followed): void {
    if (arrived.push(one) > 1) return
    const flush = () => take(arrived.splice(0))
    if (document.visibilityState === 'visible') requestAnimationFrame(flush)
    else setTimeout(flush, 100)
  }

  const watched: typeof fetch = async (input, init) => {
    try {
      const response = await fetch(input, init)
      connection.value = response.ok ? 'live' : 'lost'
      if (response.ok && conversation.value) settle()
      return response
    } catch (error) {
      if (!controller.signal.aborted) connection.value = 'lost'
      throw error
    }
  }

  async function listen(): Promise<void> {
    await Promise.all([refresh(), readEarlier()])
    const after = events.value.at(-1)?.id
    const stream = follow({
      baseUrl: BASE,
      conversation: id,
      fetch: watched,
      signal: controller.signal,
      ...(after && { after }),
    })
    for await (const one of stream) draw(one)
    if (!controller.signal.aborted) connection.value = 'gone'
  }

  listen().catch(error => {
    if (controller.signal.aborted) return
    connection.value = statusOf(error) === 404 ? 'gone' : 'lost'
    problem.value ??= error
  })

  return {
    id,
    conversation,
    problem,
    events,
    results,
    hasEarlier,
    draft,
    connection,
    pending,
    readEarlier,
    async reach(eventId) {
      while (!known.has(eventId) && hasEarlier.value) await readEarlier()
      return known.has(eventId)
    },
    refresh: () => refresh(),
    close() {
      clearTimeout(settling)
      controller.abort()
    },
  }
}

type Result = ObservationEvent | UserRejectObservation | AgentErrorEvent

export const isResult = (event: Event): event is Result =>
  event.kind === 'ObservationEvent' || event.kind === 'UserRejectObservation' || event.kind === 'AgentErrorEvent'

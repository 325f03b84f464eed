import type { Condenser, LLMSummarizingCondenser } from '../api/condenser.ts'
import type { Condensation, Event } from '../api/events.ts'
import { type Batch, batchesOf } from './batches.ts'
import { shownOf } from './summary.ts'

/** Of the context window, what a question may fill: the answer needs room too, and counts of tokens are estimates. */
const WINDOW_SHARE = 0.85
const CHARACTERS_PER_TOKEN = 4
/** As much as a picture costs with most providers. */
const IMAGE_CHARACTERS = 6000
/** One summary takes the place of what is forgotten: fewer are no progress. */
const LEAST_FORGOTTEN = 2

export interface Plan {
  /** The ids of the events that the model is no longer shown. */
  forget: string[]
  /** Those of them that a summary has to tell of, oldest first. */
  summarize: Event[]
  /** What earlier summaries among them said. */
  previousSummary: string | null
  /** Where in the view the summary stands once they are forgotten. */
  offset: number
}

export interface Pressure {
  /** What the view comes to as a question; estimated when it is not known. */
  tokens?: number | undefined
  /** Of the model, in tokens. */
  window?: number | undefined
  /** Whatever its size is: the provider said that it is too long, or a person asked for it. */
  forced?: boolean
  /** How often that was done in vain. */
  attempt?: number
}

/** Who summarises; null where nobody does. Of several in a row the first. */
export function summarizer(condenser: Condenser | null): LLMSummarizingCondenser | null {
  if (condenser?.kind === 'LLMSummarizingCondenser') return condenser
  if (condenser?.kind !== 'PipelineCondenser') return null
  return condenser.condensers.map(summarizer).find(one => one !== null) ?? null
}

/**
 * What to forget of what a model is shown; null when there is no need, or when so little could be forgotten that it would not help. The
 * beginning and the newest part stay, and so do the system prompt and the last word of the user. An action is never parted from its
 * result, nor from those of the same answer. The newest results, which the model may not have seen, go last: at a second attempt.
 */
export function plan(shown: readonly Event[], condenser: Condenser | null, pressure: Pressure): Plan | null {
  const settings = summarizer(condenser)
  const share = settings && shareToKeep(shown, settings, pressure)
  if (!share) return null
  const { head, tail } = edges(shown, settings, share, pressure.attempt ?? 0)
  const user = shown.findLast(event => event.kind === 'MessageEvent' && event.source === 'user')
  const stays = (event: Event, i: number) =>
    i < head || i >= tail || event === user || event.kind === 'SystemPromptEvent'
  const forgotten = shown.filter((event, i) => !stays(event, i))
  if (forgotten.length < Math.max(LEAST_FORGOTTEN, settings.minimum_progress * shown.length)) return null
  const summaries = forgotten.filter(event => event.kind === 'CondensationSummaryEvent')
  return {
    forget: forgotten.map(({ id }) => id),
    summarize: forgotten.filter(event => event.kind !== 'CondensationSummaryEvent'),
    previousSummary: summaries.map(({ summary }) => summary).join('\n\n') || null,
    offset: tail - forgotten.length,
  }
}

/** What is to be left, in events and as a share of the size; null when nothing has to go. */
interface Share {
  events: number
  size: number
}

function shareToKeep(shown: readonly Event[], settings: LLMSummarizingCondenser, pressure: Pressure): Share | null {
  const { tokens, window = Infinity, forced = false, attempt = 0 } = pressure
  const limit = Math.min(settings.max_tokens ?? Infinity, window * WINDOW_SHARE)
  const size = tokens ?? shown.reduce((sum, event) => sum + sizeOf(event, settings), 0) / CHARACTERS_PER_TOKEN
  const isLong = shown.length > settings.max_size
  if (!forced && !isLong && size <= limit) return null
  const scale = settings.hard_context_reset_context_scaling ** attempt
  const events = isLong ? settings.max_size / 2 : forced ? shown.length / 2 : shown.length
  const share = size > limit ? limit / size / 2 : forced ? 0.5 : 1
  return { events: Math.floor(events * scale), size: share * scale }
}

/** What a model is shown of an event, in characters, about. */
function sizeOf(event: Event, { llm }: LLMSummarizingCondenser): number {
  const parts = shownOf(event)
  const size = parts.reduce((sum, part) => sum + (part.type === 'image' ? IMAGE_CHARACTERS : part.text.length), 0)
  return event.kind === 'SystemPromptEvent' ? size : Math.min(size, llm.max_message_chars)
}

/** Where the beginning that stays ends, and where the end that stays begins: never inside of a batch. */
function edges(
  shown: readonly Event[],
  settings: LLMSummarizingCondenser,
  share: Share,
  attempt: number,
): { head: number; tail: number } {
  const batches = batchesOf(shown)
  const cuts = cutsOf(shown, batches)
  const mayHead = Math.min(settings.keep_first, Math.floor(share.events / 2))
  const head = cuts.findLast(cut => cut <= mayHead) ?? 0
  const byCount = shown.length - Math.max(0, share.events - head - 1)
  const wanted = Math.max(byCount, tailBySize(shown, settings, share.size))
  const most = Math.min(cuts.find(cut => cut >= wanted) ?? shown.length, news(shown, batches.at(-1), attempt))
  return { head, tail: Math.max(head, cuts.findLast(cut => cut <= most) ?? 0) }
}

/** Where that begins which must stay: actions that may yet get a result, and at first whatever the model has not answered to. */
function news(shown: readonly Event[], batch: Batch | undefined, attempt: number): number {
  const spoken = shown.findLastIndex(event => event.kind === 'MessageEvent' && event.source === 'agent')
  const isNew = batch !== undefined && batch.last > spoken
  return isNew && (attempt === 0 || !batch.isAnswered) ? batch.first : shown.length
}

/** Where the last events begin that together are no more than a share of the whole. */
function tailBySize(shown: readonly Event[], settings: LLMSummarizingCondenser, share: number): number {
  if (share >= 1) return 0
  const sizes = shown.map(event => sizeOf(event, settings))
  let room = share * sizes.reduce((sum, size) => sum + size, 0)
  for (let i = shown.length - 1; i >= 0; i--) {
    room -= sizes[i]!
    if (room < 0) return i + 1
  }
  return 0
}

/** The places between events, both ends included, that no batch reaches across. */
function cutsOf(shown: readonly Event[], batches: readonly Batch[]): number[] {
  const reach = shown.map((_, i) => i + 1)
  for (const { first, last } of batches) reach[first] = Math.max(reach[first]!, last + 1)
  const cuts = [0]
  let end = 0
  for (let i = 0; i < shown.length; i++) {
    end = Math.max(end, reach[i]!)
    if (end === i + 1) cuts.push(end)
  }
  return cuts
}

const SHOWN: ReadonlySet<Event['kind']> = new Set<Event['kind']>([
  'SystemPromptEvent',
  'MessageEvent',
  'ActionEvent',
  'ObservationEvent',
  'AgentErrorEvent',
  'UserRejectObservation',
  'CondensationSummaryEvent',
])

/** What a model is shown of a branch, after its condensations. Goes on from what was shown of an earlier part of it. */
export function view(events: readonly Event[], before: readonly Event[] = []): Event[] {
  let shown = [...before]
  for (const event of events) {
    if (event.kind === 'Condensation') shown = condensed(shown, event)
    else if (SHOWN.has(event.kind)) shown.push(event)
  }
  return shown
}

function condensed(shown: readonly Event[], { id, timestamp, ...said }: Condensation): Event[] {
  const forgotten = new Set(said.forgotten_event_ids)
  const left = shown.filter(event => !forgotten.has(event.id))
  if (said.summary == null || said.summary_offset == null) return left
  const summary: Event = {
    kind: 'CondensationSummaryEvent',
    id: `${id}-summary`,
    timestamp,
    source: 'environment',
    summary: said.summary,
  }
  return left.toSpliced(said.summary_offset, 0, summary)
}

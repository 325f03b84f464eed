import type { BashCommand, BashEvent, BashOutput, ExecuteBashRequest } from '../api/bash.ts'
import type { Feed } from '../conversation/feed.ts'
import { canonicalUuid, hexUuid, newId } from '../lib/id.ts'
import { formatUtc, type Micros, now } from '../lib/time.ts'
import type { BashQuery, BashRecord, NewBashEvent, Store } from '../store/store.ts'

/** What is remembered of one sandbox's commands: days of use by people and programs, and a disk that hardly notices. */
const KEPT_EVENTS = 10_000
const KEPT_CHARACTERS = 256 * 1024 * 1024
const KEPT_MICROS = 30 * 24 * 3600 * 1e6

/** A page is cut short rather than made larger than this: it is one text in memory, and one answer. */
const PAGE_CHARACTERS = 32 * 1024 * 1024

export type BashFilters = Omit<BashQuery, 'sandbox' | 'limit' | 'characters' | 'backward' | 'from' | 'to'>

/** What was run in each sandbox and what it printed, in order. Told once it is durable. */
export class BashLog {
  readonly #store: Store
  readonly #feed: Feed<BashRecord>
  #last: Micros = 0

  constructor(store: Store, feed: Feed<BashRecord>) {
    this.#store = store
    this.#feed = feed
  }

  async command(sandbox: string, { command, cwd, timeout }: ExecuteBashRequest): Promise<BashCommand> {
    const at = this.#clock()
    const event: BashCommand = { ...named(at), command, cwd, timeout, kind: 'BashCommand' }
    await this.#append(sandbox, { kind: event.kind, id: event.id, command: event.id, order: -1, at, json: text(event) })
    return event
  }

  /** An output with an exit code is the last one of its command. */
  async output(
    sandbox: string,
    said: Pick<BashOutput, 'command_id' | 'order' | 'exit_code' | 'stdout' | 'stderr'>,
  ): Promise<BashOutput> {
    const at = this.#clock()
    const { command_id, order, exit_code, stdout, stderr } = said
    const event: BashOutput = {
      ...named(at),
      command_id,
      order,
      exit_code,
      stdout: stdout || null,
      stderr: stderr || null,
      kind: 'BashOutput',
    }
    await this.#append(sandbox, {
      ...{ kind: event.kind, id: event.id, command: command_id, order, at, json: text(event) },
      ...(exit_code !== null && { last: true }),
    })
    return event
  }

  /** One page, as the JSON texts of its events. */
  async search(
    sandbox: string,
    filters: BashFilters,
    page: { id: string | null; limit: number; backward: boolean },
  ): Promise<{ items: string[]; next: string | null }> {
    const [start] = page.id ? await this.#store.bashById(sandbox, [known(page.id)]) : []
    const query: Omit<BashQuery, 'limit'> = { sandbox, ...filters, backward: page.backward }
    if (start) query[page.backward ? 'to' : 'from'] = start.seq
    const records = await this.#store.readBash({ ...query, limit: page.limit + 1, characters: PAGE_CHARACTERS })
    // One event may be a page of its own: then only a second look tells what follows.
    if (records.length === 1) records.push(...(await this.#store.readBash({ ...query, limit: 2 })).slice(1))
    const length = records.reduce((sum, { json }) => sum + json.length, 0)
    const isCut = records.length <= page.limit && length >= PAGE_CHARACTERS
    const items = records.slice(0, isCut ? -1 : page.limit)
    return { items: items.map(legible), next: records[items.length]?.id ?? null }
  }

  /** Aligned with `ids`; as JSON texts. */
  async byId(sandbox: string, ids: string[]): Promise<(string | undefined)[]> {
    const records = await this.#store.bashById(sandbox, ids.map(known))
    return records.map(record => record && legible(record))
  }

  /** What follows a position, up to so many events or characters. */
  async after(sandbox: string, seq: number, limit: number, characters: number): Promise<BashRecord[]> {
    const records = await this.#store.readBash({ sandbox, from: seq + 1, limit, characters })
    return records.map(record => ({ ...record, json: legible(record) }))
  }

  head(sandbox: string): Promise<number> {
    return this.#store.bashHead(sandbox)
  }

  async has(sandbox: string, command: string): Promise<boolean> {
    const [record] = await this.#store.bashById(sandbox, [command])
    return record?.kind === 'BashCommand'
  }

  clear(sandbox: string): Promise<number> {
    return this.#store.clearBash(sandbox)
  }

  /** Commands whose end was never recorded, and the place that it would have among their outputs. */
  async unended(): Promise<{ sandbox: string; id: string; order: number }[]> {
    const commands = await this.#store.runningBash()
    return Promise.all(
      commands.map(async ({ sandbox, id }) => {
        const query = { sandbox, command: id, kind: 'BashOutput', limit: 1, backward: true }
        const [newest] = await this.#store.readBash(query)
        return { sandbox, id, order: (newest?.order ?? -1) + 1 }
      }),
    )
  }

  async #append(sandbox: string, event: NewBashEvent): Promise<void> {
    const keep = { events: KEPT_EVENTS, characters: KEPT_CHARACTERS, since: event.at - KEPT_MICROS }
    const seq = await this.#store.appendBash({ sandbox, events: [event], keep })
    this.#feed.events(sandbox, [{ ...event, sandbox, seq, last: event.last ?? false }])
  }

  /** Strictly increasing, so that times tell events apart. */
  #clock(): Micros {
    this.#last = Math.max(now(), this.#last + 1)
    return this.#last
  }
}

const text = (event: BashEvent): string => JSON.stringify(event)

const named = (at: Micros) => ({ id: hexUuid(newId()), timestamp: formatUtc(at) })

/** An id as it is stored, however it was written. */
const known = (id: string): string => hexUuid(canonicalUuid(id) ?? id)

/** The event's JSON; for one that did not survive on disk, what is known of it. */
function legible({ damaged, json, kind, id, at, command, order, last }: BashRecord): string {
  if (!damaged) return json
  const why = 'What stood here is damaged on disk'
  const common = { id, timestamp: formatUtc(at) }
  if (kind === 'BashCommand') return text({ ...common, command: `# ${why}`, cwd: null, timeout: 0, kind })
  const exit_code = last ? -1 : null
  return text({ ...common, command_id: command, order, exit_code, stdout: null, stderr: why, kind })
}

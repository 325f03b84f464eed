import assert from 'node:assert/strict'
import type { BashCommand, BashEvent, BashOutput } from '../../src/api/bash.ts'
import type { TestServer } from './server.ts'
import { until } from './wait.ts'

type Place = Pick<TestServer, 'client'>
export interface BashOptions {
  cwd?: string
  timeout?: number
}

export const execute = ({ client }: Place, command: string, more: BashOptions = {}): Promise<BashOutput> =>
  client.executeBashCommand({ body: { command, ...more } })

export const start = ({ client }: Place, command: string, more: BashOptions = {}): Promise<BashCommand> =>
  client.startBashCommand({ body: { command, ...more } })

/** What a command that must succeed printed. */
export async function sh(place: Place, command: string): Promise<string> {
  const { exit_code, stdout, stderr } = await execute(place, command)
  assert.equal(exit_code, 0, `${command}: ${stderr}`)
  return stdout ?? ''
}

/** Asks as the Python client does: every new output after the last known one, one page at a time, none of them twice. */
export class Poller {
  readonly outputs: BashOutput[] = []
  readonly #place: Place
  readonly #command: string
  #pages = 0
  /** The most outputs that one answer had. */
  largest = 0

  constructor(place: Place, { id }: BashCommand) {
    this.#place = place
    this.#command = id
  }

  async poll(): Promise<BashOutput | undefined> {
    const { items } = await this.#place.client.searchBashEvents({
      query: {
        command_id__eq: this.#command,
        sort_order: 'TIMESTAMP',
        limit: 100,
        kind__eq: 'BashOutput',
        ...(this.outputs.length > 0 && { order__gt: this.outputs.at(-1)!.order }),
      },
    })
    this.#pages += 1
    this.largest = Math.max(this.largest, items.length)
    for (const output of items as BashOutput[]) {
      assert.equal(output.command_id, this.#command)
      assert.equal(output.order, this.outputs.length)
      assert.ok(!this.outputs.some(({ id }) => id === output.id), 'an event came twice')
      this.outputs.push(output)
    }
    return this.outputs.find(({ exit_code }) => exit_code !== null)
  }

  ended(ms?: number): Promise<BashOutput> {
    return until('the command ended', () => this.poll(), ms)
  }

  get stdout(): string {
    return this.outputs.map(({ stdout }) => stdout ?? '').join('')
  }
}

/** The whole log, page by page. */
export async function allEvents({ client }: Place, limit = 100): Promise<BashEvent[]> {
  const events: BashEvent[] = []
  let page_id: string | null = null
  do {
    const page: { items: BashEvent[]; next_page_id: string | null } = await client.searchBashEvents({
      query: { limit, page_id },
    })
    events.push(...page.items)
    page_id = page.next_page_id
  } while (page_id)
  return events
}

/** The most memory a process ever had, in bytes. */
export const peakMemory = (status: string): number => Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024

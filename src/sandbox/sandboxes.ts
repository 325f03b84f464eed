import { randomBytes } from 'node:crypto'
import { fault } from '../api/errors.ts'
import type { ExposedUrl, SandboxInfo, SandboxReport, SandboxSpecInfo, SandboxStatus } from '../api/sandboxes.ts'
import { formatUtc, now } from '../lib/time.ts'
import type { Vault } from '../policy/secrets.ts'
import type { Refusals } from './egress/refusals.ts'
import type { Keeper } from './keeper.ts'
import type { Kept } from './kept.ts'
import { START_WAIT_MS } from './limits.ts'
import { portLabel, readPortLabel } from './ports.ts'
import { DEFAULT_SANDBOX, type Sandbox } from './sandbox.ts'
import { limitsOf, type SandboxSpec } from './specs.ts'

export interface SandboxesParts {
  keeper: Keeper
  /** The first is the default. Never empty. */
  specs: readonly [SandboxSpec, ...SandboxSpec[]]
  vault: Vault
  refusals: Refusals
}

/** Who asks, as far as an answer depends on it. */
export interface Asker {
  /** Whether credentials may be told. */
  trusted: boolean
  /** Where they reach this server: `http://localhost:8000`. */
  origin: string
  /** The host name of which the sites of opened ports are a part, with its port. */
  portsHost: string
  /** Their client refuses the address of a server that has a path. */
  pathless: boolean
}

/** Ports that clients of this interface expect to find named. */
const WORKERS = [
  ['WORKER_1', 8011],
  ['WORKER_2', 8012],
] as const

/** Sandboxes as they are managed over the API, and the way into them. */
export class Sandboxes {
  readonly #parts: SandboxesParts
  readonly #since = now()
  /** By the key: the sandbox it opens. Keys are derived from ids, so none is ever forgotten. */
  readonly #keys = new Map<string, string>()

  constructor(parts: SandboxesParts) {
    this.#parts = parts
  }

  /** The cursor is an offset, as clients expect; what is not one is the beginning. */
  search({ page_id, limit }: { page_id: string | null; limit: number }, asker: Asker) {
    return paged(this.#parts.keeper.all(), page_id, limit, kept => this.#info(kept, asker))
  }

  batch(ids: string[], asker: Asker): (SandboxInfo | null)[] {
    return ids.map(id => {
      const kept = this.#parts.keeper.find(id)
      return kept ? this.#info(kept, asker) : null
    })
  }

  async start(specId: string | undefined, asker: Asker): Promise<SandboxInfo> {
    const { keeper } = this.#parts
    const id = randomBytes(10).toString('hex')
    const kept = await keeper.add(id, this.spec(specId))
    await Promise.race([keeper.settle(id), wait(START_WAIT_MS)]).catch(() => undefined)
    return this.#info(kept, asker)
  }

  /** For a conversation: made under this id unless it is there, and gone with the last conversation in it. */
  async lodge(id: string, spec: SandboxSpec): Promise<void> {
    if (!this.#parts.keeper.find(id)) await this.#parts.keeper.add(id, spec, { lodging: true })
  }

  /** Those that were made for conversations and run. */
  lodgings(): Kept[] {
    const { keeper } = this.#parts
    return keeper.all().filter(kept => kept.record.lodging && keeper.status(kept) === 'RUNNING')
  }

  lodgingIds(): string[] {
    return this.#parts.keeper.all().flatMap(({ record }) => (record.lodging ? [record.id] : []))
  }

  isLodging(id: string): boolean {
    return this.#parts.keeper.find(id)?.record.lodging === true
  }

  /** Refuses when one more may not run. */
  checkRoom(): void {
    this.#parts.keeper.checkLimit('')
  }

  /** The way in, for somebody who was asked to go there: one that a person paused is woken too. */
  async wake(id: string): Promise<Sandbox> {
    const { keeper } = this.#parts
    const kept = keeper.find(id)
    // Also one that is about to be paused, and still runs.
    if (kept?.record.want === 'paused' && keeper.status(kept) !== 'MISSING') await keeper.resume(id)
    return this.reach(id)
  }

  /** The default one is made when it is first used. */
  status(id: string): SandboxStatus {
    const kept = this.#parts.keeper.find(id)
    if (!kept) return id === DEFAULT_SANDBOX ? 'PAUSED' : 'MISSING'
    return this.#parts.keeper.status(kept)
  }

  /** What is wrong with it, or takes long. */
  trouble(id: string): string | null {
    const kept = this.#parts.keeper.find(id)
    return kept ? (kept.record.failure ?? kept.detail) : null
  }

  /** Where its API is, and what opens it: only while it runs, and the key only for those who have one. */
  wayIn(id: string, asker: Asker): { url: string | null; key: string | null } {
    if (!this.isRunning(id)) return { url: null, key: null }
    return { url: urlOf(id, asker), key: asker.trusted ? this.#key(id) : null }
  }

  pause(id: string): Promise<void> {
    return this.#parts.keeper.pause(id)
  }

  resume(id: string): Promise<void> {
    return this.#parts.keeper.resume(id)
  }

  async delete(id: string): Promise<void> {
    await this.#parts.keeper.remove(id)
    this.#parts.refusals.forget(id)
  }

  async report(id: string): Promise<SandboxReport> {
    const { keeper, refusals } = this.#parts
    const kept = keeper.find(id)
    if (!kept) throw fault('sandbox_not_found')
    const usage = keeper.usage(id)
    const { memoryBytes, diskBytes, processes, cpus } = limitsOf(kept.record.spec)
    return {
      limits: { memory_bytes: memoryBytes, disk_bytes: diskBytes, processes, cpus },
      egress: { mode: kept.record.spec.network, hosts: kept.record.spec.hosts },
      usage: usage
        ? { memory_bytes: usage.memoryBytes, disk_bytes: usage.diskBytes, processes: usage.processes }
        : null,
      logs: await keeper.logs(id),
      refused: refusals.of(id).map(({ host, port, why, command = null, count, at }) => {
        return { host, port, why, command, count, at: formatUtc(at * 1000) }
      }),
    }
  }

  /** The address of a port, whether or not anything listens there yet. */
  portUrl(id: string, port: number, asker: Asker): string {
    if (!this.#parts.keeper.find(id)) throw fault('sandbox_not_found')
    return this.#portUrl(id, port, asker)
  }

  /** What the label of a host name leads to. */
  portOf(label: string): { sandbox: string; port: number } | undefined {
    return readPortLabel(label, text => this.#sign(text))
  }

  specs({ page_id, limit }: { page_id: string | null; limit: number }) {
    return paged(this.#parts.specs, page_id, limit, spec => this.#specInfo(spec))
  }

  batchSpecs(ids: string[]): (SandboxSpecInfo | null)[] {
    return ids.map(id => {
      const spec = this.#parts.specs.find(spec => spec.id === id)
      return spec ? this.#specInfo(spec) : null
    })
  }

  /** Where a request acts: woken or made as needed. Only a person's own pause of a named one stands in the way. */
  async reach(id = DEFAULT_SANDBOX): Promise<Sandbox> {
    const { keeper, specs } = this.#parts
    const kept = keeper.find(id)
    if (!kept && id !== DEFAULT_SANDBOX) throw fault('sandbox_not_found')
    if (!kept) await keeper.add(id, specs[0])
    else if (kept.record.want === 'paused' && !kept.record.idle && id !== DEFAULT_SANDBOX)
      throw fault('sandbox_unavailable', id, 'paused: resume it first')
    // Made anew under the hands of somebody who only wants to use it, it would look as if their work had never been.
    else if (keeper.status(kept) === 'MISSING' && id !== DEFAULT_SANDBOX)
      throw fault('sandbox_unavailable', id, 'missing: its files are gone. Resuming it starts it anew, without them')
    if (!keeper.isReady(id)) await keeper.resume(id)
    return keeper.sandbox(id)
  }

  /** Where its commands start, whether or not it runs. */
  workingDirOf(id: string): string {
    const { keeper, specs } = this.#parts
    return (keeper.find(id)?.record.spec ?? specs[0]).working_dir
  }

  /** The default sandbox shows other folders from now on: it starts anew as soon as nobody is disturbed by that. */
  renew(): void {
    if (this.#parts.keeper.find(DEFAULT_SANDBOX)) this.#parts.keeper.renew(DEFAULT_SANDBOX)
  }

  /** The sandbox this key opens. */
  scopeOf(key: string): string | undefined {
    for (const { record } of this.#parts.keeper.all()) this.#keys.set(this.#key(record.id), record.id)
    const id = this.#keys.get(key)
    return id !== undefined && this.has(id) ? id : undefined
  }

  has(id: string): boolean {
    const kept = this.#parts.keeper.find(id)
    return kept !== undefined && kept.record.want !== 'gone'
  }

  isRunning(id: string): boolean {
    const kept = this.#parts.keeper.find(id)
    return kept !== undefined && this.#parts.keeper.status(kept) === 'RUNNING'
  }

  /** The default one unless named. */
  spec(id: string | undefined): SandboxSpec {
    const { specs } = this.#parts
    const spec = id === undefined ? specs[0] : specs.find(spec => spec.id === id)
    if (!spec) throw fault('sandbox_spec_not_found', id ?? '')
    return spec
  }

  #info(kept: Kept, asker: Asker): SandboxInfo {
    const { record, createdAt, detail } = kept
    const status = this.#parts.keeper.status(kept)
    const running = status === 'RUNNING'
    return {
      id: record.id,
      created_by_user_id: null,
      sandbox_spec_id: record.spec.id,
      status,
      session_api_key: running && asker.trusted ? this.#key(record.id) : null,
      exposed_urls: running ? this.#urls(record.id, asker) : null,
      created_at: formatUtc(createdAt),
      status_detail: record.failure ?? detail,
    }
  }

  #urls(id: string, asker: Asker): ExposedUrl[] {
    const port = Number(new URL(asker.origin).port) || (asker.origin.startsWith('https:') ? 443 : 80)
    return [
      { name: 'AGENT_SERVER', url: urlOf(id, asker), port },
      ...WORKERS.map(([name, port]) => ({ name, url: this.#portUrl(id, port, asker), port })),
    ]
  }

  #portUrl(id: string, port: number, { origin, portsHost }: Asker): string {
    return `${new URL(origin).protocol}//${portLabel(id, port, text => this.#sign(text))}.${portsHost}`
  }

  #specInfo({ id, command, env, working_dir }: SandboxSpec): SandboxSpecInfo {
    return { id, command: command ?? null, created_at: formatUtc(this.#since), initial_env: env, working_dir }
  }

  #key(id: string): string {
    return this.#parts.vault.derive(`key of sandbox ${id}`)
  }

  /** Lower-case letters and digits: what a host name can hold. */
  #sign(text: string): string {
    return Buffer.from(this.#parts.vault.derive(text), 'base64url').toString('hex')
  }
}

/** Who brings the sandbox's key is in it under our own address too. */
const urlOf = (id: string, { origin, pathless, trusted }: Asker): string =>
  pathless && trusted ? origin : `${origin}/sandboxes/${id}`

function paged<T, U>(all: readonly T[], cursor: string | null, limit: number, show: (item: T) => U) {
  const start = /^\d{1,9}$/.test(cursor ?? '') ? Number(cursor) : 0
  const end = start + limit
  return { items: all.slice(start, end).map(show), next_page_id: end < all.length ? String(end) : null }
}

const wait = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms).unref())

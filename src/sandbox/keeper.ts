import { fault } from '../api/errors.ts'
import type { SandboxStatus } from '../api/sandboxes.ts'
import type { Log } from '../lib/log.ts'
import { now } from '../lib/time.ts'
import type { Store } from '../store/store.ts'
import { type Entry, isStrange, type Kept, newEntry, unreadable } from './kept.ts'
import { due, failureOf, nextStep, type SandboxRecord, type Step, statusOf } from './lifecycle.ts'
import { MEASURE_MS, ORPHANS_MS, SWEEP_MS } from './limits.ts'
import type { Backend, Order, Sandbox, Usage } from './sandbox.ts'
import { limitsOf, type SandboxSpec } from './specs.ts'

export interface KeeperParts {
  store: Store
  backendOf(spec: SandboxSpec): Backend
  /** All there are, for what nobody remembers. */
  backends(): Backend[]
  orderOf(record: SandboxRecord): Promise<Order>
  /** Sandboxes that may run at the same time. */
  limit: number
  /** Lets what works in a sandbox come to rest before it is frozen. */
  rest(id: string): Promise<void>
  /** It is gone for good. */
  onRemoved(id: string): Promise<void>
  /** Whether something works in it, beside commands. */
  isBusy(id: string): Promise<boolean>
  /** Whether it is being made ready for somebody: frozen in the middle of that, it would run out of its time. */
  isPreparing(id: string): boolean
  log: Log
}

/**
 * Keeps sandboxes as they are wanted. What is wanted is written down first; then, and again after every crash, what is there is
 * compared with it and the difference made up for, one step at a time (lifecycle.ts).
 */
export class Keeper {
  readonly #parts: KeeperParts
  readonly #entries = new Map<string, Entry>()
  #sweeps: NodeJS.Timeout | undefined
  #orphans: NodeJS.Timeout | undefined
  #closed = false

  constructor(parts: KeeperParts) {
    this.#parts = parts
  }

  /** Takes up what an earlier server left, and removes what nobody remembers. Resolves before that is done. */
  async open(): Promise<void> {
    for (const { id, createdAt, version, json, damaged } of await this.#parts.store.sandboxes()) {
      const record: SandboxRecord = damaged ? unreadable(id) : JSON.parse(json)
      this.#entries.set(id, newEntry(record, createdAt, version))
    }
    this.#orphans = setTimeout(() => void this.#removeOrphans(), ORPHANS_MS).unref()
    for (const id of this.#entries.keys()) void this.settle(id).catch(() => undefined)
    this.#sweeps = setInterval(() => void this.sweep(), SWEEP_MS).unref()
  }

  /** Newest first. */
  all(): Kept[] {
    return [...this.#entries.values()].sort((a, b) => b.createdAt - a.createdAt)
  }

  find(id: string): Kept | undefined {
    return this.#entries.get(id)
  }

  status(kept: Kept): SandboxStatus {
    return statusOf(kept.record, kept.seen)
  }

  /** Whether a command can run in it this moment. */
  isReady(id: string): boolean {
    const entry = this.#entries.get(id)
    return entry?.adopted === true && this.status(entry) === 'RUNNING'
  }

  /** Written down when this resolves; being made from then on. */
  async add(id: string, spec: SandboxSpec, also: Pick<SandboxRecord, 'lodging'> = {}): Promise<Kept> {
    this.checkLimit(id)
    const record: SandboxRecord = { id, spec, want: 'running', idle: false, made: false, failure: null, ...also }
    const entry = newEntry(record, now(), 0)
    // Before it is durable: two at once must not both find room.
    this.#entries.set(id, entry)
    const written = this.#change(entry, {})
    entry.turn = written
    try {
      await written
    } catch (error) {
      this.#entries.delete(id)
      throw error
    }
    void this.settle(id).catch(() => undefined)
    return entry
  }

  async pause(id: string, idle = false): Promise<void> {
    const entry = this.#entry(id)
    if (entry.record.want === 'gone') throw fault('sandbox_not_found')
    if (entry.record.want === 'running') {
      this.#checkPrepared(id)
      await this.#parts.rest(id)
      // Somebody may have come meanwhile.
      this.#checkPrepared(id)
      await this.#want(entry, { want: 'paused', idle })
    } else if (entry.record.idle && !idle) await this.#want(entry, { idle: false })
    await this.settle(id)
  }

  #checkPrepared(id: string): void {
    if (this.#parts.isPreparing(id)) throw fault('sandbox_preparing', id)
  }

  /** Resolves when a command could run in it. Rejects with why none can. */
  async resume(id: string): Promise<void> {
    const entry = this.#entry(id)
    if (entry.record.want === 'gone') throw fault('sandbox_not_found')
    const { want, failure } = entry.record
    const lost = this.status(entry) === 'MISSING'
    if (want !== 'running' || failure !== null || lost) {
      if (want !== 'running' || failure !== null) this.checkLimit(id)
      await this.#want(entry, { want: 'running', idle: false, failure: null, ...(lost && { made: false }) })
    }
    await this.settle(id)
    if (entry.record.failure !== null) throw fault('sandbox_failed', entry.record.failure)
    if (this.#entry(id).record.want === 'gone') throw fault('sandbox_not_found')
    if (this.status(entry) === 'MISSING') throw fault('sandbox_failed', LOST)
  }

  async remove(id: string): Promise<void> {
    const entry = this.#entry(id)
    if (entry.record.want !== 'gone') await this.#want(entry, { want: 'gone' })
    await this.settle(id)
  }

  /** The way in, for somebody who has something to do there: the same one for as long as it lives. Counts as use. */
  sandbox(id: string): Sandbox {
    const entry = this.#entry(id)
    const backend = this.#parts.backendOf(entry.record.spec)
    const sandbox = backend.sandbox(id)
    entry.lastUsed = Date.now()
    entry.way ??= {
      id,
      home: sandbox.home,
      workingDir: sandbox.workingDir,
      ...(sandbox.roots && { roots: sandbox.roots }),
      exec: async command => {
        entry.commands += 1
        const over = () => {
          entry.commands -= 1
          entry.lastUsed = Date.now()
          void this.#renew(entry).catch(() => undefined)
        }
        // It may be starting anew this moment.
        await entry.turn
        try {
          const started = await backend.sandbox(id).exec(command)
          void started.exit.then(over)
          return started
        } catch (error) {
          over()
          throw error
        }
      },
      connect: port => {
        entry.lastUsed = Date.now()
        return backend.sandbox(id).connect(port)
      },
    }
    return entry.way
  }

  /** Has it start anew, over the same files, with what it is given by now: as soon as no command is running in it. */
  renew(id: string): void {
    const entry = this.#entry(id)
    entry.stale = true
    void this.#renew(entry).catch(() => undefined)
  }

  async #renew(entry: Entry): Promise<void> {
    if (!entry.stale || entry.commands > 0) return
    entry.stale = false
    const { id, spec } = entry.record
    entry.turn = entry.turn.then(async () => {
      if (entry.seen !== 'running') return
      // From here on nobody may take it for ready.
      entry.seen = 'stopped'
      await this.#parts.backendOf(spec).stop(id)
    })
    await this.settle(id)
  }

  usage(id: string): Usage | undefined {
    return this.#entries.get(id)?.usage
  }

  logs(id: string): Promise<string> {
    return this.#parts.backendOf(this.#entry(id).record.spec).logs(id)
  }

  /** One after the other for each sandbox: looks, and does what is missing, until there is nothing left to do. */
  settle(id: string): Promise<void> {
    const entry = this.#entry(id)
    const turn = entry.turn.then(() => this.#settle(entry))
    entry.turn = turn.catch(() => undefined)
    return turn
  }

  /** What time asks for, and what has changed without our doing. */
  async sweep(): Promise<void> {
    for (const [id, entry] of this.#entries) {
      if (this.#closed) return
      try {
        const busy = entry.commands > 0 || this.#parts.isPreparing(id) || (await this.#parts.isBusy(id))
        const asked = due(entry.record, { lastUsed: entry.lastUsed, busy }, Date.now())
        if (asked === 'pause') await this.pause(id, true)
        else if (asked === 'delete') await this.remove(id)
        else await this.settle(id)
        await this.#measure(entry)
      } catch (error) {
        this.#parts.log.warn('sandbox', { sandbox: id, error: (error as Error).message })
      }
    }
  }

  /** What is there stays; nothing is started any more. */
  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#sweeps)
    clearTimeout(this.#orphans)
    for (const { abort } of this.#entries.values()) abort.abort()
    await Promise.all([...this.#entries.values()].map(({ turn }) => turn))
  }

  async #settle(entry: Entry): Promise<void> {
    const { id } = entry.record
    const backend = this.#parts.backendOf(entry.record.spec)
    while (!this.#closed && this.#entries.get(id) === entry) {
      const sight = await backend.look(id)
      entry.seen = sight.state
      const failure = failureOf(entry.record, sight)
      if (failure !== undefined) await this.#change(entry, { failure })
      const step = nextStep(entry.record, sight.state) ?? (isStrange(entry) ? 'start' : undefined)
      if (!step) return
      await this.#carryOut(entry, backend, step)
    }
  }

  async #carryOut(entry: Entry, backend: Backend, step: Step): Promise<void> {
    const { id } = entry.record
    const { signal } = entry.abort
    const began = performance.now()
    try {
      if (step === 'start') await this.#start(entry, backend, signal)
      else if (step === 'resume') await backend.resume(id)
      else if (step === 'pause') await backend.pause(id)
      else if (step === 'remove') await backend.remove(id)
      else await this.#forget(entry, backend)
      if (step !== 'remove') entry.detail = null
    } catch (error) {
      const reason = (error as Error).message
      this.#parts.log.warn('sandbox', { sandbox: id, step, error: reason })
      entry.detail = reason
      if (step !== 'start' && step !== 'resume') throw error
      if (signal.aborted) return
      await this.#change(entry, { failure: reason })
      return
    }
    this.#parts.log.info('sandbox', { sandbox: id, step, ms: Math.round(performance.now() - began) })
  }

  async #start(entry: Entry, backend: Backend, signal: AbortSignal): Promise<void> {
    const order = await this.#parts.orderOf(entry.record)
    const onProgress = (what: string) => {
      entry.detail = what
    }
    entry.way = undefined
    await backend.start({ ...order, onProgress }, signal)
    entry.adopted = true
    if (!entry.record.made) await this.#change(entry, { made: true })
  }

  async #forget(entry: Entry, backend: Backend): Promise<void> {
    // Where its files are gone, processes may be left all the same.
    await backend.remove(entry.record.id)
    await this.#parts.store.deleteSandbox(entry.record.id)
    this.#entries.delete(entry.record.id)
    await this.#parts.onRemoved(entry.record.id)
  }

  /** Whatever is being done about it is ended, unless it already leads there. */
  async #want(entry: Entry, change: Partial<SandboxRecord>): Promise<void> {
    await this.#change(entry, change)
    entry.abort.abort()
    entry.abort = new AbortController()
    entry.lastUsed = Date.now()
  }

  /** One after the other: each is made to what the one before left. */
  #change(entry: Entry, change: Partial<SandboxRecord>): Promise<void> {
    const written = entry.writes.then(() => this.#write(entry, change))
    entry.writes = written.catch(() => undefined)
    return written
  }

  async #write(entry: Entry, change: Partial<SandboxRecord>): Promise<void> {
    const { createdAt, version } = entry
    const record = { ...entry.record, ...change }
    // Whoever asked for something else meanwhile comes too late: deleting is for good.
    if (entry.record.want === 'gone' && record.want !== 'gone') throw fault('sandbox_not_found')
    await this.#parts.store.writeSandbox({ id: record.id, createdAt, version, json: JSON.stringify(record) })
    entry.version += 1
    entry.record = record
  }

  /** Refuses one more than may run at the same time. */
  checkLimit(id: string): void {
    const isTaking = ({ id: other, want, failure }: SandboxRecord) =>
      want === 'running' && failure === null && other !== id
    const running = [...this.#entries.values()].filter(({ record }) => isTaking(record))
    if (running.length >= this.#parts.limit) throw fault('sandbox_limit', this.#parts.limit)
  }

  /** A sandbox that has outgrown its disk is emptied of processes: what fills the disk ends, what is on it stays. */
  async #measure(entry: Entry): Promise<void> {
    const used = entry.lastUsed > entry.measured || entry.commands > 0
    if (entry.seen !== 'running' || !used || Date.now() - entry.measured < MEASURE_MS) return
    entry.measured = Date.now()
    const { id, spec } = entry.record
    const backend = this.#parts.backendOf(spec)
    const usage = await backend.usage(id)
    entry.usage = usage
    const limits = limitsOf(spec)
    const over =
      usage.diskBytes > limits.diskBytes ? 'disk' : usage.memoryBytes > limits.memoryBytes ? 'memory' : undefined
    if (!over) return
    this.#parts.log.warn('sandbox', { sandbox: id, over, ...usage })
    await backend.stop(id)
    await this.settle(id)
    entry.detail = `It used more ${over} than its spec allows, so everything that ran in it was ended`
  }

  async #removeOrphans(): Promise<void> {
    for (const backend of this.#parts.backends())
      try {
        for (const id of await backend.list()) {
          if (this.#closed || this.#entries.has(id)) continue
          this.#parts.log.warn('sandbox', {
            sandbox: id,
            backend: backend.name,
            step: 'remove',
            why: 'nobody remembers it',
          })
          await backend.remove(id)
        }
      } catch (error) {
        this.#parts.log.warn('sandbox', { backend: backend.name, error: (error as Error).message })
      }
  }

  #entry(id: string): Entry {
    const entry = this.#entries.get(id)
    if (!entry) throw fault('sandbox_not_found')
    return entry
  }
}

const LOST = 'Its files are gone. Resuming it starts it anew, without them'

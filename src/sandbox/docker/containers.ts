import { fault } from '../../api/errors.ts'
import type { Order, Usage } from '../sandbox.ts'
import { blueprint, type Container, furnish, LABELS, logsOf, type Making, postMortem, resources } from './container.ts'
import { answered, type Engine, EngineError } from './engine.ts'
import { pull } from './image.ts'

/** What a sandbox's own command has between the polite signal and its end. */
const STOP_GRACE_S = 5

interface Stats {
  memory_stats?: { usage?: number; stats?: { total_inactive_file?: number; inactive_file?: number } }
  pids_stats?: { current?: number }
}

/** Whether its processes are there. */
export const lives = (container: Container | undefined): boolean =>
  container?.State.Status === 'running' || container?.State.Status === 'paused'

/** The containers of one owner, by the ids of their sandboxes. */
export class Containers {
  readonly #engine: Engine
  readonly #owner: string
  #cores: Promise<number> | undefined

  constructor(engine: Engine, owner: string) {
    this.#engine = engine
    this.#owner = owner
  }

  name(id: string): string {
    return `gantry-${this.#owner}-${id}`
  }

  async list(): Promise<string[]> {
    const query = { all: true, filters: JSON.stringify({ label: [`${LABELS.owner}=${this.#owner}`] }) }
    const found = await this.#engine.get<{ Labels: Record<string, string> }[]>('/containers/json', { query })
    return found.map(({ Labels }) => Labels[LABELS.sandbox]).filter(id => id !== undefined)
  }

  async find(id: string, query: { size?: boolean } = {}): Promise<Container | undefined> {
    return this.#engine.get<Container>(`${this.#path(id)}/json`, { query }).catch(unless(404))
  }

  /** One that may be started as the order says, made from its image unless it is there. */
  async prepare(making: Making, signal: AbortSignal): Promise<Container | undefined> {
    const { id } = making.order
    const found = (await this.#renewed(making)) ?? (await this.#made(making, signal))
    if (found && !lives(found)) await this.#limit(id, making.order, found)
    return found
  }

  async start(id: string): Promise<void> {
    await this.#engine.post(`${this.#path(id)}/start`)
  }

  async pause(id: string): Promise<void> {
    await this.#engine.post(`${this.#path(id)}/pause`)
  }

  async unpause(id: string): Promise<void> {
    await this.#engine.post(`${this.#path(id)}/unpause`)
  }

  /** At once, or after what its own command has to do. */
  async stop(id: string, { atOnce }: { atOnce: boolean }): Promise<void> {
    const query = { t: atOnce ? 0 : STOP_GRACE_S }
    await this.#engine.post(`${this.#path(id)}/stop`, { query }).catch(unless(404))
  }

  /** With all its files. */
  async remove(id: string): Promise<void> {
    await this.#discard(id)
    await this.#engine.send('DELETE', `/images/${this.#kept(id)}`, { query: { force: true } }).catch(unless(404))
  }

  async logs(id: string): Promise<string> {
    return (await logsOf(this.#engine, this.name(id)).catch(unless(404))) ?? ''
  }

  /** Why it is not running, for a person. */
  why(id: string, found: Container): Promise<string> {
    return postMortem(this.#engine, this.name(id), found)
  }

  async usage(id: string): Promise<Usage> {
    const found = await this.find(id, { size: true })
    const query = { stream: false, 'one-shot': true }
    const stats = lives(found)
      ? await this.#engine.get<Stats>(`${this.#path(id)}/stats`, { query }).catch(unless(404, 409))
      : undefined
    const { usage = 0, stats: details = {} } = stats?.memory_stats ?? {}
    return {
      // What the kernel would give back at once does not count.
      memoryBytes: Math.max(0, usage - (details.inactive_file ?? details.total_inactive_file ?? 0)),
      diskBytes: found?.SizeRw ?? 0,
      processes: stats?.pids_stats?.current ?? 0,
    }
  }

  #path(id: string): string {
    return `/containers/${this.name(id)}`
  }

  /** The image a container's files are kept in while it is made anew. */
  #kept(id: string): string {
    return `${this.name(id).toLowerCase()}:kept`
  }

  async #made(making: Making, signal: AbortSignal): Promise<Container | undefined> {
    const { order } = making
    const kept = await this.#engine.get(`/images/${this.#kept(order.id)}/json`).catch(unless(404))
    const Image = kept ? this.#kept(order.id) : order.image
    if (!Image) throw fault('sandbox_failed', 'A sandbox of the Docker engine needs an image')
    const plan = blueprint(making)
    const HostConfig = { ...plan.HostConfig, ...resources(order.limits, await this.#coresThere()) }
    const create = () =>
      this.#engine.post('/containers/create', {
        query: { name: this.name(order.id) },
        body: { ...plan, HostConfig, Image },
      })
    await create().catch(async error => {
      if (!answered(error, 404)) throw error
      await pull(this.#engine, Image, { onProgress: order.onProgress, signal })
      await create()
    })
    if (!kept) await furnish(this.#engine, this.name(order.id), making)
    return this.find(order.id)
  }

  /**
   * The container there is, if it has the shape that is ordered now, or runs. Another is kept as an image, so that the next one has
   * all its files. One that never ran has none, and may not be furnished.
   */
  async #renewed(making: Making): Promise<Container | undefined> {
    const { id } = making.order
    const found = await this.find(id)
    if (!found || lives(found)) return found
    if (found.State.Status !== 'created') {
      if (found.Config.Labels?.[LABELS.shape] === blueprint(making).Labels[LABELS.shape]) return found
      const [repo, tag] = this.#kept(id).split(':') as [string, string]
      await this.#engine.post('/commit', { query: { container: this.name(id), repo, tag } })
    }
    await this.#discard(id)
    return undefined
  }

  async #limit(id: string, { limits }: Order, { HostConfig }: Container): Promise<void> {
    const wanted = resources(limits, await this.#coresThere())
    const { Memory, PidsLimit, NanoCpus } = HostConfig
    if (Memory === wanted.Memory && PidsLimit === wanted.PidsLimit && NanoCpus === wanted.NanoCpus) return
    await this.#engine.post(`${this.#path(id)}/update`, { body: wanted })
  }

  async #discard(id: string): Promise<void> {
    const query = { force: true, v: true }
    await this.#engine.send('DELETE', this.#path(id), { query }).catch(async error => {
      if (answered(error, 404)) return
      if (!answered(error, 409)) throw error
      // Somebody else is removing it.
      const removed = { query: { condition: 'removed' } }
      await this.#engine.send('POST', `${this.#path(id)}/wait`, removed).catch(unless(404))
    })
  }

  async #coresThere(): Promise<number> {
    this.#cores ??= this.#engine.get<{ NCPU: number }>('/info').then(({ NCPU }) => NCPU)
    return this.#cores.catch(error => {
      this.#cores = undefined
      throw error
    })
  }
}

/** For answers that are as good as a yes. */
const unless =
  (...statuses: number[]) =>
  (error: unknown): undefined => {
    if (!answered(error, ...statuses)) throw error
  }

/** What an engine refused, as callers know it. */
export function refusal(error: unknown, what: string): unknown {
  return error instanceof EngineError ? fault('sandbox_failed', `${what}: ${error.message}`) : error
}

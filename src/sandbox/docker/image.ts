import type { Readable } from 'node:stream'
import { fault } from '../../api/errors.ts'
import { type Engine, EngineError } from './engine.ts'

/** A line of what an engine tells of a pull. */
interface Step {
  id?: string
  status?: string
  progressDetail?: { current?: number; total?: number }
  error?: string
}

/** Without a tag an engine would pull all there are. */
function named(image: string): { fromImage: string; tag?: string } {
  const last = image.slice(image.lastIndexOf('/') + 1)
  if (image.includes('@')) return { fromImage: image }
  if (!last.includes(':')) return { fromImage: image, tag: 'latest' }
  return { fromImage: image.slice(0, image.lastIndexOf(':')), tag: last.slice(last.indexOf(':') + 1) }
}

export interface Pulling {
  onProgress?: (what: string) => void
  signal?: AbortSignal
}

/** Brings an image, telling how far it has come. */
export async function pull(engine: Engine, image: string, { onProgress, signal }: Pulling): Promise<void> {
  const refused = (why: string) => fault('sandbox_failed', `The image ${image} could not be pulled: ${why}`)
  onProgress?.(`Pulling ${image}`)
  const query = named(image)
  const answer = await engine.stream('POST', '/images/create', { query, signal }).catch(error => {
    throw error instanceof EngineError ? refused(error.message) : error
  })
  const bar = new Bar()
  let told = -1
  for await (const { error, ...step } of stepsIn(answer)) {
    if (error) throw refused(error)
    const percent = bar.add(step)
    if (percent !== undefined && percent > told) {
      onProgress?.(`Pulling ${image}: ${percent} %`)
      told = percent
    }
  }
}

/** Each is a line, and lines are cut anywhere on the way. */
async function* stepsIn(answer: Readable): AsyncGenerator<Step> {
  let open = ''
  for await (const chunk of answer.setEncoding('utf8')) {
    const lines = (open + chunk).split('\n')
    open = lines.pop() ?? ''
    for (const line of lines) if (line.trim()) yield JSON.parse(line) as Step
  }
  if (open.trim()) yield JSON.parse(open) as Step
}

/** How much has come of all layers whose size is known by now. */
class Bar {
  readonly #layers = new Map<string, { current: number; total: number }>()

  /** In percent. */
  add({ id = '', status, progressDetail }: Step): number | undefined {
    const { current = 0, total } = progressDetail ?? {}
    const known = this.#layers.get(id)
    if (status === 'Downloading' && total) this.#layers.set(id, { current, total })
    else if (known && (status === 'Download complete' || status === 'Pull complete')) known.current = known.total
    const all = [...this.#layers.values()]
    const sum = all.reduce((sum, layer) => sum + layer.total, 0)
    return sum === 0 ? undefined : Math.floor((100 * all.reduce((sum, layer) => sum + layer.current, 0)) / sum)
  }
}

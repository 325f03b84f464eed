import { createInterface } from 'node:readline'
import { fault } from '../../api/errors.ts'
import { type Engine, EngineError } from './engine.ts'

interface Progress {
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
  const layers = new Map<string, { current: number; total: number }>()
  let told = -1
  for await (const line of createInterface({ input: answer })) {
    if (!line.trim()) continue
    const { id, status, progressDetail, error } = JSON.parse(line) as Progress
    if (error) throw refused(error)
    const layer = id === undefined ? undefined : layers.get(id)
    if (id !== undefined && status === 'Downloading' && progressDetail?.total)
      layers.set(id, { current: progressDetail.current ?? 0, total: progressDetail.total })
    else if (layer && (status === 'Download complete' || status === 'Pull complete')) layer.current = layer.total
    const all = [...layers.values()]
    const total = all.reduce((sum, each) => sum + each.total, 0)
    if (total === 0) continue
    const percent = Math.floor((100 * all.reduce((sum, each) => sum + each.current, 0)) / total)
    if (percent > told) onProgress?.(`Pulling ${image}: ${percent} %`)
    told = Math.max(told, percent)
  }
}

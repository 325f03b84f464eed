import { type ReadonlySignal, signal } from '@preact/signals'
import { explain, UNREACHABLE } from '../explain.ts'
import type { Dropped } from './dropped.ts'
import type { Place } from './place.ts'

export interface Upload {
  id: number
  name: string
  /** Of one. */
  done: number
  problem?: string
}

/** Files on their way into the sandbox: those that wait, are sent, or failed. What has arrived is not among them any more. */
export interface Uploads {
  readonly items: ReadonlySignal<readonly Upload[]>
  /** One after the other; tells how many arrived. */
  send(files: readonly Dropped[], folder: string): Promise<number>
  drop(id: number): void
}

export function makeUploads({ base }: Place): Uploads {
  const items = signal<readonly Upload[]>([])
  let last = 0
  const drop = (id: number) => {
    items.value = items.value.filter(one => one.id !== id)
  }
  const change = (id: number, next: Partial<Upload>) => {
    items.value = items.value.map(one => (one.id === id ? { ...one, ...next } : one))
  }
  return {
    items,
    drop,
    async send(files, folder) {
      const queue = files.map(({ path }) => ({ id: ++last, name: path, done: 0 }))
      items.value = [...items.value, ...queue]
      let arrived = 0
      for (const [i, { file, path }] of files.entries()) {
        const { id } = queue[i]!
        const to = `${folder.replace(/\/$/, '')}/${path}`
        const address = `${base}/api/file/upload?${new URLSearchParams({ path: to })}`
        try {
          await post(address, file, done => change(id, { done }))
          arrived++
          drop(id)
        } catch (error) {
          change(id, { problem: (error as Error).message })
        }
      }
      return arrived
    },
  }
}

/** Only this way of asking tells how much was sent. */
function post(address: string, file: File, progress: (done: number) => void): Promise<void> {
  const form = new FormData()
  form.append('file', file)
  const request = new XMLHttpRequest()
  request.open('POST', address)
  return new Promise((resolve, reject) => {
    request.upload.onprogress = ({ loaded, total }) => progress(total > 0 ? loaded / total : 0)
    request.onload = () =>
      request.status === 200 ? resolve() : reject(new Error(explain(request.status, bodyOf(request.responseText))))
    request.onerror = () => reject(new Error(UNREACHABLE))
    request.send(form)
  })
}

function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

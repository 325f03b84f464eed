import { t } from '../words.ts'
import type { Place } from './place.ts'

/** Of a text, in bytes: the rest is for those who download it. */
const TEXT_BYTES = 256 * 1024
const IMAGE_BYTES = 8 * 1024 * 1024

const IMAGES: Record<string, string> = {
  avif: 'image/avif',
  bmp: 'image/bmp',
  gif: 'image/gif',
  ico: 'image/x-icon',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  svg: 'image/svg+xml',
  webp: 'image/webp',
}

/** `size` is that of the whole file. */
export type Content = { size: number } & (
  | { kind: 'text'; text: string; cut: boolean }
  | { kind: 'image'; url: string }
  | { kind: 'binary' }
)

export const imageType = (name: string): string | undefined => IMAGES[name.split('.').at(-1)!.toLowerCase()]

/** A file as it can be shown. */
export async function readContent(place: Place, path: string, signal: AbortSignal): Promise<Content> {
  const type = imageType(path)
  const { bytes, size } = await start(place, path, type ? IMAGE_BYTES : TEXT_BYTES, signal)
  if (type && bytes.length === size) return { kind: 'image', url: await dataUrl(bytes, type), size }
  const cut = bytes.length < size
  const text = textOf(bytes, cut)
  return text === undefined ? { kind: 'binary', size } : { kind: 'text', text, cut, size }
}

/** So many of its first bytes; the rest is not fetched. */
async function start({ api }: Place, path: string, count: number, signal: AbortSignal) {
  const response = await api.downloadFile({ query: { path }, signal })
  const size = Number(response.headers.get('Content-Length'))
  const bytes = new Uint8Array(Math.min(count, size))
  const reader = response.body!.getReader()
  let at = 0
  while (at < bytes.length) {
    const { value, done } = await reader.read()
    if (done) throw new Error(t('The file did not come whole.'))
    const piece = value.subarray(0, bytes.length - at)
    bytes.set(piece, at)
    at += piece.length
  }
  await reader.cancel()
  return { bytes, size }
}

/** Undefined for what is no text. A cut one may break off within a character. */
export function textOf(bytes: Uint8Array, cut: boolean): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: cut })
  } catch {
    return undefined
  }
}

function dataUrl(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<string> {
  const reader = new FileReader()
  reader.readAsDataURL(new Blob([bytes], { type }))
  return new Promise((resolve, reject) => {
    reader.onload = () => resolve(reader.result as string)
    reader.onerror = () => reject(reader.error)
  })
}

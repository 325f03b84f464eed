import type { ImageContent } from '../../api/common.ts'
import { IMAGE_BYTES } from './file-limits.ts'
import { Refused } from './refused.ts'

/** By how they begin. */
const KINDS: readonly [string, (start: string) => boolean][] = [
  ['image/png', start => start.startsWith('\x89PNG\r\n\x1a\n')],
  ['image/jpeg', start => start.startsWith('\xff\xd8\xff')],
  ['image/gif', start => start.startsWith('GIF87a') || start.startsWith('GIF89a')],
  ['image/webp', start => start.startsWith('RIFF') && start.startsWith('WEBP', 8)],
]

/** The picture in these bytes; undefined when they are none. */
export function imageOf(path: string, bytes: Buffer): ImageContent | undefined {
  const start = bytes.toString('latin1', 0, 16)
  const type = KINDS.find(([, begins]) => begins(start))?.[0]
  if (!type) return undefined
  if (bytes.length > IMAGE_BYTES)
    throw new Refused(
      `The image ${path} has ${bytes.length} bytes; at most ${IMAGE_BYTES} can be shown. Make a smaller copy and view that.`,
    )
  return {
    type: 'image',
    image_urls: [`data:${type};base64,${bytes.toString('base64')}`],
    cache_prompt: false,
  }
}

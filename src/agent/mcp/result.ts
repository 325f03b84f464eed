import type { CallToolResult } from '@modelcontextprotocol/client'
import type { Content } from '../../api/common.ts'
import { BLOCKS, IMAGE_CHARACTERS, TEXT_CHARACTERS } from './limits.ts'

type Block = CallToolResult['content'][number]

/** What a tool answered, as much as a model can take in. */
export function contentOf({ content, structuredContent }: CallToolResult): Content[] {
  const blocks = content.slice(0, BLOCKS).map(contentOfBlock)
  if (content.length === 0 && structuredContent !== undefined) blocks.push(text(JSON.stringify(structuredContent)))
  if (content.length > BLOCKS) blocks.push(text(`[${content.length - BLOCKS} more parts were left out]`))
  let left = TEXT_CHARACTERS
  let room = IMAGE_CHARACTERS
  return blocks.map(block => {
    if (block.type !== 'text') {
      const size = block.image_urls.join('').length
      if (size > room) return leftOut(...partsOf(block.image_urls[0] ?? ''))
      room -= size
      return block
    }
    const shown = shortened(block.text, left)
    left = Math.max(0, left - shown.length)
    return text(shown)
  })
}

function contentOfBlock(block: Block): Content {
  switch (block.type) {
    case 'text':
      return text(block.text)
    case 'image':
      return { type: 'image', cache_prompt: false, image_urls: [`data:${block.mimeType};base64,${block.data}`] }
    case 'audio':
      return leftOut(block.mimeType, block.data)
    case 'resource_link':
      return text(`${block.name}: ${block.uri}`)
    case 'resource':
      return 'text' in block.resource
        ? text(block.resource.text)
        : leftOut(block.resource.mimeType ?? block.resource.uri, block.resource.blob)
  }
}

/** Its type and its data. */
const partsOf = (url: string): [string, string] => {
  const [, type = 'an image', data = ''] = /^data:([^;]*);base64,(.*)$/s.exec(url) ?? []
  return [type, data]
}

const text = (said: string): Content => ({ type: 'text', text: said, cache_prompt: false })

/** In place of what no model is shown. */
const leftOut = (what: string, base64: string): Content =>
  text(`[${what.slice(0, 200)} of ${Math.floor((base64.length * 3) / 4)} bytes was left out]`)

/** Beginning and end, where it is too long. */
function shortened(whole: string, limit: number): string {
  if (whole.length <= limit) return whole
  const half = Math.floor(limit / 2)
  const note = `\n[${whole.length - 2 * half} characters were left out]\n`
  return `${whole.slice(0, half)}${note}${half === 0 ? '' : whole.slice(-half)}`.toWellFormed()
}

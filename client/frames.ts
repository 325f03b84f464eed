export interface Frame {
  id: string | undefined
  event: string | undefined
  data: string
}

/** Takes server-sent events apart as they come. `heard` is told of every piece, comments included. */
export async function* frames(body: ReadableStream<Uint8Array<ArrayBuffer>>, heard: () => void): AsyncGenerator<Frame> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      heard()
      const blocks = (rest + value).split('\n\n')
      rest = blocks.pop()!
      for (const block of blocks) {
        const frame = parse(block)
        if (frame) yield frame
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** Undefined for comments, and for what only says when to come back. */
function parse(block: string): Frame | undefined {
  const fields: Record<string, string> = {}
  for (const line of block.split('\n')) {
    const [, name, value] = /^(id|event|data): ?(.*)$/.exec(line) ?? []
    if (name) fields[name] = value!
  }
  return fields.data === undefined ? undefined : { id: fields.id, event: fields.event, data: fields.data }
}

import type { EventRecord } from '../store/store.ts'

type Told = Pick<EventRecord, 'id' | 'json'>

export type Encoding = 'socket' | 'sse'

/** How events look on each transport: a batch is one buffer, written once to every reader. */
export const encoders: Record<Encoding, { events(records: readonly Told[]): Buffer; passing(json: string): Buffer }> = {
  socket: {
    events: records => textFrames(records.map(({ json }) => json)),
    passing: json => textFrames([json]),
  },
  sse: {
    events: records => Buffer.from(records.map(({ id, json }) => `id: ${id}\ndata: ${json}\n\n`).join('')),
    // Without an id: what is not in the log is no place to resume from.
    passing: json => Buffer.from(`data: ${json}\n\n`),
  },
}

/** Unmasked WebSocket text frames, one a text, in one buffer. */
function textFrames(texts: readonly string[]): Buffer {
  const sizes = texts.map(text => Buffer.byteLength(text))
  const buffer = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + headerSize(size) + size, 0))
  let at = 0
  texts.forEach((text, i) => {
    at = writeHeader(buffer, at, sizes[i]!)
    at += buffer.write(text, at, 'utf8')
  })
  return buffer
}

const headerSize = (size: number): number => (size < 126 ? 2 : size < 65_536 ? 4 : 10)

const FINAL_TEXT = 0x81

function writeHeader(buffer: Buffer, at: number, size: number): number {
  buffer[at] = FINAL_TEXT
  if (size < 126) {
    buffer[at + 1] = size
    return at + 2
  }
  if (size < 65_536) {
    buffer[at + 1] = 126
    return buffer.writeUInt16BE(size, at + 2)
  }
  buffer[at + 1] = 127
  return buffer.writeBigUInt64BE(BigInt(size), at + 2)
}

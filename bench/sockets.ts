import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'

/** Opens a WebSocket by hand and counts the frames that come, looking at their headers only. */
export function countFrames(url: string, path: string, counter: { frames: number }): Promise<() => void> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let open = false
    let rest: Buffer = Buffer.alloc(0)
    /** Bytes of the current frame's payload still to come. */
    let skip = 0
    socket.once('error', reject)
    socket.once('connect', () =>
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
          `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
      ),
    )
    socket.on('data', (chunk: Buffer) => {
      let data: Buffer = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
      rest = Buffer.alloc(0)
      if (!open) {
        const head = data.indexOf('\r\n\r\n')
        if (head < 0) return
        open = true
        data = data.subarray(head + 4)
        resolve(() => socket.destroy())
      }
      let at = Math.min(skip, data.length)
      skip -= at
      while (at < data.length) {
        const header = headerAt(data, at)
        if (!header) {
          rest = data.subarray(at)
          return
        }
        counter.frames += 1
        at += header.size
        const here = Math.min(header.payload, data.length - at)
        at += here
        skip = header.payload - here
      }
    })
  })
}

function headerAt(data: Buffer, at: number): { size: number; payload: number } | undefined {
  const left = data.length - at
  if (left < 2) return undefined
  const short = data[at + 1]! & 0x7f
  if (short < 126) return { size: 2, payload: short }
  if (short === 126) return left < 4 ? undefined : { size: 4, payload: data.readUInt16BE(at + 2) }
  return left < 10 ? undefined : { size: 10, payload: Number(data.readBigUInt64BE(at + 2)) }
}

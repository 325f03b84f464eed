import { connect, type Socket } from 'node:net'

export interface LoadResult {
  perSecond: number
  /** Milliseconds. */
  p50: number
  p95: number
  errors: number
}

/**
 * Keeps `connections` busy for `ms`: each sends its next request when the last is answered. Bare sockets, so that what
 * is measured is the server.
 */
export async function load(
  url: string,
  request: (n: number) => string,
  connections: number,
  ms: number,
): Promise<LoadResult> {
  const { hostname, port } = new URL(url)
  const times: number[] = []
  let [sent, errors] = [0, 0]
  const started = performance.now()
  const deadline = started + ms
  const run = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname)
      let at = 0
      const next = () => {
        if (performance.now() >= deadline) {
          socket.destroy()
          return resolve()
        }
        at = performance.now()
        socket.write(request(sent++))
      }
      onResponses(socket, ok => {
        times.push(performance.now() - at)
        if (!ok) errors += 1
        next()
      })
      socket.once('connect', next).once('error', reject)
    })
  await Promise.all(Array.from({ length: connections }, run))
  const seconds = (performance.now() - started) / 1000
  times.sort((a, b) => a - b)
  return { perSecond: times.length / seconds, p50: quantile(times, 0.5), p95: quantile(times, 0.95), errors }
}

export const quantile = (sorted: readonly number[], q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN

/** Calls back once a response, telling whether it was a success. Responses must have a Content-Length. */
function onResponses(socket: Socket, done: (ok: boolean) => void): void {
  let buffer: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    buffer = buffer.length === 0 ? chunk : Buffer.concat([buffer, chunk])
    for (;;) {
      const head = buffer.indexOf('\r\n\r\n')
      if (head < 0) return
      const headers = buffer.toString('latin1', 0, head)
      const size = head + 4 + Number(/content-length: (\d+)/i.exec(headers)?.[1] ?? 0)
      if (buffer.length < size) return
      buffer = buffer.subarray(size)
      done(/^HTTP\/1\.1 2/.test(headers))
    }
  })
}

export const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`

export const post = (path: string, body: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

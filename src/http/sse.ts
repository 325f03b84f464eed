import { Streamed } from './reply.ts'
import type { Sink } from './stream.ts'

/** Proxies close what is silent for a minute. */
const HEARTBEAT_MS = 15_000
/** What a browser waits before it comes back, with `Last-Event-ID`. */
const RETRY_MS = 1000

/** An answer that follows a log. `follow` gets the sink and returns the function that ends it. */
export const eventStream = (follow: (sink: Sink) => (() => void) | undefined): Streamed =>
  new Streamed('text/event-stream', out => {
    const sink: Sink = {
      encoding: 'sse',
      write: chunk => void out.write(chunk),
      buffered: () => out.writableLength,
      drained: () =>
        new Promise(resolve => {
          if (!out.writableNeedDrain) return resolve()
          out.once('drain', resolve).once('close', resolve)
        }),
      close: (code, reason) => out.end(`event: close\ndata: ${JSON.stringify({ code, reason })}\n\n`),
    }
    out.write(`retry: ${RETRY_MS}\n\n`)
    const heartbeat = setInterval(() => out.write(': still here\n\n'), HEARTBEAT_MS)
    const stop = follow(sink)
    out.once('close', () => {
      clearInterval(heartbeat)
      stop?.()
    })
    if (!stop) sink.close(1013, 'Too many connections for this conversation')
  })

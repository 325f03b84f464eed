import { READER_LINGER_MS } from './limits.ts'
import { Streamed } from './reply.ts'
import { drained, type Sink } from './stream.ts'

/** Proxies close what is silent for a minute. */
export const HEARTBEAT_MS = 15_000
/** What a browser waits before it comes back, with `Last-Event-ID`. */
const RETRY_MS = 1000

/** An answer that follows a log. `follow` gets the sink and returns the function that ends it. */
export const eventStream = (follow: (sink: Sink) => (() => void) | undefined): Streamed =>
  new Streamed('text/event-stream', out => {
    out.write(`retry: ${RETRY_MS}\n\n`)
    const heartbeat = setInterval(() => out.write(': still here\n\n'), HEARTBEAT_MS)
    const sink: Sink = {
      encoding: 'sse',
      write: chunk => void out.write(chunk),
      buffered: () => out.writableLength,
      drained: () => drained(out),
      close: (code, reason) => {
        clearInterval(heartbeat)
        out.end(`event: close\ndata: ${JSON.stringify({ code, reason })}\n\n`)
        setTimeout(() => out.destroy(), READER_LINGER_MS).unref()
      },
    }
    const stop = follow(sink)
    out.once('close', () => {
      clearInterval(heartbeat)
      stop?.()
    })
    if (!stop) sink.close(1013, 'Too many connections for this conversation')
  })

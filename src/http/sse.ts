import { READER_BUFFER_BYTES } from './limits.ts'
import type { Sink } from './stream.ts'

/** Proxies close what is silent for a minute. */
const HEARTBEAT_MS = 15_000
/** What a browser waits before it comes back, with `Last-Event-ID`. */
const RETRY_MS = 1000

/** A response that follows a log. `follow` gets the sink and returns the function that ends it. */
export function eventStream(follow: (sink: Sink) => (() => void) | undefined): Response {
  let wake: (() => void) | undefined
  let stop: (() => void) | undefined
  let heartbeat: NodeJS.Timeout | undefined
  const release = () => {
    clearInterval(heartbeat)
    stop?.()
    wake?.()
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const sink: Sink = {
          encoding: 'sse',
          write: chunk => controller.enqueue(chunk),
          buffered: () => READER_BUFFER_BYTES - (controller.desiredSize ?? READER_BUFFER_BYTES),
          drained: () => new Promise(resolve => (wake = resolve)),
          close: (code, reason) => {
            controller.enqueue(Buffer.from(`event: close\ndata: ${JSON.stringify({ code, reason })}\n\n`))
            controller.close()
            release()
          },
        }
        controller.enqueue(Buffer.from(`retry: ${RETRY_MS}\n\n`))
        heartbeat = setInterval(() => controller.enqueue(Buffer.from(': still here\n\n')), HEARTBEAT_MS)
        stop = follow(sink)
        if (!stop) sink.close(1013, 'Too many connections for this conversation')
      },
      pull: () => wake?.(),
      cancel: release,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: READER_BUFFER_BYTES }),
  )
  return new Response(body, {
    headers: { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' },
  })
}

import type { IncomingMessage } from 'node:http'

/** A signal that is aborted when the caller has gone. `end` lets go of the connection. */
export function presence({ socket }: IncomingMessage): { signal: AbortSignal; end(): void } {
  const gone = new AbortController()
  const leave = () => gone.abort(new Error('The caller has gone'))
  socket.once('close', leave)
  if (socket.destroyed) leave()
  return { signal: gone.signal, end: () => void socket.off('close', leave) }
}

/** Does something whose signal is aborted when the caller has gone. */
export async function whileThere<T>(incoming: IncomingMessage, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { signal, end } = presence(incoming)
  try {
    return await work(signal)
  } finally {
    end()
  }
}

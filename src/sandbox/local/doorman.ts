import type { SendHandle } from 'node:child_process'
import { connect, createServer } from 'node:net'

/**
 * Runs inside a sandbox's network and nowhere else: makes sockets there and hands them to the server, which alone talks over them.
 * It reads and writes nothing itself. It ends when it is let go.
 */
export type Request = { listen: number } | { connect: number; ticket: number }
export type Answer = { listening: true } | { ticket: number } | { failed: string; ticket?: number }

const answer = (message: Answer, handle?: SendHandle) => process.send?.(message, handle, { keepOpen: false })

process.on('message', (request: Request) => {
  if ('listen' in request) {
    const server = createServer()
    server.once('error', error => answer({ failed: error.message }))
    server.listen(request.listen, '127.0.0.1', () => {
      answer({ listening: true }, server)
      server.close()
    })
    return
  }
  dial(request.connect, request.ticket, ['127.0.0.1', '::1'])
})

/** Some programs listen on one of the two loopback addresses only. */
function dial(port: number, ticket: number, [host, ...others]: string[]): void {
  const socket = connect({ port, host: host!, allowHalfOpen: true })
  // What comes before the server has the socket must wait in the kernel.
  socket.pause()
  socket.once('connect', () => answer({ ticket }, socket))
  socket.once('error', error => {
    if (others.length > 0) dial(port, ticket, others)
    else answer({ failed: error.message, ticket })
  })
}

process.on('disconnect', () => process.disconnect?.())

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A line to a server that can be cut, and that leads to another one afterwards: its address stays. */
export class Line implements AsyncDisposable {
  readonly url: string
  readonly #listener: Server
  readonly #sockets = new Set<Socket>()
  #target: URL

  static async to(url: string): Promise<Line> {
    const listener = createServer()
    await once(listener.listen(0, '127.0.0.1'), 'listening')
    return new Line(listener, url)
  }

  private constructor(listener: Server, url: string) {
    this.#listener = listener
    this.#target = new URL(url)
    this.url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
    listener.on('connection', near => {
      const far = connect(Number(this.#target.port), this.#target.hostname)
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket)
        socket.pipe(other)
        socket.on('error', () => undefined)
        socket.once('close', () => {
          this.#sockets.delete(socket)
          other.destroy()
        })
      }
    })
  }

  /** Breaks every connection; new ones are made to the same server, or to this one. */
  cut(url = this.#target.href): void {
    this.#target = new URL(url)
    for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#listener.close(), 'close')
    this.cut()
    await closed
  }
}

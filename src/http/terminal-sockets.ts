import type { WebSocket } from 'ws'
import type * as z from 'zod'
import { Fault } from '../api/errors.ts'
import { terminalSocket } from '../api/routes/sockets.ts'
import { type TerminalFrame, TerminalRequest } from '../api/terminal.ts'
import type { Conversations } from '../conversation/conversations.ts'
import type { Log } from '../lib/log.ts'
import type { Terminal, TerminalOrder, Terminals } from '../sandbox/terminals.ts'
import { encoders } from './frames.ts'
import { READER_LOW_BYTES } from './limits.ts'
import type { Complaint, Guest, Room } from './sockets.ts'

type Query = z.output<typeof terminalSocket.query>

/** `/sockets/terminal`: a shell in a sandbox, for as long as the socket is there. */
export class TerminalSockets implements Room {
  readonly spec = terminalSocket
  readonly #parts: { terminals: Terminals; conversations: Conversations; log: Log }
  readonly #open = new WeakMap<WebSocket, Terminal>()

  constructor(parts: { terminals: Terminals; conversations: Conversations; log: Log }) {
    this.#parts = parts
  }

  async enter({ socket, sink, scope, query }: Guest): Promise<void> {
    const gone = new AbortController()
    socket.once('close', () => gone.abort(new Error('Nobody looks at it any more')))
    if (socket.readyState === socket.CLOSED) return
    const write = (frame: TerminalFrame) => sink.write(encoders.socket.passing(JSON.stringify(frame)))
    const tell = async (data: string) => {
      write({ type: 'output', data })
      if (sink.buffered() > READER_LOW_BYTES) await sink.drained()
    }
    try {
      const terminal = await this.#parts.terminals.open(await this.#order(query as Query, scope), tell, gone.signal)
      this.#open.set(socket, terminal)
      void terminal.ended.then(({ code, reason }) => {
        write({ type: 'exit', code })
        if (reason === 'lost') sink.close(4009, 'The sandbox went away')
        else sink.close(1000, 'The shell has ended')
      })
    } catch (error) {
      if (!gone.signal.aborted) socket.close(...this.#farewell(error))
    }
  }

  async hear({ socket }: Guest, frame: unknown): Promise<void> {
    const request = TerminalRequest.parse(frame)
    const terminal = this.#open.get(socket)
    if (request.type === 'input') terminal?.type(request.data)
    // Not waited for: it may take long in a sandbox that is paused, and the next keys must not.
    else void terminal?.resize(request)
  }

  complaint({ code, detail }: Complaint): TerminalFrame {
    return { type: 'error', code, detail }
  }

  async #order({ columns, rows, cwd, conversation_id: id }: Query, scope?: string): Promise<TerminalOrder> {
    const { conversations } = this.#parts
    const own = { size: { columns, rows }, makes: id !== undefined && cwd === undefined }
    const within = cwd === undefined ? [] : [cwd]
    if (id === undefined) return { ...own, sandbox: scope, folders: within }
    const { sandbox } = await conversations.record(id, scope)
    const { workspace } = await conversations.get(id)
    return { ...own, sandbox: sandbox ?? undefined, folders: [workspace.working_dir, ...within] }
  }

  #farewell(error: unknown): [code: number, reason: string] {
    if (!(error instanceof Fault)) {
      this.#parts.log.error('socket', { error: String(error) })
      return [1011, 'Internal error']
    }
    return [CODES[error.code] ?? 1011, withinReason(error.message)]
  }
}

const CODES: Partial<Record<Fault['code'], number>> = {
  conversation_not_found: 4004,
  sandbox_not_found: 4004,
  sandbox_unavailable: 4009,
  sandbox_limit: 1013,
  terminal_limit: 1013,
}

/** A close frame has room for 123 bytes. */
const withinReason = (text: string): string => {
  const bytes = Buffer.from(text)
  return bytes.length <= 123 ? text : `${bytes.toString('utf8', 0, 117).replace(/\uFFFD$/, '')}…`
}

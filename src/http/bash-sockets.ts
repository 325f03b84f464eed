import { type BashError, ExecuteBashRequest } from '../api/bash.ts'
import { bashSocket } from '../api/routes/sockets.ts'
import { hexUuid, newId } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import { formatUtc, now } from '../lib/time.ts'
import type { Bash } from '../sandbox/bash.ts'
import { DEFAULT_SANDBOX } from '../sandbox/sandbox.ts'
import type { Complaint, Guest, Room } from './sockets.ts'
import type { Streams } from './stream.ts'

/** `/sockets/bash-events`: follows the commands of a sandbox, whoever started them, and takes new ones. */
export class BashSockets implements Room {
  readonly spec = bashSocket
  readonly #bash: Bash
  readonly #streams: Streams
  readonly #log: Log

  constructor(parts: { bash: Bash; streams: Streams; log: Log }) {
    this.#bash = parts.bash
    this.#streams = parts.streams
    this.#log = parts.log
  }

  async enter({ socket, sink, scope = DEFAULT_SANDBOX, query }: Guest): Promise<void> {
    try {
      const all = query.resend_mode === 'all' || query.resend_all === true
      const seq = all ? 0 : await this.#bash.log.head(scope)
      const stop = this.#streams.follow(scope, 0, { seq, id: undefined }, sink)
      if (!stop) {
        socket.close(1013, 'Too many bash event connections')
        return
      }
      socket.once('close', stop)
      // It may have gone while its place was looked up; then nobody says so again.
      if (socket.readyState === socket.CLOSED) stop()
    } catch (error) {
      this.#log.error('socket', { sandbox: scope, error: String(error) })
      socket.close(1011, 'Internal error')
    }
  }

  /** A command, as `POST …/start_bash_command`. */
  async hear({ scope }: Guest, frame: unknown): Promise<void> {
    await this.#bash.start(scope, ExecuteBashRequest.parse(frame))
  }

  complaint({ code, detail }: Complaint): BashError {
    return { id: hexUuid(newId()), timestamp: formatUtc(now()), code, detail, kind: 'BashError' }
  }
}

import type { TerminalFrame, TerminalRequest } from '../../src/api/terminal.ts'
import { BASE } from '../api.ts'
import { t } from '../words.ts'

/** What the server takes in one frame, in characters. */
const PASTE = 32 * 1024

export interface Size {
  columns: number
  rows: number
}

export interface TerminalLink {
  type(text: string): void
  resize(size: Size): void
  close(): void
}

export interface TerminalEvents {
  onOutput: (text: string) => void
  /** It is over, and why. Told once, unless it was closed from here. */
  onEnd: (why: string) => void
}

/** A shell where a conversation works, for as long as it is not closed. */
export function openTerminal(conversation: string, size: Size, { onOutput, onEnd }: TerminalEvents): TerminalLink {
  const query = new URLSearchParams({
    conversation_id: conversation,
    columns: String(size.columns),
    rows: String(size.rows),
  })
  const socket = new WebSocket(`${BASE.replace(/^http/, 'ws')}/sockets/terminal?${query}`)
  let ended = false
  const end = (why: string) => {
    if (!ended) onEnd(why)
    ended = true
  }
  socket.onmessage = ({ data }) => {
    const frame = JSON.parse(data) as TerminalFrame
    if (frame.type === 'output') onOutput(frame.data)
    else if (frame.type === 'exit') end(t('The shell ended with {code}.', { code: frame.code }))
    else onOutput(`\r\n${frame.detail}\r\n`)
  }
  socket.onclose = ({ reason }) => end(reason || t('The connection to the terminal was lost.'))
  const send = (request: TerminalRequest) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(request))
  }
  return {
    type(text) {
      for (const data of pieces(text)) send({ type: 'input', data })
    },
    resize: next => send({ type: 'resize', ...next }),
    close() {
      ended = true
      socket.close()
    },
  }
}

/** A paste, in what fits into frames; a character of two halves is not torn. */
export function pieces(text: string): string[] {
  const found: string[] = []
  for (let from = 0; from < text.length; ) {
    const isTorn = /[\uD800-\uDBFF]/.test(text[from + PASTE - 1] ?? '')
    const to = from + PASTE - (isTorn ? 1 : 0)
    found.push(text.slice(from, to))
    from = to
  }
  return found
}

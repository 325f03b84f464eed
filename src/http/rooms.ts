import type { Conversations } from '../conversation/conversations.ts'
import type { Events } from '../conversation/events.ts'
import type { Log } from '../lib/log.ts'
import type { Bash } from '../sandbox/bash.ts'
import type { Terminals } from '../sandbox/terminals.ts'
import { BashSockets } from './bash-sockets.ts'
import { EventSockets } from './event-sockets.ts'
import type { Room } from './sockets.ts'
import type { Streams } from './stream.ts'
import { TerminalSockets } from './terminal-sockets.ts'

export interface RoomParts {
  conversations: Conversations
  events: Events
  streams: Streams
  bash: Bash
  bashStreams: Streams
  terminals: Terminals
  log: Log
}

/** Everything a WebSocket can lead to. */
export const allRooms = ({ bashStreams, ...parts }: RoomParts): Room[] => [
  new EventSockets(parts),
  new BashSockets({ ...parts, streams: bashStreams }),
  new TerminalSockets(parts),
]

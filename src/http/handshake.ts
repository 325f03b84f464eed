import type { IncomingMessage } from 'node:http'
import * as z from 'zod'
import { eventsSocket } from '../api/routes/sockets.ts'
import { type Auth, credentialsOf, givenKey, isLoopback } from './auth.ts'
import { judge, type OriginPolicy, provenanceOf } from './origin.ts'
import { readQuery } from './validation.ts'

export type EventsQuery = z.output<typeof eventsSocket.query>

/** `ask`: nothing was brought yet, so the first message must bring the key. */
export type Handshake = { refused: number } | { id: string; query: EventsQuery; admitted: 'yes' | 'ask' }

/** Judges an upgrade request before it becomes a socket. */
export function shakeHands(request: IncomingMessage, auth: Auth, origins: OriginPolicy): Handshake {
  const verdict = judge(provenanceOf(request), origins)
  if (typeof verdict === 'object') return { refused: 403 }
  const url = URL.parse(request.url ?? '/', 'http://any')
  const match = url && eventsSocket.path.exec(url.pathname)
  if (!match) return { refused: 404 }
  const params = z.safeParse(eventsSocket.params, { ...match.groups })
  const query = z.safeParse(eventsSocket.query, readQuery(eventsSocket.query, url.searchParams))
  if (!params.success || !query.success) return { refused: 403 }

  const brought = credentialsOf(request)
  const credentials = { ...brought, key: query.data.session_api_key || brought.key }
  const loopback = isLoopback(request.socket.remoteAddress)
  const standing = auth.admit(eventsSocket.access, { ...credentials, verdict, loopback }, false)
  if (!standing && givenKey(credentials) !== undefined) return { refused: 403 }
  return { id: params.data.conversation_id, query: query.data, admitted: standing ? 'yes' : 'ask' }
}

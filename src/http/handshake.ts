import type { IncomingMessage } from 'node:http'
import * as z from 'zod'
import type { SocketSpec } from '../api/routes/sockets.ts'
import { type Auth, credentialsOf, givenKey, isLoopback } from './auth.ts'
import { judge, type OriginPolicy, provenanceOf } from './origin.ts'
import { withoutSandbox } from './scope.ts'
import { readQuery } from './validation.ts'

/** `ask`: nothing was brought yet, so the first message must bring the key. */
export type Handshake<Room> =
  | { refused: number }
  | {
      room: Room
      params: Record<string, unknown>
      query: Record<string, unknown>
      admitted: 'yes' | 'ask'
      /** What the path confines it to, and what the key does. */
      confinement: { path: string | undefined; key: string | undefined }
    }

/** Judges an upgrade request before it becomes a socket, and finds the room it leads to. */
export function shakeHands<Room extends { spec: SocketSpec }>(
  request: IncomingMessage,
  rooms: readonly Room[],
  auth: Auth,
  origins: OriginPolicy,
): Handshake<Room> {
  const verdict = judge(provenanceOf(request), origins)
  if (typeof verdict === 'object') return { refused: 403 }
  const url = URL.parse(request.url ?? '/', 'http://any')
  if (!url) return { refused: 404 }
  const { path, sandbox } = withoutSandbox(url.pathname)
  const room = rooms.find(({ spec }) => spec.path.test(path))
  if (!room) return { refused: 404 }
  const { spec } = room
  const params = z.safeParse(spec.params, { ...spec.path.exec(path)?.groups })
  const query = z.safeParse(spec.query, readQuery(spec.query, url.searchParams))
  if (!params.success || !query.success) return { refused: 403 }

  const brought = credentialsOf(request)
  const credentials = { ...brought, key: query.data.session_api_key || brought.key }
  const loopback = isLoopback(request.socket.remoteAddress)
  const standing = auth.admit(spec.access, { ...credentials, verdict, loopback }, false)
  if (!standing && givenKey(credentials) !== undefined) return { refused: 403 }
  const confinement = { path: sandbox, key: auth.scopeOf(credentials) }
  return { room, params: params.data, query: query.data, admitted: standing ? 'yes' : 'ask', confinement }
}

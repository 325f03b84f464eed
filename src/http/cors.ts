import type { IncomingMessage } from 'node:http'

type Headers = Record<string, string>

/** For a page of another origin that may talk to us: it may read the answer, errors included. */
export const corsHeaders = (origin: string): Headers => ({
  'Access-Control-Allow-Origin': origin,
  'Access-Control-Allow-Credentials': 'true',
  'Access-Control-Expose-Headers':
    'X-Request-Id, Retry-After, Allow, Content-Disposition, Content-Range, ETag, X-Archive-Base-Commit, X-Archive-Base-Ref',
  Vary: 'Origin',
})

/** May it ask at all? Any method and header: what counts is the key that the real request brings. */
export const preflightHeaders = ({ headers }: IncomingMessage): Headers => ({
  'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'Access-Control-Allow-Headers': headers['access-control-request-headers'] ?? 'Content-Type, X-Session-API-Key',
  'Access-Control-Max-Age': '600',
})

import type { Access, RouteSpec } from '../../src/api/route.ts'
import { Auth } from '../../src/http/auth.ts'
import { newId } from '../../src/lib/id.ts'
import { type Exchange, exchange, exchangeJson } from './exchange.ts'
import { TestServer } from './server.ts'

export type Mode = 'local' | 'key'
export type Brings = 'nothing' | 'wrong' | 'workspace' | 'cookie' | 'key'
/** `element`: a picture or frame of another page, which does not say of which. */
export type From = 'own' | 'foreign' | 'element' | 'refused' | 'malformed'
/** `in`: let through, whatever becomes of it then. */
export type Outcome = 'in' | 400 | 401 | 403

export const MODES: readonly Mode[] = ['local', 'key']
export const KEY = 'a-session-key-for-the-tests-0123456789'

export const startIn = (mode: Mode): Promise<TestServer> =>
  TestServer.start(mode === 'key' ? { env: { SESSION_API_KEY: KEY } } : {})

const ANYTHING: readonly Brings[] = ['nothing', 'wrong', 'workspace', 'cookie', 'key']
const CREDENTIAL: readonly Brings[] = ['cookie', 'key']
const OPTIONAL: readonly Brings[] = ['nothing', 'workspace', ...CREDENTIAL]

/** What opens a route for a caller that is no page, or one of our own pages. */
const OPENS: Record<Access, Record<Mode, readonly Brings[]>> = {
  free: { local: ANYTHING, key: ANYTHING },
  caller: { local: OPTIONAL, key: CREDENTIAL },
  key: { local: CREDENTIAL, key: CREDENTIAL },
  expose: { local: OPTIONAL, key: CREDENTIAL },
  sandbox: { local: CREDENTIAL, key: CREDENTIAL },
  workspace: { local: OPTIONAL, key: ['workspace', ...CREDENTIAL] },
}

/** The rules of who may speak, once. Throws for an access rule it does not know. */
export function expected(access: string, mode: Mode, brings: Brings, from: From): Outcome {
  const opens = OPENS[access as Access]?.[mode]
  if (!opens) throw new Error(`The test has no rule for the access "${access}"`)
  if (from === 'malformed') return 400
  if (from === 'refused') return 403
  const reads = access === 'workspace' && brings === 'workspace'
  if (from === 'element') return reads ? 'in' : 403
  if (from === 'foreign') return brings === 'key' || reads ? 'in' : 401
  return opens.includes(brings) ? 'in' : 401
}

/** A server, and what opens it. */
export interface Place {
  url: string
  key: string
}

export interface Case {
  name: string
  headers: Record<string, string>
  query?: string
}

/** Every way to bring, or not to bring, a credential over HTTP. */
export function credentials({ url, key }: Place, cookie: string): (Case & { brings: Brings })[] {
  const name = `gantry_session_${new URL(url).port}`
  const reading = new Auth([key], 'key').workspaceSession()
  const workspace = (value: string) => ({ Cookie: `oh_workspace_session_key=${value}` })
  return [
    { name: 'nothing', brings: 'nothing', headers: {} },
    { name: 'an empty key', brings: 'nothing', headers: { 'X-Session-API-Key': '' } },
    { name: 'the key in the query', brings: 'nothing', headers: {}, query: `session_api_key=${key}&api_key=${key}` },
    { name: 'a wrong key', brings: 'wrong', headers: { 'X-Session-API-Key': `${key}x` } },
    { name: 'the key twice', brings: 'wrong', headers: { 'X-Session-API-Key': `${key}, ${key}` } },
    { name: 'the key', brings: 'key', headers: { 'X-Session-API-Key': key } },
    { name: 'a wrong bearer', brings: 'wrong', headers: { Authorization: `Bearer ${key.slice(1)}` } },
    { name: 'the key as bearer', brings: 'key', headers: { Authorization: `Bearer ${key}` } },
    { name: 'the cookie', brings: 'cookie', headers: { Cookie: `${name}=${cookie}` } },
    { name: 'the workspace cookie', brings: 'workspace', headers: workspace(reading) },
    { name: 'a wrong workspace cookie', brings: 'nothing', headers: workspace(cookie) },
    { name: 'the key as workspace cookie', brings: 'nothing', headers: workspace(key) },
    { name: 'the workspace cookie as cookie', brings: 'nothing', headers: { Cookie: `${name}=${reading}` } },
    {
      name: 'the workspace cookie and a wrong key',
      brings: 'wrong',
      headers: { ...workspace(reading), 'X-Session-API-Key': 'wrong' },
    },
    { name: 'a wrong cookie', brings: 'nothing', headers: { Cookie: `${name}=${cookie.slice(1)}` } },
    { name: 'the key as cookie', brings: 'nothing', headers: { Cookie: `${name}=${key}` } },
    { name: "another port's cookie", brings: 'nothing', headers: { Cookie: `gantry_session_1=${cookie}` } },
    {
      name: 'the cookie and a wrong key',
      brings: 'wrong',
      headers: { Cookie: `${name}=${cookie}`, 'X-Session-API-Key': 'wrong' },
    },
  ]
}

/** Every place a request can say it comes from. */
export function provenances({ url }: { url: string }): (Case & { from: From })[] {
  const { port, host } = new URL(url)
  const site = (value: string) => ({ 'Sec-Fetch-Site': value })
  return [
    { name: 'no browser', from: 'own', headers: {} },
    { name: 'typed address', from: 'own', headers: site('none') },
    { name: 'own page', from: 'own', headers: { Origin: url, ...site('same-origin') } },
    { name: 'own page, no Origin', from: 'own', headers: site('same-origin') },
    {
      name: 'own page as localhost',
      from: 'own',
      headers: { Host: `localhost:${port}`, Origin: `http://localhost:${port}` },
    },
    { name: 'page of another port', from: 'foreign', headers: { Origin: 'http://localhost:1', ...site('same-site') } },
    { name: 'page as localhost', from: 'foreign', headers: { Origin: `http://localhost:${port}` } },
    { name: 'foreign page', from: 'refused', headers: { Origin: 'https://evil.example' } },
    { name: 'look-alike page', from: 'refused', headers: { Origin: 'http://localhost.evil.example' } },
    { name: 'page in a foreign user part', from: 'refused', headers: { Origin: 'http://localhost@evil.example' } },
    { name: 'null origin', from: 'refused', headers: { Origin: 'null' } },
    { name: 'cross-site, no Origin', from: 'element', headers: site('cross-site') },
    { name: 'same-site, no Origin', from: 'element', headers: site('same-site') },
    { name: 'rebound name', from: 'refused', headers: { Host: 'evil.example' } },
    {
      name: 'own page of a rebound name',
      from: 'refused',
      headers: { Host: `evil.example:${port}`, Origin: `http://evil.example:${port}`, ...site('same-origin') },
    },
    { name: 'malformed Host', from: 'malformed', headers: { Host: `${host}/health?` } },
  ]
}

/** The value of the cookie that a browser gets when it signs in. */
export async function signIn({ url, key }: Place): Promise<string> {
  const { headers } = await exchangeJson(url, { method: 'POST', path: '/api/auth/sign-in', body: { key } })
  return /=([^;]+);/.exec(headers['set-cookie']?.[0] ?? '')?.[1] ?? ''
}

/** The path of a route, with parameters that name nothing. */
export const pathOf = (spec: RouteSpec): string =>
  spec.path.replace(/\{(\w+)\}/g, (_, name) => (name === 'conversation_id' ? newId() : 'nothing'))

/** The least a route can be asked. It is never right, so nothing comes of it even where it is let in. */
export function probe(spec: RouteSpec, ...cases: Case[]): Exchange {
  const query = cases.flatMap(({ query }) => query ?? [])
  return {
    method: spec.method,
    path: [pathOf(spec), ...query].join('?'),
    headers: Object.assign(
      {},
      ...cases.map(({ headers }) => headers),
      spec.body && { 'Content-Type': 'application/json' },
    ),
    ...(spec.body && !spec.bodyOptional && { body: '"not what was asked for"' }),
  }
}

/** Everything a stranger could wish to change. */
export async function stateOf({ client, url, key }: TestServer): Promise<unknown> {
  const { items } = await client.searchConversations()
  const settings = await exchange(url, {
    path: '/api/settings',
    headers: { 'X-Session-API-Key': key, 'X-Expose-Secrets': 'plaintext' },
  })
  return {
    conversations: items,
    logs: await Promise.all(items.map(({ id }) => client.searchEvents({ params: { conversation_id: id } }))),
    // The one thing in it that changes by itself.
    settings: settings.text.replace(/"current_datetime":"[^"]*"/, ''),
    secrets: await client.listSecrets(),
  }
}

/** How a socket may bring the key beside what a request may. */
export const socketCredentials = (place: Place, cookie: string): (Case & { brings: Brings })[] => [
  ...credentials(place, cookie).filter(({ query }) => query === undefined),
  { name: 'the key in the query', brings: 'key', headers: {}, query: `session_api_key=${place.key}` },
  { name: 'a wrong key in the query', brings: 'wrong', headers: {}, query: `session_api_key=${place.key}x` },
  { name: 'an empty key in the query', brings: 'nothing', headers: {}, query: 'session_api_key=' },
]

export interface Knock {
  name: string
  query: string
  headers: Record<string, string>
  isLetIn: boolean
}

/** Every credential from everywhere, as a socket is asked with it, and whether that opens it. */
export function knocks(access: string, mode: Mode, place: Place, cookie: string): Knock[] {
  return socketCredentials(place, cookie).flatMap(way =>
    provenances(place).map(from => ({
      name: `${way.name}, ${from.name}`,
      query: way.query ?? '',
      headers: { ...way.headers, ...from.headers },
      isLetIn: expected(access, mode, way.brings, from.from) === 'in',
    })),
  )
}

import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Access } from '../api/route.ts'
import type { Verdict } from './origin.ts'

/**
 * `local`: bound to loopback with no key configured: a caller from this machine may omit the key.
 * `key`: everybody needs it.
 */
export type Mode = 'local' | 'key'

/** The credentials a request brings, unchecked. */
export interface Credentials {
  /** `X-Session-API-Key`, or for sockets the query. */
  key: string | undefined
  authorization: string | undefined
  cookie: string | undefined
  /** The cookie for the files of workspaces. */
  workspaceCookie?: string | undefined
}

export interface Attempt extends Credentials {
  verdict: Exclude<Verdict, object>
  loopback: boolean
}

/** How a caller got in. Only `key` may see or store secrets; `sandbox` is confined to one; `workspace` only reads files. */
export type Standing = 'key' | 'local' | 'sandbox' | 'workspace' | 'free'

export class Auth {
  #mode: Mode
  readonly #keys: readonly Buffer[]
  readonly #session: string
  readonly #workspaceKey: Buffer
  readonly #sandboxOf: (key: string) => string | undefined
  #token: string | undefined

  /** `sandboxOf` tells which sandbox a key opens that is none of these. */
  constructor(
    keys: readonly [string, ...string[]],
    mode: Mode,
    sandboxOf: (key: string) => string | undefined = () => undefined,
  ) {
    this.#mode = mode
    this.#sandboxOf = sandboxOf
    this.#keys = keys.map(digest)
    this.#session = createHmac('sha256', keys[0]).update('session cookie').digest('base64url')
    this.#workspaceKey = createHmac('sha256', keys[0]).update('workspace cookie').digest()
  }

  get mode(): Mode {
    return this.#mode
  }

  /** From now on a caller from this machine may omit the key. Only for a server that is out of everybody else's reach. */
  trustLoopback(): void {
    this.#mode = 'local'
  }

  /** Undefined: 401. A wrong key is refused even where none is needed. */
  admit(access: Access, attempt: Attempt, exposes: boolean): Standing | undefined {
    const given = givenKey(attempt)
    const own = attempt.verdict === 'own'
    if (access === 'free' && own) return 'free'
    if (given !== undefined) return this.isKey(given) ? 'key' : this.#confined(access, given, exposes)
    if (access === 'workspace' && this.opensWorkspaces(attempt)) return 'workspace'
    if (!own) return undefined
    if (attempt.cookie !== undefined && same(attempt.cookie, this.#session)) return 'key'
    const keyless = access === 'caller' || access === 'workspace' || (access === 'expose' && !exposes)
    return keyless && this.#mode === 'local' && attempt.loopback ? 'local' : undefined
  }

  /** The sandbox that what a caller brought is the key of, or the cookie by which they got in. */
  scopeOf(credentials: Credentials, standing?: Standing): string | undefined {
    if (standing === 'workspace') return credentials.workspaceCookie?.split('.')[1]
    const given = givenKey(credentials)
    return given === undefined || this.isKey(given) ? undefined : this.#sandboxOf(given)
  }

  #confined(access: Access, given: string, exposes: boolean): Standing | undefined {
    const opens =
      access === 'caller' || access === 'workspace' || access === 'sandbox' || (access === 'expose' && !exposes)
    return opens && this.#sandboxOf(given) !== undefined ? 'sandbox' : undefined
  }

  /** Compares with every key, each in constant time. */
  isKey(candidate: string): boolean {
    const hash = digest(candidate)
    return this.#keys.reduce((found, key) => timingSafeEqual(key, hash) || found, false)
  }

  /** The value of the cookie that reads workspaces, those of one sandbox or all, and does nothing else. */
  workspaceSession(scope?: string): string {
    const token = createHmac('sha256', this.#workspaceKey)
      .update(scope ?? '')
      .digest('base64url')
    return scope === undefined ? token : `${token}.${scope}`
  }

  opensWorkspaces(credentials: Credentials): boolean {
    const { workspaceCookie } = credentials
    if (givenKey(credentials) !== undefined || workspaceCookie === undefined) return false
    return same(workspaceCookie, this.workspaceSession(workspaceCookie.split('.')[1]))
  }

  /** Makes the one-time token of a sign-in link; the last one made is the only one that works. */
  issueToken(): string {
    this.#token = randomBytes(32).toString('base64url')
    return this.#token
  }

  /** The value of the sign-in cookie, in exchange for the key or the token. The token is then used up. */
  signIn({ key, token }: { key?: string | undefined; token?: string | undefined }): string | undefined {
    if (key !== undefined && this.isKey(key)) return this.#session
    if (token === undefined || this.#token === undefined || !same(token, this.#token)) return undefined
    this.#token = undefined
    return this.#session
  }
}

export function credentialsOf({ headers }: IncomingMessage): Credentials {
  return {
    key: headers['x-session-api-key'] as string | undefined,
    authorization: headers.authorization,
    cookie: readCookie(headers.cookie, cookieName(headers.host)),
    workspaceCookie: readCookie(headers.cookie, WORKSPACE_COOKIE),
  }
}

function readCookie(header: string | undefined, name: string): string | undefined {
  const pair = header?.split(';').find(pair => pair.trim().startsWith(`${name}=`))
  return pair?.slice(pair.indexOf('=') + 1).trim()
}

/** The key a caller sent explicitly. An empty header is how some clients say "none". */
export function givenKey({ key, authorization }: Credentials): string | undefined {
  const bearer = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  return key || bearer || undefined
}

/** Cookies are shared by all ports of a host, so the name tells one server's from another's. */
export const cookieName = (host: string | undefined): string =>
  `gantry_session_${/:(\d+)$/.exec(host ?? '')?.[1] ?? 'default'}`

/** A name that clients of this interface know. */
export const WORKSPACE_COOKIE = 'oh_workspace_session_key'

export const isLoopback = (address: string | undefined): boolean =>
  address !== undefined && (address === '::1' || /^(::ffff:)?127\./.test(address))

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
const same = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b))

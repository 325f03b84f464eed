import { randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fault } from '../../api/errors.ts'
import type { MCPOAuthState, MCPServer } from '../../api/mcp.ts'
import type { MCPOAuthStatusResponse } from '../../api/mcp-probes.ts'
import { createServer } from '../../lib/node-http.ts'
import { type Authorization, beginAuthorization, type OAuth } from './authorization.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { explain, Failure } from './failure.ts'
import { type ProbeOptions, probe } from './probe.ts'

export interface LoginOrder {
  /** With its secrets opened; `url` is set. */
  server: MCPServer
  auth: OAuth
  probe: ProbeOptions
  /** What may be told of tokens. */
  hide(state: MCPOAuthState): MCPOAuthState
}

const PATH = '/callback'
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/

const WELL = 'The login has reached Gantry. This page can be closed.\n'
const ILL = 'This is not the login that Gantry waits for. Begin again there.\n'

/**
 * One login at an MCP server. A browser on this machine comes back to a listener of its own; from another machine a person copies the
 * address it was sent to. Either way counts once, and only with the state that was given along.
 */
export class LoginJob {
  readonly id = randomBytes(24).toString('base64url')
  readonly #order: LoginOrder
  readonly #state = randomBytes(32).toString('base64url')
  readonly #stop = new AbortController()
  #listener: Server | undefined
  #authorization: Authorization | undefined
  #redeeming: Promise<void> | undefined
  #outcome: Partial<MCPOAuthStatusResponse> | undefined

  constructor(order: LoginOrder) {
    this.#order = order
  }

  /** Never rejects: why it cannot be begun is in the status. */
  async begin(): Promise<void> {
    const { server, auth } = this.#order
    try {
      if (!URL.canParse(server.url!)) throw new Failure('unknown', 'its URL is not one')
      const redirectUrl = await this.#listen()
      this.#authorization = await this.#bounded(fetch =>
        beginAuthorization(new URL(server.url!), auth, { redirectUrl, state: this.#state, fetch }),
      )
    } catch (error) {
      this.#fail(error)
    }
  }

  get status(): MCPOAuthStatusResponse {
    const url = this.#authorization?.url.href
    const over = this.#outcome?.ok === undefined ? undefined : this.#outcome.ok ? 'succeeded' : 'failed'
    return {
      ok: this.#outcome?.ok ?? true,
      status: over ?? (this.#authorization ? 'authorizing' : 'pending'),
      job_id: this.id,
      ...(url !== undefined && { authorization_url: url }),
      callback_ready: this.#authorization !== undefined && this.#redeeming === undefined,
      ...this.#outcome,
    }
  }

  /** Takes the address that a browser was sent back to. Resolves when it is known what came of it. */
  async receive(address: string): Promise<void> {
    const url = URL.canParse(address) ? new URL(address) : undefined
    if (url?.protocol !== 'http:' || !LOOPBACK.test(url.hostname) || url.pathname !== PATH)
      throw fault('bad_request', 'This is not an address that a browser is sent back to after a login')
    const { state = '', code, error, iss } = Object.fromEntries(url.searchParams)
    if (!same(state, this.#state)) throw fault('bad_request', 'The state in this address is not that of this login')
    if (!this.#authorization || this.#redeeming || this.#outcome) throw fault('mcp_login_over')
    this.#redeeming = this.#redeem(this.#authorization, { code, error, iss })
    await this.#redeeming
  }

  close(): void {
    this.#stop.abort(new Failure('unknown', 'the login was given up'))
    this.#listener?.close()
    this.#listener?.closeAllConnections()
  }

  async #redeem(
    authorization: Authorization,
    { code, error, iss }: { code: string | undefined; error: string | undefined; iss: string | undefined },
  ): Promise<void> {
    const { server, auth, hide } = this.#order
    try {
      if (error !== undefined) throw new Failure('connection', `the login was refused (${error.slice(0, 100)})`)
      if (!code) throw new Failure('unknown', 'the login came back without a code')
      let state = await this.#bounded(fetch => authorization.redeem({ code, iss }, fetch))
      const probed = await probe(
        { ...server, auth: { ...auth, state } },
        {
          ...this.#order.probe,
          onTokens: (_, renewed) => {
            state = renewed
          },
        },
      )
      this.#outcome = probed.ok ? { ...probed, oauth_state: hide(state) } : probed
    } catch (reason) {
      this.#fail(reason)
    } finally {
      this.#listener?.close()
    }
  }

  #fail(error: unknown): void {
    const { message, kind } = explain(error)
    const { name } = this.#order.probe
    this.#outcome = { ok: false, error: `No login at the MCP server '${name}': ${message}`, error_kind: kind }
    this.#listener?.close()
  }

  /** Answers from elsewhere are bounded in size and number, and all of them together in time. */
  #bounded<T>(work: (fetch: ProbeOptions['fetch']) => Promise<T>): Promise<T> {
    const { fetch, timeoutMs } = this.#order.probe
    const late = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(timeoutMs)])
    const timely = boundedFetch(fetch, { answerMs: timeoutMs, silenceMs: timeoutMs, onBroken: () => undefined })
    return work((url, init) => timely(url, { ...init, signal: late }))
  }

  /** The address at which browsers of this machine come back. */
  async #listen(): Promise<string> {
    const listener = createServer(async (request, response) => {
      const address = `http://127.0.0.1${request.url}`
      const page = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store', Connection: 'close' }
      const received =
        request.method === 'GET' &&
        (await this.receive(address).then(
          () => true,
          () => false,
        ))
      response.writeHead(received ? 200 : 400, page).end(received ? WELL : ILL)
    })
    this.#listener = listener
    listener.listen(0, '127.0.0.1').unref()
    await once(listener, 'listening')
    return `http://127.0.0.1:${(listener.address() as AddressInfo).port}${PATH}`
  }
}

function same(a: string, b: string): boolean {
  const [x, y] = [Buffer.from(a), Buffer.from(b)]
  return x.length === y.length && timingSafeEqual(x, y)
}

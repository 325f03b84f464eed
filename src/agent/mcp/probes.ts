import { fault } from '../../api/errors.ts'
import type { MCPOAuthState, MCPServer } from '../../api/mcp.ts'
import {
  type MCPOAuthStartResponse,
  type MCPOAuthStatusResponse,
  type MCPTestRequest,
  type MCPTestResponse,
  testedServer,
} from '../../api/mcp-probes.ts'
import { LoginJob } from './login-job.ts'
import { type ProbeOptions, probe } from './probe.ts'
import type { Surroundings } from './session.ts'

/** How long a person may take to log in. */
const LOGIN_MS = 15 * 60_000
/** Logins that are remembered at a time: each holds a port open. */
const LOGINS = 32

export interface McpProbesParts {
  /** Of a sandbox, or of the default one. */
  around(sandbox: string | undefined): Surroundings
  /** A server as it came over the wire, with its secrets as they are to be used. */
  open(server: MCPServer): MCPServer
  /** Tokens as they may be told: of no use to anybody but this server. */
  hide(state: MCPOAuthState): MCPOAuthState
}

/** Tries servers out that are not in any settings yet, and logs in at those that want that. */
export class McpProbes {
  readonly #parts: McpProbesParts
  readonly #jobs = new Map<string, { job: LoginJob; end: NodeJS.Timeout }>()

  constructor(parts: McpProbesParts) {
    this.#parts = parts
  }

  async test(request: MCPTestRequest, sandbox: string | undefined): Promise<MCPTestResponse> {
    let renewed: MCPOAuthState | undefined
    const onTokens = (_: string, state: MCPOAuthState) => {
      renewed = state
    }
    const tested = await probe(this.#parts.open(testedServer(request)), {
      ...this.#options(request, sandbox),
      onTokens,
    })
    return tested.ok && renewed ? { ...tested, oauth_state: this.#parts.hide(renewed) } : tested
  }

  /** Resolves when a person can go on, or it is known that nobody can. */
  async startLogin(request: MCPTestRequest, sandbox: string | undefined): Promise<MCPOAuthStartResponse> {
    const server = this.#parts.open(testedServer(request))
    const { auth } = server
    if (!server.url || auth?.strategy !== 'oauth2')
      throw fault('bad_request', 'Only a server whose auth.strategy is oauth2 is logged in at')
    const job = new LoginJob({ server, auth, probe: this.#options(request, sandbox), hide: this.#parts.hide })
    this.#keep(job)
    await job.begin()
    const { ok, authorization_url, error, error_kind } = job.status
    return {
      ok,
      job_id: job.id,
      ...(authorization_url !== undefined && { authorization_url }),
      ...(error !== undefined && { error }),
      ...(error_kind !== undefined && { error_kind }),
    }
  }

  loginStatus(id: string): MCPOAuthStatusResponse {
    return this.#job(id).status
  }

  async finishLogin(id: string, callbackUrl: string): Promise<MCPOAuthStatusResponse> {
    const job = this.#job(id)
    await job.receive(callbackUrl)
    return job.status
  }

  close(): void {
    for (const id of this.#jobs.keys()) this.#drop(id)
  }

  #options({ name, timeout, tool_call }: MCPTestRequest, sandbox: string | undefined): ProbeOptions {
    const around = this.#parts.around(sandbox)
    return { ...around, name, timeoutMs: Math.ceil(timeout * 1_000), ...(tool_call && { toolCall: tool_call }) }
  }

  #job(id: string): LoginJob {
    const found = this.#jobs.get(id)
    if (!found) throw fault('mcp_login_not_found')
    return found.job
  }

  /** Where there are too many, the oldest has been given up by whoever began it. */
  #keep(job: LoginJob): void {
    const [oldest] = this.#jobs.keys()
    if (this.#jobs.size >= LOGINS && oldest !== undefined) this.#drop(oldest)
    this.#jobs.set(job.id, { job, end: setTimeout(() => this.#drop(job.id), LOGIN_MS).unref() })
  }

  #drop(id: string): void {
    const kept = this.#jobs.get(id)
    this.#jobs.delete(id)
    clearTimeout(kept?.end)
    kept?.job.close()
  }
}

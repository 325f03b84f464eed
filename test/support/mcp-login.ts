import { text } from 'node:stream/consumers'
import { Listener, streamable } from './mcp-http.ts'

/** A server that lets in whoever has a token, and renews those. */
export class Guarded implements AsyncDisposable {
  readonly listener: Listener
  /** What it lets in. */
  valid = new Set(['first'])
  /** What may be renewed, and into which. */
  renewable = new Map<string, string>()
  /** The bodies of all requests for tokens. */
  readonly renewals: URLSearchParams[] = []
  issuer: string | undefined

  static async start(): Promise<Guarded> {
    const handle = streamable()
    const listener: Listener = await Listener.start(async (request, response) => {
      const { origin } = listener
      const json = (status: number, body: object) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      const path = request.url!.split('?')[0]!
      if (path.startsWith('/.well-known/oauth-protected-resource'))
        return json(200, { resource: `${origin}/mcp`, authorization_servers: [origin] })
      if (path.startsWith('/.well-known/oauth-authorization-server'))
        return json(200, {
          issuer: guarded.issuer ?? origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          response_types_supported: ['code'],
          token_endpoint_auth_methods_supported: ['client_secret_post'],
        })
      if (path === '/token') {
        const asked = new URLSearchParams(await text(request))
        guarded.renewals.push(asked)
        const access_token = guarded.renewable.get(asked.get('refresh_token') ?? '')
        if (access_token === undefined) return json(400, { error: 'invalid_grant' })
        guarded.valid.add(access_token)
        return json(200, { access_token, token_type: 'Bearer', expires_in: 3600, refresh_token: 'rotated' })
      }
      const token = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1]
      if (token === undefined || !guarded.valid.has(token)) {
        const where = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource"`
        return response.writeHead(401, { 'www-authenticate': where }).end()
      }
      return handle(request, response)
    })
    const guarded = new Guarded(listener)
    return guarded
  }

  private constructor(listener: Listener) {
    this.listener = listener
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.listener[Symbol.asyncDispose]()
  }
}

import { createHash, randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { Listener, streamable } from './mcp-http.ts'

interface Options {
  /** For what it says it gives logins; itself unless given. */
  resource?: string
}

/** An MCP server that lets in who has logged in, and the one who gives those logins: clients make themselves known, and prove that they asked. */
export class Authorizing implements AsyncDisposable {
  readonly listener: Listener
  /** Given out, and good. */
  readonly tokens = new Set<string>()
  /** What clients said of themselves. */
  readonly clients = new Map<string, { redirect_uris: string[]; client_name: string }>()
  /** The bodies of all requests for tokens. */
  readonly redeemed: URLSearchParams[] = []

  static async start({ resource }: Options = {}): Promise<Authorizing> {
    const handle = streamable()
    const codes = new Map<string, { challenge: string; client: string; redirect: string }>()
    const listener: Listener = await Listener.start(async (request, response) => {
      const { origin } = listener
      const { pathname, searchParams } = new URL(request.url!, origin)
      const json = (status: number, body: object) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      if (pathname === '/where')
        return json(200, { resource: resource ?? `${origin}/mcp`, authorization_servers: [origin] })
      if (pathname === '/.well-known/oauth-authorization-server')
        return json(200, {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['client_secret_post'],
        })
      if (pathname === '/register') {
        const said = JSON.parse(await text(request))
        const client_id = randomBytes(8).toString('hex')
        self.clients.set(client_id, said)
        return json(201, { ...said, client_id, client_secret: `secret of ${client_id}` })
      }
      if (pathname === '/authorize') {
        const redirect = searchParams.get('redirect_uri')!
        const client = searchParams.get('client_id')!
        if (!self.clients.get(client)?.redirect_uris.includes(redirect)) return json(400, { error: 'invalid_client' })
        const code = randomBytes(8).toString('hex')
        codes.set(code, { challenge: searchParams.get('code_challenge')!, client, redirect })
        const back = new URL(redirect)
        back.search = new URLSearchParams({ code, state: searchParams.get('state') ?? '', iss: origin }).toString()
        return response.writeHead(302, { location: back.href }).end()
      }
      if (pathname === '/token') {
        const asked = new URLSearchParams(await text(request))
        self.redeemed.push(asked)
        const code = codes.get(asked.get('code') ?? '')
        codes.delete(asked.get('code') ?? '')
        const proof = createHash('sha256')
          .update(asked.get('code_verifier') ?? '')
          .digest('base64url')
        const known =
          code?.challenge === proof &&
          code.redirect === asked.get('redirect_uri') &&
          asked.get('client_secret') === `secret of ${code.client}`
        if (!known) return json(400, { error: 'invalid_grant' })
        const access_token = `access-${randomBytes(8).toString('hex')}`
        self.tokens.add(access_token)
        return json(200, { access_token, token_type: 'Bearer', expires_in: 3600, refresh_token: 'the-refresh-token' })
      }
      const token = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1]
      if (pathname === '/mcp' && token !== undefined && self.tokens.has(token)) return handle(request, response)
      return response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${origin}/where"` }).end()
    })
    const self = new Authorizing(listener)
    return self
  }

  private constructor(listener: Listener) {
    this.listener = listener
  }

  /** Goes where a browser would, says yes, and tells where it is sent back to. */
  async approve(authorizationUrl: string): Promise<string> {
    const answer = await fetch(authorizationUrl, { redirect: 'manual' })
    const back = answer.headers.get('location')
    if (!back) throw new Error(`It was not sent back: ${answer.status} ${await answer.text()}`)
    return back
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.listener[Symbol.asyncDispose]()
  }
}

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { KEY, signIn, startIn } from '../support/access.ts'
import { appInProcess, type OwnApp } from '../support/app.ts'
import { type Answer, exchange, exchangeJson } from '../support/exchange.ts'
import { TestServer } from '../support/server.ts'

const LOCAL_PAGES = [
  'http://localhost:1',
  'http://localhost',
  'https://localhost:3000',
  'http://127.0.0.1:3001',
  'http://[::1]:5173',
]
const WANTED = ['x-session-api-key', 'x-expose-secrets', 'content-type']

const preflight = (url: string, Origin: string, method = 'POST', path = '/api/settings') =>
  exchange(url, {
    method: 'OPTIONS',
    path,
    headers: {
      Origin,
      'Access-Control-Request-Method': method,
      'Access-Control-Request-Headers': WANTED.join(','),
    },
  })

const words = (header: string | string[] | undefined): string[] =>
  String(header ?? '')
    .toLowerCase()
    .split(/\s*,\s*/)

describe('P6: what pages of other origins may ask', () => {
  let server: TestServer
  before(async () => {
    server = await startIn('key')
  })
  after(() => server[Symbol.asyncDispose]())

  const mayRead = ({ headers }: Answer, origin: string) => headers['access-control-allow-origin'] === origin

  test('a page of this machine may send the key, ask for secrets and send JSON, by any method', async () => {
    for (const origin of LOCAL_PAGES)
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        const answer = await preflight(server.url, origin, method)
        assert.equal(answer.status, 204)
        assert.ok(mayRead(answer, origin), origin)
        const allowed = words(answer.headers['access-control-allow-headers'])
        assert.deepEqual(
          WANTED.filter(name => !allowed.includes(name)),
          [],
        )
        assert.ok(words(answer.headers['access-control-allow-methods']).includes(method.toLowerCase()), method)
        assert.ok(words(answer.headers.vary).includes('origin'))
      }
  })

  test('any other page is told nothing, whatever it asks', async () => {
    const pages = [
      'https://evil.example',
      'null',
      'http://localhost.evil.example',
      'http://evil.example:8000',
      'file://',
    ]
    for (const origin of [...pages, 'chrome-extension://abc', 'ftp://localhost', 'http://localhost:1@evil.example'])
      for (const answer of [
        await preflight(server.url, origin),
        await exchange(server.url, { path: '/health', headers: { Origin: origin } }),
        await exchange(server.url, {
          path: '/api/conversations/count',
          headers: { Origin: origin, 'X-Session-API-Key': KEY },
        }),
      ]) {
        assert.equal(answer.status, 403, origin)
        assert.deepEqual(
          Object.keys(answer.headers).filter(name => name.startsWith('access-control-')),
          [],
        )
      }
  })

  test('a page that may talk to us can read what went wrong', async () => {
    const Origin = LOCAL_PAGES[0]!
    const json = { 'Content-Type': 'application/json', 'X-Session-API-Key': KEY }
    const order = (headers: object, body: string) => ({
      method: 'POST',
      path: '/api/conversations',
      headers: { ...headers },
      body,
    })
    const failures: Record<number, Parameters<typeof exchange>[1]> = {
      401: { path: '/api/conversations/count' },
      404: { path: '/nowhere', headers: json },
      405: { method: 'PUT', path: '/api/conversations', headers: json },
      415: order({ ...json, 'Content-Type': 'text/plain' }, '{}'),
      422: order(json, '{}'),
    }
    for (const [status, request] of Object.entries(failures)) {
      const answer = await exchange(server.url, { ...request, headers: { ...request?.headers, Origin } })
      assert.equal(answer.status, Number(status))
      assert.ok(mayRead(answer, Origin), status)
      assert.ok(words(answer.headers.vary).includes('origin'))
    }
  })

  test('no answer is for everybody', async () => {
    for (const path of ['/', '/health', '/openapi.json', '/docs', '/web/main.js', '/api/conversations/count'])
      for (const Origin of [server.url, ...LOCAL_PAGES]) {
        const answer = await exchange(server.url, { path, headers: { Origin, 'X-Session-API-Key': KEY } })
        assert.notEqual(answer.headers['access-control-allow-origin'], '*')
      }
  })

  test('origins are added by option, by variable and by pattern, each as a whole', async () => {
    await using own = await TestServer.start({
      args: ['--allow-origin', 'https://app.example', '--allow-origin', 'https://other.example:8443'],
      env: { OH_ALLOW_CORS_ORIGIN_REGEX: 'https://[a-z]+\\.preview\\.example' },
    })
    await using numbered = await TestServer.start({ env: { OH_ALLOW_CORS_ORIGINS_0: 'https://zero.example' } })
    const status = async ({ url }: TestServer, origin: string) => (await preflight(url, origin)).status
    for (const good of [
      'https://app.example',
      'https://other.example:8443',
      'https://a.preview.example',
      ...LOCAL_PAGES,
    ])
      assert.equal(await status(own, good), 204, good)
    for (const bad of [
      'http://app.example',
      'https://app.example:444',
      'https://app.example.evil',
      'https://a.preview.example.evil.example',
      'https://evil.example/https://a.preview.example',
      'https://apreviewexample',
    ])
      assert.equal(await status(own, bad), 403, bad)
    assert.equal(await status(numbered, 'https://zero.example'), 204)
  })
})

describe('P6: signing a browser in', () => {
  let app: OwnApp
  before(async () => {
    app = await appInProcess()
  })
  after(() => app[Symbol.asyncDispose]())

  const PATH = '/api/auth/sign-in'
  const post = (body: object, headers: Record<string, string> = {}, url = app.url) =>
    exchangeJson(url, { method: 'POST', path: PATH, headers, body })
  const newToken = () => /\/#token=([\w-]{43})$/.exec(app.signInLink())?.[1] ?? assert.fail('no token in the link')

  test('a link works once, and only the last one', async () => {
    const old = newToken()
    const token = newToken()
    assert.equal((await post({ token: old })).status, 401)
    assert.equal((await post({ token: `${token}x` })).status, 401)
    assert.equal((await post({ token: '' })).status, 401)
    const answers = await Promise.all([1, 2, 3, 4].map(() => post({ token })))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 401, 401, 401])
    assert.equal(answers.filter(({ headers }) => headers['set-cookie']).length, 1)
    assert.equal((await post({ token })).status, 401)
  })

  test('a token is no key, and no cookie', async () => {
    const token = newToken()
    const name = `gantry_session_${new URL(app.url).port}`
    const attempts: Record<string, string>[] = [
      { 'X-Session-API-Key': token },
      { Authorization: `Bearer ${token}` },
      { Cookie: `${name}=${token}` },
    ]
    for (const headers of attempts)
      assert.equal((await exchange(app.url, { path: '/api/settings/secrets', headers })).status, 401)
    assert.equal((await post({ key: token })).status, 401)
    assert.equal((await post({ token })).status, 204)
  })

  test('the cookie is out of reach for scripts and other sites, tells nothing, and opens what the key opens', async () => {
    const { headers } = await post({ token: newToken() })
    const [cookie = '', ...others] = headers['set-cookie'] ?? []
    assert.deepEqual(others, [])
    const [pair = '', ...attributes] = cookie.split('; ')
    assert.match(pair, new RegExp(`^gantry_session_${new URL(app.url).port}=[\\w-]{43}$`))
    for (const attribute of ['HttpOnly', 'SameSite=Strict', 'Path=/'])
      assert.ok(attributes.includes(attribute), attribute)
    assert.ok(!attributes.some(attribute => /^domain/i.test(attribute)))
    assert.equal((await exchange(app.url, { path: '/api/settings/secrets', headers: { Cookie: pair } })).status, 200)
    const among = `a=b; ${pair}; c=d`
    assert.equal((await exchange(app.url, { path: '/api/settings/secrets', headers: { Cookie: among } })).status, 200)
  })

  test('signing out takes the cookie back', async () => {
    const signedIn = await post({ token: newToken() })
    const name = signedIn.headers['set-cookie']?.[0]?.split('=')[0]
    const { status, headers } = await exchange(app.url, { method: 'DELETE', path: PATH })
    assert.equal(status, 204)
    const [cookie = ''] = headers['set-cookie'] ?? []
    assert.match(cookie, new RegExp(`^${name}=; `))
    assert.match(cookie, /; Max-Age=0(;|$)/)
    assert.match(cookie, /; Path=\/(;|$)/)
  })

  test('what is wrong signs nobody in', async () => {
    for (const body of [{}, { key: '' }, { key: 'wrong' }, { token: 'wrong' }, { key: 'wrong', token: 'wrong' }]) {
      const { status, headers } = await post(body)
      assert.equal(status, 401, JSON.stringify(body))
      assert.equal(headers['set-cookie'], undefined)
    }
    assert.equal((await post({ key: 5 })).status, 422)
  })

  test('a page of another origin can neither sign in nor out', async () => {
    for (const [Origin, status] of [
      ['http://localhost:1', 401],
      ['https://evil.example', 403],
    ] as const) {
      const token = newToken()
      for (const answer of [
        await post({ token }, { Origin }),
        await exchange(app.url, { method: 'DELETE', path: PATH, headers: { Origin } }),
      ]) {
        assert.equal(answer.status, status)
        assert.equal(answer.headers['set-cookie'], undefined)
      }
      assert.equal((await post({ token })).status, 204, 'the token is still good')
    }
  })

  test('a cookie ends with the key it came from, and lives through a restart', async () => {
    const first = await startIn('key')
    const { data } = first
    const cookie = await signIn(first)
    assert.ok(!cookie.includes(KEY))
    await first.stop()
    const opens = async (key: string) => {
      await using server = await TestServer.start({ data, env: { SESSION_API_KEY: key } })
      const Cookie = `gantry_session_${new URL(server.url).port}=${cookie}`
      return (await exchange(server.url, { path: '/api/conversations/count', headers: { Cookie } })).status
    }
    assert.equal(await opens(KEY), 200)
    assert.equal(await opens(`${KEY}-changed`), 401)
    await first[Symbol.asyncDispose]()
  })
})

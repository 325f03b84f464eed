import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { RouteSpec } from '../../src/api/route.ts'
import { routes } from '../../src/api/routes/index.ts'
import { Auth } from '../../src/http/auth.ts'
import { Metrics } from '../../src/http/metrics.ts'
import { originPolicy } from '../../src/http/origin.ts'
import { Plain } from '../../src/http/reply.ts'
import { type Call, type Handlers, HttpServer } from '../../src/http/server.ts'
import { newId } from '../../src/lib/id.ts'
import { makeLog } from '../../src/lib/log.ts'
import {
  type Case,
  credentials,
  expected,
  KEY,
  MODES,
  type Mode,
  type Outcome,
  type Place,
  probe,
  provenances,
  signIn,
  startIn,
  stateOf,
} from '../support/access.ts'
import { exchange, exchangeJson, inParallel } from '../support/exchange.ts'
import { Random } from '../support/random.ts'
import { sampled } from '../support/sampled.ts'
import { aMessage, anOrder, DEEP, type TestServer } from '../support/server.ts'

const table = Object.entries<RouteSpec>(routes)
const servers = {} as Record<Mode, TestServer>
const cookies = {} as Record<Mode, string>
before(async () => {
  ;[servers.local, servers.key] = await Promise.all([startIn('local'), startIn('key')])
  for (const mode of MODES) cookies[mode] = await signIn(servers[mode])
})
after(() => Promise.all(Object.values(servers).map(server => server[Symbol.asyncDispose]())))

/** Whoever is let in may be told, with the status of a refusal, that a git provider was given no token. */
const outcome = ({ status, text }: { status: number; text: string }): Outcome =>
  (status === 400 || status === 401 || status === 403) && !/"git_(token_required|user_unknown)"/.test(text)
    ? status
    : 'in'

/** Every credential from everywhere, and what must come of it. */
const attempts = (place: Place, mode: Mode, access: string) =>
  credentials(place, cookies[mode]).flatMap(credential =>
    provenances(place).map(provenance => ({
      cases: [credential, provenance],
      kind: `${credential.brings} ${provenance.from}`,
      words: `${mode} mode, ${credential.name}, ${provenance.name}`,
      want: expected(access, mode, credential.brings, provenance.from),
    })),
  )

const random = new Random()
/** All of them in the deep tier, else one in so many. */
const sample = <T>(all: T[], oneIn: number): T[] => all.filter(() => DEEP || random.int(oneIn) === 0)
/** The same, and of each kind at least one. */
const chosen = <T extends { kind: string }>(all: T[]): T[] => [...new Set([...oneOfEachKind(all), ...sample(all, 10)])]

const oneOfEachKind = <T extends { kind: string }>(all: T[]): T[] => [
  ...new Map(all.map(attempt => [attempt.kind, attempt])).values(),
]

describe('P6: every route, in both modes, for every credential from everywhere', () => {
  // Many, and alike: every access there is, every way of asking, on other routes each time.
  const some = sampled(16)
  for (const mode of MODES)
    for (const [name, spec] of table)
      some(`${mode} mode: ${name} (${spec.access})`, async () => {
        const all = chosen(attempts(servers[mode], mode, spec.access))
        const found = await inParallel(all, async ({ cases, words, want }) => {
          const answer = await exchange(servers[mode].url, probe(spec, ...cases))
          return outcome(answer) === want ? [] : [`${words}: ${answer.status}, not ${want}`]
        })
        assert.deepEqual(found.flat(), [])
      })

  test('HEAD is judged as GET', async () => {
    const gets = sample(table, 3).filter(([, { method }]) => method === 'GET')
    const found = await inParallel(
      MODES.flatMap(mode => gets.map(([name, spec]) => ({ mode, name, spec }))),
      async ({ mode, name, spec }) => {
        const { status } = await exchange(servers[mode].url, { ...probe(spec), method: 'HEAD' })
        const { text } = await exchange(servers[mode].url, probe(spec))
        const want = expected(spec.access, mode, 'nothing', 'own')
        return outcome({ status, text }) === want ? [] : [`${mode} ${name}: ${status}`]
      },
    )
    assert.deepEqual(found.flat(), [])
  })

  test('asking for secrets makes a key necessary where none was', async () => {
    const exposing = table.filter(([, { access }]) => access === 'expose')
    assert.ok(exposing.length > 0)
    for (const how of ['plaintext', 'encrypted', 'nonsense', '']) {
      const header: Case = { name: how, headers: { 'X-Expose-Secrets': how } }
      for (const [name, spec] of exposing)
        for (const mode of MODES)
          for (const credential of sample(credentials(servers[mode], cookies[mode]), 4)) {
            const { status } = await exchange(servers[mode].url, probe(spec, credential, header))
            const want = expected('key', mode, credential.brings, 'own')
            assert.equal(status === 401 ? 401 : 'in', want, `${name}, ${mode} mode, ${credential.name}, "${how}"`)
          }
    }
  })

  test('the table itself: only these are free, and what stores settings or tells secrets needs the key', () => {
    const free = ['root', 'alive', 'health', 'ready', 'serverInfo', 'openapi', 'docs', 'redoc', 'webFile', 'favicon']
    assert.deepEqual(
      table.flatMap(([name, { access }]) => (access === 'free' ? [name] : [])),
      [...free, 'signIn', 'signOut', 'getWebClientConfig', 'getInitStatus', 'initialize'],
    )
    for (const [name, { method, path, access, headers }] of table) {
      const stored = /^\/api\/((v1\/)?(settings|profiles)|add-git-providers|unset-provider-tokens)/
      const stores = stored.test(path) && method !== 'GET'
      const needed = path.startsWith('/api/v1/sandboxes/') ? 'sandbox' : 'key'
      // A conversation is given secrets by whoever may start it with them. It tells none.
      const gives = method === 'POST' && path === '/api/conversations/{conversation_id}/secrets'
      const tells = path.includes('/secrets') && !gives
      if (stores || tells || path === '/metrics') assert.equal(access, needed, name)
      if (headers && 'x-expose-secrets' in headers.shape) assert.match(access, /^(expose|key)$/, name)
    }
  })

  test('a rule that nobody knows opens nothing', () => {
    for (const [name, { access }] of table) assert.doesNotThrow(() => expected(access, 'key', 'nothing', 'own'), name)
    assert.throws(() => expected('anybody', 'key', 'nothing', 'own'), /no rule for the access "anybody"/)
    const auth = new Auth([KEY], 'local')
    const attempt = {
      key: undefined,
      authorization: undefined,
      cookie: undefined,
      verdict: 'own',
      loopback: true,
    } as const
    assert.equal(auth.admit('anybody' as 'free', attempt, false), undefined)
  })

  test('local mode is for callers of this machine', () => {
    const auth = new Auth([KEY], 'local')
    const attempt = { key: undefined, authorization: undefined, cookie: undefined, verdict: 'own' } as const
    assert.equal(auth.admit('caller', { ...attempt, loopback: true }, false), 'local')
    assert.equal(auth.admit('caller', { ...attempt, loopback: false }, false), undefined)
    assert.equal(auth.admit('caller', { ...attempt, loopback: false, key: KEY }, false), 'key')
  })
})

describe('P6: a refusal changes nothing', () => {
  for (const mode of MODES)
    test(`${mode} mode: no handler runs and no body is read before the caller is let in, on any route`, async () => {
      await using edge = await edgeOfSpies(mode)
      const place = { url: edge.url, key: servers[mode].key }
      const found = await inParallel(table, async ([name, spec]) => {
        const wrong: string[] = []
        const kinds = oneOfEachKind(attempts(place, mode, spec.access))
        const good = kinds.filter(({ kind }) => kind === 'key own')
        for (const { cases, words, want } of new Set([...good, ...sample(kinds, 10)])) {
          const mark: Case = { name: 'mark', headers: { 'X-Mark': newId() } }
          const answer = await exchange(edge.url, probe(spec, ...cases, mark))
          const reached = edge.reached.get(mark.headers['X-Mark']!) ?? []
          if (outcome(answer) !== want || (want !== 'in' && reached.length > 0))
            wrong.push(`${name}, ${words}: ${answer.status}, not ${want}; reached ${reached.join(' and ')}`)
        }
        return wrong
      })
      assert.deepEqual(found.flat(), [])
      const reached = new Set([...edge.reached.values()].flat())
      assert.ok(reached.has('the body') && reached.has('deleteConversation') && reached.has('listSecrets'))
    })

  test('requests that would be right change nothing when they are refused, and everything when they are not', async () => {
    await using server = await startIn('local')
    const { client, url, key } = server
    const { id } = await client.startConversation({ body: anOrder({ initial_message: aMessage('before') }) })
    await client.updateConversation({ params: { conversation_id: id }, body: { title: 'before' } })
    await server.atRest(id)
    const [first] = (await client.searchEvents({ params: { conversation_id: id } })).items
    await client.putSecret({ body: { name: 'BEFORE', value: 'before' } })
    const conversation = `/api/conversations/${id}`
    const changes: [method: string, path: string, body?: object][] = [
      ['POST', '/api/conversations', anOrder()],
      ['PATCH', conversation, { title: 'after' }],
      ['POST', `${conversation}/events`, aMessage('after')],
      ['POST', `${conversation}/secrets`, { secrets: { AFTER: 'after' } }],
      ['POST', `${conversation}/switch_llm`, { llm: { model: 'demo/guide', temperature: 0.5 } }],
      ['POST', `${conversation}/confirmation_policy`, { policy: { kind: 'AlwaysConfirm' } }],
      ['POST', `${conversation}/security_analyzer`, { security_analyzer: { kind: 'PatternSecurityAnalyzer' } }],
      ['POST', `${conversation}/fork`, { title: 'after' }],
      ['POST', `${conversation}/ask_agent`, { question: 'after' }],
      ['POST', `${conversation}/navigate`, { event_id: first!.id }],
      ['POST', `${conversation}/pause`],
      ['POST', '/api/settings', { language: 'after' }],
      ['PATCH', '/api/settings', { agent_settings_diff: { llm: { model: 'after' } } }],
      ['POST', '/api/settings/mcp/after', { url: 'http://after.example' }],
      ['PUT', '/api/settings/secrets', { name: 'AFTER', value: 'after' }],
      ['DELETE', '/api/settings/secrets/BEFORE'],
      ['DELETE', conversation],
    ]
    const refused: Record<string, string>[] = [
      { Origin: 'https://evil.example', 'X-Session-API-Key': key },
      { Host: 'evil.example', 'X-Session-API-Key': key },
      { Origin: 'http://localhost:1' },
      { 'Sec-Fetch-Site': 'cross-site', 'X-Session-API-Key': key },
      { 'X-Session-API-Key': 'wrong' },
    ]
    const send = ([method, path, body]: (typeof changes)[number], headers: Record<string, string>) =>
      body ? exchangeJson(url, { method, path, headers, body }) : exchange(url, { method, path, headers })

    const state = await stateOf(server)
    for (const change of changes)
      for (const headers of refused) {
        const { status } = await send(change, headers)
        assert.ok(status === 401 || status === 403, `${change[0]} ${change[1]}: ${status}`)
      }
    assert.deepEqual(await stateOf(server), state)
    for (const change of changes) {
      const before = await stateOf(server)
      assert.match(String((await send(change, { 'X-Session-API-Key': key })).status), /^20/)
      assert.notDeepEqual(await stateOf(server), before, `${change[0]} ${change[1]}`)
    }
  })
})

/** The real edge before handlers that only tell by which request they were reached. */
async function edgeOfSpies(mode: Mode) {
  const reached = new Map<string, string[]>()
  const note = (incoming: IncomingMessage, what: string) => {
    const mark = String(incoming.headers['x-mark'])
    reached.set(mark, [...(reached.get(mark) ?? []), what])
  }
  const http = new HttpServer({
    auth: new Auth([servers[mode].key], mode),
    origins: originPolicy([], []),
    log: makeLog('error', line => assert.fail(line)),
    metrics: new Metrics(),
    hasSandbox: () => false,
    opened: Promise.resolve(),
    draining: () => false,
  })
  const spies = table.map(([name]) => [
    name,
    (_: unknown, { incoming }: Call) => {
      note(incoming, name)
      return new Plain('text/plain', 'reached')
    },
  ])
  http.serve(routes, Object.fromEntries(spies) as Handlers<typeof routes>)
  const server = createServer((incoming, out) => {
    const read = incoming[Symbol.asyncIterator].bind(incoming)
    incoming[Symbol.asyncIterator] = () => {
      note(incoming, 'the body')
      return read()
    }
    void http.handle(incoming, out)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    reached,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { AppConversation } from '../../src/api/app-conversations.ts'
import { GitServer, NO_GIT_SERVER } from '../support/git-server.ts'
import { Random } from '../support/random.ts'
import { aMessage, count, DEEP, TestServer } from '../support/server.ts'
import { STATUSES, sandboxesLeft, startAndAt } from '../support/start-moments.ts'
import { conversation, inside, over, reaching, started, startOver, useAsGithub } from '../support/starts.ts'
import { until } from '../support/wait.ts'

const APP = '/api/v1/app-conversations'

const hex = (id: string) => id.replaceAll('-', '')
const dashed = (id: string) => hex(id).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
/** Every way an id is written. */
const spellings = (id: string) => [hex(id), dashed(id), dashed(id).toUpperCase(), hex(id).toUpperCase()]

async function ask(server: TestServer, method: string, path: string, body?: unknown) {
  const answer = await fetch(server.url + path, {
    method,
    headers: { 'x-session-api-key': server.key, 'content-type': 'application/json' },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they please
  const parsed: any = text === '' ? null : JSON.parse(text)
  return { status: answer.status, body: parsed, detail: JSON.stringify(parsed?.detail) }
}

describe('what clients count on', () => {
  let server: TestServer
  /** In the order they were started. */
  let three: AppConversation[]
  let child: AppConversation
  const get = (path: string) => ask(server, 'GET', path)
  const titles = ({ body }: { body: { items: AppConversation[] } }) => body.items.map(({ title }) => title)

  before(async () => {
    const frail = { id: 'frail', command: ['sh', '-c', 'until [ -e /tmp/die ]; do sleep 0.05; done; exit 7'] }
    server = await TestServer.start({ env: { GANTRY_SANDBOX_SPECS: JSON.stringify([{ id: 'local' }, frail]) } })
    await started(server, { title: 'An end' })
    three = [
      await conversation(server, (await server.client.searchAppConversations()).items[0]!.id),
      await started(server, { title: '100% sure', initial_message: aMessage('Hello') }),
      await started(server, { title: 'a new END' }),
    ]
    child = await started(server, { parent_conversation_id: three[0]!.id, title: 'A child at the end' })
    await server.atRest(three[1]!.id)
  })
  after(() => server?.[Symbol.asyncDispose]())

  test('ids are taken with and without hyphens and in capitals, wherever one is named, and shown in one form', async () => {
    const { id } = three[1]!
    for (const spelling of spellings(id)) {
      const [found, again] = (await get(`${APP}?ids=${spelling}&ids=${spelling}`)).body
      assert.deepEqual([found.id, again.id], [id, id])
      const changed = await ask(server, 'PATCH', `${APP}/${spelling}`, { public: false })
      assert.equal(changed.body.id, id)
      assert.ok((await get(`/api/v1/conversation/${spelling}/events/count`)).body > 0)
      assert.ok((await get(`/api/v1/events/count?conversation_id__eq=${spelling}`)).body > 0)
      assert.equal((await get(`${APP}/start-tasks/count?conversation_id__eq=${spelling}`)).body, 1)
    }
    const [task] = (await get(`${APP}/start-tasks/search?conversation_id__eq=${child.id}`)).body.items
    for (const spelling of spellings(task.id)) {
      assert.equal((await get(`${APP}/start-tasks?ids=${spelling}`)).body[0].id, hex(task.id))
      assert.equal((await ask(server, 'POST', `${APP}/start-tasks/${spelling}/cancel`)).status, 200)
    }
    assert.equal(task.request.parent_conversation_id, three[0]!.id)
    assert.match(task.id, /^[0-9a-f]{32}$/)
  })

  test('a batch of starts keeps the order of its ids, with null for the unknown; all malformed ones are named', async () => {
    const { items } = (await get(`${APP}/start-tasks/search`)).body
    const [last, first] = [items[0].id, items.at(-1).id]
    const found = (await get(`${APP}/start-tasks?ids=${first}&ids=${randomUUID()}&ids=${last}`)).body
    assert.deepEqual(
      found.map((task: { id: string } | null) => task?.id ?? null),
      [first, null, last],
    )
    for (const path of [APP, `${APP}/start-tasks`]) {
      const bad = await get(`${path}?ids=${first}&ids=one&ids=two`)
      assert.deepEqual([bad.status, bad.body.detail], [400, "Invalid UUID format for ids: ['one', 'two']"])
      const ids = (n: number) => Array.from({ length: n }, () => `ids=${first}`).join('&')
      // A hundred are a hundred: elsewhere the last of them is one too many.
      assert.equal((await get(`${path}?${ids(100)}`)).body.length, 100)
      assert.deepEqual([(await get(`${path}?${ids(101)}`)).status], [400])
    }
    assert.equal((await get(`${APP}/start-tasks`)).status, 422)
  })

  test('a limit is 1 to 100, on every list', async () => {
    const { id } = three[0]!
    const lists = [
      ...[
        APP,
        `${APP}/search`,
        `${APP}/start-tasks/search`,
        '/api/v1/sandboxes/search',
        '/api/v1/sandbox-specs/search',
      ],
      ...[`/api/v1/conversation/${id}/events/search`, `/api/v1/events/search?conversation_id__eq=${id}`],
      ...['/api/v1/secrets/search', '/api/v1/skills/search'],
      ...['/api/v1/config/models/search', '/api/v1/config/providers/search'],
    ]
    for (const list of lists) {
      const limited = async (limit: string) =>
        (await get(`${list}${list.includes('?') ? '&' : '?'}limit=${limit}`)).status
      for (const limit of ['0', '-1', '101', '200', 'many', '1.5'])
        assert.equal(await limited(limit), 422, list + limit)
      for (const limit of ['1', '100']) assert.equal(await limited(limit), 200, list + limit)
    }
  })

  test('times are UTC with a Z; from is inclusive, before is exclusive, and a count agrees with its list', async () => {
    const [first, second, third] = three as [AppConversation, AppConversation, AppConversation]
    const at = encodeURIComponent
    for (const time of [second.created_at, second.updated_at]) assert.match(time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    const expected: [string, AppConversation[]][] = [
      [`created_at__gte=${at(second.created_at)}`, [third, second]],
      [`created_at__lt=${at(second.created_at)}`, [first]],
      [`created_at__gte=${at(first.created_at)}&created_at__lt=${at(third.created_at)}`, [second, first]],
      [`title__contains=END`, [third, first]],
      [`title__contains=end&include_sub_conversations=true`, [child, third, first]],
      [`title__contains=100%25`, [second]],
      [`title__contains=%25`, [second]],
      [`title__contains=_`, []],
      [`sandbox_id__eq=${first.sandbox_id}&include_sub_conversations=true`, [child, first]],
      [`sandbox_id__eq=nobody`, []],
      ['sort_order=CREATED_AT', [first, second, third]],
    ]
    for (const [query, found] of expected) {
      const page = await get(`${APP}/search?${query}`)
      assert.deepEqual(
        titles(page),
        found.map(({ title }) => title),
        query,
      )
      assert.equal((await get(`${APP}/count?${query}`)).body, found.length, query)
    }
    const [now] = (await get(`${APP}?ids=${second.id}`)).body
    const updated = (query: string) => get(`${APP}/search?${query}`).then(titles)
    assert.ok((await updated(`updated_at__gte=${at(now.updated_at)}`)).includes(second.title))
    assert.ok(!(await updated(`updated_at__lt=${at(now.updated_at)}`)).includes(second.title))
    for (const bad of ['yesterday', '2026-13-01T00:00:00Z', '1'])
      assert.equal((await get(`${APP}/search?created_at__gte=${bad}`)).status, 422, bad)
  })

  test('a time is one moment however it is written: with a Z, with an offset, or bare for UTC', async () => {
    const path = `/api/v1/conversation/${three[1]!.id}/events/count`
    const { items } = (await get(path.replace('count', 'search'))).body
    const bare: string = items[2].timestamp
    const east = new Date(`${bare.slice(0, 23)}Z`).getTime() + 2 * 3_600_000
    const offset = `${new Date(east).toISOString().slice(0, 23)}${bare.slice(23)}+02:00`
    for (const time of [bare, `${bare}Z`, offset]) {
      const moment = encodeURIComponent(time)
      assert.equal((await get(`${path}?timestamp__gte=${moment}`)).body, items.length - 2, time)
      assert.equal((await get(`${path}?timestamp__lt=${moment}`)).body, 2, time)
    }
  })

  test('a page does not repeat what the one before had, though others are started in between', async () => {
    const first = (await get(`${APP}/search?limit=2`)).body
    const { id } = await started(server, { title: 'Newer' })
    const second = (await get(`${APP}/search?limit=2&page_id=${first.next_page_id}`)).body
    assert.deepEqual([...titles({ body: first }), ...titles({ body: second })], ['a new END', '100% sure', 'An end'])
    assert.equal(second.next_page_id, null)
    await server.client.deleteAppConversation({ params: { conversation_id: id } })
    assert.deepEqual(titles(await get(`${APP}/search?limit=1&page_id=nonsense`)), ['a new END'])
  })

  test('pages of events put together are the log, each way, and filters hold for the count', async () => {
    const { id } = three[1]!
    const base = `/api/v1/conversation/${id}/events`
    type Page = { items: { id: string; kind: string }[]; next_page_id: string | null }
    const all: Page['items'] = (await get(`${base}/search`)).body.items
    const paged = async (query: string) => {
      const items: Page['items'] = []
      let page: Page | undefined
      do {
        const from = page ? `&page_id=${page.next_page_id}` : ''
        page = (await get(`${base}/search?limit=2${query}${from}`)).body as Page
        items.push(...page.items)
      } while (page.next_page_id)
      return items.map(event => event.id)
    }
    const ids = all.map(event => event.id)
    assert.deepEqual(await paged(''), ids)
    assert.deepEqual(await paged('&sort_order=TIMESTAMP_DESC'), ids.toReversed())
    for (const kind of ['MessageEvent', 'ConversationStateUpdateEvent', 'NoSuchEvent']) {
      const expected = all.filter(event => event.kind === kind).map(event => event.id)
      assert.deepEqual(await paged(`&kind__eq=${kind}`), expected)
      assert.equal((await get(`${base}/count?kind__eq=${kind}`)).body, expected.length)
    }
    const batch = (await get(`${base}?id=${ids[1]}&id=${randomUUID()}&id=${ids[0]}`)).body
    assert.deepEqual(
      batch.map((event: { id: string } | null) => event?.id ?? null),
      [ids[1], null, ids[0]],
    )
    // As every list of values that is too long, whatever it is of.
    assert.equal((await get(`${base}?${Array(101).fill('id=x').join('&')}`)).status, 422)
    assert.equal((await get(`${base}/search?sort_order=RANDOM`)).status, 422)
    for (const path of ['', '/search', '/count'])
      assert.equal((await get(`/api/v1/conversation/${randomUUID()}/events${path}?id=x`)).status, 404)
  })

  test('starts are found by conversation and time, in both orders, and a count agrees', async () => {
    const tasks = `${APP}/start-tasks`
    const { items } = (await get(`${tasks}/search`)).body
    const ids = (page: { body: { items: { id: string }[] } }) => page.body.items.map(({ id }) => id)
    const newest = items.map(({ id }: { id: string }) => id)
    assert.deepEqual(ids(await get(`${tasks}/search?sort_order=CREATED_AT`)), newest.toReversed())
    const since = encodeURIComponent(items[1].created_at)
    const late = `created_at__gte=${since}`
    assert.deepEqual(ids(await get(`${tasks}/search?${late}`)), newest.slice(0, 2))
    assert.equal((await get(`${tasks}/count?${late}`)).body, 2)
    const both = `${late}&conversation_id__eq=${three[0]!.id}`
    assert.deepEqual((await get(`${tasks}/search?${both}`)).body, { items: [], next_page_id: null })
    assert.equal((await get(`${tasks}/count?${both}`)).body, 0)
    const page = (await get(`${tasks}/search?limit=2`)).body
    const next = await get(`${tasks}/search?limit=2&page_id=${page.next_page_id}`)
    assert.deepEqual([...ids({ body: page }), ...ids(next)], newest.slice(0, 4))
    assert.ok(items.every((task: { updated_at: string; created_at: string }) => task.updated_at > task.created_at))
  })

  test('a message is sent or refused with the reason: shape, role, sandbox, conversation', async () => {
    const { id } = three[2]!
    const send = (to: string, body: unknown) => ask(server, 'POST', `${APP}/${to}/send-message`, body)
    const { content } = aMessage('Hello')
    assert.deepEqual((await send(id, { content, run: false })).body, {
      success: true,
      sandbox_status: 'RUNNING',
      message: null,
    })
    assert.equal((await conversation(server, id)).execution_status, 'idle')
    assert.deepEqual([(await send(randomUUID(), { content })).status], [404])
    const wrong = [{}, { content: [] }, { content: 'x' }, { content, role: 'system' }, { content: [{ type: 'text' }] }]
    for (const body of [...wrong, { content: [{ type: 'image', image_urls: 'x' }] }, 'no JSON', []])
      assert.equal((await send(id, body)).status, 422, JSON.stringify(body))
    await server.client.storeAppSettings({ body: { default_sandbox_spec_id: 'frail' } as never })
    const frail = await started(server)
    await server.client.storeAppSettings({ body: { default_sandbox_spec_id: null } as never })
    await inside(server, frail.sandbox_id, 'touch /tmp/die').catch(() => undefined)
    await until('its sandbox has failed', async () => (await conversation(server, frail.id)).sandbox_status === 'ERROR')
    const refused = await send(frail.id, { content })
    assert.deepEqual([refused.status, refused.detail.match(/error state.*resume/) !== null], [503, true])
    await server.client.deleteAppConversation({ params: { conversation_id: frail.id } })
  })

  test('a message that waits has a shape too, and is for its own conversation', async () => {
    const { id } = three[2]!
    const queue = (to: string, body: unknown) =>
      ask(server, 'POST', `/api/v1/conversations/${to}/pending-messages`, body)
    const { content } = aMessage('Waited')
    for (const body of [{}, { content: [] }, { content: 'x' }, { content, role: 'assistant' }, 'no JSON'])
      assert.equal((await queue(id, body)).status, 422, JSON.stringify(body))
    const { status, body } = await queue(dashed(id), { content })
    assert.deepEqual([status, body.queued, body.position], [201, true, 1])
    const events = async (of: string) => JSON.stringify((await get(`/api/v1/conversation/${of}/events/search`)).body)
    assert.match(await events(id), /Waited/)
    assert.doesNotMatch(await events(three[1]!.id), /Waited/)
    const failed = await startOver(server, { selected_repository: 'no/body', git_provider: 'azure_devops' })
    assert.equal(failed.status, 'ERROR')
    assert.equal((await queue(`task-${failed.id}`, { content })).status, 404)
  })

  test('another profile is refused by name, and so is what cannot be deleted or changed', async () => {
    const profile = { profile_name: 'nobody' }
    assert.match((await ask(server, 'POST', `${APP}/${three[0]!.id}/switch_profile`, profile)).detail, /nobody/)
    for (const to of [three[0]!.id, randomUUID()])
      assert.equal((await ask(server, 'POST', `${APP}/${to}/switch_profile`, profile)).status, 404)
    for (const [method, body] of [['DELETE'], ['PATCH', { title: 'x' }]] as const) {
      assert.equal((await ask(server, method, `${APP}/${randomUUID()}`, body)).status, 404)
      // In the path as in a body.
      assert.equal((await ask(server, method, `${APP}/no-id`, body)).status, 422)
    }
  })

  test('what goes with a conversation goes at any depth, and its starts are forgotten', async () => {
    const parent = await started(server, { title: 'Root' })
    const below = await started(server, { parent_conversation_id: parent.id, title: 'Below' })
    const deep = await started(server, { parent_conversation_id: below.id, title: 'Deep' })
    assert.equal(deep.sandbox_id, parent.sandbox_id)
    await server.client.deleteAppConversation({ params: { conversation_id: parent.id } })
    const ids = [parent, below, deep].map(({ id }) => id)
    assert.deepEqual((await get(`${APP}?${ids.map(id => `ids=${id}`).join('&')}`)).body, [null, null, null])
    for (const id of ids) assert.equal((await get(`${APP}/start-tasks/count?conversation_id__eq=${id}`)).body, 0)
    assert.deepEqual(await sandboxesLeft(server), [])
  })
})

describe('hostile orders', () => {
  let server: TestServer
  before(async () => {
    server = await TestServer.start()
  })
  after(() => server?.[Symbol.asyncDispose]())

  const order = (body: unknown) => ask(server, 'POST', APP, body)
  const WORDS = [
    ...[
      '',
      ' ',
      '\u0000',
      'a\u0000b',
      '\ud800',
      '\u202e',
      '../../etc/passwd',
      '$(touch /tmp/x)',
      "'; DROP TABLE x; --",
    ],
    ...['<script>', '__proto__', 'constructor', 'x'.repeat(100_000), '%00', '-rf', '\r\nX: y', '*', '~', '{{x}}'],
  ]
  const FIELDS: Record<string, (word: unknown) => object> = {
    ...Object.fromEntries(
      [
        ...['sandbox_id', 'conversation_id', 'system_message_suffix', 'llm_model', 'agent_profile_id', 'title'],
        ...[
          'selected_repository',
          'selected_branch',
          'git_provider',
          'trigger',
          'parent_conversation_id',
          'agent_type',
        ],
        ...['initial_message', 'processors', 'suggested_task', 'pr_number', 'public', 'plugins', 'secrets', 'tags'],
      ].map(name => [name, (word: unknown) => ({ [name]: word })]),
    ),
    message: word => ({ initial_message: { content: [{ type: 'text', text: word }] } }),
    'name of a tag': word => ({ tags: { [String(word)]: 'x' } }),
    tag: word => ({ tags: { x: word } }),
    'name of a secret': word => ({ secrets: { [String(word)]: 'x' } }),
    secret: word => ({ secrets: { X: word } }),
    task: word => ({
      suggested_task: { git_provider: 'github', task_type: 'OPEN_PR', repo: word, issue_number: 1, title: word },
    }),
    'unknown key': word => ({ [String(word)]: word }),
  }

  test('wrong types and hostile words in every field of an order: never an error of the server, and nothing is left', async t => {
    const nobody = { parent_conversation_id: randomUUID() }
    const kinds = [...WORDS, 7, -1.5, true, [], [[]], {}, { kind: 7 }, [null], '7']
    const taken: object[] = []
    for (const [field, make] of Object.entries(FIELDS))
      for (const word of kinds) {
        const { status } = await order({ ...nobody, ...make(word) })
        assert.ok([400, 404, 413, 422].includes(status), `${field} ${JSON.stringify(word).slice(0, 40)}: ${status}`)
        if (status === 404 && field !== 'parent_conversation_id') taken.push(make(word))
      }
    assert.equal(await server.client.countStartTasks(), 0)
    // Those that only lacked a parent are ordered in earnest.
    const random = new Random()
    t.diagnostic(`seed ${random.seed}, of ${taken.length}`)
    const chosen = DEEP ? taken : Array.from({ length: 6 }, () => random.pick(taken))
    for (const body of chosen) {
      const { status, body: task } = await order(body)
      const what = JSON.stringify(body).slice(0, 80)
      assert.ok(status < 500, `${what}: ${status}`)
      if (status !== 200) continue
      const { status: end, detail, app_conversation_id } = await over(server, task.id)
      assert.equal(end, 'READY', `${what}: ${detail}`)
      await server.client.deleteAppConversation({ params: { conversation_id: app_conversation_id! } })
    }
    assert.deepEqual([await sandboxesLeft(server), await server.client.countAppConversations()], [[], 0])
    assert.doesNotMatch(server.output, /"level":"error"/)
  })

  test('a large message is kept whole, a hundred tags are a hundred, and one more is refused', async () => {
    const tags = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`tag${i}`, `${i}`]))
    assert.equal((await order({ tags: { ...tags, more: 'x' } })).status, 422)
    const large = 'x'.repeat(1 << 19)
    const found = await started(server, { tags, llm_model: 'demo/guide', initial_message: aMessage(large), title: 'L' })
    assert.deepEqual(found.tags, tags)
    const { items } = await server.client.searchAppEvents({
      params: { conversation_id: found.id },
      query: { kind__eq: 'MessageEvent', limit: 1 },
    })
    assert.ok(JSON.stringify(items[0]).includes(large))
    await server.client.deleteAppConversation({ params: { conversation_id: found.id } })
  })

  const STORMS = count({ sample: 3, deep: 60 })
  test(`${STORMS} storms of orders, deletes and cancels of one id leave a conversation with its sandbox, or neither`, async t => {
    const random = new Random()
    t.diagnostic(`seed ${random.seed}`)
    for (let storm = 0; storm < STORMS; storm++) {
      const id = randomUUID()
      const calls = Array.from({ length: 24 }, async () => {
        await new Promise(resolve => setTimeout(resolve, random.int(150)))
        const kind = random.pick(['order', 'order', 'delete', 'cancel', 'pause', 'delete sandbox'])
        if (kind === 'order') return (await order({ conversation_id: id, title: random.pick(['a', 'b']) })).status
        if (kind === 'delete') return (await ask(server, 'DELETE', `${APP}/${id}`)).status
        if (kind === 'pause') return (await ask(server, 'POST', `/api/v1/sandboxes/${hex(id)}/pause`)).status
        if (kind === 'delete sandbox') return (await ask(server, 'DELETE', `/api/v1/sandboxes/${hex(id)}`)).status
        const { body } = await ask(server, 'GET', `${APP}/start-tasks/search?conversation_id__eq=${id}&limit=1`)
        const [task] = body.items
        return task ? (await ask(server, 'POST', `${APP}/start-tasks/${task.id}/cancel`)).status : 404
      })
      const seen = new Set(await Promise.all(calls))
      for (const status of seen) assert.ok([200, 404, 409].includes(status), `seed ${random.seed}: ${status}`)
      await ask(server, 'DELETE', `${APP}/${id}`)
      await until('no start is under way', async () => {
        const { items } = await server.client.searchStartTasks({ query: { conversation_id__eq: id } })
        return items.every(({ status }) => status === 'READY' || status === 'ERROR')
      })
      await ask(server, 'DELETE', `${APP}/${id}`)
      assert.deepEqual(await server.client.getAppConversations({ query: { ids: [id] } }), [null])
      assert.deepEqual((await server.client.searchSandboxes()).items, [], `seed ${random.seed}`)
    }
  })

  for (const [what, act] of [
    ['its conversation is deleted', (id: string) => ask(server, 'DELETE', `${APP}/${id}`)],
    ['its sandbox is deleted', (id: string) => ask(server, 'DELETE', `/api/v1/sandboxes/${hex(id)}`)],
    ['its sandbox is paused', (id: string) => ask(server, 'POST', `/api/v1/sandboxes/${hex(id)}/pause`)],
  ] as const)
    test(`a start of which ${what}, at any status, ends, and leaves no sandbox without a conversation`, async () => {
      const random = new Random()
      for (const status of DEEP ? STATUSES : Array.from({ length: 3 }, () => random.pick(STATUSES))) {
        const id = randomUUID()
        const { task, came } = await startAndAt(server, { conversation_id: id }, status, () => act(id))
        assert.ok([200, 404, 409].includes(came?.status ?? 0), `${status}: ${came?.status}`)
        assert.ok(task.status === 'READY' || (task.detail && came?.status !== 409), status)
        assert.deepEqual(await sandboxesLeft(server), [], status)
        await ask(server, 'DELETE', `${APP}/${id}`)
        assert.deepEqual((await server.client.searchSandboxes()).items, [], status)
      }
    })

  test('a start in a sandbox that is being deleted ends with that, and leaves nothing', async () => {
    for (let round = 0; round < count({ sample: 3, deep: 30 }); round++) {
      const { id } = await server.client.startSandbox()
      const deleted = ask(server, 'DELETE', `/api/v1/sandboxes/${id}`)
      const { status, body } = await order({ sandbox_id: id })
      assert.equal((await deleted).status, 200)
      if (status !== 404) {
        const task = await over(server, body.id)
        assert.ok(task.status === 'ERROR' && task.detail, JSON.stringify(task))
      }
      assert.equal(await server.client.countAppConversations(), 0)
      assert.deepEqual((await server.client.searchSandboxes()).items, [])
    }
  })

  describe('a start in the middle of a script', { skip: NO_GIT_SERVER }, () => {
    let git: GitServer
    let own: TestServer
    before(async () => {
      git = await GitServer.open()
      const script = 'touch begun; until [ -e go ]; do sleep 0.05; done'
      await git.add('us/app', `mkdir .openhands; echo '${script}' >.openhands/setup.sh; git add -A; git commit -qm x`)
      own = await TestServer.start(reaching(git))
      await useAsGithub(own, git)
    })
    after(async () => {
      await own?.[Symbol.asyncDispose]()
      await git?.[Symbol.asyncDispose]()
    })
    /** Acts when the script has begun. */
    const inTheMiddle = <T>(id: string, act: (sandbox: string) => Promise<T>) => {
      const body = { conversation_id: id, selected_repository: 'us/app', git_provider: 'github' as const }
      return startAndAt(own, body, 'RUNNING_SETUP_SCRIPT', async () => {
        const begun = () => inside(own, hex(id), 'ls /workspace/project/app/begun').catch(() => undefined)
        await until('the script has begun', begun)
        return act(hex(id))
      })
    }

    test('is not frozen by a pause of its sandbox: that is refused until the conversation is there', async () => {
      const id = randomUUID()
      const pause = `/api/v1/sandboxes/${hex(id)}/pause`
      const { task, came } = await inTheMiddle(id, async sandbox => {
        const refused = await ask(own, 'POST', pause)
        await inside(own, sandbox, 'touch /workspace/project/app/go')
        return refused
      })
      assert.equal(came?.status, 409)
      assert.match(came.body.detail, /is being prepared/)
      assert.equal(task.status, 'READY')
      assert.equal((await ask(own, 'POST', pause)).status, 200)
      await own.client.deleteAppConversation({ params: { conversation_id: id } })
    })

    test('is cancelled with its conversation, and leaves nothing', async () => {
      const id = randomUUID()
      const { task } = await inTheMiddle(id, () =>
        own.client.deleteAppConversation({ params: { conversation_id: id } }),
      )
      assert.deepEqual([task.status, task.detail], ['ERROR', 'The start was cancelled'])
      assert.deepEqual((await own.client.searchSandboxes()).items, [])
    })
  })
})

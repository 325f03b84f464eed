import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ConversationManager } from '@openhands/typescript-client'
import { ClientError } from '../../src/api/client.ts'
import type { RouteSpec } from '../../src/api/route.ts'
import { routes } from '../../src/api/routes/index.ts'
import { hexUuid, newId } from '../../src/lib/id.ts'
import { aMessage, anOrder, TestServer } from '../support/server.ts'

let server: TestServer
before(async () => {
  server = await TestServer.start()
})
after(() => server[Symbol.asyncDispose]())

const status = (expected: number) => (error: unknown) => error instanceof ClientError && error.status === expected

/** The log in a word or two an event. What was used is left out, for where it stands is open. */
async function notation(conversation_id: string): Promise<string[]> {
  const { items } = await server.client.searchEvents({ params: { conversation_id } })
  return items.flatMap(event => {
    if (event.kind !== 'ConversationStateUpdateEvent') return [`${event.kind} ${event.source}`]
    if (event.key === 'stats') return []
    return [event.key === 'execution_status' ? String(event.value) : event.key]
  })
}

/** How a log begins that begins with a message. */
const BEGUN = ['SystemPromptEvent agent', 'MessageEvent user', 'last_user_message_id', 'running']

describe('conversations', () => {
  test('four parallel creations of one id give one 201 and three 200', async () => {
    const conversation_id = newId()
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() =>
        fetch(`${server.url}/api/conversations`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify(anOrder({ conversation_id, initial_message: aMessage('hello') })),
        }),
      ),
    )
    assert.deepEqual(answers.map(answer => answer.status).sort(), [200, 200, 200, 201])
    await server.atRest(conversation_id)
    assert.deepEqual(await notation(conversation_id), [...BEGUN, 'MessageEvent agent', 'finished'])
  })

  test('an id may be given dashed or as 32 hex digits, and is answered dashed', async () => {
    const id = newId()
    await server.client.startConversation({ body: anOrder({ conversation_id: hexUuid(id).toUpperCase() }) })
    for (const conversation_id of [id, hexUuid(id), id.toUpperCase()])
      assert.equal((await server.client.getConversation({ params: { conversation_id } })).id, id)
  })

  test('an unknown conversation is 404, on every route that names one', async () => {
    const bodies: Record<string, object> = {
      updateConversation: { title: 'x' },
      sendMessage: aMessage('x'),
      respondToConfirmation: { accept: true },
      setConfirmationPolicy: { policy: { kind: 'NeverConfirm' } },
      setSecurityAnalyzer: { security_analyzer: null },
      updateConversationSecrets: { secrets: { A: 'x' } },
      switchLlm: { llm: { model: 'demo/guide' } },
      switchProfile: { profile_name: 'x' },
      askAgent: { question: 'x' },
      navigateConversation: { event_id: null },
      startGoal: { objective: 'x' },
      updateAppConversation: { title: 'x' },
      sendAppMessage: { content: [{ text: 'x' }] },
      confirmAppAction: { accept: true },
      switchAppProfile: { profile_name: 'demo' },
      switchAppAcpModel: { model: 'x' },
      switchAcpModel: { model: 'x' },
      loadPlugin: { plugin_ref: 'x' },
      addPendingMessage: { content: [{ text: 'x' }] },
    }
    const queries: Record<string, string> = { appGitDiff: '?path=/x', batchAppEvents: '?id=x' }
    const named = Object.entries<RouteSpec>(routes).filter(([, { path }]) => path.includes('{conversation_id}'))
    assert.ok(named.length > 25)
    for (const [name, { method, path }] of named) {
      const body = bodies[name]
      const answer = await fetch(
        server.url + path.replace('{conversation_id}', newId()).replace(/\{\w+\}/, 'x') + (queries[name] ?? ''),
        {
          method,
          headers: { 'X-Session-API-Key': server.key, 'Content-Type': 'application/json' },
          ...(body && { body: JSON.stringify(body) }),
        },
      )
      assert.equal(answer.status, 404, `${name}: ${await answer.text()}`)
    }
  })

  test('a batch keeps the order of its ids and says null for the unknown', async () => {
    const { id } = await server.client.startConversation({ body: anOrder() })
    const unknown = newId()
    const batch = await server.client.batchConversations({ query: { ids: [unknown, id, id] } })
    assert.deepEqual(
      batch.map(info => info?.id ?? null),
      [null, id, id],
    )
    await assert.rejects(server.client.batchConversations({ query: { ids: [] } }), status(422))
    await assert.rejects(
      server.client.batchConversations({ query: { ids: Array.from({ length: 101 }, newId) } }),
      status(422),
    )
  })

  test('title and tags can be changed: the title is trimmed, tags replace the old ones, nothing else moves', async () => {
    const before = await server.client.startConversation({ body: anOrder({ tags: { a: '1' } }) })
    const params = { conversation_id: before.id }
    assert.deepEqual(await server.client.updateConversation({ params, body: {} }), { success: true })
    await server.client.updateConversation({ params, body: { title: '  A title ' } })
    await server.client.updateConversation({ params, body: { tags: { b: '2' }, title: null } })
    const now = await server.client.getConversation({ params })
    assert.deepEqual({ ...now, updated_at: before.updated_at }, { ...before, title: 'A title', tags: { b: '2' } })
    assert.ok(now.updated_at > before.updated_at)
    for (const title of ['', '   ', 'x'.repeat(201)])
      await assert.rejects(server.client.updateConversation({ params, body: { title } }), status(422))
    await assert.rejects(server.client.updateConversation({ params, body: { tags: { 'No!': '' } } }), status(422))
  })

  test('conversations are found by their tags as they are now, by all that are named and page by page', async () => {
    const make = async (tags: Record<string, string>) =>
      (await server.client.startConversation({ body: anOrder({ tags }) })).id
    const both = await make({ origin: 'slack', owner: 'a:b="c"' })
    const slack = await make({ origin: 'slack' })
    const mail = await make({ origin: 'mail' })
    const retagged = await make({ origin: 'slack' })
    await server.client.updateConversation({ params: { conversation_id: retagged }, body: { tags: { other: '' } } })
    const published = new ConversationManager({ host: server.url, apiKey: server.key })
    const found = async (...tag: string[]) => (await published.getAllConversations({ tag })).map(({ id }) => id)
    assert.deepEqual(await found('origin'), [mail, slack, both])
    assert.deepEqual(await found('origin:slack'), [slack, both])
    assert.deepEqual(await found('origin=slack', 'owner'), [both])
    assert.deepEqual(await found('owner:a:b="c"'), [both])
    assert.deepEqual(await found('other:'), [retagged])
    assert.deepEqual(await found('origin:slac'), [])
    const query = { tag: ['origin:slack'], limit: 1 }
    const first = await server.client.searchConversations({ query })
    const second = await server.client.searchConversations({ query: { ...query, page_id: first.next_page_id } })
    assert.deepEqual(
      [first, second].map(({ items }) => items[0]!.id),
      [slack, both],
    )
    assert.equal(second.next_page_id, null)
    for (const tag of ['No!', '', ':slack'])
      await assert.rejects(server.client.searchConversations({ query: { tag: [tag] } }), status(422))
  })

  test('a deleted conversation is gone, and its id can be used again', async () => {
    const { id } = await server.client.startConversation({ body: anOrder({ initial_message: aMessage('old') }) })
    const params = { conversation_id: id }
    await server.client.deleteConversation({ params })
    await assert.rejects(server.client.getConversation({ params }), status(404))
    await server.client.startConversation({ body: anOrder({ conversation_id: id }) })
    assert.equal(await server.client.countEvents({ params }), 0)
  })

  test('a run ends with what the agent said, and the conversation stays usable', async () => {
    const { id } = await server.client.startConversation({ body: anOrder({ initial_message: aMessage('go') }) })
    const params = { conversation_id: id }
    assert.equal((await server.atRest(id)).execution_status, 'finished')
    assert.deepEqual(await notation(id), [...BEGUN, 'MessageEvent agent', 'finished'])
    await server.client.sendMessage({ params, body: aMessage('not yet') })
    assert.equal((await server.atRest(id)).execution_status, 'idle')
    await server.client.sendMessage({ params, body: aMessage('again', true) })
    assert.equal((await server.atRest(id)).execution_status, 'finished')
    const message = ['MessageEvent user', 'last_user_message_id']
    assert.deepEqual((await notation(id)).slice(6), [
      'idle',
      ...message,
      ...message,
      'running',
      'MessageEvent agent',
      'finished',
    ])
  })

  test('a run without a model that answers says what is missing, and the conversation stays usable', async () => {
    const llm = { model: 'openai/any', base_url: 'http://127.0.0.1:65535/v1', api_key: 'k', num_retries: 0 }
    const order = anOrder({ agent: { kind: 'Agent', llm }, initial_message: aMessage('go') })
    const { id } = await server.client.startConversation({ body: order })
    const params = { conversation_id: id }
    assert.equal((await server.atRest(id)).execution_status, 'error')
    assert.deepEqual(await notation(id), [...BEGUN, 'error', 'ConversationErrorEvent environment'])
    const { items } = await server.client.searchEvents({ params, query: { kind: 'ConversationErrorEvent' } })
    assert.match((items[0] as { detail: string }).detail, /127\.0\.0\.1:65535/)
    await server.client.switchLlm({ params, body: { llm: { model: 'demo/guide' } } })
    await server.client.runConversation({ params })
    assert.equal((await server.atRest(id)).execution_status, 'finished')
    assert.deepEqual((await notation(id)).slice(6), ['agent', 'running', 'MessageEvent agent', 'finished'])
  })

  test('a model that cannot be asked on the side is a 502 for who asked, and no error of the conversation', async () => {
    const llm = { model: 'openai/any', base_url: 'http://127.0.0.1:65535/v1', api_key: 'k', num_retries: 0 }
    const { id } = await server.client.startConversation({ body: anOrder({ agent: { kind: 'Agent', llm } }) })
    const params = { conversation_id: id }
    for (const text of 'abcdefgh') await server.client.sendMessage({ params, body: aMessage(text) })
    const before = await notation(id)
    await assert.rejects(server.client.askAgent({ params, body: { question: 'Why?' } }), status(502))
    assert.deepEqual(await notation(id), before)
    await assert.rejects(server.client.condenseConversation({ params }), status(502))
    assert.deepEqual(await notation(id), [...before, 'CondensationRequest environment'])
    assert.equal((await server.client.getConversation({ params })).execution_status, 'idle')
  })

  test('what nobody here can do is refused by name, and nothing is begun', async () => {
    const before = await server.client.countConversations()
    const agent = anOrder().agent
    const refused: [name: RegExp, order: object][] = [
      [/no_such_tool/, { agent: { ...agent, tools: [{ name: 'no_such_tool' }] } }],
      [/NoSuchTool/, { agent: { ...agent, include_default_tools: ['NoSuchTool'] } }],
      [/ACPAgent/, { agent: { kind: 'ACPAgent', acp_command: ['x'] } }],
      [/APIBasedCritic/, { agent: { ...agent, critic: { kind: 'APIBasedCritic', api_key: 'k' } } }],
      [/GraySwanAnalyzer/, { security_analyzer: { kind: 'GraySwanAnalyzer' } }],
    ]
    for (const [name, order] of refused)
      await assert.rejects(
        server.client.startConversation({ body: anOrder(order) }),
        error => status(422)(error) && name.test((error as ClientError).message),
        String(name),
      )
    assert.equal(await server.client.countConversations(), before)
  })

  test('a parent must exist, be another, and share the working directory', async () => {
    const parent = await server.client.startConversation({ body: anOrder() })
    const child = await server.client.startConversation({ body: anOrder({ parent_conversation_id: parent.id }) })
    assert.equal(child.parent_conversation_id, parent.id)
    const params = { conversation_id: parent.id }
    assert.deepEqual((await server.client.getConversation({ params })).sub_conversation_ids, [child.id])
    const self = newId()
    for (const bad of [
      { parent_conversation_id: newId() },
      { parent_conversation_id: self, conversation_id: self },
      { parent_conversation_id: parent.id, workspace: { working_dir: '/elsewhere' } },
    ])
      await assert.rejects(server.client.startConversation({ body: anOrder(bad) }), status(422))
  })

  test('what was ordered as a secret is null in the answer, and skills are shown only when asked for', async () => {
    const body = anOrder({
      agent: {
        kind: 'Agent',
        llm: { model: 'm', api_key: 'sk-canary' },
        agent_context: { skills: [{ name: 's', content: 'c' }] },
        mcp_config: { one: { command: 'x', env: { TOKEN: 'canary' } } },
      },
      secrets: { A: 'canary', B: { kind: 'StaticSecret', value: 'canary', description: 'b' } },
    })
    const info = await server.client.startConversation({ body })
    assert.doesNotMatch(JSON.stringify(info), /canary/)
    assert.equal(info.agent.llm.api_key, null)
    assert.deepEqual(info.agent.agent_context?.skills, [])
    assert.deepEqual(Object.keys(info.secret_registry.secret_sources), ['A', 'B'])
    const params = { conversation_id: info.id }
    const whole = await server.client.getConversation({ params, query: { include_skills: true } })
    assert.equal(whole.agent.agent_context?.skills[0]?.name, 's')
  })

  test('a look-up of a stored secret needs the key, which is not kept', async () => {
    const secrets = (headers: object) => ({
      secrets: { S: { kind: 'LookupSecret', url: '/api/settings/secrets/S', headers } },
    })
    await assert.rejects(server.anonymous.startConversation({ body: anOrder(secrets({})) }), status(422))
    await assert.rejects(
      server.anonymous.startConversation({ body: anOrder(secrets({ 'X-Session-API-Key': 'wrong' })) }),
      status(422),
    )
    await server.anonymous.startConversation({ body: anOrder(secrets({ 'X-Session-API-Key': server.key })) })
  })
})

describe('the list of conversations', () => {
  test('pages cover everything once, in each order, and an unknown cursor starts anew', async () => {
    await using own = await TestServer.start()
    const made: string[] = []
    for (let i = 0; i < 7; i++) made.push((await own.client.startConversation({ body: anOrder() })).id)
    await own.client.updateConversation({ params: { conversation_id: made[2]! }, body: { title: 'touched' } })
    const orders = {
      CREATED_AT: made,
      CREATED_AT_DESC: made.toReversed(),
      UPDATED_AT: [...made.toSpliced(2, 1), made[2]],
      UPDATED_AT_DESC: [made[2], ...made.toSpliced(2, 1).toReversed()],
    }
    for (const [sort_order, expected] of Object.entries(orders)) {
      const seen: string[] = []
      let page_id: string | null = null
      do {
        const page = await own.client.searchConversations({
          query: { limit: 3, page_id, sort_order: sort_order as 'CREATED_AT' },
        })
        seen.push(...page.items.map(({ id }) => id))
        page_id = page.next_page_id
      } while (page_id)
      assert.deepEqual(seen, expected, sort_order)
    }
    const restarted = await own.client.searchConversations({ query: { page_id: 'nonsense', limit: 1 } })
    assert.equal(restarted.items[0]?.id, made[6])
    assert.equal(await own.client.countConversations(), 7)
    assert.equal(await own.client.countConversations({ query: { status: 'idle' } }), 7)
    assert.equal(await own.client.countConversations({ query: { status: 'running' } }), 0)
    assert.equal((await own.client.searchConversations({ query: { status: 'error' } })).items.length, 0)
  })

  test('a limit out of range is 422', async () => {
    for (const limit of [0, -1, 101, 1.5])
      await assert.rejects(server.client.searchConversations({ query: { limit } }), status(422))
  })
})

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, describe, test } from 'node:test'
import { newId } from '../../src/lib/id.ts'
import { aMessage, anOrder, TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

// The published client finds a WebSocket in Node only through a global `require`.
Object.assign(globalThis, { require: createRequire(import.meta.url) })
const { ConversationClient, RemoteEventsList, ServerClient, SettingsClient, WebSocketCallbackClient } = await import(
  '@openhands/typescript-client'
).then(async main => ({ ...(await import('@openhands/typescript-client/clients')), ...main }))

const keyIn = (settings: { agent_settings: Record<string, unknown> }): string =>
  (settings.agent_settings.llm as { api_key: string }).api_key

let server: TestServer
// biome-ignore lint/suspicious/noExplicitAny: the client's own option types vary by class
let options: any
before(async () => {
  server = await TestServer.start()
  options = { host: server.url, baseUrl: server.url, apiKey: server.key }
})
after(() => server[Symbol.asyncDispose]())

describe('the published npm client, unmodified', () => {
  test('reads the server info and the health routes', async () => {
    const client = new ServerClient(options)
    assert.equal((await client.getServerInfo()).version, '1.43.1')
    assert.equal((await client.getHealth()).status, 'ok')
    assert.equal((await client.getReady()).status, 'ready')
  })

  test('starts, finds, renames, talks to and deletes a conversation', async () => {
    const client = new ConversationClient(options)
    const { id } = await client.createConversation(anOrder({ conversation_id: newId() }) as never)
    assert.equal((await client.getConversation(id)).id, id)
    assert.equal((await client.searchConversations({ limit: 10 })).items[0]?.id, id)
    assert.equal(await client.countConversations(), 1)
    const unknown = newId()
    assert.deepEqual(
      (await client.getConversations([id, unknown])).map(info => info?.id ?? null),
      [id, null],
    )
    await client.updateConversation(id, { title: 'A title' })
    assert.equal((await client.getConversation(id)).title, 'A title')
    await client.sendEvent(id, aMessage('hello') as never, { run: false })
    const { items } = await client.searchEvents(id, { kind: 'MessageEvent' })
    assert.equal(items.length, 1)
    assert.equal((await client.getEvent(id, items[0]!.id)).id, items[0]!.id)
    assert.deepEqual(
      (await client.getEvents(id, [items[0]!.id, 'unknown'])).map(event => event?.id ?? null),
      [items[0]!.id, null],
    )
    assert.equal(await client.getEventCount(id), 3)
    await client.respondToConfirmation(id, { accept: true })
    await client.runConversation(id)
    assert.equal((await server.atRest(id)).execution_status, 'finished')
    const { items: said } = await client.searchEvents(id, { source: 'agent', kind: 'MessageEvent' })
    assert.equal(said.length, 1)
    await client.deleteConversation(id)
    assert.deepEqual(await client.getConversations([id]), [null])
  })

  test('follows a conversation over the socket and pages through its events', async () => {
    const { id } = await server.client.startConversation({ body: anOrder() })
    const frames: { kind?: string }[] = []
    const socket = new WebSocketCallbackClient({
      host: server.url,
      conversationId: id,
      apiKey: server.key,
      callback: (event: { kind?: string }) => frames.push(event),
    } as never)
    socket.start()
    await until('the snapshot came', () => frames.length > 0)
    await server.client.sendMessage({ params: { conversation_id: id }, body: aMessage('hello') })
    await until('the message came', () => frames.some(frame => frame.kind === 'MessageEvent'))
    socket.stop()
    const list = new RemoteEventsList(options, id)
    assert.deepEqual(
      (await list.getEvents()).map(({ kind }) => kind),
      ['SystemPromptEvent', 'MessageEvent', 'ConversationStateUpdateEvent'],
    )
  })

  test('reads and changes settings, secrets and MCP servers', async () => {
    const client = new SettingsClient(options)
    await client.updateSettings({ agent_settings_diff: { llm: { model: 'openai/x', api_key: 'sk-1' } } } as never)
    const masked = await client.getSettings()
    assert.equal(keyIn(masked), '**********')
    const encrypted = await client.getSettings({ exposeSecrets: 'encrypted' } as never)
    assert.match(keyIn(encrypted), /^gAAAAA/)
    await client.upsertSecret({ name: 'NAME', value: 'v', description: 'd' } as never)
    assert.deepEqual(await client.listSecrets(), { secrets: [{ name: 'NAME', description: 'd' }] })
    assert.equal(await client.getSecret('NAME'), 'v')
    await client.deleteSecret('NAME')
    await client.createMcpServer('one', { command: 'run' } as never)
    await client.deleteMcpServer('one')
    assert.equal((await client.getAgentSchema()).model_name, 'AgentSettings')
    assert.equal((await client.getConversationSchema()).model_name, 'ConversationSettings')
  })
})

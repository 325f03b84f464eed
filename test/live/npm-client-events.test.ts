import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newId } from '../../src/lib/id.ts'
import { AgentRig, sh } from '../support/agent.ts'
import { say } from '../support/model-server.ts'
import { watched } from '../support/npm-client.ts'
import { unused } from '../support/npm-client-table.ts'
import { Random } from '../support/random.ts'
import { until } from '../support/wait.ts'

const { npm, called } = watched()
type Remote = InstanceType<typeof npm.RemoteConversation>

let rig: AgentRig
let options: { host: string; apiKey: string }
before(async () => {
  const port = 20_000 + new Random().int(20_000)
  const script = ({ messages }: { messages: { role: string }[] }) =>
    messages.at(-1)!.role === 'tool' ? say('Done.') : sh('echo hello')
  rig = await AgentRig.start(script, {
    args: ['--port', String(port)],
    env: { SESSION_API_KEY: 'the-key-of-this-server' },
  })
  options = { host: rig.server.url, apiKey: rig.server.key }
})
after(() => rig[Symbol.asyncDispose]())

const agent = () => new npm.Agent({ llm: rig.model.llm() as never, tools: [{ name: 'terminal' }] } as never)
const missing = { name: 'HttpError', status: 404 }

/** One that has greeted. */
async function greeted(manager: InstanceType<typeof npm.ConversationManager>): Promise<Remote> {
  const order = { initialMessage: 'greet', workingDir: '/workspace', maxIterations: 9 }
  const conversation = await manager.createConversation(agent(), order)
  await rig.server.atRest(conversation.id)
  return conversation
}

describe('the published npm client and the log of a conversation', () => {
  test('reads its events by kind, source, text, time, page and id', async () => {
    const manager = new npm.ConversationManager(options)
    const { id } = await greeted(manager)
    const client = new npm.ConversationClient(options)
    const all = (await client.searchEvents(id, { limit: 100 })).items
    assert.equal(await client.getEventCount(id), all.length)
    const desc = await client.searchEvents(id, { sort_order: npm.EventSortOrder.TIMESTAMP_DESC, limit: 1 })
    assert.deepEqual(desc.items, all.slice(-1))
    const next = await client.searchEvents(id, { limit: 2, page_id: all[1]!.id })
    assert.equal(next.items.length, 2)
    const [event] = (await client.searchEvents(id, { kind: 'MessageEvent', source: 'agent', body: 'Done' })).items
    assert.ok(npm.isMessageEvent(event as never))
    assert.equal((await client.getEvent(id, event!.id)).id, event!.id)
    const some = await client.getEvents(id, [newId(), event!.id])
    assert.deepEqual(
      some.map(one => one?.id),
      [undefined, event!.id],
    )
    const { timestamp } = event!
    const since = await client.getEventCount(id, { timestamp__gte: timestamp })
    assert.equal(since + (await client.getEventCount(id, { timestamp__lt: timestamp })), all.length)
    assert.ok(all.some(one => npm.isActionEvent(one as never)))
    const observation = all.find(one => npm.isObservationEvent(one as never))
    assert.ok(npm.isObservationLike(observation as never))
    await client.deleteConversation(id)
    await assert.rejects(client.getConversation(id), missing)
    manager.close()
  })

  test('keeps a list and a state of its own, by what the socket told', async t => {
    const manager = new npm.ConversationManager(options)
    const { id } = await greeted(manager)
    const conversation = await manager.loadConversation(id, '/workspace')
    t.after(() => conversation.close())
    const { state } = conversation
    await conversation.startWebSocketClient()
    await until('the snapshot came', async () => (await state.events.length()) > 0)
    assert.equal((await state.events.getEvent(0))?.kind, 'ConversationStateUpdateEvent')
    assert.equal(await state.getAgentStatus(), 'finished')
    await conversation.sendMessage('again')
    await conversation.run()
    await until('the answer came', async () => {
      const events = await state.events.getEvents()
      return events.filter(({ kind, source }) => kind === 'MessageEvent' && source === 'agent').length === 2
    })
    await conversation.stopWebSocketClient()
    await rig.server.atRest(id)
    await state.refresh()
    assert.equal(await state.getExecutionStatus(), 'finished')
    assert.equal((await state.getConfirmationPolicy()).kind, 'NeverConfirm')
    assert.deepEqual(await state.getActivatedKnowledgeSkills(), [])
    assert.equal((await state.getAgent()).kind, 'Agent')
    assert.equal(((await state.getWorkspace()) as { working_dir: string }).working_dir, '/workspace')
    assert.equal(typeof (await state.getPersistenceDir()), 'string')
    assert.deepEqual(JSON.parse(await state.modelDumpJson()), await state.modelDump())
    const { events } = state
    const found = (await events.search({ kind: 'MessageEvent', sort_order: npm.EventSortOrder.TIMESTAMP })).items
    assert.equal(found.length, await events.count({ kind: 'MessageEvent' }))
    assert.deepEqual((await events.getEventById(found[0]!.id)).id, found[0]!.id)
    const [none, last] = await events.getEventsById([newId(), found.at(-1)!.id])
    assert.deepEqual([none, last?.id], [null, found.at(-1)!.id])
    const list = new npm.RemoteEventsList({ baseUrl: options.host, apiKey: options.apiKey }, id)
    list.createDefaultCallback()(found[0]!)
    await list.append(found[0]!)
    assert.equal(await list.length(), 1)
    const iterated: string[] = []
    for await (const one of list) iterated.push(one.id)
    assert.deepEqual(
      iterated,
      (await list.getEvents()).map(one => one.id),
    )
  })

  test('finds, counts, names and deletes conversations, in every order and state that it knows', async () => {
    const [manager, client] = [new npm.ConversationManager(options), new npm.ConversationClient(options)]
    const { id } = await greeted(manager)
    for (const sort_order of Object.values(npm.ConversationSortOrder))
      assert.ok((await client.searchConversations({ sort_order, limit: 100 })).items.some(one => one.id === id))
    for (const status of Object.values(npm.ConversationExecutionStatus)) {
      const { items } = await manager.searchConversations({ status, limit: 100 })
      assert.equal(items.length, await client.countConversations({ status }))
      assert.equal(
        items.some(one => one.id === id),
        status === 'finished',
        status,
      )
    }
    assert.equal(await manager.countConversations(), (await manager.getAllConversations()).length)
    assert.deepEqual(await client.updateConversation(id, { title: 'A title', tags: { mine: 'yes' } }), {
      success: true,
    })
    await manager.updateConversation(id, { title: 'Another' })
    const { title, tags } = await manager.getConversation(id)
    assert.deepEqual([title, tags], ['Another', { mine: 'yes' }])
    const ids = (found: ({ id: string } | null)[]) => found.map(one => one?.id ?? null)
    assert.deepEqual(ids(await client.getConversations([newId(), id])), [null, id])
    assert.deepEqual(ids(await manager.getConversations([id])), [id])
    await manager.profiles.saveProfile('other', { llm: rig.model.llm() as never })
    await manager.switchProfile(id, 'other')
    await manager.deleteConversation(id)
    assert.deepEqual(await client.getConversations([id]), [null])
  })

  test('asks by the names for agents of other makers, and is told that none are run here', async () => {
    const { acp } = new npm.ConversationManager(options)
    const [first] = (await acp.searchConversations({ limit: 1 })).items
    assert.equal(await acp.countConversations(), (await acp.getAllConversations()).length)
    assert.equal((await acp.getConversation(first!.id)).id, first!.id)
    assert.equal((await acp.getConversations([first!.id])).length, 1)
    const refused = { name: 'HttpError', status: 422 }
    await assert.rejects(acp.createConversation({ kind: 'ACPAgent', acp_command: ['x'] }), refused)
  })

  test('both sockets come back after the server died, and hear what happens then', async t => {
    const { id } = await greeted(new npm.ConversationManager(options))
    const [events, commands]: { kind?: string; key?: string; stdout?: string | null }[][] = [[], []]
    const follower = new npm.WebSocketCallbackClient({
      ...options,
      conversationId: id,
      callback: event => events!.push(event as never),
    })
    const listener = new npm.BashWebSocketClient({
      ...options,
      resendMode: 'all',
      callback: event => commands!.push(event as never),
    })
    t.after(() => {
      follower.stop()
      listener.stop()
    })
    follower.start()
    listener.start()
    const bash = new npm.BashClient(options)
    await bash.executeCommand('echo one')
    await until('both hear', () => events!.length > 0 && commands!.some(({ stdout }) => stdout === 'one\n'))
    await rig.restart('SIGKILL')
    const snapshots = () => events!.filter(({ key }) => key === 'full_state').length
    await until('the snapshot came again', () => snapshots() > 1)
    await bash.executeCommand('echo two')
    await until('the command was heard of', () => commands!.some(({ stdout }) => stdout === 'two\n'))
    const before = events!.length
    await new npm.ConversationClient(options).sendEvent(id, {
      role: 'user',
      content: [{ type: 'text', text: 'there?' }],
    } as never)
    await until('the message came', () => events!.slice(before).some(({ kind }) => kind === 'MessageEvent'))
  })

  test('does here all that the table says', () => assert.deepEqual(unused(called, 'events'), []))
})

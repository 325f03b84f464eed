import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AgentRig, type Talk } from '../support/agent.ts'
import { call, fail, finish, type Seen, say, type Turn } from '../support/model-server.ts'

/** What a conversation tells its model, what it tells of it, and how it is given another. */

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

const finalOf = async (talk: Talk) =>
  (await rig.call('GET', `/api/conversations/${talk.id}/agent_final_response`)).body.response

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

test('another model thinks from the next step on, and each is counted by itself', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const second: Seen[] = []
  const other = rig.nextModel
  await rig.begin({
    script: seen => {
      second.push(seen)
      return finish('by the second')
    },
  })
  const talk = await rig.begin({ say: 'go', script: [call('think', { thought: 'hm' }, { delay: gate })] })
  await talk.asks(1)
  const llm = rig.model.llm({ model: other, usage_id: 'second', api_key: 'sk-of-the-second' })
  assert.equal(await talk.post('switch_llm', { llm }), 200)
  open()
  await talk.comesTo('finished')
  assert.equal(second.length, 1)
  assert.equal(second[0]!.headers.authorization, 'Bearer sk-of-the-second')
  assert.match(JSON.stringify(second[0]!.messages), /go.*hm/)
  const info = await talk.info()
  assert.deepEqual(Object.keys(info.stats.usage_to_metrics).sort(), ['agent', 'second'])
  assert.equal(info.agent.llm.model, other)
  assert.doesNotMatch(JSON.stringify([info, await talk.events()]), /sk-of-the-second/)
  await talk.shows('S agent')
  assert.equal(await finalOf(talk), 'by the second')
  await rig.restart('SIGKILL')
  await talk.say('again')
  await talk.comesTo('finished')
  assert.equal(second.length, 2)
})

test('the final response is the message of finish, else the last words, else nothing', async () => {
  const silent = await rig.begin({})
  assert.equal(await finalOf(silent), '')
  const talk = await rig.begin({ say: 'go', script: [say('just words'), finish('the end'), fail('auth')] })
  await talk.comesTo('finished')
  assert.equal(await finalOf(talk), 'just words')
  await talk.say('more')
  await talk.comesTo('finished')
  assert.equal(await finalOf(talk), 'the end')
  await talk.say('and more')
  await talk.comesTo('error')
  assert.equal(await finalOf(talk), 'the end')
})

test('deltas are heard as they come, and are no part of the log', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const words = 'many words that come one after the other'
  const talk = await rig.begin({
    llm: { stream: true },
    script: [say(words, { chunks: 6, reasoning: 'first I think', delay: gate })],
  })
  using socket = await talk.listen()
  await talk.say('talk to me')
  await talk.asks(1)
  open()
  await talk.comesTo('finished')
  await socket.frame('the message', frame => frame.kind === 'MessageEvent' && frame.source === 'agent')
  const deltas = socket.frames.filter(({ kind }) => kind === 'StreamingDeltaEvent')
  assert.ok(deltas.length >= 4, `${deltas.length} deltas`)
  assert.equal(deltas.map(({ content }) => content ?? '').join(''), words)
  assert.equal(deltas.map(({ reasoning_content }) => reasoning_content ?? '').join(''), 'first I think')
  const kinds = (await talk.checkedEvents()).map(({ kind }) => kind as string)
  assert.ok(!kinds.includes('StreamingDeltaEvent'))
})

test('a model that does not stream tells no deltas', async () => {
  const talk = await rig.begin({ script: [say('words')] })
  using socket = await talk.listen()
  await talk.say('talk to me')
  await socket.frame('the message', frame => frame.kind === 'MessageEvent' && frame.source === 'agent')
  assert.ok(!socket.frames.some(({ kind }) => kind === 'StreamingDeltaEvent'))
})

test('pictures reach a model that sees, and are left out for one that does not', async () => {
  for (const sees of [true, false]) {
    let asked: Seen | undefined
    const talk = await rig.begin({
      llm: { disable_vision: !sees, capability_overrides: { supports_vision: true } },
      script: seen => {
        asked = seen
        return say('I see')
      },
    })
    const content = [
      { type: 'text', text: 'what is this?' },
      { type: 'image', image_urls: [PIXEL] },
    ]
    assert.equal(await talk.post('events', { content, run: true }), 200)
    await talk.comesTo('finished')
    assert.equal(JSON.stringify(asked!.messages).includes(PIXEL), sees)
    assert.match(JSON.stringify(await talk.checkedEvents()), /image_urls/)
  }
})

test('what the model thought is kept with its first action, and given back to it', async () => {
  const asked: Seen[] = []
  const name = rig.nextModel.replace('openai/', 'anthropic/')
  const talk = await rig.begin({
    say: 'go',
    llm: rig.model.llmFor('anthropic', { model: name }),
    script: (seen, n): Turn => {
      asked.push(seen)
      if (n > 0) return finish()
      const calls = ['one', 'two'].map(thought => ({ name: 'think', arguments: { thought } }))
      return { calls, text: 'Let me see.', thinking: [{ thinking: 'deep thoughts', signature: 'signed' }] }
    },
  })
  await talk.comesTo('finished')
  const events = await talk.checkedEvents()
  const [first, second] = events.filter(event => event.kind === 'ActionEvent')
  assert.match(JSON.stringify(first!.thinking_blocks), /deep thoughts.*signed/)
  assert.deepEqual([second!.thinking_blocks, second!.thought], [[], []])
  assert.match(JSON.stringify(asked[1]!.messages), /deep thoughts.*signed/)
})

test('a tool of the client is called by an action, and its schema is told to the model', async () => {
  let tools: { function: { name: string; parameters: object } }[] = []
  const parameters = { type: 'object', properties: { url: { type: 'string' } }, required: ['url'] }
  const talk = await rig.begin({
    say: 'open it',
    client_tools: [{ name: 'open_page', description: 'Opens a page.', parameters }],
    script: ({ body }, n) => {
      tools = body.tools
      return n === 0 ? call('open_page', { url: 'http://example.com' }) : finish()
    },
  })
  await talk.comesTo('finished')
  const told = tools.find(tool => tool.function.name === 'open_page')!
  assert.match(JSON.stringify(told), /"url":\{"type":"string"\}/)
  const events = await talk.checkedEvents()
  const action = events.find(event => event.kind === 'ActionEvent' && event.tool_name === 'open_page')!
  assert.deepEqual((action as { action: unknown }).action, {
    kind: 'ClientAction_open_page',
    url: 'http://example.com',
  })
  const [result] = events.filter(event => event.kind === 'ObservationEvent' && event.tool_name === 'open_page')
  assert.match(JSON.stringify(result), /ClientToolObservation.*dispatched to client/)
  assert.equal((await talk.info()).client_tools[0].name, 'open_page')
})

test('a condensation that fails is told to whoever asked for it, and changes nothing', async () => {
  const talk = await rig.begin({
    say: 'go',
    script: (seen, n) => {
      if (seen.body.tools === undefined) return fail('auth')
      return n < 8 ? call('think', { thought: `thought ${n}` }) : finish()
    },
  })
  await talk.comesTo('finished')
  const { status, body } = await rig.call('POST', `/api/conversations/${talk.id}/condense`)
  assert.equal(status, 502)
  assert.match(JSON.stringify(body), /check it in the settings/)
  assert.equal(await talk.status(), 'finished')
  assert.ok(!(await talk.notation()).includes('Condensation'))
})

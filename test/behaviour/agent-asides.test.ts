import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AgentRig, type Talk } from '../support/agent.ts'
import { call, fail, finish, type Seen, say, type Turn } from '../support/model-server.ts'
import { until } from '../support/wait.ts'

/** Questions beside the work: they cost, and leave nothing else. */

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

const isAside = ({ body }: Seen): boolean => body.tools === undefined

const ask = (talk: Talk, question: string) => rig.call('POST', `/api/conversations/${talk.id}/ask_agent`, { question })

test('ask_agent answers from the conversation, and leaves no trace but its figures', async () => {
  const asked: Seen[] = []
  const talk = await rig.begin({
    say: 'the number is 42',
    script: seen => {
      asked.push(seen)
      return say(isAside(seen) ? 'It is 42.' : 'Noted.')
    },
  })
  await talk.comesTo('finished')
  const before = await talk.notation()
  const { status, body } = await ask(talk, 'Which number?')
  assert.deepEqual([status, body], [200, { response: 'It is 42.' }])
  assert.deepEqual(await talk.notation(), before)
  assert.match(JSON.stringify(asked[1]!.messages), /the number is 42.*Noted.*Which number\?/)
  const { usage_to_metrics } = (await talk.info()).stats
  assert.equal(usage_to_metrics['ask-agent-llm'].token_usages.length, 1)
  assert.equal(usage_to_metrics.agent.token_usages.length, 1)
  assert.equal(await talk.status(), 'finished')
})

test('ask_agent is answered while a run goes, and disturbs it in nothing', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const talk = await rig.begin({
    say: 'work',
    script: (seen, n): Turn => {
      if (isAside(seen)) return say('I work.')
      return n === 0 ? call('think', { thought: 'hm' }) : finish('done', { delay: gate })
    },
  })
  await talk.asks(2)
  assert.deepEqual((await ask(talk, 'What do you do?')).body, { response: 'I work.' })
  assert.equal(await talk.status(), 'running')
  open()
  await talk.comesTo('finished')
})

test('a model that fails on the side is told to whoever asked, and to nobody else', async () => {
  const talk = await rig.begin({ say: 'hi', script: [say('hello'), fail('auth')] })
  await talk.comesTo('finished')
  const { status, body } = await ask(talk, 'why?')
  assert.ok(status >= 400 && status < 600 && status !== 500, `${status}`)
  assert.match(JSON.stringify(body), /check it in the settings/)
  assert.equal(await talk.status(), 'finished')
  assert.ok(!(await talk.notation()).some(one => one.startsWith('ConversationError')))
})

const titled = (talk: Talk, title: string) =>
  until(`it is called '${title}'`, async () => (await talk.info()).title === title)

test('a conversation is named by its model after its first message', async () => {
  const talk = await rig.begin({
    say: 'Please add a test for the parser of dates in the module of times, for leap years',
    autotitle: true,
    script: seen => say(isAside(seen) ? '"Test leap years in the date parser."' : 'ok'),
  })
  await titled(talk, 'Test leap years in the date parser')
  const { usage_to_metrics } = (await talk.info()).stats
  assert.ok(usage_to_metrics.title)
  await talk.comesTo('finished')
})

test('a title that cannot be made is the beginning of the message, and the run does not notice', async () => {
  const talk = await rig.begin({
    say: 'Please add a test for the parser of dates in the module of times, for leap years',
    autotitle: true,
    script: seen => (isAside(seen) ? fail('auth') : say('ok')),
  })
  await titled(talk, 'Please add a test for the parser of dates in the…')
  await talk.comesTo('finished')
  assert.ok(!(await talk.notation()).some(one => one.startsWith('ConversationError')))
})

test('what a person calls it stays, however late the model comes up with another', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const talk = await rig.begin({
    say: 'hello',
    autotitle: true,
    script: seen => (isAside(seen) ? say('The model’s', { delay: gate }) : say('ok')),
  })
  await talk.comesTo('finished')
  const patch = (body: object) => rig.call('PATCH', `/api/conversations/${talk.id}`, body)
  assert.equal((await patch({ title: 'Mine' })).status, 200)
  open()
  await until('its figures are in', async () => (await talk.info()).stats.usage_to_metrics.title)
  // One change after the other: once this is made, the model's has been.
  assert.equal((await patch({ tags: { after: 'that' } })).status, 200)
  assert.equal((await talk.info()).title, 'Mine')
})

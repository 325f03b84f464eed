import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Event } from '../../src/api/events.ts'
import { AgentRig, held, Talk } from '../support/agent.ts'
import { call, type Seen, say } from '../support/model-server.ts'
import { until } from '../support/wait.ts'

/** Other ways on from a conversation: a copy of it, or an earlier place in it. */

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

const named = (id: string) => new Talk(rig, id, '')
const fork = (talk: Talk, body?: object) => rig.call('POST', `/api/conversations/${talk.id}/fork`, body)
const navigate = (talk: Talk, event_id: string | null) =>
  rig.call('POST', `/api/conversations/${talk.id}/navigate`, { event_id })

/** One that answers every message with its number, and what it was asked with. */
async function counting(more: object = {}) {
  const asked: Seen[] = []
  const talk = await rig.begin({
    say: 'message one',
    script: (seen, n) => {
      asked.push(seen)
      return say(`answer ${n + 1}`)
    },
    ...more,
  })
  await talk.comesTo('finished')
  await talk.say('message two')
  await talk.comesTo('finished')
  return { talk, asked, last: () => JSON.stringify(asked.at(-1)!.messages.slice(1)) }
}

const messageIn = (events: readonly Event[], text: string): Event =>
  events.find(event => event.kind === 'MessageEvent' && JSON.stringify(event).includes(text))!

test('a fork has the whole log with its ids, rests, and goes its own way', async () => {
  const { talk, last } = await counting({ tags: { kind: 'first' } })
  const events = await talk.events()
  const { status, body } = await fork(talk)
  assert.equal(status, 201)
  assert.deepEqual(
    [body.execution_status, body.forked_from_conversation_id, body.forked_from_event_id],
    ['idle', talk.id, null],
  )
  assert.deepEqual(body.stats.usage_to_metrics, {})
  const copy = named(body.id)
  assert.deepEqual(
    (await copy.events()).map(({ id }) => id),
    events.map(({ id }) => id),
  )
  await copy.say('message of the copy')
  await copy.comesTo('finished')
  assert.match(last(), /message one.*answer 1.*message two.*answer 2.*message of the copy/)
  assert.deepEqual(await talk.events(), events)
})

test('a fork from an event has the way to it alone, and what was wished for it', async () => {
  const { talk, last } = await counting()
  const answer = messageIn(await talk.events(), 'answer 1')
  const wish = { from_event_id: answer.id, title: 'The other way', tags: { way: 'other' }, reset_metrics: false }
  const { body } = await fork(talk, wish)
  assert.equal(body.forked_from_event_id, answer.id)
  assert.equal(body.title, 'The other way')
  assert.equal(body.tags.way, 'other')
  assert.equal(body.stats.usage_to_metrics.agent.token_usages.length, 2)
  const copy = named(body.id)
  await copy.say('another second')
  await copy.comesTo('finished')
  assert.match(last(), /message one.*answer 1.*another second/)
  assert.doesNotMatch(last(), /message two/)
})

test('a fork of what runs or waits rests, and asks for nothing', async () => {
  const talk = await rig.begin({
    say: 'go',
    script: (_, n) => (n === 0 ? call('terminal', { command: 'echo x' }) : say('ok')),
    confirmation_policy: { kind: 'AlwaysConfirm' },
  })
  await talk.comesTo('waiting_for_confirmation')
  const { body } = await fork(talk)
  assert.equal(body.execution_status, 'idle')
  assert.deepEqual(body.confirmation_policy, { kind: 'AlwaysConfirm' })
  const copy = named(body.id)
  assert.deepEqual((await copy.notation()).slice(-1), ['Error terminal'], 'its open action has a result')
  assert.deepEqual(await copy.pending(), [])
  await copy.say('go on')
  await copy.comesTo('finished')
  assert.match(JSON.stringify(talk.questions.at(-1)?.messages), /forked before the call had a result/)
  assert.equal(await talk.status(), 'waiting_for_confirmation')
  assert.equal((await talk.pending()).length, 1)
})

test('an id that is taken is refused, and so is an event that is not there', async () => {
  const { talk } = await counting()
  assert.equal((await fork(talk, { id: talk.id })).status, 409)
  const { status } = await fork(talk, { from_event_id: crypto.randomUUID() })
  assert.equal(status, 404)
})

test('navigate goes back to an event, and what came after it is another branch that stays', async () => {
  const { talk, last } = await counting()
  const events = await talk.events()
  const answer = messageIn(events, 'answer 1')
  const { status, body } = await navigate(talk, answer.id)
  assert.deepEqual([status, body.leaf_event_id], [200, answer.id])
  await rig.restart('SIGKILL')
  assert.equal((await talk.info()).leaf_event_id, answer.id)
  await talk.say('message three')
  await talk.comesTo('finished')
  assert.match(last(), /message one.*answer 1.*message three/)
  assert.doesNotMatch(last(), /message two/)
  const after = await talk.events()
  assert.deepEqual(after.slice(0, events.length), events)
  assert.equal(messageIn(after, 'message three').parent_id, answer.id)

  const two = messageIn(events, 'answer 2')
  await navigate(talk, two.id)
  await talk.say('message four')
  await talk.comesTo('finished')
  assert.match(last(), /message two.*answer 2.*message four/)
  assert.doesNotMatch(last(), /message three/)
})

test('navigate to null begins anew, with the prompt', async () => {
  const { talk, asked, last } = await counting()
  const { status, body } = await navigate(talk, null)
  assert.deepEqual([status, body.leaf_event_id], [200, null])
  await talk.say('a new beginning')
  await talk.comesTo('finished')
  assert.doesNotMatch(last(), /message one/)
  assert.match(last(), /a new beginning/)
  assert.equal(asked.at(-1)!.messages.length, 2)
  const prompts = (await talk.checkedEvents()).filter(({ kind }) => kind === 'SystemPromptEvent')
  assert.deepEqual(
    prompts.map(({ parent_id }) => parent_id ?? null),
    [null, '__root__'],
  )
})

test('navigate while it runs is refused, and to what is no event of it too', async () => {
  const { talk } = await counting()
  assert.equal((await navigate(talk, crypto.randomUUID())).status, 404)
  const busy = await rig.begin({ say: 'go', script: [say('never', { stall: 'before' })] })
  await busy.asks(1)
  assert.equal((await navigate(busy, null)).status, 409)
  await busy.post('interrupt')
})

test('navigate away from what a pause lets finish is refused until it has its result', async () => {
  const talk = await rig.begin({
    say: 'go',
    script: (_, n) => (n === 0 ? call('terminal', { command: held('drain') }) : say('ok')),
  })
  await talk.begins('drain')
  await talk.post('pause')
  assert.equal((await navigate(talk, null)).status, 409)
  await talk.letGo('drain')
  await until('its result is there', async () => (await talk.notation()).includes('Observation terminal'))
  assert.equal((await navigate(talk, null)).status, 200)
  assert.ok(!(await talk.notation()).includes('Reject user'))
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { ConversationErrorEvent, Event } from '../../src/api/events.ts'
import { AgentRig, type Talk } from '../support/agent.ts'
import { call, fail, finish, say, type Turn } from '../support/model-server.ts'
import { until } from '../support/wait.ts'

/** P5: a model that is silent, refuses, breaks off or asks for patience harms only its own run. */

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

const echo = (text: string) => call('terminal', { command: `echo ${text}` })

/** The error that a run ended with. */
async function errorOf(talk: Talk): Promise<ConversationErrorEvent> {
  await talk.comesTo('error')
  const errors = (await talk.checkedEvents()).filter(isError)
  assert.equal(errors.length, 1)
  return errors[0]!
}

const isError = (event: Event): event is ConversationErrorEvent => event.kind === 'ConversationErrorEvent'

/** A failure is no dead end. */
async function goesOn(talk: Talk): Promise<void> {
  assert.equal(await talk.say('again'), 200)
  await talk.comesTo('finished')
}

describe('a model', { concurrency: 4 }, () => {
  const silences: [name: string, turn: Turn, stream: boolean][] = [
    ['accepts and never answers', say('never', { stall: 'before' }), false],
    ['falls silent in the middle of its stream', say('never to be read', { stall: 'middle', chunks: 8 }), true],
    ['falls silent in the middle of a whole answer', say('never to be read', { stall: 'middle' }), false],
  ]
  for (const [name, turn, stream] of silences)
    test(`a model that ${name} ends as a timeout that can be retried`, async () => {
      const began = Date.now()
      const model = rig.nextModel
      const talk = await rig.begin({ say: 'go', script: [turn, finish()], llm: { timeout: 1, stream } })
      const { code, detail, classification } = await errorOf(talk)
      assert.ok(Date.now() - began < 4000, 'within the second and some')
      assert.equal(code, 'LLMTimeoutError')
      assert.match(detail, /1 s .*try again, or raise timeout/)
      assert.deepEqual(classification, { kind: 'transient', retryable: true, user_action: 'retry' })
      await until('the line was hung up', () =>
        rig.model.requests.some(seen => seen.left && model.endsWith(seen.model)),
      )
      await goesOn(talk)
    })

  test('a model that trickles is not given up, however small its bytes', async () => {
    const slowly = { trickle: { bytes: 20, ms: 60 } }
    const talk = await rig.begin({ say: 'go', script: [say('slowly', slowly)], llm: { timeout: 1, stream: true } })
    await talk.comesTo('finished')
  })

  for (const cut of ['reset', 'end'] as const)
    test(`an answer that breaks off by ${cut} is asked for again, and nothing of it is kept`, async () => {
      const broken = { ...echo('never'), text: 'lost words', cut, chunks: 8 }
      const talk = await rig.begin({
        say: 'go',
        script: [broken, echo('once'), finish()],
        llm: { num_retries: 1, retry_min_wait: 0, retry_multiplier: 0, stream: true },
      })
      await talk.comesTo('finished')
      const log = JSON.stringify(
        (await talk.checkedEvents()).filter(({ kind }) => kind !== 'ConversationStateUpdateEvent'),
      )
      assert.doesNotMatch(log, /lost words|echo never/)
      assert.match(log, /echo once/)
      assert.equal(talk.asked, 3)
    })

  const patience: [status: number, header: string][] = [
    [429, 'in seconds'],
    [503, 'as a date'],
    [529, 'in seconds'],
  ]
  for (const [status, header] of patience)
    test(`${status} with Retry-After ${header}: the wait is shown and obeyed, and no tool runs twice`, async () => {
      const times: number[] = []
      const talk = await rig.begin({
        say: 'go',
        llm: { num_retries: 1, retry_min_wait: 0, retry_multiplier: 0 },
        script: (_, n) => {
          times.push(Date.now())
          if (n === 0) return call('terminal', { command: 'echo x >> ran' })
          if (n > 1) return n === 2 ? call('terminal', { command: 'wc -l < ran' }) : finish()
          // A date has whole seconds: two from now is at least one.
          const value = header === 'as a date' ? new Date(Date.now() + 2000).toUTCString() : '1'
          return { status, headers: { 'retry-after': value } }
        },
      })
      const shown = await until('the wait is shown', async () => (await talk.info()).agent_state.llm_retry)
      assert.equal(shown.attempt, 1)
      assert.equal(shown.code, status === 429 ? 'LLMRateLimitError' : 'LLMServiceUnavailableError')
      assert.match(shown.message, new RegExp(String(status)))
      await talk.comesTo('finished')
      assert.ok(times[2]! >= Date.parse(shown.until), `asked ${Date.parse(shown.until) - times[2]!} ms too early`)
      const waited = times[2]! - times[1]!
      assert.ok(waited >= 900 && waited < 3000, `waited ${waited} ms`)
      assert.equal((await talk.info()).agent_state.llm_retry, undefined)
      assert.match(JSON.stringify(await talk.events()), /"text":"1\b/)
    })

  for (const verb of ['interrupt', 'pause'])
    test(`${verb} ends a wait for the model, however often, and a run takes it up again`, async () => {
      const patient = fail('rate', { headers: { 'retry-after': '500' } })
      const talk = await rig.begin({ say: 'go', script: [patient, patient, finish()], llm: { num_retries: 5 } })
      for (const asked of [1, 2]) {
        await talk.asks(asked)
        await until('the wait is shown', async () => (await talk.info()).agent_state.llm_retry)
        assert.equal(await talk.post(verb), 200)
        assert.equal(await talk.status(), 'paused')
        assert.equal(await talk.post('run'), 200)
      }
      await talk.comesTo('finished')
      assert.equal((await talk.info()).agent_state.llm_retry, undefined)
      assert.equal(talk.asked, 3)
    })

  test('a message while the model is waited for does not keep a pause from ending the wait', async () => {
    const patient = fail('rate', { headers: { 'retry-after': '500' } })
    const talk = await rig.begin({ say: 'go', script: [patient, finish()], llm: { num_retries: 5 } })
    await until('the wait is shown', async () => (await talk.info()).agent_state.llm_retry)
    assert.equal(await talk.say('and hurry'), 200)
    assert.equal(await talk.post('pause'), 200)
    assert.equal(await talk.post('run'), 200)
    await talk.comesTo('finished')
  })

  test('a model that fails after a pause is not asked again before a run', async () => {
    const gate = Promise.withResolvers<void>()
    const patient = fail('rate', { delay: gate.promise, headers: { 'retry-after': '0' } })
    const talk = await rig.begin({ say: 'go', script: [patient, finish()], llm: { num_retries: 5 } })
    await talk.asks(1)
    assert.equal(await talk.post('pause'), 200)
    gate.resolve()
    // Of two runs at once one is refused: it is granted when the first is over.
    assert.equal(await talk.post('run'), 200)
    await talk.comesTo('finished')
    assert.equal(talk.asked, 2)
  })

  const refusals: [name: string, turn: Turn, code: string, says: RegExp, kind: string, action: string][] = [
    [
      'a wrong key',
      fail('auth'),
      'LLMAuthenticationError',
      /refused the key.*check it in the settings/,
      'auth',
      'settings',
    ],
    ['no access', fail('forbidden'), 'LLMAuthenticationError', /check it in the settings/, 'auth', 'settings'],
    ['an empty account', fail('quota'), 'LLMQuotaExceededError', /check its plan and billing/, 'quota', 'settings'],
    [
      'a model nobody knows',
      fail('unknownModel'),
      'LLMBadRequestError',
      /check model and base_url/,
      'config',
      'settings',
    ],
    ['a policy', fail('policy'), 'LLMContentPolicyViolationError', /say it otherwise/, 'unknown', 'none'],
    ['an outage', fail('internal'), 'LLMServiceUnavailableError', /cannot answer/, 'transient', 'retry'],
    [
      'rubbish for JSON',
      say('', { raw: '<html>It works!' }),
      'LLMServiceUnavailableError',
      /could not be read/,
      'transient',
      'retry',
    ],
  ]
  for (const [name, turn, code, says, kind, user_action] of refusals)
    test(`${name} is ${code}, says what to do, and is no dead end`, async () => {
      const talk = await rig.begin({
        say: 'go',
        script: [turn, finish()],
        llm: { num_retries: user_action === 'retry' ? 0 : 5 },
      })
      const error = await errorOf(talk)
      assert.equal(error.code, code)
      assert.match(error.detail, says)
      assert.doesNotMatch(error.detail, /sk-test/)
      assert.deepEqual(error.classification, { kind, retryable: user_action === 'retry', user_action })
      assert.equal(talk.asked, 1, 'asking again would not help')
      await goesOn(talk)
    })

  test('nobody at the address is said so', async () => {
    const nobody = createServer().listen(0, '127.0.0.1')
    await once(nobody, 'listening')
    const { port } = nobody.address() as AddressInfo
    nobody.close()
    const talk = await rig.begin({ say: 'go', llm: { base_url: `http://127.0.0.1:${port}` } })
    const { code, detail } = await errorOf(talk)
    assert.equal(code, 'LLMServiceUnavailableError')
    assert.match(detail, /Nobody answers at 127\.0\.0\.1:\d+: check base_url/)
  })
})

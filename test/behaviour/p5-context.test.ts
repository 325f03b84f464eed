import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Condensation, ConversationErrorEvent, Event } from '../../src/api/events.ts'
import { AgentRig, resultsOf, type Talk } from '../support/agent.ts'
import { call, fail, finish, type Script, type Seen, say, type Turn } from '../support/model-server.ts'

/** P5: a context that is too long is made shorter, and what cannot be made shorter ends in so many words. */

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

const think = (n: number, words = 'and so on '.repeat(200)) => call('think', { thought: `step ${n} ${words}` })

/** Only the agent is given tools. */
const isSummary = ({ body }: Seen): boolean => body.tools === undefined

const sizeOf = ({ messages }: Seen): number => JSON.stringify(messages).length

/** Steps, then finish; `overflows` may refuse any question. */
function steps(count: number, overflows: (seen: Seen, step: number) => boolean): { script: Script; seen: Seen[] } {
  const seen: Seen[] = []
  let step = 0
  const script = (asked: Seen): Turn => {
    seen.push(asked)
    if (overflows(asked, step)) return fail('context')
    if (isSummary(asked)) return say('NOTES of what happened')
    return step++ < count ? think(step) : finish()
  }
  return { script, seen }
}

const of = <K extends Event['kind']>(events: readonly Event[], kind: K): Extract<Event, { kind: K }>[] =>
  events.filter(event => event.kind === kind) as Extract<Event, { kind: K }>[]

/** Whether providers could make sense of it: each call has its result right after it. */
function assertPaired({ messages }: Seen): void {
  for (const [i, { tool_calls }] of messages.entries()) {
    const answered = messages.slice(i + 1, i + 1 + (tool_calls?.length ?? 0)).map(message => message.tool_call_id)
    assert.deepEqual(
      answered,
      (tool_calls ?? []).map(({ id }: { id: string }) => id),
    )
  }
  const calls = messages.flatMap(({ tool_calls = [] }) => tool_calls).length
  assert.equal(messages.filter(({ role }) => role === 'tool').length, calls)
}

const summarizing = (model: string) => ({
  kind: 'LLMSummarizingCondenser',
  llm: rig.model.llm({ model, usage_id: 'condenser' }),
})

async function condensationsOf(talk: Talk): Promise<Condensation[]> {
  return of(await talk.checkedEvents(), 'Condensation')
}

test('a context that the provider calls too long is condensed, and the step succeeds', async () => {
  let refused = 0
  const { script, seen } = steps(6, (asked, step) => step === 5 && !isSummary(asked) && refused++ === 0)
  const talk = await rig.begin({ say: 'count', script })
  await talk.comesTo('finished')
  assert.equal((await condensationsOf(talk)).length, 1)
  const asked = seen.filter(one => !isSummary(one))
  for (const one of asked) assertPaired(one)
  const again = asked.findIndex(one => sizeOf(one) < sizeOf(asked[asked.indexOf(one) - 1] ?? one))
  assert.match(JSON.stringify(asked[again]!.messages), /NOTES of what happened/)
  assert.match(JSON.stringify(asked[again]!.messages), /count/)
})

test('overflow at each step: at most two condensations for each answer, and every one leaves less', async () => {
  const tried = new Map<number, number>()
  const { script, seen } = steps(8, (asked, step) => {
    if (isSummary(asked) || step < 4) return false
    tried.set(step, (tried.get(step) ?? 0) + 1)
    return tried.get(step) === 1
  })
  const talk = await rig.begin({ say: 'count', script })
  await talk.comesTo('finished', 'error')
  const events = await talk.checkedEvents()
  let since = 0
  for (const { kind } of events) {
    if (kind === 'Condensation') since += 1
    if (kind === 'ActionEvent' || kind === 'MessageEvent') since = 0
    assert.ok(since <= 2, 'two condensations in a row did not help, and nobody said so')
  }
  for (const action of of(events, 'ActionEvent')) assert.equal(resultsOf(events, action).length, 1)
  for (const one of seen) assertPaired(one)
  for (const { forgotten_event_ids } of of(events, 'Condensation')) assert.ok(forgotten_event_ids.length >= 2)
})

test('a summary that is too long itself is asked for with less, until it fits', async () => {
  let refused = 0
  const long = 'y'.repeat(8000)
  const sizes: number[] = []
  let step = 0
  const talk = await rig.begin({
    say: 'count',
    script: asked => {
      if (isSummary(asked)) {
        sizes.push(sizeOf(asked))
        return sizes.length < 3 ? fail('context') : say('NOTES')
      }
      if (step === 8 && refused++ === 0) return fail('context')
      return step++ < 8 ? think(step, long) : finish()
    },
  })
  await talk.comesTo('finished')
  assert.equal(sizes.length, 3)
  assert.ok(sizes[0]! > sizes[1]! && sizes[1]! > sizes[2]!, `not shorter each time: ${sizes}`)
  assert.equal((await condensationsOf(talk)).length, 1)
})

test('what fits in no way ends as a typed error after few calls, and the conversation lives', async () => {
  let tight = true
  const { script, seen } = steps(4, (_, step) => tight && step === 4)
  const talk = await rig.begin({ say: 'count', script })
  await talk.comesTo('error')
  const [error] = of(await talk.checkedEvents(), 'ConversationErrorEvent') as [ConversationErrorEvent]
  assert.equal(error.code, 'LLMContextWindowExceedError')
  assert.match(error.detail, /too long/)
  assert.ok(seen.length <= 4 + 1 + 6 + 3, `${seen.length} calls`)
  tight = false
  await talk.say('go on')
  await talk.comesTo('finished')
})

test('a model with a smaller window is switched to: what it is asked is made shorter before it complains', async () => {
  const own = rig.nextModel
  const { script, seen } = steps(12, () => false)
  const talk = await rig.begin({ say: 'count', script, agent: { condenser: summarizing(own) } })
  await talk.comesTo('finished')
  assert.deepEqual(await condensationsOf(talk), [])
  const before = seen.length
  assert.equal(await talk.post('switch_llm', { llm: rig.model.llm({ model: own, max_input_tokens: 4000 }) }), 200)
  await talk.say('and now with a small one')
  await talk.comesTo('finished')
  const [first, second] = seen.slice(before)
  assert.ok(isSummary(first!) && !isSummary(second!), 'it was not made shorter first')
  assert.ok(sizeOf(second!) < sizeOf(seen[before - 1]!))
})

test('a condenser keeps what is shown within its size', async () => {
  const { script, seen } = steps(30, () => false)
  const condenser = { ...summarizing(rig.nextModel), max_size: 12, keep_first: 2 }
  const talk = await rig.begin({ say: 'count', script, agent: { condenser } })
  await talk.comesTo('finished')
  const asked = seen.filter(one => !isSummary(one))
  for (const { messages } of asked) assert.ok(messages.length <= 12 + 1, `${messages.length} messages`)
  for (const one of asked) assertPaired(one)
  for (const { messages } of asked) assert.match(JSON.stringify(messages.slice(0, 2)), /count/)
  const condensations = await condensationsOf(talk)
  assert.ok(condensations.length >= 3)
  assert.deepEqual(new Set(condensations.map(({ summary }) => summary)), new Set(['NOTES of what happened']))
  const { usage_to_metrics } = (await talk.info()).stats
  assert.equal(usage_to_metrics.condenser.token_usages.length, condensations.length)
})

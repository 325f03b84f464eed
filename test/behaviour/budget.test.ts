import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { ConversationErrorEvent } from '../../src/api/events.ts'
import { AgentRig, Talk } from '../support/agent.ts'
import { call, finish, say, type Turn } from '../support/model-server.ts'

/** P5: spend has a limit, and passes it by one call at most. */

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

/** A question of 100 tokens costs 0.1 USD. */
const PRICED = { input_cost_per_token: 0.001, output_cost_per_token: 0 }
const CALL = 0.1

let thoughts = 0
const think = (): Turn => call('think', { thought: `thought ${thoughts++}` })

async function spentBy(talk: Talk): Promise<number> {
  const { usage_to_metrics } = (await talk.info()).stats
  const costs = Object.values(usage_to_metrics as Record<string, { accumulated_cost: number }>)
  return costs.reduce((sum, { accumulated_cost }) => sum + accumulated_cost, 0)
}

async function errorsOf(talk: Talk): Promise<ConversationErrorEvent[]> {
  const events = await talk.checkedEvents()
  return events.filter(event => event.kind === 'ConversationErrorEvent')
}

const raise = (talk: Talk, max_budget_per_task: number) =>
  rig.call('PATCH', `/api/conversations/${talk.id}`, { max_budget_per_task })

const about = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) < 1e-6, `${actual} instead of ${expected}`)

test('an exhausted budget ends the run; raised, it goes on', async () => {
  const talk = await rig.begin({ say: 'go', script: think, llm: PRICED, max_budget_per_task: 0.45 })
  await talk.comesTo('error')
  about(await spentBy(talk), 0.5)
  assert.equal(talk.asked, 5)
  const [error] = await errorsOf(talk)
  assert.equal(error!.code, 'MaxBudgetReached')
  assert.match(error!.detail, /0\.45 USD.*Raise it/)
  assert.deepEqual(error!.classification, { kind: 'quota', retryable: false, user_action: 'settings' })
  assert.equal((await talk.info()).stats.usage_to_metrics.agent.max_budget_per_task, 0.45)

  assert.equal(await talk.post('run'), 200)
  await talk.comesTo('error')
  assert.equal(talk.asked, 5, 'nothing is left to run with')

  assert.equal((await raise(talk, 0.75)).status, 200)
  assert.equal(await talk.post('run'), 200)
  await talk.comesTo('error')
  about(await spentBy(talk), 0.8)
})

test('what was spent is not forgotten by kill -9, nor is the limit', async () => {
  const talk = await rig.begin({ say: 'go', script: think, llm: PRICED, max_budget_per_task: 0.25 })
  await talk.comesTo('error')
  about(await spentBy(talk), 0.3)
  await rig.restart('SIGKILL')
  about(await spentBy(talk), 0.3)
  await talk.say('go on')
  await talk.comesTo('error')
  assert.equal(talk.asked, 3)
  await raise(talk, 0.35)
  await rig.restart('SIGKILL')
  await talk.post('run')
  await talk.comesTo('error')
  about(await spentBy(talk), 0.4)
})

test('questions on the side and summaries are paid from the same purse', async () => {
  const talk = await rig.begin({
    say: 'go',
    script: [say('Hello.'), say('Aside.')],
    llm: PRICED,
    max_budget_per_task: 0.15,
  })
  await talk.comesTo('finished')
  const ask = () => rig.call('POST', `/api/conversations/${talk.id}/ask_agent`, { question: 'why?' })
  assert.equal((await ask()).status, 200)
  about(await spentBy(talk), 0.2)
  const refused = await ask()
  assert.notEqual(refused.status, 200)
  assert.match(JSON.stringify(refused.body), /0\.15 USD is used up/)
  assert.equal(talk.asked, 2)
})

/** Hands work to eight sub-agents that never end; what was spent, and how many calls were made at once at most. */
async function eight(llm: object, limit: number, usage: { completion: number }) {
  let together = 0
  let most = 0
  const tasks = Array.from({ length: 8 }, (_, n) => ({ name: 'task', arguments: { prompt: `help with part ${n}` } }))
  const talk = await rig.begin({
    say: 'go',
    agent: { tools: [{ name: 'task_tool_set' }] },
    llm: { input_cost_per_token: 0, output_cost_per_token: 0.005, ...llm },
    max_budget_per_task: limit,
    script: async ({ messages }) => {
      if (!JSON.stringify(messages).includes('help with part')) return { calls: tasks }
      together += 1
      most = Math.max(most, together)
      await new Promise(resolve => setTimeout(resolve, 20))
      together -= 1
      return { ...think(), usage }
    },
  })
  await talk.comesTo('error')
  assert.deepEqual(
    (await errorsOf(talk)).map(({ code }) => code),
    ['MaxBudgetReached'],
  )
  const { sub_conversation_ids: ids } = await talk.info()
  assert.equal(ids.length, 8)
  const costs = await Promise.all(ids.map((id: string) => spentBy(new Talk(rig, id, ''))))
  return { most, spent: costs.reduce((a, b) => a + b, await spentBy(talk)) }
}

test('eight sub-agents at once share the limit, and pass it by one call at most', async () => {
  const { most, spent } = await eight({ max_output_tokens: 40 }, 2, { completion: 20 })
  assert.ok(spent >= 2 - 1e-6 && spent <= 2 + CALL + 1e-6, `${spent} USD were spent`)
  assert.ok(most > 1, 'they did not work side by side')
})

test('calls that turn out dearer than any before pass the limit by one of them at most', async () => {
  const { spent } = await eight({}, 1, { completion: 200 })
  assert.ok(spent >= 1 - 1e-6 && spent <= 1 + 1 + 1e-6, `${spent} USD were spent`)
})

test('a limit that is raised holds for the sub-agents there are', async () => {
  let generous = false
  const talk: Talk = await rig.begin({
    agent: { tools: [{ name: 'task_tool_set' }] },
    llm: PRICED,
    max_budget_per_task: 0.25,
    script: async ({ messages }): Promise<Turn> => {
      const user = messages.find(({ role }) => role === 'user')
      if (JSON.stringify(user).includes('help with it')) return generous ? finish('helped') : think()
      if (!generous) return call('task', { prompt: 'help with it' })
      if (JSON.stringify(messages).includes('helped')) return finish()
      const { sub_conversation_ids } = await talk.info()
      return call('task', { prompt: 'help with it', resume: sub_conversation_ids[0] })
    },
  })
  await talk.say('go')
  await talk.comesTo('error')
  await raise(talk, 5)
  generous = true
  await talk.post('run')
  await talk.comesTo('finished')
  assert.match(JSON.stringify(await talk.events()), /"text":"helped"/)
})

test('a price that nobody knows is said, and nothing is spent', async () => {
  const talk = await rig.begin({ say: 'go', script: [finish()], max_budget_per_task: 1 })
  await talk.comesTo('error')
  const [error] = await errorsOf(talk)
  assert.equal(error!.code, 'UnknownPrice')
  assert.match(error!.detail, /Set input_cost_per_token and output_cost_per_token, or take the budget away/)
  assert.equal(talk.asked, 0)
  assert.equal(await talk.post('switch_llm', { llm: { ...(await priced(talk)) } }), 200)
  await talk.post('run')
  await talk.comesTo('finished')
})

async function priced(talk: Talk): Promise<Record<string, unknown>> {
  const { model } = (await talk.info()).agent.llm
  return rig.model.llm({ model, ...PRICED })
}

test('a budget of nothing buys nothing', async () => {
  const talk = await rig.begin({ say: 'go', script: [finish()], llm: PRICED, max_budget_per_task: 0 })
  await talk.comesTo('error')
  assert.equal((await errorsOf(talk))[0]!.code, 'MaxBudgetReached')
  assert.equal(talk.asked, 0)
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AgentRig, type Talk } from '../support/agent.ts'
import { finish, type Seen, say, type Turn } from '../support/model-server.ts'
import { until } from '../support/wait.ts'

/** An objective is worked on, round after round, until a judge finds it reached, the rounds are used up, or somebody stops it. */

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

const isJudge = ({ body }: Seen): boolean => body.tools === undefined
const verdict = (complete: boolean, missing = ''): Turn =>
  say(`Here: ${JSON.stringify({ score: complete ? 1 : 0.4, complete, missing })}`)

interface Goal {
  active: boolean
  status: string
  iteration: number
  verdict: { complete: boolean; missing: string } | null
}

/** What was told of it, in order. */
async function toldOf(talk: Talk): Promise<Goal[]> {
  const events = await talk.checkedEvents()
  return events.flatMap(event =>
    event.kind === 'ConversationStateUpdateEvent' && event.key === 'goal' ? [event.value as Goal] : [],
  )
}

/** Waits until it is at an end, and tells the last that was told. */
const ended = (talk: Talk): Promise<Goal> =>
  until('the goal is at an end', async () => {
    const last = (await toldOf(talk)).at(-1)
    return last && !last.active ? last : undefined
  })

/** One whose judge says this, one after the other; `work` is what the agent says. */
async function judged(verdicts: readonly Turn[], work: (seen: Seen) => Turn = () => finish('I did it')) {
  const asked: Seen[] = []
  let next = 0
  const talk = await rig.begin({
    script: seen => {
      asked.push(seen)
      return isJudge(seen) ? verdicts[next++]! : work(seen)
    },
  })
  return { talk, asked }
}

test('a goal that is reached at the second look is complete, and what was missing was told', async () => {
  const { talk, asked } = await judged([verdict(false, 'the tests'), verdict(true)])
  assert.equal(await talk.post('goal', { objective: 'make it green' }), 200)
  const goal = await ended(talk)
  assert.deepEqual([goal.status, goal.iteration, goal.verdict?.complete], ['complete', 2, true])
  const told = await toldOf(talk)
  assert.deepEqual(
    told.map(({ status }) => status),
    ['running', 'running', 'complete'],
  )
  const [, judge, second] = asked
  assert.match(JSON.stringify(judge!.messages), /make it green.*I did it/)
  assert.match(JSON.stringify(second!.messages.at(-1)), /make it green.*Still missing: the tests/)
  assert.equal((await talk.info()).stats.usage_to_metrics['goal-judge'].token_usages.length, 2)
})

test('a goal ends with its rounds, and a judge who says nothing clear finds nothing reached', async () => {
  const { talk } = await judged([say('Looks good to me!'), verdict(false, 'all of it')])
  await talk.post('goal', { objective: 'make it green', max_iterations: 2 })
  const goal = await ended(talk)
  assert.deepEqual([goal.status, goal.iteration], ['capped', 2])
  assert.match((await toldOf(talk))[1]!.verdict!.missing, /no clear answer/)
})

test('a goal is stopped, and resumed where it was', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  let works = 0
  const { talk } = await judged([verdict(false, 'more'), verdict(true)], () =>
    finish('did', { ...(works++ === 1 && { delay: gate }) }),
  )
  await talk.post('goal', { objective: 'make it green', max_iterations: 5 })
  await until('the second round has begun', () => works === 2)
  assert.equal(await talk.post('goal', { objective: 'another' }), 409)
  assert.equal(await talk.post('goal/stop'), 200)
  assert.deepEqual((await ended(talk)).status, 'interrupted')
  assert.equal(await talk.status(), 'running', 'what is executing goes on')
  open()
  await talk.comesTo('finished')
  assert.equal(await talk.post('goal/resume'), 200)
  await until('it is complete', async () => (await ended(talk)).status === 'complete')
  assert.equal((await ended(talk)).iteration, 2)
  assert.equal(await talk.post('goal/resume'), 400)
})

test('a message of a person and a pause end a goal, and so does an error of the agent', async () => {
  const ways: ((talk: Talk) => Promise<unknown>)[] = [
    talk => talk.say('wait, something else'),
    talk => talk.post('pause'),
    talk => talk.post('interrupt'),
  ]
  for (const way of ways) {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    const { talk } = await judged([verdict(false), verdict(false)], () => finish('did', { delay: gate }))
    await talk.post('goal', { objective: 'make it green' })
    await talk.asks(1)
    await way(talk)
    assert.equal((await ended(talk)).status, 'interrupted')
    open()
    await talk.comesTo('finished', 'paused')
  }
  const { talk } = await judged([], () => ({ fault: 'auth' }))
  await talk.post('goal', { objective: 'make it green' })
  assert.equal((await ended(talk)).status, 'interrupted')
})

test('a goal that was going when the server died can be resumed', async () => {
  const { talk } = await judged([verdict(true)], () => finish('did', { stall: 'before' }))
  await talk.post('goal', { objective: 'make it green' })
  await talk.asks(1)
  await rig.restart('SIGKILL')
  await talk.asks(2)
  await talk.post('interrupt')
  assert.equal(await talk.post('goal/resume'), 200)
  await talk.asks(3)
  await talk.post('goal/stop')
  await talk.post('interrupt')
})

test('an empty objective is refused, and there is nothing to resume where nothing was', async () => {
  const { talk } = await judged([])
  assert.equal(await talk.post('goal', { objective: '  ' }), 400)
  assert.equal(await talk.post('goal/resume'), 400)
  assert.equal(await talk.post('goal/stop'), 200)
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { ActionEvent } from '../../src/api/events.ts'
import type { Observation } from '../../src/api/observations.ts'
import { AgentRig, resultsOf, Talk } from '../support/agent.ts'
import { call, finish, type Script, type Seen, say, type Turn } from '../support/model-server.ts'
import { until } from '../support/wait.ts'

/** Work that an agent hands to others: each in a conversation of its own, visible, answerable and bounded. */

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

type TaskObservation = Extract<Observation, { kind: 'TaskObservation' }>

const SUBAGENTS = { tools: [{ name: 'terminal' }, { name: 'task_tool_set' }] }

const task = (prompt: string, more: object = {}) => ({
  name: 'task',
  arguments: { prompt: `CHILD ${prompt}`, ...more },
})

const userIn = ({ messages }: Seen): string => JSON.stringify(messages.find(({ role }) => role === 'user'))

/** What a parent says, one after the other, and what its children say, each by itself. */
function family(parent: readonly Turn[], child: (asked: Seen, n: number) => Turn | Promise<Turn>): Script {
  const counts = new Map<string, number>()
  return asked => {
    const who = userIn(asked)
    const n = counts.get(who) ?? 0
    counts.set(who, n + 1)
    return who.includes('CHILD') ? child(asked, n) : parent[n]!
  }
}

async function childrenOf(talk: Talk): Promise<Talk[]> {
  const { sub_conversation_ids: ids } = await talk.info()
  return ids.map((id: string) => new Talk(rig, id, ''))
}

/** Waits until there are so many. */
const children = (talk: Talk, count: number): Promise<Talk[]> =>
  until(`there are ${count} children`, async () => {
    const found = await childrenOf(talk)
    return found.length === count ? found : undefined
  })

/** What came of each task, in call order. */
async function reportsOf(talk: Talk): Promise<TaskObservation[]> {
  const events = await talk.checkedEvents()
  const tasks = events.filter(event => event.kind === 'ActionEvent' && event.tool_name === 'task') as ActionEvent[]
  return tasks.map(action => {
    const [result] = resultsOf(events, action)
    assert.equal(result?.kind, 'ObservationEvent', JSON.stringify(result))
    return (result as { observation: TaskObservation }).observation
  })
}

const textOf = ({ content }: TaskObservation): string => content.map(part => (part as { text: string }).text).join('')

test('two tasks of one answer run side by side, and their last words come back in call order', async () => {
  const both = Promise.withResolvers<void>()
  let asked = 0
  const talk = await rig.begin({
    say: 'go',
    agent: SUBAGENTS,
    script: family([{ calls: [task('one'), task('two')] }, finish('both done')], async seen => {
      asked += 1
      if (asked === 2) both.resolve()
      // Neither is answered before the other has asked.
      await both.promise
      return finish(userIn(seen).includes('one') ? 'report of one' : 'report of two')
    }),
  })
  await talk.comesTo('finished')
  const reports = await reportsOf(talk)
  assert.deepEqual(reports.map(textOf), ['report of one', 'report of two'])
  for (const report of reports) {
    assert.equal(report.kind, 'TaskObservation')
    assert.deepEqual([report.status, report.subagent, report.is_error], ['completed', 'general-purpose', false])
  }
  const kids = await childrenOf(talk)
  assert.deepEqual(new Set(kids.map(({ id }) => id)), new Set(reports.map(({ task_id }) => task_id)))
  for (const kid of kids) {
    const info = await kid.info()
    assert.equal(info.parent_conversation_id, talk.id)
    assert.equal(info.execution_status, 'finished')
    assert.equal(info.workspace.working_dir, (await talk.info()).workspace.working_dir)
    await kid.checkedEvents()
  }
})

test('a child has no children: it is given no tool for that', async () => {
  let tools: string[] = []
  const talk = await rig.begin({
    say: 'go',
    agent: SUBAGENTS,
    script: family([{ calls: [task('look')] }, finish()], ({ body }) => {
      tools = body.tools.map((tool: { function: { name: string } }) => tool.function.name)
      return say('nothing to see')
    }),
  })
  await talk.comesTo('finished')
  assert.ok(tools.includes('terminal'))
  assert.ok(!tools.includes('task'))
  assert.equal(textOf((await reportsOf(talk))[0]!), 'nothing to see')
})

test('a kind that does not exist is an error that names those that do', async () => {
  const definitions = [
    { name: 'reviewer', description: 'Reviews code.', system_prompt: 'You review.', tools: ['terminal'] },
  ]
  let prompt = ''
  const talk = await rig.begin({
    say: 'go',
    agent: SUBAGENTS,
    agent_definitions: definitions,
    script: family(
      [
        { calls: [task('x', { subagent_type: 'nobody' })] },
        { calls: [task('y', { subagent_type: 'reviewer' })] },
        finish(),
      ],
      ({ messages }) => {
        prompt = JSON.stringify(messages[0])
        return finish('reviewed')
      },
    ),
  })
  await talk.comesTo('finished')
  const [unknown, reviewed] = await reportsOf(talk)
  assert.equal(unknown!.is_error, true)
  assert.match(textOf(unknown!), /no helper 'nobody'.*general-purpose, reviewer/)
  assert.equal(textOf(reviewed!), 'reviewed')
  assert.equal(reviewed!.subagent, 'reviewer')
  assert.match(prompt, /You review\./)
  assert.equal((await childrenOf(talk)).length, 1)
})

test('a task is taken up again by its id, and remembers; somebody else’s is not', async () => {
  const other = await rig.begin({ say: 'hello', script: [say('hi')] })
  let heard = ''
  let id = ''
  const parent = async (asked: Seen): Promise<Turn> => {
    const results = asked.messages.filter(({ role }) => role === 'tool').length
    if (results === 0) return { calls: [task('remember the number 42')] }
    if (results === 1) {
      id = (await childrenOf(talk))[0]!.id
      return { calls: [task('which number?', { resume: id })] }
    }
    return results === 2 ? { calls: [task('yours?', { resume: other.id })] } : finish()
  }
  const talk: Talk = await rig.begin({
    agent: SUBAGENTS,
    script: asked => {
      if (!userIn(asked).includes('CHILD')) return parent(asked)
      heard = JSON.stringify(asked.messages)
      return say(asked.messages.length > 3 ? 'it was 42' : 'noted')
    },
  })
  await talk.say('go')
  await talk.comesTo('finished')
  const [first, second, third] = await reportsOf(talk)
  assert.deepEqual([textOf(first!), textOf(second!)], ['noted', 'it was 42'])
  assert.match(heard, /number 42.*noted.*which number/)
  assert.equal(second!.task_id, id)
  assert.match(textOf(third!), /no task '.*' of this conversation/)
  assert.equal((await childrenOf(talk)).length, 1)
})

test('a child that waits for a yes makes its parent wait, and go on after the answer', async () => {
  const talk = await rig.begin({
    say: 'go',
    agent: SUBAGENTS,
    confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: false },
    security_analyzer: { kind: 'LLMSecurityAnalyzer' },
    script: family([{ calls: [task('danger')] }, finish()], (_, n) =>
      n === 0 ? call('terminal', { command: 'echo dangerous', security_risk: 'HIGH' }) : finish('did it'),
    ),
  })
  const [child] = await children(talk, 1)
  await child!.comesTo('waiting_for_confirmation')
  assert.equal(await talk.status(), 'running')
  assert.equal(await child!.answer(true), 200)
  await talk.comesTo('finished')
  assert.equal(textOf((await reportsOf(talk))[0]!), 'did it')
})

test('a child that is told no rests, and its parent hears of it', async () => {
  const talk = await rig.begin({
    say: 'go',
    agent: SUBAGENTS,
    confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: false },
    security_analyzer: { kind: 'LLMSecurityAnalyzer' },
    script: family([{ calls: [task('danger')] }, finish()], () =>
      call('terminal', { command: 'echo dangerous', security_risk: 'HIGH' }),
    ),
  })
  const [child] = await children(talk, 1)
  await child!.comesTo('waiting_for_confirmation')
  await child!.answer(false)
  await talk.comesTo('finished')
  const [report] = await reportsOf(talk)
  assert.deepEqual([report!.is_error, report!.status], [true, 'idle'])
  assert.match(textOf(report!), /did not finish: it is idle/)
})

test('an interrupt of the parent interrupts the child and what it runs', async () => {
  const talk = await rig.begin({
    say: 'go',
    agent: SUBAGENTS,
    script: family([{ calls: [task('sleep')] }, finish()], () => call('terminal', { command: 'sleep 600' })),
  })
  const [child] = await children(talk, 1)
  await child!.shows('Action terminal')
  const began = performance.now()
  assert.equal(await talk.post('interrupt'), 200)
  assert.ok(performance.now() - began < 1000)
  await talk.comesTo('paused')
  await child!.comesTo('paused')
  for (const one of [talk, child!]) assert.deepEqual(await one.pending(), [])
})

test('a child that fails is an error that says so', async () => {
  const talk = await rig.begin({
    say: 'go',
    agent: SUBAGENTS,
    script: family([{ calls: [task('fail')] }, finish()], () => ({ fault: 'auth' })),
  })
  await talk.comesTo('finished')
  const [report] = await reportsOf(talk)
  assert.equal(report!.is_error, true)
  assert.match(textOf(report!), /it is error/)
})

test('a child is as its parent is now: with the model it was switched to, and the secrets it was given', async () => {
  const children: Seen[] = []
  const name = rig.nextModel
  const talk = await rig.begin({
    say: 'hello',
    agent: SUBAGENTS,
    script: family([say('hi'), { calls: [task('look')] }, finish()], asked => {
      children.push(asked)
      return children.length === 1 ? call('terminal', { command: 'test -n "$TOKEN" && echo it is there' }) : finish()
    }),
  })
  await talk.comesTo('finished')
  assert.equal(await talk.post('secrets', { secrets: { TOKEN: 'a-secret-value' } }), 200)
  assert.equal(await talk.post('switch_llm', { llm: rig.model.llm({ model: name, temperature: 0.25 }) }), 200)
  await talk.say('now hand it over')
  await talk.comesTo('finished')
  assert.equal(children[0]!.body.temperature, 0.25)
  assert.match(JSON.stringify(children[1]!.messages.at(-1)), /it is there/)
})

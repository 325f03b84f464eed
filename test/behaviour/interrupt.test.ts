import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Book, Entry, Standing } from '../../src/agent/book.ts'
import { carryOut } from '../../src/agent/execute.ts'
import type { Hands, Tool } from '../../src/agent/tool.ts'
import type { ActionEvent, Event } from '../../src/api/events.ts'
import type { Observation } from '../../src/api/observations.ts'
import { AgentRig, isSnapshot, resultsOf, type Talk } from '../support/agent.ts'
import { NO_WALLS } from '../support/hands.ts'
import { NO_PYTHON } from '../support/inside.ts'
import { stdio } from '../support/mcp-stdio.ts'
import { call, fail, finish, type Seen, say, type Turn } from '../support/model-server.ts'
import { Random } from '../support/random.ts'
import { count, DEEP, tempFolder } from '../support/server.ts'
import type { TestSocket } from '../support/socket.ts'
import { until } from '../support/wait.ts'

/** Whatever is under way. */
const SOON_MS = 500
/** A shell and what it started are killed, and waited for. */
const DELETED_MS = 3_000

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

const run = (command: string) => ({ name: 'terminal', arguments: { command } })
const terminal = (command: string): Turn => ({ calls: [run(command)] })
/** In no prompt. */
const ON = 'Carry on, my friend'
const AFTERWARDS = [terminal('echo a$((40 + 2))ve'), finish()]

const actionsOf = (events: readonly Event[]): ActionEvent[] =>
  events.filter(event => event.kind === 'ActionEvent') as ActionEvent[]

/** All actions have exactly one result, or those that have none are as many as expected. */
async function assertAnswered(talk: Talk, open = 0): Promise<void> {
  const events = await talk.checkedEvents()
  const counts = actionsOf(events).map(action => resultsOf(events, action).length)
  assert.deepEqual(
    counts.filter(one => one > 1),
    [],
    'more than one result',
  )
  const unanswered = counts.filter(one => one === 0).length
  assert.equal(unanswered, open, `actions without a result in ${(await talk.notation()).join(', ')}`)
}

/** What the results of the calls say, in call order. */
async function results(talk: Talk): Promise<string[]> {
  const events = await talk.events()
  return actionsOf(events).map(action => JSON.stringify(resultsOf(events, action)))
}

async function interrupted(talk: Talk, becomes = 'paused'): Promise<void> {
  const began = performance.now()
  assert.equal(await talk.post('interrupt'), 200)
  const ms = performance.now() - began
  assert.ok(ms < SOON_MS, `the interrupt took ${ms} ms`)
  assert.equal(await talk.status(), becomes)
  await assertAnswered(talk)
}

/** The next run works, its shell is usable, and nothing came of what was interrupted. */
async function worksAgain(talk: Talk): Promise<void> {
  assert.equal(await talk.say(ON), 200)
  await talk.comesTo('finished')
  await assertAnswered(talk)
  assert.match((await results(talk)).at(-2)!, /a42ve.*"exit_code":0/)
}

const sh = async (command: string): Promise<string> =>
  (await rig.call('POST', '/api/bash/execute_bash_command', { command, timeout: 10 })).body.stdout ?? ''

const isThere = (path: string): Promise<unknown> =>
  until(`${path} is there`, async () => (await sh(`ls ${path} 2>/dev/null`)) !== '')

interface Moment {
  script: (folder: string) => readonly Turn[] | ((seen: Seen, n: number) => Turn)
  /** Beside the script. */
  order?: (folder: string) => Record<string, unknown>
  /** Resolves when the moment has come. */
  comes: (talk: Talk, folder: string) => Promise<unknown>
  becomes?: string
  skip?: string | false
}

/** A hook that hangs when it is first run. */
const hanging = (folder: string) => [
  {
    matcher: '*',
    hooks: [{ command: `[ -e ${folder}/hooked ] || { touch ${folder}/hooked; sleep 100; }`, timeout: 100 }],
  },
]
const isHooked = (_: Talk, folder: string) => isThere(`${folder}/hooked`)

/** Condenses as soon as it can; the first summary never comes. */
const condensing = () => ({
  agent: {
    tools: [{ name: 'terminal' }],
    condenser: {
      kind: 'LLMSummarizingCondenser',
      llm: rig.model.llm({ usage_id: 'condenser', model: rig.nextModel }),
      keep_first: 1,
      max_size: 8,
    },
  },
})

function silentSummary() {
  let summaries = 0
  let step = 0
  let after = 0
  return ({ body, messages }: Seen): Turn => {
    if (!body.tools) return summaries++ === 0 ? say('', { stall: 'before' }) : say('So it was.')
    if (!JSON.stringify(messages).includes(ON)) return terminal(`echo step ${step++}`)
    return AFTERWARDS[after++]!
  }
}

/** A server that is slow to start is not there at once. */
function hangingTools({ body, messages }: Seen): Turn {
  const text = JSON.stringify(messages)
  if (text.includes(ON)) return text.includes('a42ve') ? finish() : AFTERWARDS[0]!
  const isThere = JSON.stringify(body.tools).includes('"hang"')
  return isThere ? { calls: [1, 2].map(() => ({ name: 'hang', arguments: {} })) } : terminal('date +%N')
}

const MOMENTS: Record<string, Moment> = {
  'the model says nothing at all': {
    script: () => [say('never', { stall: 'before' }), ...AFTERWARDS],
    comes: talk => talk.asks(1),
  },
  'the model falls silent in mid-sentence': {
    script: () => [say('a long story that never ends', { stall: 'middle', chunks: 8 }), ...AFTERWARDS],
    order: () => ({ llm: { stream: true } }),
    comes: talk => talk.asks(1),
  },
  'the next try of a model call is waited for': {
    script: () => [fail('overloaded'), ...AFTERWARDS],
    order: () => ({ llm: { num_retries: 5, retry_min_wait: 60, retry_max_wait: 60 } }),
    comes: talk => talk.shows('S agent_state'),
  },
  'a command runs that heeds no interrupt': {
    script: folder => [terminal(`trap '' INT; touch ${folder}/begun; sleep 100; echo late`), ...AFTERWARDS],
    comes: (_, folder) => isThere(`${folder}/begun`),
  },
  'a command runs, and others wait for their turn': {
    script: folder => [
      { calls: [run(`touch ${folder}/begun; sleep 100`), run(`touch ${folder}/second`), run('echo third')] },
      ...AFTERWARDS,
    ],
    comes: (_, folder) => isThere(`${folder}/begun`),
  },
  'tools of an MCP server run side by side': {
    script: () => hangingTools,
    order: () => ({ agent: { tools: [{ name: 'terminal' }], mcp_config: { hangs: stdio('good') } } }),
    comes: talk => talk.shows('Action hang', 2),
    skip: NO_PYTHON,
  },
  'a hook looks at what is about to run': {
    script: () => [terminal('echo never'), ...AFTERWARDS],
    order: folder => ({ hook_config: { pre_tool_use: hanging(folder) } }),
    comes: isHooked,
  },
  'a hook looks at a result': {
    script: () => [terminal('echo quickly'), ...AFTERWARDS],
    order: folder => ({ hook_config: { post_tool_use: hanging(folder) } }),
    comes: isHooked,
  },
  'a hook looks at the end': {
    script: () => [say('Done.'), ...AFTERWARDS],
    order: folder => ({ hook_config: { stop: hanging(folder) } }),
    comes: isHooked,
    becomes: 'finished',
  },
  'the context is being condensed': {
    script: silentSummary,
    order: condensing,
    comes: () => until('a summary was asked for', () => rig.model.requests.at(-1)?.body.tools === undefined),
  },
}

/** A conversation on its way to a moment. */
const begin = ({ script, order }: Moment, folder: string): Promise<Talk> =>
  rig.begin({ say: 'go', workspace: { working_dir: folder }, ...order?.(folder), script: script(folder) })

/** A program that waits while there is such a file. */
const SLOW = (hold: string, program: string) =>
  `#!/bin/sh\nwhile [ -e ${hold} ]; do sleep 0.02; done\nPATH=\${PATH#*:}\nexec ${program} "$@"\n`

describe('P4: an interrupt ends whatever is under way at once', { skip: NO_WALLS }, () => {
  for (const [name, moment] of Object.entries(MOMENTS)) {
    const { comes, becomes, skip = false } = moment
    test(`while ${name}`, { skip }, async () => {
      const folder = `/workspace/${randomUUID()}`
      const talk = await begin(moment, folder)
      await comes(talk, folder)
      await interrupted(talk, becomes)
      await worksAgain(talk)
      assert.equal(await sh(`ls ${folder}/second 2>/dev/null`), '', 'something began after the interrupt')
      assert.doesNotMatch((await results(talk)).join(), /late\b/)
    })
  }

  test('while sub-agents work side by side, which pause with it', async () => {
    const children: string[] = []
    const script = ({ messages, body }: Seen): Turn => {
      const text = JSON.stringify(messages)
      if (!body.tools.some(({ function: { name } }: { function: { name: string } }) => name === 'task')) {
        children.push(text)
        return say('', { stall: 'before' })
      }
      if (text.includes('a42ve')) return finish()
      if (text.includes(ON)) return AFTERWARDS[0]!
      return { calls: ['one', 'two'].map(prompt => ({ name: 'task', arguments: { prompt } })) }
    }
    const talk = await rig.begin({ say: 'go', script, agent: { tools: [{ name: 'terminal' }, { name: 'task' }] } })
    await until('both think', () => children.length === 2)
    await interrupted(talk)
    const { sub_conversation_ids: ids } = await talk.info()
    assert.equal(ids.length, 2)
    for (const id of ids)
      await until('the sub-agent rests', async () => {
        const { body } = await rig.call('GET', `/api/conversations/${id}`)
        return body.execution_status === 'paused'
      })
    await worksAgain(talk)
  })

  test(`at ${count({ sample: 6, deep: 60 })} moments by chance`, async t => {
    const random = new Random()
    t.diagnostic(`GANTRY_TEST_SEED=${random.seed}`)
    const script = ({ messages }: Seen): Turn => {
      const text = JSON.stringify(messages)
      if (!text.includes(ON))
        return {
          calls: [run('sleep 0.02'), { name: 'think', arguments: { thought: 'hm' } }, run('date +%N')],
          delay: 15,
        }
      return text.includes('a42ve') ? finish() : AFTERWARDS[0]!
    }
    for (let n = 0; n < count({ sample: 6, deep: 60 }); n++) {
      const moment = Date.now() + random.int(400)
      const talk = await rig.begin({ say: 'go', script })
      await until('the moment has come', () => Date.now() >= moment)
      await interrupted(talk)
      await worksAgain(talk)
    }
  })

  test(`${count({ sample: 12, deep: 100 })} times when the model answers: what it calls does not run when the run goes on`, async t => {
    const random = new Random()
    t.diagnostic(`GANTRY_TEST_SEED=${random.seed}`)
    for (let n = 0; n < count({ sample: 12, deep: 100 }); n++) {
      const { promise: delay, resolve } = Promise.withResolvers<void>()
      const talk = await rig.begin({ say: 'go', script: [{ ...terminal('echo unseen'), delay }, finish()] })
      await talk.asks(1)
      resolve()
      const moment = performance.now() + random.int(12)
      await until('the moment has come', () => performance.now() >= moment)
      await interrupted(talk)
      const notation = await talk.notation()
      assert.deepEqual(notation.slice(notation.indexOf('InterruptEvent')), ['InterruptEvent'])
      assert.equal((await rig.call('DELETE', `/api/conversations/${talk.id}`)).status, 200)
    }
  })

  test('of one conversation, and not of another in the same sandbox', async () => {
    const folder = `/workspace/${randomUUID()}`
    const other = await rig.begin({
      say: 'go',
      script: [terminal(`until [ -e ${folder}/go ]; do sleep 0.01; done; echo un$((40 + 2))hurt`), finish()],
    })
    const talk = await rig.begin({ say: 'go', script: [terminal('sleep 100'), ...AFTERWARDS] })
    await Promise.all([other.shows('Action terminal'), talk.shows('Action terminal')])
    await interrupted(talk)
    await worksAgain(talk)
    await sh(`mkdir -p ${folder}; touch ${folder}/go`)
    await other.comesTo('finished')
    assert.match((await results(other))[0]!, /un42hurt/)
  })

  test('while the sandbox does not answer', async () => {
    const programs = await tempFolder()
    const hold = join(programs, 'hold')
    for (const program of ['bwrap', 'unshare', 'nsenter'])
      await writeFile(join(programs, program), SLOW(hold, program), { mode: 0o755 })
    const held = await AgentRig.start([], { env: { PATH: `${programs}:${process.env.PATH}` } })
    try {
      await until('there is a sandbox', async () => (await held.call('GET', '/ready')).status === 200)
      await writeFile(hold, '')
      const talk = await held.begin({ say: 'go', script: [terminal('echo never'), ...AFTERWARDS] })
      await talk.shows('Action terminal')
      await interrupted(talk)
      await rm(hold)
      await worksAgain(talk)
    } finally {
      await rm(hold, { force: true })
      await held[Symbol.asyncDispose]()
      await rm(programs, { recursive: true })
    }
  })

  test('what still comes of a call that has been given a result is not kept', async () => {
    for (const name of ['terminal', 'finish']) {
      const entries: Entry[] = []
      const standing = { running: false, finished: false, open: [], blocked: {}, rules: [] } as unknown as Standing
      const book = {
        keep: async (decide: (now: Standing) => Entry) => {
          entries.push(decide(standing))
          return standing
        },
      } as Book
      const observation = { kind: 'FinishObservation', content: [], is_error: false } as Observation
      const execute = {
        tools: new Map([[name, { run: async () => observation } as Partial<Tool> as Tool]]),
        hands: () => ({}) as Hands,
        mask: <T>(value: T) => value,
        after: async () => ({ drafts: [], context: [], learnt: {} }),
      }
      const action = { id: 'a', tool_call_id: 'c', tool_name: name, action: {} } as ActionEvent
      const batch = { batch: [action], now: standing, heard: null }
      await carryOut(book, execute, batch, new AbortController().signal)
      assert.deepEqual(entries, [{}])
    }
  })

  test('twice, or when nothing is under way, it harms nothing', async () => {
    const talk = await rig.begin({ say: 'go', script: [terminal('sleep 100'), ...AFTERWARDS] })
    await talk.shows('Action terminal')
    const [one, two] = await Promise.all([talk.post('interrupt'), talk.post('interrupt')])
    assert.deepEqual([one, two], [200, 200])
    await interrupted(talk)
    assert.equal((await talk.notation()).filter(kind => kind === 'InterruptEvent').length, 1)
    await worksAgain(talk)
    await interrupted(talk, 'finished')
  })
})

/** A run that ends tells how everything stands. */
const restsAfter = (socket: TestSocket, kind: Event['kind']): Promise<unknown> =>
  until(`the run has ended after ${kind}`, () => {
    const { frames } = socket
    const place = frames.findIndex(frame => frame.kind === kind)
    return place >= 0 && frames.slice(place).some(isSnapshot)
  })

describe('P4: once a pause is acknowledged nothing new begins', { skip: NO_WALLS }, () => {
  test('between two calls of one answer: what runs ends, the next waits for the run to go on', async () => {
    const folder = `/workspace/${randomUUID()}`
    const first = `touch ${folder}/begun; until [ -e ${folder}/go ]; do sleep 0.01; done; echo first`
    let asked = 0
    const script = () =>
      asked++ === 0 ? { calls: [run(first), run(`touch ${folder}/second; echo second`)] } : finish()
    const talk = await rig.begin({ say: 'go', script, workspace: { working_dir: folder } })
    await isThere(`${folder}/begun`)
    using socket = await talk.listen()
    assert.equal(await talk.post('pause'), 200)
    await assertAnswered(talk, 2)
    await sh(`touch ${folder}/go`)
    await restsAfter(socket, 'ObservationEvent')
    assert.equal(await talk.status(), 'paused')
    await assertAnswered(talk, 1)
    assert.equal(await sh(`ls ${folder}/second 2>/dev/null`), '')
    assert.equal(asked, 1)
    assert.equal(await talk.post('run'), 200)
    await talk.comesTo('finished')
    await assertAnswered(talk)
    const [one, two] = await results(talk)
    assert.match(one!, /first/)
    assert.match(two!, /second/)
  })

  test('when the model answers after it: what it calls is held, and run when the run goes on', async () => {
    const folder = `/workspace/${randomUUID()}`
    const { promise: delay, resolve } = Promise.withResolvers<void>()
    const script = [{ ...terminal(`touch ${folder}/ran`), delay }, finish()]
    const talk = await rig.begin({ say: 'go', script, workspace: { working_dir: folder } })
    await talk.asks(1)
    using socket = await talk.listen()
    assert.equal(await talk.post('pause'), 200)
    resolve()
    await restsAfter(socket, 'ActionEvent')
    assert.equal(await talk.status(), 'paused')
    assert.equal(await sh(`ls ${folder}/ran 2>/dev/null`), '')
    await assertAnswered(talk, 1)
    assert.equal(await talk.post('run'), 200)
    await talk.comesTo('finished')
    await isThere(`${folder}/ran`)
    await assertAnswered(talk)
  })

  test('what drains after a pause can still be interrupted', async () => {
    const talk = await rig.begin({ say: 'go', script: [terminal('sleep 100'), ...AFTERWARDS] })
    await talk.shows('Action terminal')
    assert.equal(await talk.post('pause'), 200)
    await assertAnswered(talk, 1)
    await interrupted(talk)
    await worksAgain(talk)
  })
})

describe('P4: what is said during a run joins it', () => {
  const heard = (seen: Seen, text: string) => JSON.stringify(seen.messages).includes(text)

  for (const [what, turn] of Object.entries({
    calls: call('think', { thought: 'hm' }),
    finishes: finish(),
    talks: say('Done.'),
  }))
    test(`at the next step, while the model ${what}`, async () => {
      const { promise: delay, resolve } = Promise.withResolvers<void>()
      const requests: Seen[] = []
      const talk = await rig.begin({
        say: 'go',
        script: (seen, n) => {
          requests.push(seen)
          return n === 0 ? { ...turn, delay } : finish()
        },
      })
      await talk.asks(1)
      assert.equal(await talk.say('and this'), 200)
      resolve()
      await talk.asks(2)
      await talk.comesTo('finished')
      assert.equal(heard(requests[0]!, 'and this'), false)
      assert.equal(heard(requests[1]!, 'and this'), true)
      await assertAnswered(talk)
    })

  test(`at ${count({ sample: 15, deep: 200 })} moments around the end of a run: the model hears all of it`, async t => {
    const random = new Random()
    t.diagnostic(`GANTRY_TEST_SEED=${random.seed}`)
    let last: Seen | undefined
    const talk = await rig.begin({
      script: (seen, n) => {
        last = seen
        return n % 2 ? say('Done.') : finish()
      },
    })
    for (let n = 0; n < count({ sample: 15, deep: 200 }); n++) {
      assert.equal(await talk.say(`first ${n}.`), 200)
      const moment = Date.now() + random.int(30)
      await until('the moment has come', () => Date.now() >= moment)
      assert.equal(await talk.say(`second ${n}.`), 200)
      await until('it was heard', () => last && heard(last, `second ${n}.`))
      await talk.comesTo('finished')
    }
  })
})

describe('P4: a conversation that is deleted leaves nothing running', { skip: NO_WALLS }, () => {
  /** The host's processes with this in their command line. */
  async function processes(mark: string): Promise<string[]> {
    const pids = (await readdir('/proc')).filter(entry => /^\d+$/.test(entry))
    const lines = await Promise.all(pids.map(pid => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')))
    return lines.filter(line => line.includes(mark) && line.startsWith('sleep'))
  }

  test('neither a command nor what it left in the background', async () => {
    const mark = `4${process.pid}${Date.now() % 100_000}`
    const sleeps = `trap '' INT HUP TERM; sleep ${mark}1 & setsid sleep ${mark}2 & sleep ${mark}3`
    const talk = await rig.begin({ say: 'go', script: [terminal(sleeps)] })
    await until('all sleep', async () => (await processes(mark)).length === 3)
    const { status } = await rig.call('DELETE', `/api/conversations/${talk.id}`)
    assert.equal(status, 200)
    await until('nobody sleeps', async () => (await processes(mark)).length === 0)
    assert.equal((await rig.call('GET', `/api/conversations/${talk.id}`)).status, 404)
  })

  const moments = Object.entries(MOMENTS).filter(([, { skip }]) => !skip)
  const some = DEEP ? moments : [new Random().pick(moments)]
  for (const [name, moment] of some)
    test(`while ${name}: it is gone at once, and the others go on`, async () => {
      const folder = `/workspace/${randomUUID()}`
      const talk = await begin(moment, folder)
      await moment.comes(talk, folder)
      const began = performance.now()
      assert.equal((await rig.call('DELETE', `/api/conversations/${talk.id}`)).status, 200)
      const ms = performance.now() - began
      assert.ok(ms < DELETED_MS, `to delete it took ${ms} ms`)
      assert.equal(await talk.post('run'), 404)
      const other = await rig.begin({ say: 'go', script: AFTERWARDS })
      await other.comesTo('finished')
    })

  test('nor a question to its model', async () => {
    const talk = await rig.begin({ say: 'go', script: [say('never', { stall: 'before' })] })
    await talk.asks(1)
    const asked = rig.model.requests.at(-1)!
    assert.equal((await rig.call('DELETE', `/api/conversations/${talk.id}`)).status, 200)
    await until('the server has hung up', () => asked.left)
    assert.equal(await talk.post('run'), 404)
  })
})

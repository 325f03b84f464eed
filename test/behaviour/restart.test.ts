import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { AgentRig, type Talk } from '../support/agent.ts'
import { NO_WALLS } from '../support/hands.ts'
import { call, fail, finish, type Seen, say, type Turn } from '../support/model-server.ts'
import { assertAnswered, has, ON, sh } from '../support/moments.ts'
import { Random } from '../support/random.ts'
import { count, DEEP } from '../support/server.ts'
import { until } from '../support/wait.ts'

const SIGNALS = ['SIGTERM', 'SIGKILL'] as const

/** What can be asked of a conversation, and the answer when it is there. */
const VERBS = {
  run: talk => talk.post('run'),
  message: talk => talk.say(ON),
  pause: talk => talk.post('pause'),
  interrupt: talk => talk.post('interrupt'),
  accept: talk => talk.answer(true),
  reject: talk => talk.answer(false),
} satisfies Record<string, (talk: Talk) => Promise<number>>
type Verb = keyof typeof VERBS
type Wish = Verb | 'delete'
const WISHES: readonly Wish[] = [...(Object.keys(VERBS) as Verb[]), 'delete']

/** What the model waits for before it answers. */
class Gate {
  readonly #opened = Promise.withResolvers<void>()
  readonly opened = this.#opened.promise
  /** How often the model was asked. */
  asked = 0

  open(): void {
    this.#opened.resolve()
  }
}

interface Standing {
  script: (gate: Gate) => (seen: Seen, n: number) => Turn
  order?: Record<string, unknown>
  /** Without a word it stays idle. */
  silent?: boolean
  comes: (talk: Talk, gate: Gate, rig: AgentRig) => Promise<unknown>
  /** What it is when a new server has taken it up, and nobody has asked for anything. */
  found: string
  /** Where verbs lead to while its gate is shut. The others change nothing. */
  leads: Partial<Record<Verb, string>>
  /** Answers other than 200. */
  refuses?: Partial<Record<Verb, number>>
}

const shell = (command: string): Turn => call('terminal', { command })
const HANGING = 'touch "/tmp/$OPENHANDS_SESSION_ID"; sleep 100'
const same = call('think', { thought: 'the same again' })
const RUNNING = {
  found: 'running',
  leads: { pause: 'paused', interrupt: 'paused' },
  refuses: { run: 409 },
} as const

const STANDINGS: Record<string, Standing> = {
  idle: {
    script: () => () => finish(),
    silent: true,
    comes: talk => talk.say('go', false),
    found: 'idle',
    leads: { run: 'finished', message: 'finished', pause: 'paused', interrupt: 'paused' },
  },
  'running, in a model call': {
    script: gate => () => finish('done', { delay: gate.opened }),
    comes: talk => talk.asks(1),
    ...RUNNING,
  },
  'running, in a tool': {
    script: gate => (_, n) => (n === 0 ? shell('sleep 100') : finish('done', { delay: gate.opened })),
    comes: talk => talk.shows('Action terminal'),
    ...RUNNING,
  },
  'running, in a hook': {
    script: gate => (_, n) => (n === 0 ? shell('echo never') : finish('done', { delay: gate.opened })),
    order: { hook_config: { pre_tool_use: [{ matcher: 'terminal', hooks: [{ command: HANGING, timeout: 100 }] }] } },
    comes: (talk, _, rig) => until('the hook runs', () => has(rig, `/tmp/${talk.id}`)),
    ...RUNNING,
  },
  'paused, with an action that is held': {
    script: gate => (_, n) => (n === 0 ? { ...shell('echo held'), delay: gate.opened } : finish()),
    comes: async (talk, gate) => {
      await talk.asks(1)
      await talk.post('pause')
      gate.open()
      await talk.shows('Action terminal')
    },
    found: 'paused',
    leads: { run: 'finished', message: 'finished' },
  },
  waiting_for_confirmation: {
    script: () => (_, n) => (n === 0 ? shell('echo asked') : finish()),
    order: { confirmation_policy: { kind: 'AlwaysConfirm' } },
    comes: talk => talk.comesTo('waiting_for_confirmation'),
    found: 'waiting_for_confirmation',
    leads: { run: 'finished', accept: 'finished', reject: 'idle' },
  },
  'waiting_for_confirmation, with a message since': {
    script: () => (_, n) => (n === 0 ? shell('echo asked') : finish()),
    order: { confirmation_policy: { kind: 'AlwaysConfirm' } },
    comes: async talk => {
      await talk.comesTo('waiting_for_confirmation')
      await talk.say('wait')
    },
    found: 'waiting_for_confirmation',
    leads: { run: 'finished', accept: 'finished', reject: 'finished' },
  },
  finished: {
    script: () => () => finish(),
    comes: talk => talk.comesTo('finished'),
    found: 'finished',
    leads: {},
  },
  error: {
    script: () => (_, n) => (n === 0 ? fail('auth') : finish()),
    comes: talk => talk.comesTo('error'),
    found: 'error',
    leads: { run: 'finished', message: 'finished' },
  },
  stuck: {
    script: () => seen => (JSON.stringify(seen.messages).includes(ON) ? finish() : same),
    comes: talk => talk.comesTo('stuck'),
    found: 'stuck',
    leads: { message: 'finished' },
  },
}

/** Whatever it is, this leads it to its end. */
async function leave(talk: Talk): Promise<void> {
  assert.equal(await talk.say(ON), 200)
  await until('it has finished', async () => {
    const status = await talk.status()
    if (status === 'waiting_for_confirmation') await talk.answer(true)
    return status === 'finished'
  }).catch(async () => assert.fail(`it is ${await talk.status()}: ${await talk.notation()}`))
  await assertAnswered(talk)
}

/** A conversation, and what will be asked of it. */
interface Case {
  name: string
  wish: Wish
  standing: Standing
  gate: Gate
  talk: Talk
  /** How often its model had been asked by the old server. */
  asked: number
}

async function prepare(rig: AgentRig, [name, standing]: [string, Standing], wish: Wish): Promise<Case> {
  const gate = new Gate()
  const words = standing.silent ? {} : { say: 'go' }
  const script = standing.script(gate)
  const counted = (seen: Seen, n: number) => {
    gate.asked += 1
    return script(seen, n)
  }
  const talk = await rig.begin({ ...words, ...standing.order, script: counted })
  await standing.comes(talk, gate, rig)
  return { name, wish, standing, gate, talk, asked: gate.asked }
}

async function check(rig: AgentRig, { wish, standing, gate, talk, asked }: Case): Promise<void> {
  const { found, leads, refuses = {} } = standing
  // Only then it is known that the run was taken up.
  if (found === 'running') await until('its model is asked again', () => gate.asked > asked)
  assert.equal(await talk.status(), found)
  if (wish === 'delete') {
    assert.equal((await rig.call('DELETE', `/api/conversations/${talk.id}`)).status, 200)
    assert.equal(await talk.post('run'), 404)
    return
  }
  assert.equal(await VERBS[wish](talk), refuses[wish] ?? 200)
  await talk.comesTo(leads[wish] ?? found)
  gate.open()
  await leave(talk)
}

describe('P4: no standing is a dead end after a restart', { skip: NO_WALLS }, () => {
  /** In the sample half of the standings meet one signal, the other half the other. */
  const half = new Random().int(2)
  let rig: AgentRig
  before(async () => {
    rig = await AgentRig.start()
  })
  after(() => rig[Symbol.asyncDispose]())

  for (const [nth, signal] of SIGNALS.entries())
    test(`whatever is asked first of a conversation that met a ${signal}`, async t => {
      const random = new Random()
      t.diagnostic(`GANTRY_TEST_SEED=${random.seed}`)
      const cases: Case[] = []
      for (const [i, standing] of Object.entries(STANDINGS).entries()) {
        if (!DEEP && (i + nth + half) % 2 !== 0) continue
        const wishes = DEEP ? WISHES : [random.pick(WISHES)]
        cases.push(...(await Promise.all(wishes.map(wish => prepare(rig, standing, wish)))))
      }
      await rig.restart(signal)
      const failures: string[] = []
      for (const one of cases)
        await check(rig, one).catch(error => failures.push(`${one.name}, ${one.wish}: ${error.message}`))
      assert.deepEqual(failures, [])
    })

  test('an action that ran has a result which says so; one that waited for its turn was not run', async () => {
    for (const signal of DEEP ? SIGNALS : [new Random().pick(SIGNALS)]) {
      const calls = ['sleep 100', 'echo two'].map(command => ({ name: 'terminal', arguments: { command } }))
      const talk = await rig.begin({ say: 'go', script: [{ calls }, finish()] })
      await talk.shows('Action terminal', 2)
      await rig.restart(signal)
      await talk.comesTo('finished')
      await assertAnswered(talk)
      const errors = (await talk.events()).flatMap(event => (event.kind === 'AgentErrorEvent' ? [event.error] : []))
      assert.match(errors[0]!, /stopped while this call ran. It may have had effects/)
      assert.match(errors[1]!, /was not run/)
    }
  })

  test('an answer to one of two questions is remembered; the other is still asked', async () => {
    for (const signal of DEEP ? SIGNALS : [new Random().pick(SIGNALS)]) {
      const folder = `/workspace/${randomUUID()}`
      const calls = ['one', 'two'].map(name => ({
        name: 'terminal',
        arguments: { command: `touch ${folder}/${name}` },
      }))
      const talk = await rig.begin({
        say: 'go',
        script: [{ calls }, finish()],
        workspace: { working_dir: folder },
        confirmation_policy: { kind: 'AlwaysConfirm' },
      })
      await talk.comesTo('waiting_for_confirmation')
      const [one, two] = await talk.pending()
      assert.equal(await talk.answer(true, { action_ids: [two!.id] }), 200)
      await rig.restart(signal)
      assert.equal(await talk.status(), 'waiting_for_confirmation')
      assert.equal(await talk.answer(false, { action_ids: [one!.id], reason: 'not this' }), 200)
      await talk.comesTo('finished')
      await assertAnswered(talk)
      assert.equal((await sh(rig, `ls ${folder}`)).trim(), 'two')
    }
  })

  test(`a server that dies while it recovers, ${count({ sample: 2, deep: 30 })} times in a row, loses nothing`, async t => {
    const random = new Random()
    t.diagnostic(`GANTRY_TEST_SEED=${random.seed}`)
    const talk = await rig.begin({
      say: 'go',
      script: (_, n) => (n === 0 ? shell('sleep 100') : finish('done', { delay: 20 })),
    })
    await talk.shows('Action terminal')
    for (let times = 0; times < count({ sample: 2, deep: 30 }); times++) {
      await rig.restart('SIGKILL')
      const moment = Date.now() + random.int(100)
      await until('the moment has come', () => Date.now() >= moment)
    }
    await rig.restart('SIGKILL')
    await talk.comesTo('finished')
    await assertAnswered(talk)
    assert.equal((await talk.notation()).filter(kind => kind === 'Error terminal').length, 1)
  })

  test('what a command still ran when the server was killed is ended before the next command', async () => {
    // What the other conversations left running would be seen too.
    await using rig = await AgentRig.start()
    const script = ({ messages }: Seen): Turn => {
      const text = JSON.stringify(messages)
      if (text.includes('nothing is left')) return finish()
      if (text.includes('stopped while this call ran')) return shell('ls -l /proc/*/exe; echo nothing is left')
      return shell('setsid sleep 65451 & touch begun; sleep 65452')
    }
    const talk = await rig.begin({ say: 'go', script })
    const alive = async () => (await talk.shell('grep -la 6545[12] /proc/[0-9]*/cmdline')).trim() !== ''
    await until('the command runs', () => talk.has('begun'))
    await rig.server.stop('SIGKILL')
    await rig.restart()
    await talk.comesTo('finished')
    assert.equal(await alive(), false)
    assert.doesNotMatch(JSON.stringify(await talk.events()), /bin\/sleep.*nothing is left/, 'it ran beside the next')
  })

  test('sub-agents rest when the server dies: whoever sent them is told their ids, and goes on with them', async () => {
    const rested = Promise.withResolvers<void>()
    const helpers: string[] = []
    const script = async ({ messages, body }: Seen): Promise<Turn> => {
      const text = JSON.stringify(messages)
      const isParent = body.tools.some((tool: { function: { name: string } }) => tool.function.name === 'task')
      if (!isParent) {
        if (text.includes(ON)) return finish(`${/piece \d/.exec(text)} is all clear`)
        helpers.push(text)
        return say('', { stall: 'before' })
      }
      if (text.includes('is all clear')) return finish()
      const prompts = ['piece 1', 'piece 2']
      if (!text.includes('stopped while this call ran'))
        return { calls: prompts.map(prompt => ({ name: 'task', arguments: { prompt } })) }
      await rested.promise
      const told = [...text.matchAll(/call task with resume: ([\w-]+)/g)].map(([, resume]) => resume)
      return { calls: told.map(resume => ({ name: 'task', arguments: { prompt: ON, resume } })) }
    }
    const talk = await rig.begin({ say: 'go', script, agent: { tools: [{ name: 'terminal' }, { name: 'task' }] } })
    await until('both work', () => helpers.length === 2)
    await rig.restart('SIGKILL')
    await talk.shows('Error task', 2)
    const { sub_conversation_ids: children } = await talk.info()
    assert.equal(children.length, 2)
    const statusOf = async (id: string) => (await rig.call('GET', `/api/conversations/${id}`)).body.execution_status
    for (const id of children) await until('the sub-agent rests', async () => (await statusOf(id)) === 'paused')
    rested.resolve()
    await talk.comesTo('finished')
    await assertAnswered(talk)
    const said = JSON.stringify((await talk.events()).filter(event => event.kind === 'ObservationEvent'))
    for (const piece of [1, 2]) assert.match(said, new RegExp(`piece ${piece} is all clear`))
    assert.equal(helpers.length, 2, 'a sub-agent went on by itself')
    assert.deepEqual((await talk.info()).sub_conversation_ids, children)
  })

  test('what an earlier server left running of a conversation ends when that is deleted', async () => {
    const script = [shell('setsid sleep 65461 & sleep 65462 & touch begun'), finish()]
    const talk = await rig.begin({ say: 'go', script })
    const alive = async () => (await sh(rig, 'grep -la 6546[12] /proc/[0-9]*/cmdline')).trim() !== ''
    await talk.comesTo('finished')
    await rig.restart('SIGKILL')
    assert.equal(await alive(), true)
    assert.equal((await rig.call('DELETE', `/api/conversations/${talk.id}`)).status, 200)
    assert.equal(await alive(), false)
  })
})

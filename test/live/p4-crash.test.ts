import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ActionEvent, Event } from '../../src/api/events.ts'
import { AgentRig, resultsOf, type Talk } from '../support/agent.ts'
import { NO_WALLS } from '../support/hands.ts'
import { finish, type Seen, type Turn } from '../support/model-server.ts'
import { Random } from '../support/random.ts'
import { count } from '../support/server.ts'
import type { TestSocket } from '../support/socket.ts'
import { until } from '../support/wait.ts'

const STEPS = 30
/** Of one run, spread over it. */
const CRASHES = count({ sample: 3, deep: 8 })
const RUNS = count({ sample: 1, deep: 13 })
/** Between two crashes, on a socket: so that the last one comes well before the end. */
const EVENTS_APART = 11
/** For crashes to meet a question that is being answered. */
const THINKING_MS = 20
/** After the last of these events: long enough for an answer and a command. */
const JITTER_MS = 50

const FOLDER = '/workspace/p4-crash'
const RAN = `${FOLDER}/ran`
const EDITED = `${FOLDER}/edited`

/** What is to be done once: each try has a name of its own, which is the id of its call and what it leaves behind. */
interface Piece {
  step: number
  part: number
  attempt: number
}

const nameOf = ({ step, part, attempt }: Piece): string => `s${step}p${part}a${attempt}`

function pieceOf(name: string): Piece {
  const [, step, part, attempt] = /^s(\d+)p(\d+)a(\d+)$/.exec(name)!.map(Number)
  return { step: step!, part: part!, attempt: attempt! }
}

type Kind = 'run' | 'edit' | 'think' | 'read'
const KINDS: readonly Kind[] = ['run', 'edit', 'think', 'read', 'run', 'read']

/** One to three calls a step: those that act, alone and in a row, and those that may run side by side. */
const kindOf = ({ step, part }: Piece): Kind => KINDS[(step * 5 + part * 3 + (step >> 2)) % KINDS.length]!
const partsOf = (step: number): number => 1 + (step % 3)

function callOf(piece: Piece) {
  const id = nameOf(piece)
  const calls = {
    run: ['terminal', { command: `sleep 0.02; echo ${id} >> ${RAN}; sleep 0.02` }],
    edit: ['file_editor', { command: 'insert', path: EDITED, insert_line: 0, new_str: id }],
    think: ['think', { thought: id }],
    read: ['read_file', { file_path: EDITED }],
  } as const
  const [name, args] = calls[kindOf(piece)]
  return { id, name, arguments: { ...args, summary: id } }
}

const NOT_RUN = 'was not run'

/**
 * The model knows nothing but what it is asked: it goes on after the last step that it sees results of, and asks again for what it is told
 * was not run. Of what may have had effects it leaves the second try to chance.
 */
function next({ messages }: Seen): Turn {
  const asked = messages.findLast(({ tool_calls }) => tool_calls?.length > 0)
  const last: Piece[] = (asked?.tool_calls ?? []).map(({ id }: { id: string }) => pieceOf(id))
  const result = (piece: Piece): string =>
    JSON.stringify(messages.find(({ tool_call_id }) => tool_call_id === nameOf(piece))?.content)
  const again = last.filter(piece => result(piece).includes(NOT_RUN))
  if (again.length > 0) return { calls: again.map(piece => callOf({ ...piece, attempt: piece.attempt + 1 })) }
  const step = (last[0]?.step ?? -1) + 1
  if (step >= STEPS) return finish()
  return { calls: Array.from({ length: partsOf(step) }, (_, part) => callOf({ step, part, attempt: 0 })) }
}

/** What providers refuse: a call without exactly one result right after it, or a result without a call. */
function assertPaired(messages: Seen['messages']): void {
  let due: string[] = []
  for (const { role, tool_calls, tool_call_id } of messages) {
    if (role === 'tool') {
      assert.ok(due.includes(tool_call_id), `a result without a call: ${tool_call_id}`)
      due = due.filter(id => id !== tool_call_id)
    } else assert.deepEqual(due, [], 'calls without a result')
    if (tool_calls) due = tool_calls.map(({ id }: { id: string }) => id)
  }
  assert.deepEqual(due, [], 'calls without a result')
}

/** What somebody who listens and talks was told, of all servers there were. */
class Witness {
  readonly seen = new Map<string, Event>()
  readonly said: string[] = []
  #socket: TestSocket | undefined

  async listen(talk: Talk): Promise<TestSocket> {
    this.#socket = await talk.listen()
    return this.#socket
  }

  /** Says something, and remembers it if it was acknowledged. */
  async say(talk: Talk, text: string): Promise<void> {
    const status = await talk.say(text).catch(() => 0)
    if (status === 200) this.said.push(text)
  }

  note(): void {
    for (const event of this.#socket?.events ?? []) this.seen.set(event.id, event)
  }
}

const isAction = (event: Event): event is ActionEvent => event.kind === 'ActionEvent'

/** What a result says became of its action. */
function fateOf(result: Event): 'done' | 'cut' | 'not run' {
  if (result.kind !== 'AgentErrorEvent') return 'done'
  if (result.error.includes(NOT_RUN)) return 'not run'
  assert.match(result.error, /The server stopped while this call ran/)
  return 'cut'
}

/** How often each fate was met. */
type Fates = Record<'done' | 'cut' | 'not run', number>

function assertWhole(events: readonly Event[], traces: readonly string[], fates: Fates): void {
  const actions = events.filter(isAction)
  for (const action of actions) {
    const results = resultsOf(events, action)
    assert.equal(results.length, 1, `${action.tool_call_id} has ${results.length} results`)
    if (action.tool_name === 'finish') continue
    const fate = fateOf(results[0]!)
    fates[fate] += 1
    const kind = kindOf(pieceOf(action.tool_call_id))
    if (kind === 'think' || kind === 'read') continue
    const times = traces.filter(trace => trace === action.tool_call_id).length
    const allowed = { done: [1], cut: [0, 1], 'not run': [0] }[fate]
    assert.ok(allowed.includes(times), `${action.tool_call_id}, ${fate}, left ${times} traces`)
  }
  const calls = actions.map(({ tool_call_id }) => tool_call_id)
  assert.equal(new Set(calls).size, calls.length, 'a call is on record twice')
  assert.deepEqual(
    traces.filter(trace => !calls.includes(trace)),
    [],
    'something was run that is not on record',
  )
}

function assertNothingLost(events: readonly Event[], { seen, said }: Witness): void {
  const places = new Map(events.map((event, i) => [event.id, i]))
  assert.equal(places.size, events.length)
  let place = -1
  for (const [id, event] of seen) {
    const found = places.get(id)
    assert.ok(found !== undefined && found > place, `${event.kind} ${id} was told, and is ${found ?? 'lost'}`)
    assert.deepEqual(events[found], event)
    place = found
  }
  const heard = events.flatMap(event =>
    event.kind === 'MessageEvent' && event.source === 'user' ? [JSON.stringify(event.llm_message.content)] : [],
  )
  for (const text of said) assert.equal(heard.filter(one => one.includes(`"${text}"`)).length, 1, text)
}

describe('P4: runs outlive the server', { skip: NO_WALLS }, () => {
  test(`P1, P4: kill -9 at ${RUNS * CRASHES} moments of a run: it goes on by itself, and each action has one result and ran once`, async t => {
    const random = new Random()
    t.diagnostic(`GANTRY_TEST_SEED=${random.seed}`)
    await using rig = await AgentRig.start()
    const fates: Fates = { done: 0, cut: 0, 'not run': 0 }
    let repeated = 0
    for (let run = 0; run < RUNS; run++) {
      const { talk, witness, requests } = await crashing(rig, random)
      const events = await talk.checkedEvents()
      assertNothingLost(events, witness)
      assertWhole(events, await traces(rig), fates)
      for (const messages of requests) assertPaired(messages)
      const done = new Set(events.filter(isAction).map(({ tool_call_id }) => tool_call_id.replace(/a\d+$/, '')))
      for (let step = 0; step < STEPS; step++)
        for (let part = 0; part < partsOf(step); part++) assert.ok(done.has(`s${step}p${part}`), `${step}, ${part}`)
      repeated += requests.length - new Set(requests.map(messages => JSON.stringify(messages))).size
    }
    t.diagnostic(`results: ${JSON.stringify(fates)}; ${repeated} questions were asked again`)
    assert.ok(fates.cut > 0, 'no crash met an action')
  })
})

/** One run, with its crashes, until it has finished. */
async function crashing(rig: AgentRig, random: Random) {
  await sh(rig, `rm -rf ${FOLDER}; mkdir -p ${FOLDER}; echo > ${RAN}; echo > ${EDITED}`)
  const requests: Seen['messages'][] = []
  const script = (seen: Seen): Turn => {
    requests.push(seen.messages)
    return { ...next(seen), delay: THINKING_MS }
  }
  const tools = ['terminal', 'file_editor', 'read_file'].map(name => ({ name }))
  const talk = await rig.begin({ script, agent: { tools }, workspace: { working_dir: FOLDER }, max_iterations: 500 })
  const witness = new Witness()
  let socket = await witness.listen(talk)
  assert.equal(await talk.say('go'), 200)
  for (let crash = 0; crash < CRASHES; crash++) {
    const enough = EVENTS_APART + random.int(EVENTS_APART / 2)
    await until('enough has happened', () => socket.events.length >= enough, 20_000)
    const moment = Date.now() + random.int(JITTER_MS)
    const saying = crash % 2 ? witness.say(talk, `word ${crash}`) : undefined
    await until('the moment has come', () => Date.now() >= moment)
    await rig.server.stop('SIGKILL')
    await Promise.all([saying, socket.ended()])
    witness.note()
    assert.equal(witness.seen.values().some(isFinished), false, 'the run was over before all crashes')
    await rig.restart()
    socket = await witness.listen(talk)
  }
  await until('it has finished', async () => (await talk.status()) === 'finished', 60_000)
  witness.note()
  socket[Symbol.dispose]()
  return { talk, witness, requests }
}

const isFinished = (event: Event): boolean =>
  event.kind === 'ConversationStateUpdateEvent' && event.key === 'execution_status' && event.value === 'finished'

async function sh(rig: AgentRig, command: string): Promise<string> {
  const { body } = await rig.call('POST', '/api/bash/execute_bash_command', { command, timeout: 10 })
  assert.equal(body.exit_code, 0, JSON.stringify(body))
  return body.stdout ?? ''
}

const traces = async (rig: AgentRig): Promise<string[]> =>
  (await sh(rig, `cat ${RAN} ${EDITED}`)).split('\n').filter(line => line !== '')

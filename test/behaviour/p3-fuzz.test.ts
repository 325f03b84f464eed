import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Fault } from '../../src/api/errors.ts'
import { Event } from '../../src/api/events.ts'
import type { ConfirmationPolicy, SecurityAnalyzer } from '../../src/api/security.ts'
import type { State } from '../../src/conversation/state.ts'
import { newId } from '../../src/lib/id.ts'
import { SqliteStore } from '../../src/store/sqlite.ts'
import { Life, type Script, World } from '../support/asking.ts'
import { type Call, judge } from '../support/asking-oracle.ts'
import { Random } from '../support/random.ts'
import { count, tempFolder } from '../support/server.ts'

const ORDERS = count({ sample: 300, deep: 20_000 })
const SIDE_BY_SIDE = 16

const POLICIES: readonly ConfirmationPolicy[] = [
  { kind: 'AlwaysConfirm' },
  { kind: 'AlwaysConfirm' },
  { kind: 'NeverConfirm' },
  { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true },
  { kind: 'ConfirmRisky', threshold: 'MEDIUM', confirm_unknown: false },
]
const ANALYZERS: readonly (SecurityAnalyzer | null)[] = [null, { kind: 'LLMSecurityAnalyzer' }]

let folder: string
let store: SqliteStore
before(async () => {
  folder = await tempFolder()
  store = SqliteStore.open(join(folder, 'gantry.db'), { synchronous: 'normal' })
})
after(async () => {
  await store.close()
  await rm(folder, { recursive: true, force: true })
})

test(`P3: in ${ORDERS} random orders of wishes, answers and crashes, what runs was allowed or approved`, async () => {
  const { seed } = new Random()
  const seen = new Map<string, number>()
  let next = 0
  const work = async () => {
    while (next < ORDERS) {
      const own = seed * 100_000 + next++
      try {
        for (const kind of await new Tale(own).tell()) seen.set(kind, (seen.get(kind) ?? 0) + 1)
      } catch (error) {
        throw new Error(`GANTRY_TEST_SEED=${seed}, order ${own - seed * 100_000}: ${error}`, { cause: error })
      }
    }
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work))
  for (const kind of ['ObservationEvent', 'UserRejectObservation', 'AgentErrorEvent', 'PauseEvent', 'InterruptEvent'])
    assert.ok((seen.get(kind) ?? 0) > ORDERS / 50, `hardly ever a ${kind}: ${JSON.stringify([...seen])}`)
})

/** One conversation, in one random order. */
class Tale {
  readonly #random: Random
  readonly #world: World
  readonly #calls: Call[] = []
  #pending: Promise<void>[] = []
  #life: Life
  #ending = false
  /** All that were ever asked. */
  readonly #known: string[] = []
  #heard: number[] = []
  #leave: () => void = () => undefined

  constructor(seed: number) {
    this.#random = new Random(seed)
    const script: Script = n => this.#answer(n)
    this.#world = new World(store, script, () => this.#random.pick(['now', 'now', 'soon', 'when released'] as const))
    this.#life = new Life(this.#world)
  }

  /** The kinds of all that came of it. */
  async tell(): Promise<string[]> {
    const random = this.#random
    const policy = random.pick(POLICIES)
    await this.#life.begin({ confirmation_policy: policy, security_analyzer: random.pick(ANALYZERS) })
    this.#connect()
    this.#ask('message+run', life => life.conversations.send(this.#world.id, aMessage(true)))
    for (let left = 4 + random.int(14); left > 0; left--) {
      await this.#doSomething()
      for (let ticks = random.int(6); ticks > 0; ticks--) await soon()
    }
    await this.#comeToAnEnd()
    return (await this.#check()).map(({ kind }) => kind)
  }

  /** What the model says: mostly calls, each with a mark of its own. */
  #answer(n: number): ReturnType<Script> {
    const random = this.#random
    const call = (name: string, args: object) => ({
      id: `call_${n}_${newId()}`,
      name,
      arguments: JSON.stringify(args),
      origin: 'completion' as const,
    })
    const finish = () => call('finish', { message: 'done' })
    if (this.#ending) return { text: '', calls: [finish()] }
    if (random.int(12) === 0) return { text: 'That is all.', calls: [] }
    const calls = Array.from({ length: 1 + random.int(3) }, () => {
      const kind = random.int(20)
      if (kind === 0) return call('teleport', {})
      if (kind === 1) return call('think', { thought: 'hm' })
      if (kind === 2) return finish()
      const security_risk = random.pick(['LOW', 'MEDIUM', 'HIGH', 'UNKNOWN'])
      return call(kind < 8 ? 'look' : 'act', { mark: newId(), security_risk })
    })
    return { text: '', calls }
  }

  async #doSomething(): Promise<void> {
    const random = this.#random
    const { id } = this.#world
    const what = random.int(30)
    if (what < 4) this.#ask('accept', life => life.control.answer(id, { accept: true }))
    else if (what < 6) this.#ask('reject', life => life.control.answer(id, { accept: false, reason: 'no' }))
    else if (what < 10) await this.#answerSome()
    else if (what < 12) this.#ask('message', life => life.conversations.send(id, aMessage(false)))
    else if (what < 14) this.#ask('message+run', life => life.conversations.send(id, aMessage(true)))
    else if (what < 17) this.#ask('run', life => life.control.run(id))
    else if (what < 19) await this.#pause()
    else if (what < 20) this.#ask('interrupt', life => life.control.interrupt(id))
    else if (what < 22) this.#ask('policy', life => life.control.setPolicy(id, random.pick(POLICIES)))
    else if (what < 23) this.#ask('analyzer', life => life.control.setAnalyzer(id, random.pick(ANALYZERS)))
    else if (what < 24) await this.#restart()
    else if (what < 25) this.#connect()
    else this.#world.release()
    if (random.int(2) === 0) await this.#settled()
  }

  /** Answers by name: some that wait, some that are answered long since, some that never were. */
  async #answerSome(): Promise<void> {
    const random = this.#random
    const { state } = await this.#life.view()
    const waiting = state.open.map(({ id }) => id)
    this.#known.push(...waiting)
    const pool = [...waiting, ...waiting, ...this.#known.slice(-6), 'nobody']
    const ids = Array.from({ length: 1 + random.int(2) }, () => random.pick(pool))
    const accept = random.int(3) > 0
    const answer = { accept, reason: 'no', action_ids: ids }
    this.#ask(accept ? 'accept' : 'reject', life => life.control.answer(this.#world.id, answer), ids)
  }

  /** After it is acknowledged nothing begins, unless somebody wants that. */
  async #pause(): Promise<void> {
    if (this.#random.int(2) === 0) {
      this.#ask('pause', life => life.control.pause(this.#world.id))
      return
    }
    await this.#settled()
    this.#ask('pause', life => life.control.pause(this.#world.id))
    await this.#settled()
    const begun = this.#world.done.size
    this.#world.release()
    for (let ticks = 0; ticks < 4; ticks++) await soon()
    assert.equal(this.#world.done.size, begun, 'something began after a pause was acknowledged')
  }

  async #restart(): Promise<void> {
    if (this.#random.int(3) === 0) {
      await this.#settled()
      await this.#life.close()
    } else await this.#life.die()
    this.#pending = []
    this.#life = new Life(this.#world)
    this.#connect()
    await this.#life.recover()
  }

  /** Somebody follows: each event once, in order, without a gap. */
  #connect(): void {
    this.#leave()
    const heard: number[] = []
    this.#heard = heard
    this.#leave = this.#life.listen(records => {
      for (const { seq } of records) {
        if (heard.length > 0) assert.equal(seq, heard.at(-1)! + 1)
        heard.push(seq)
      }
    })
  }

  #ask(what: Call['what'], doing: (life: Life) => Promise<void>, ids?: readonly string[]): void {
    const call: Call = { what, from: this.#world.tick(), ...(ids && { ids }) }
    this.#calls.push(call)
    const life = this.#life
    const answered = doing(life).then(
      () => {
        call.to = this.#world.tick()
      },
      error => {
        call.to = this.#world.tick()
        if (!(error instanceof Fault && error.code === 'conversation_running')) throw error
      },
    )
    // It is heard when it is waited for.
    answered.catch(() => undefined)
    this.#pending.push(answered)
  }

  async #settled(): Promise<void> {
    const pending = this.#pending
    this.#pending = []
    await Promise.all(pending)
  }

  /** From wherever it is, it can be led on. */
  async #comeToAnEnd(): Promise<void> {
    const random = this.#random
    const { id } = this.#world
    this.#ending = true
    this.#world.openGates()
    await this.#settled()
    await this.#leadOn()
    const before = this.#world.asked
    this.#ask('message+run', life => life.conversations.send(id, aMessage(true)))
    await this.#settled()
    if (random.int(2) === 0) await this.#restart()
    await this.#leadOn()
    assert.ok(this.#world.asked > before, 'a message with run did not lead to the model')
  }

  async #leadOn(): Promise<void> {
    const { id } = this.#world
    for (let tries = 0; tries < 20; tries++) {
      const { execution_status: status } = await this.#rest()
      if (status === 'finished') return
      const accept = this.#random.int(2) === 0
      if (status === 'waiting_for_confirmation')
        this.#ask(accept ? 'accept' : 'reject', life => life.control.answer(id, { accept }))
      else this.#ask('run', life => life.control.run(id))
      await this.#settled()
    }
    assert.fail(`It cannot be led on: ${JSON.stringify((await this.#life.view()).state)}`)
  }

  /** The state it comes to when nobody wants anything. */
  async #rest(): Promise<State> {
    const patience = Date.now() + 10_000
    for (;;) {
      while (this.#life.runner.going().length > 0 && Date.now() < patience) await soon()
      const { state } = await this.#life.view()
      if (state.execution_status !== 'running' && this.#life.runner.going().length === 0) return state
      assert.ok(Date.now() < patience, `It does not come to rest: ${JSON.stringify(state)}`)
    }
  }

  async #check(): Promise<Event[]> {
    const { record, state } = await this.#life.view()
    const records = await store.readEvents({ no: record.no, limit: 10_000 })
    const events = records.map(({ json }): Event => JSON.parse(json))
    for (const event of events) Event.parse(event)
    judge({ events, commits: this.#world.commits, calls: this.#calls, done: this.#world.done })
    const marks = new Set(events.flatMap(event => (event.kind === 'ActionEvent' ? [event.tool_call.arguments] : [])))
    for (const mark of this.#world.done.keys())
      assert.ok(
        [...marks].some(args => args.includes(mark)),
        `${mark} is in no log`,
      )
    assert.deepEqual(folded(await this.#life.journal.stateOf({ ...record, damaged: true })), folded(state))
    assert.equal(this.#heard.at(-1), record.head)
    assert.deepEqual(this.#world.failures, [])
    await this.#life.close()
    return events
  }
}

/** But for what stands beside the log. */
const folded = ({ open, meanwhile, stats, ...state }: State) => ({ ...state, open: open.map(({ id }) => id) })

const aMessage = (run: boolean) => ({
  role: 'user' as const,
  content: [{ type: 'text' as const, text: 'go on', cache_prompt: false }],
  run,
})

const soon = () => new Promise(resolve => setImmediate(resolve))

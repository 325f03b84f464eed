import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import type { Event } from '../../src/api/events.ts'
import { AgentRig, isSnapshot } from '../support/agent.ts'
import { NO_WALLS } from '../support/hands.ts'
import { call, finish, type Seen, say } from '../support/model-server.ts'
import { AFTERWARDS, assertAnswered, comeTo, has, MOMENTS, ON, results, run, sh, terminal } from '../support/moments.ts'
import { Random } from '../support/random.ts'
import { count, DEEP } from '../support/server.ts'
import type { TestSocket } from '../support/socket.ts'
import { until } from '../support/wait.ts'

/** A shell and what it started are killed, and waited for. */
const DELETED_MS = 3_000

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

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
    await until('it has begun', () => has(rig, `${folder}/begun`))
    using socket = await talk.listen()
    assert.equal(await talk.post('pause'), 200)
    await assertAnswered(talk, 2)
    await sh(rig, `touch ${folder}/go`)
    await restsAfter(socket, 'ObservationEvent')
    assert.equal(await talk.status(), 'paused')
    await assertAnswered(talk, 1)
    assert.equal(await has(rig, `${folder}/second`), false)
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
    assert.equal(await has(rig, `${folder}/ran`), false)
    await assertAnswered(talk, 1)
    assert.equal(await talk.post('run'), 200)
    await talk.comesTo('finished')
    assert.equal(await has(rig, `${folder}/ran`), true)
    await assertAnswered(talk)
  })

  test('what drains after a pause can still be interrupted', async () => {
    const talk = await rig.begin({ say: 'go', script: [terminal('sleep 100'), ...AFTERWARDS] })
    await talk.shows('Action terminal')
    assert.equal(await talk.post('pause'), 200)
    await assertAnswered(talk, 1)
    assert.equal(await talk.post('interrupt'), 200)
    await assertAnswered(talk)
    assert.equal(await talk.say(ON), 200)
    await talk.comesTo('finished')
    await assertAnswered(talk)
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

  test(`at ${count({ sample: 8, deep: 200 })} moments around the end of a run: the model hears all of it`, async t => {
    const random = new Random()
    t.diagnostic(`GANTRY_TEST_SEED=${random.seed}`)
    let last: Seen | undefined
    const talk = await rig.begin({
      script: (seen, n) => {
        last = seen
        return n % 2 ? say('Done.') : finish()
      },
    })
    for (let n = 0; n < count({ sample: 8, deep: 200 }); n++) {
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
      const { talk } = await comeTo(rig, moment)
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

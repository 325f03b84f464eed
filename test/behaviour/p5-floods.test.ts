import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Event } from '../../src/api/events.ts'
import { AgentRig, resultsOf, type Talk } from '../support/agent.ts'
import { call, finish, type Turn } from '../support/model-server.ts'
import { count } from '../support/server.ts'

/** P5: what floods is cut, and everybody else is served meanwhile. */

const EVENT_BYTES = 256 * 1024
const GROWTH_BYTES = 64 * 1024 * 1024

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
  // What is loaded and started with the first conversation is not growth.
  const talk = await rig.begin({ say: 'warm up', script: [call('terminal', { command: 'seq 100000' }), finish()] })
  await talk.comesTo('finished')
})
after(() => rig[Symbol.asyncDispose]())

async function memory(): Promise<number> {
  const status = await readFile(`/proc/${rig.server.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) * 1024
}

/** Looks at the server until `work` is done: what it grew by at most, and the longest that its health took. */
async function watched<T>(work: Promise<T>): Promise<{ growth: number; longest: number }> {
  const before = await memory()
  let [most, longest, going] = [before, 0, true]
  const looking = (async () => {
    while (going) {
      const began = performance.now()
      const { status } = await fetch(`${rig.server.url}/health`)
      assert.equal(status, 200)
      longest = Math.max(longest, performance.now() - began)
      most = Math.max(most, await memory())
      await sleep(10)
    }
  })()
  try {
    await work
  } finally {
    going = false
    await looking
  }
  return { growth: most - before, longest }
}

const bytesOf = (event: Event): number => Buffer.byteLength(JSON.stringify(event))

async function assertBounded(talk: Talk): Promise<Event[]> {
  const events = await talk.checkedEvents()
  for (const event of events) assert.ok(bytesOf(event) <= EVENT_BYTES, `${event.kind} of ${bytesOf(event)} bytes`)
  for (const event of events) if (event.kind === 'ActionEvent') assert.equal(resultsOf(events, event).length, 1)
  return events
}

const MEGABYTES = count({ sample: 8, deep: 100 })

const floods: [name: string, turns: Turn[], says: RegExp][] = [
  [
    `a command that prints ${MEGABYTES} MB of lines`,
    [call('terminal', { command: `yes 0123456789abcdef | head -c ${MEGABYTES}000000; echo THE END` })],
    /THE END/,
  ],
  [
    `a command that prints ${MEGABYTES} MB without a line's end`,
    [call('terminal', { command: `head -c ${MEGABYTES}000000 /dev/zero | tr '\\0' x; echo THE END` })],
    /THE END/,
  ],
  [
    'a command that prints bytes of no meaning',
    [call('terminal', { command: `head -c ${MEGABYTES}00000 /dev/urandom; echo; echo THE END` })],
    /THE END/,
  ],
  [
    'arguments of 5 MB',
    [call('file_editor', { command: 'create', path: '/workspace/big', file_text: 'x'.repeat(5_000_000) })],
    /longer than \d+ characters/,
  ],
  [
    'a thousand calls in one answer',
    [{ calls: Array.from({ length: 1000 }, (_, n) => ({ name: 'think', arguments: { thought: `${n}` } })) }],
    /an answer may hold 100 calls/,
  ],
  [
    'a file of 10 MB that is viewed',
    [
      call('terminal', { command: 'yes 0123456789abcdef | head -c 10000000 > /workspace/long.txt' }),
      call('file_editor', { command: 'view', path: '/workspace/long.txt' }),
    ],
    /too large|MB|bytes/i,
  ],
  [
    'a command that never stops printing',
    [
      call('terminal', { command: 'yes flood', timeout: 1 }),
      call('terminal', { command: 'C-c', is_input: true }),
      call('terminal', { command: 'echo THE END' }),
    ],
    /THE END/,
  ],
]
for (const [name, turns, says] of floods)
  test(`${name}: no event is larger than 256 KB, memory stays, and others are answered`, async t => {
    const talk = await rig.begin({ script: [...turns, finish('survived')] })
    await talk.say('flood')
    const { growth, longest } = await watched(talk.comesTo('finished'))
    t.diagnostic(`grew by ${(growth / 1e6).toFixed(1)} MB, health took ${longest.toFixed(0)} ms`)
    assert.match(JSON.stringify(await assertBounded(talk)), says)
    assert.ok(growth < GROWTH_BYTES, `grew by ${growth} bytes`)
    assert.ok(longest < 1000, `health took ${longest} ms`)
  })

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Book, Entry, Standing } from '../../src/agent/book.ts'
import { carryOut, type Execute } from '../../src/agent/execute.ts'
import { work } from '../../src/agent/loop.ts'
import type { Reply } from '../../src/agent/model.ts'
import type { Hands, Tool } from '../../src/agent/tool.ts'
import type { Action } from '../../src/api/actions.ts'
import type { ActionEvent } from '../../src/api/events.ts'
import type { Observation } from '../../src/api/observations.ts'
import type { Feed } from '../../src/conversation/feed.ts'
import type { Command, Journal, View } from '../../src/conversation/journal.ts'
import { Runner } from '../../src/conversation/runner.ts'
import type { Log } from '../../src/lib/log.ts'
import { AgentRig, type Talk } from '../support/agent.ts'
import { NO_WALLS } from '../support/hands.ts'
import { finish, type Seen, say, type Turn } from '../support/model-server.ts'
import { AFTERWARDS, assertAnswered, comeTo, has, MOMENTS, ON, results, run, sh, terminal } from '../support/moments.ts'
import { Random } from '../support/random.ts'
import { count, tempFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** Whatever is under way. */
const SOON_MS = 500

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

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

/** A program that waits while there is such a file. */
const SLOW = (hold: string, program: string) =>
  `#!/bin/sh\nwhile [ -e ${hold} ]; do sleep 0.02; done\nPATH=\${PATH#*:}\nexec ${program} "$@"\n`

/** A book of a conversation that stands like this, and what is put into it. */
function aBook(standing: () => Standing): { book: Book; entries: Entry[] } {
  const entries: Entry[] = []
  const keep: Book['keep'] = async decide => {
    const now = standing()
    entries.push(decide(now))
    return now
  }
  return { book: { branch: [], shown: [], lastUserMessage: null, keep, tell: () => undefined }, entries }
}

/** Has one tool, which succeeds. */
function anExecute(name: string): Execute {
  const observation = { kind: 'FinishObservation', content: [], is_error: false } as Observation
  const tool = { name, readOnly: false, parameters: {}, understand: () => ({}) as Action, run: async () => observation }
  return {
    tools: new Map([[name, tool as Partial<Tool> as Tool]]),
    hands: () => ({}) as Hands,
    mask: value => value,
    after: async () => ({ drafts: [], context: [], learnt: {} }),
  }
}

describe('P4: an interrupt ends whatever is under way at once', { skip: NO_WALLS }, () => {
  for (const [name, moment] of Object.entries(MOMENTS)) {
    const { becomes, skip = false } = moment
    test(`while ${name}`, { skip }, async () => {
      const { talk, folder } = await comeTo(rig, moment)
      await interrupted(talk, becomes)
      await worksAgain(talk)
      assert.equal(await has(rig, `${folder}/second`), false, 'something began after the interrupt')
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

  test(`at ${count({ sample: 3, deep: 60 })} moments by chance`, async t => {
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
    for (let n = 0; n < count({ sample: 3, deep: 60 }); n++) {
      const moment = Date.now() + random.int(400)
      const talk = await rig.begin({ say: 'go', script })
      await until('the moment has come', () => Date.now() >= moment)
      await interrupted(talk)
      await worksAgain(talk)
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
    await sh(rig, `mkdir -p ${folder}; touch ${folder}/go`)
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
      const standing = { running: false, open: [], blocked: {}, rules: [] } as unknown as Standing
      const { book, entries } = aBook(() => standing)
      const action = { id: 'a', tool_call_id: 'c', tool_name: name, action: {} } as ActionEvent
      const batch = { batch: [action], now: standing, heard: null }
      await carryOut(book, anExecute(name), batch, new AbortController().signal)
      assert.deepEqual(entries, [{}])
    }
  })

  test('what the model answers at that very moment is not kept: nobody has seen what it calls', async () => {
    const call = { id: 'c', name: 'terminal', arguments: '{}', origin: 'completion' }
    for (const calls of [[call], []]) {
      const interrupt = new AbortController()
      const judge = { allows: () => true, risk: () => 'UNKNOWN' }
      const standing = { running: true, open: [], blocked: {}, rules: [], notes: {}, ...judge } as unknown as Standing
      let asked = false
      const { book, entries } = aBook(() => {
        // The answer is there, and has not been put on record.
        if (asked) interrupt.abort()
        return { ...standing, running: !asked }
      })
      const ask = async () => {
        asked = true
        return { id: 'r', text: 'Unseen.', reasoning: '', thinking: [], reasoningItem: null, calls } as unknown as Reply
      }
      const parts = {
        book,
        execute: anExecute('terminal'),
        mind: async () => ({ ask, specs: [], maxCharacters: 1000, sees: false, meter: () => ({}) }),
        shorten: async () => undefined,
        before: async () => ({ drafts: [] }),
        atEnd: async () => [],
        overBudget: async () => undefined,
        maxIterations: 2,
        detectsStuck: false,
      }
      await work(parts, interrupt.signal)
      assert.ok(asked)
      assert.deepEqual(entries, [{}])
    }
  })

  test('whoever decides after it can tell: the run knows of it before it is on record', async () => {
    const { promise: worked, resolve: end } = Promise.withResolvers<void>()
    let signal: AbortSignal | undefined
    const seen: boolean[] = []
    const journal = {
      transact: async (_: string, command: Command) => {
        await new Promise(setImmediate)
        seen.push(signal?.aborted ?? false)
        return {
          events: [],
          state: { execution_status: 'running', open: [] },
          ...command({ state: { open: [] } } as unknown as View),
        }
      },
    } as unknown as Journal
    const runner = new Runner({
      journal,
      feed: { isHeard: () => false } as unknown as Feed,
      work: (_, given) => {
        signal = given
        given.addEventListener('abort', () => end())
        return worked
      },
      snapshot: async () => undefined,
      log: { error: () => undefined } as unknown as Log,
    })
    await runner.start('c')
    await runner.interrupt('c')
    assert.deepEqual(seen, [false, true])
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

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { batchesOf } from '../../src/agent/batches.ts'
import { type Plan, type Pressure, plan, summarizer, view } from '../../src/agent/condense.ts'
import { summaryRequest } from '../../src/agent/summary.ts'
import { LLMSummarizingCondenser } from '../../src/api/condenser.ts'
import type { Condensation, Event } from '../../src/api/events.ts'
import { newId } from '../../src/lib/id.ts'
import { aMessage, anAction, anError, anObservation, aPrompt, aRejection } from '../support/agent-events.ts'
import { Random } from '../support/random.ts'
import { count } from '../support/server.ts'

const condenser = (more: Partial<LLMSummarizingCondenser> = {}): LLMSummarizingCondenser =>
  LLMSummarizingCondenser.parse({ kind: 'LLMSummarizingCondenser', llm: { model: 'any/model' }, ...more })

const step = (output = 'out'): Event[] => {
  const action = anAction('ls')
  return [action, anObservation(action, output)]
}
const steps = (many: number, output?: string): Event[] => Array.from({ length: many }, () => step(output)).flat()
const begun = (...events: Event[][]): Event[] => [aPrompt(), aMessage('user'), ...events.flat()]

const applied = ({ forget, offset }: Plan, summary = 'notes'): Condensation => ({
  kind: 'Condensation',
  id: newId(),
  timestamp: '',
  source: 'environment',
  forgotten_event_ids: forget,
  summary,
  summary_offset: offset,
  llm_response_id: newId(),
})

const ids = (events: readonly Event[]) => events.map(({ id }) => id)

describe('when to forget', () => {
  test('not before there are too many events', () => {
    assert.equal(plan(begun(steps(9)), condenser({ max_size: 20 }), {}), null)
    assert.notEqual(plan(begun(steps(10)), condenser({ max_size: 20 }), {}), null)
  })
  test('not before there are too many tokens, of the order or of the window', () => {
    const events = begun(steps(20))
    assert.equal(plan(events, condenser({ max_tokens: 1000 }), { tokens: 1000 }), null)
    assert.notEqual(plan(events, condenser({ max_tokens: 1000 }), { tokens: 1001 }), null)
    assert.equal(plan(events, condenser(), { tokens: 850, window: 1000 }), null)
    assert.notEqual(plan(events, condenser(), { tokens: 851, window: 1000 }), null)
  })
  test('tokens are estimated when nobody counted them', () => {
    const events = begun(steps(20, 'x'.repeat(1000)))
    assert.equal(plan(events, condenser(), { window: 20_000 }), null)
    assert.notEqual(plan(events, condenser(), { window: 4000 }), null)
  })
  test('always when it was said to be too long', () => {
    assert.notEqual(plan(begun(steps(5)), condenser(), { forced: true }), null)
  })
  test('never where nobody summarises', () => {
    const events = begun(steps(500))
    assert.equal(plan(events, null, { forced: true }), null)
    assert.equal(plan(events, { kind: 'NoOpCondenser' }, { forced: true }), null)
    assert.equal(plan(events, { kind: 'PipelineCondenser', condensers: [] }, { forced: true }), null)
  })
  test('of several in a row, the first that summarises decides', () => {
    const first = condenser({ max_size: 30 })
    const row = {
      kind: 'PipelineCondenser' as const,
      condensers: [{ kind: 'NoOpCondenser' as const }, first, condenser()],
    }
    assert.equal(summarizer({ kind: 'PipelineCondenser', condensers: [row] }), first)
    assert.equal(plan(begun(steps(20)), row, {})?.offset, 2)
  })
})

describe('what to forget', () => {
  test('the middle: the beginning and about half of what may be there at the end stay', () => {
    const events = begun(steps(20))
    const found = plan(events, condenser({ max_size: 30, keep_first: 4 }), {})!
    assert.deepEqual(found.forget, ids(events.slice(4, 32)))
    assert.equal(found.offset, 4)
    assert.deepEqual(ids(found.summarize), found.forget)
    assert.equal(found.previousSummary, null)
    const after = view([...events, applied(found)])
    assert.deepEqual(ids(after.slice(0, 4)), ids(events.slice(0, 4)))
    assert.equal(after[4]!.kind, 'CondensationSummaryEvent')
    assert.deepEqual(ids(after.slice(5)), ids(events.slice(32)))
  })
  test('the last word of the user stays wherever it stands, before the summary', () => {
    const word = aMessage('user', 'now this')
    const events = [...begun(steps(10)), word, ...steps(20)]
    const found = plan(events, condenser({ max_size: 30 }), {})!
    assert.ok(!found.forget.includes(word.id))
    const after = view([...events, applied(found)])
    assert.deepEqual(
      after.slice(0, 4).map(({ kind }) => kind),
      ['SystemPromptEvent', 'MessageEvent', 'MessageEvent', 'CondensationSummaryEvent'],
    )
    assert.equal(after[2], word)
  })
  test('the system prompt stays even when nothing at the beginning has to', () => {
    const events = begun(steps(20))
    const found = plan(events, condenser({ max_size: 20, keep_first: 0 }), {})!
    assert.ok(!found.forget.includes(events[0]!.id) && !found.forget.includes(events[1]!.id))
    assert.equal(found.offset, 2)
  })
  test('an earlier summary is taken up into the next', () => {
    let events = begun(steps(20))
    events = view([...events, applied(plan(events, condenser({ max_size: 30 }), {})!, 'first notes')])
    events.push(...steps(20))
    const found = plan(events, condenser({ max_size: 30 }), {})!
    assert.equal(found.previousSummary, 'first notes')
    assert.ok(found.summarize.every(({ kind }) => kind !== 'CondensationSummaryEvent'))
    const after = view([applied(found)], events)
    assert.equal(after.filter(({ kind }) => kind === 'CondensationSummaryEvent').length, 1)
  })
  test('as much as makes the tokens half of the limit', () => {
    const events = begun(steps(50, 'x'.repeat(4000)))
    const found = plan(events, condenser(), { tokens: 100_000, window: 50_000 })!
    const left = events.length - found.forget.length
    assert.ok(left > 15 && left < 25, `${left} are left`)
  })
  test('the newest results go last, when even a second attempt needs their room', () => {
    const events = begun(steps(10), step('x'.repeat(100_000)))
    const first = plan(events, condenser(), { forced: true })!
    assert.ok(!first.forget.includes(events.at(-1)!.id))
    const after = view([applied(first)], events)
    const second = plan(after, condenser(), { forced: true, attempt: 1 })!
    assert.ok(second.forget.includes(events.at(-1)!.id) && second.forget.includes(events.at(-2)!.id))
  })
  test('an action that may yet get its result stays, whatever comes behind it', () => {
    const open = anAction('rm')
    const events = [...begun(steps(10)), open, aMessage('user'), aMessage('environment')]
    for (const attempt of [0, 1, 4])
      assert.ok(!plan(events, condenser(), { forced: true, attempt })!.forget.includes(open.id))
  })
  test('an old action without a result, and a result without an action, stand in nobody’s way', () => {
    const events = begun([anAction('lost')], steps(3), [anObservation(anAction('gone'))], steps(30))
    const found = plan(events, condenser({ max_size: 30 }), {})!
    assert.ok(found.forget.length > 40)
  })
  test('nothing when that would not help', () => {
    assert.equal(plan(begun(), condenser(), { forced: true }), null)
    assert.equal(plan(begun([aMessage('agent')]), condenser(), { forced: true, attempt: 2 }), null)
    const large = Array.from({ length: 50 }, () => anAction('ls', 'one answer'))
    const events = begun(
      large,
      large.map(action => anObservation(action)),
    )
    assert.equal(plan(events, condenser({ max_size: 30 }), {}), null)
    assert.equal(plan(begun(steps(50)), condenser({ max_size: 101, minimum_progress: 0.9 }), {}), null)
  })
  test('of the beginning too, when more of it was to stay than there is room for', () => {
    const found = plan(begun(steps(20)), condenser({ keep_first: 100 }), { forced: true })!
    assert.ok(found.forget.length >= 20)
  })
  test('more with every attempt', () => {
    const events = begun(steps(100))
    const left = [0, 1, 2, 3].map(
      attempt => events.length - plan(events, condenser(), { forced: true, attempt })!.forget.length,
    )
    assert.deepEqual(
      left,
      left.toSorted((a, b) => b - a),
    )
    assert.equal(new Set(left).size, 4)
    assert.ok(left[0]! <= events.length / 2 + 2)
  })
})

/** A branch as it may be: batches, interleaved messages, orphans, errors, rejections. */
function aBranch(random: Random): Event[] {
  const events: Event[] = random.next() < 0.95 ? [aPrompt(), aMessage('user')] : []
  for (let i = random.int(60); i > 0; i--) {
    const kind = random.next()
    if (kind < 0.1) events.push(aMessage('user'))
    else if (kind < 0.2) events.push(aMessage('agent'))
    else if (kind < 0.25) events.push(aMessage('environment'))
    else if (kind < 0.28) events.push(anObservation(anAction('orphan')))
    else {
      const response = newId()
      const batch = Array.from({ length: 1 + random.int(random.next() < 0.1 ? 20 : 3) }, () => anAction('ls', response))
      events.push(...batch)
      for (const action of batch) {
        if (random.next() < 0.05) events.push(aMessage('user'))
        if (random.next() < 0.02) continue
        events.push(random.pick([anObservation, anError, aRejection])(action))
      }
    }
  }
  return events
}

describe('whatever the branch is', () => {
  const each = (
    check: (random: Random, shown: Event[], pressure: Pressure, settings: LLMSummarizingCondenser) => void,
  ) => {
    const random = new Random()
    for (let i = 0; i < count({ sample: 300, deep: 30_000 }); i++) {
      const settings = condenser({ max_size: 5 + random.int(60), keep_first: random.int(8) })
      const pressure = random.pick<Pressure>([
        {},
        { forced: true },
        { forced: true, attempt: 1 + random.int(4) },
        { tokens: 1000 + random.int(9000), window: 1000 },
      ])
      try {
        check(random, aBranch(random), pressure, settings)
      } catch (error) {
        throw new Error(`seed ${random.seed}, branch ${i}, ${JSON.stringify(pressure)}`, { cause: error })
      }
    }
  }

  test('batches stay whole, what must stay stays, the view gets shorter, and the summary stands where it was said', () => {
    let planned = 0
    each((_, shown, pressure, settings) => {
      const found = plan(shown, settings, pressure)
      if (!found) return
      planned++
      const gone = new Set(found.forget)
      assert.equal(gone.size, found.forget.length)
      for (const { actions, results } of batchesOf(shown)) {
        const whole = [...actions, ...results.filter(result => result !== undefined)]
        assert.equal(new Set(whole.map(({ id }) => gone.has(id))).size, 1, 'a batch is split')
      }
      const open = batchesOf(shown).at(-1)
      const spoken = shown.findLastIndex(event => event.kind === 'MessageEvent' && event.source === 'agent')
      if (open && !open.isAnswered && open.last > spoken) assert.ok(!gone.has(open.actions[0]!.id))
      const user = shown.findLast(event => event.kind === 'MessageEvent' && event.source === 'user')
      for (const event of shown)
        if (event === user || event.kind === 'SystemPromptEvent') assert.ok(!gone.has(event.id))
      assert.ok(found.forget.length >= settings.minimum_progress * shown.length)

      const condensation = applied(found)
      const after = view([condensation], shown)
      assert.ok(after.length < shown.length)
      assert.equal(after[found.offset]!.id, `${condensation.id}-summary`)
      assert.deepEqual(ids(after.toSpliced(found.offset, 1)), ids(shown.filter(({ id }) => !gone.has(id))))
      const behind = shown.findIndex(({ id }) => id === after[found.offset + 1]?.id)
      const last = shown.findLastIndex(({ id }) => gone.has(id))
      assert.ok(behind === -1 || behind > last, 'the summary stands behind something newer')
    })
    assert.ok(planned > 50, `only ${planned}`)
  })

  test('making it shorter comes to an end, and what is short enough is left alone', () => {
    each((random, branch, _, settings) => {
      let shown = branch
      for (let attempt = 1; ; attempt++) {
        const found = plan(shown, settings, { forced: true, attempt: random.int(4) })
        if (!found) break
        shown = view([applied(found)], shown)
        assert.ok(attempt <= branch.length)
      }
      const [found] = [plan(branch, settings, {})]
      const once = found && view([applied(found)], branch)
      if (once && once.length <= settings.max_size) assert.equal(plan(once, settings, {}), null)
    })
  })

  test('a view that is carried on is the view of the whole', () => {
    each((random, branch, pressure, settings) => {
      let log: Event[] = branch
      const found = plan(view(log), settings, pressure)
      if (found) log = [...log, { ...applied(found) }, ...aBranch(random)]
      const place = random.int(log.length + 1)
      assert.deepEqual(view(log.slice(place), view(log.slice(0, place))), view(log))
      assert.deepEqual(view(view(log)), view(log))
    })
  })
})

describe('the view', () => {
  test('shows what a model may see, and neither requests nor condensations', () => {
    const request: Event = { kind: 'CondensationRequest', id: newId(), timestamp: '', source: 'environment' }
    const status: Event = {
      kind: 'ConversationStateUpdateEvent',
      id: newId(),
      timestamp: '',
      source: 'environment',
      key: 'k',
    }
    const events = begun(step())
    const condensation = { ...applied({ forget: [], offset: 0 } as never), summary: null }
    assert.deepEqual(view([request, ...events, status, condensation]), events)
  })
  test('copes with a summary that stands behind everything', () => {
    const events = begun()
    assert.equal(
      view([...events, applied({ forget: ['nobody'], offset: 99 } as never)]).at(-1)?.kind,
      'CondensationSummaryEvent',
    )
  })
})

describe('the question for a summary', () => {
  const sizeOf = (messages: ReturnType<typeof summaryRequest>) => JSON.stringify(messages).length

  test('tells of everything that was said and done', () => {
    const action = anAction('make it so')
    const events = [
      aMessage('user', 'my wish'),
      action,
      anObservation(action, 'the outcome'),
      anError(action, 'a mishap'),
      aRejection(action),
    ]
    const text = JSON.stringify(summaryRequest(events, 'older notes'))
    for (const word of ['my wish', 'make it so', 'the outcome', 'a mishap', 'rejected', 'older notes'])
      assert.ok(text.includes(word), word)
  })
  test('is bounded, however much there is', () => {
    const huge = steps(5, 'x'.repeat(2_000_000))
    const many = steps(5000, 'x'.repeat(1000))
    for (const summarize of [huge, many]) {
      const whole = sizeOf(summaryRequest(summarize, 'y'.repeat(1_000_000)))
      assert.ok(whole < 1_500_000, `${whole}`)
      const half = sizeOf(summaryRequest(summarize, 'y'.repeat(1_000_000), 0.5))
      assert.ok(half < whole)
    }
    assert.ok(sizeOf(summaryRequest(huge, null)) < 60_000)
  })
  test('shows the beginning and the end of what is long', () => {
    const [action, result] = step(`begin${'x'.repeat(100_000)}end`)
    const text = JSON.stringify(summaryRequest([action!, result!], null))
    assert.match(text, /beginx/)
    assert.match(text, /xend/)
  })
})

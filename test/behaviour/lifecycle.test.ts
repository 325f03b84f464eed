import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SandboxStatus } from '../../src/api/sandboxes.ts'
import {
  due,
  failureOf,
  isLost,
  nextStep,
  type SandboxRecord,
  type Step,
  statusOf,
} from '../../src/sandbox/lifecycle.ts'
import type { State } from '../../src/sandbox/sandbox.ts'
import { SandboxSpec } from '../../src/sandbox/specs.ts'

const STATES: State[] = ['absent', 'stopped', 'running', 'paused']
const WANTS = ['running', 'paused', 'gone'] as const

const aSpec = (more: object = {}) => SandboxSpec.parse({ id: 'any', ...more })
const aRecord = (more: Partial<SandboxRecord> = {}): SandboxRecord => ({
  id: 'x',
  spec: aSpec(),
  want: 'running',
  idle: false,
  made: true,
  failure: null,
  ...more,
})

/** Every record there can be, as far as a decision depends on it. */
const records: SandboxRecord[] = WANTS.flatMap(want =>
  [false, true].flatMap(made => [null, 'It broke'].map(failure => aRecord({ want, made, failure }))),
)
const situations = records.flatMap(record => STATES.map(state => ({ record, state })))
const nameOf = ({ want, made, failure }: SandboxRecord, state: State | undefined) =>
  `${want}, ${made ? 'made' : 'not made'}, ${failure ? 'failed' : 'sound'}, ${state ?? 'not seen'}`

/** Rows `want made failed`, columns absent, stopped, running, paused. */
const table = <T>(rows: Record<string, T[]>, { want, made, failure }: SandboxRecord, state: State): T =>
  rows[`${want} ${made ? 'made' : 'new'} ${failure ? 'failed' : 'sound'}`]![STATES.indexOf(state)]!

const none = undefined
const STEPS: Record<string, (Step | undefined)[]> = {
  'running new sound': ['start', 'start', none, 'resume'],
  'running new failed': [none, none, none, none],
  'running made sound': [none, 'start', none, 'resume'],
  'running made failed': [none, none, none, none],
  'paused new sound': [none, none, 'pause', none],
  'paused new failed': [none, none, 'pause', none],
  'paused made sound': [none, none, 'pause', none],
  'paused made failed': [none, none, 'pause', none],
  'gone new sound': ['forget', 'remove', 'remove', 'remove'],
  'gone new failed': ['forget', 'remove', 'remove', 'remove'],
  'gone made sound': ['forget', 'remove', 'remove', 'remove'],
  'gone made failed': ['forget', 'remove', 'remove', 'remove'],
}
const STATUSES: Record<string, SandboxStatus[]> = {
  'running new sound': ['STARTING', 'STARTING', 'RUNNING', 'STARTING'],
  'running new failed': ['ERROR', 'ERROR', 'ERROR', 'ERROR'],
  'running made sound': ['MISSING', 'STARTING', 'RUNNING', 'STARTING'],
  'running made failed': ['MISSING', 'ERROR', 'ERROR', 'ERROR'],
  'paused new sound': ['PAUSED', 'PAUSED', 'RUNNING', 'PAUSED'],
  'paused new failed': ['PAUSED', 'PAUSED', 'RUNNING', 'PAUSED'],
  'paused made sound': ['MISSING', 'PAUSED', 'RUNNING', 'PAUSED'],
  'paused made failed': ['MISSING', 'PAUSED', 'RUNNING', 'PAUSED'],
  'gone new sound': ['MISSING', 'MISSING', 'MISSING', 'MISSING'],
  'gone new failed': ['MISSING', 'MISSING', 'MISSING', 'MISSING'],
  'gone made sound': ['MISSING', 'MISSING', 'MISSING', 'MISSING'],
  'gone made failed': ['MISSING', 'MISSING', 'MISSING', 'MISSING'],
}

describe('what a sandbox needs next', () => {
  for (const { record, state } of situations)
    test(nameOf(record, state), () => assert.equal(nextStep(record, state), table(STEPS, record, state)))
})

describe('how a sandbox is seen', () => {
  for (const { record, state } of situations)
    test(nameOf(record, state), () => assert.equal(statusOf(record, state), table(STATUSES, record, state)))
  for (const record of records)
    test(`before anybody has looked: ${nameOf(record, undefined)}`, () => {
      const expected =
        record.want === 'gone' ? 'MISSING' : record.want === 'paused' ? 'PAUSED' : record.failure ? 'ERROR' : 'STARTING'
      assert.equal(statusOf(record, undefined), expected)
    })
})

test('only what was made, is still wanted and is not there any more counts as lost', () => {
  const lost = situations.filter(({ record, state }) => isLost(record, state)).map(({ record }) => nameOf(record, none))
  assert.deepEqual(
    lost,
    records.filter(({ made, want }) => made && want !== 'gone').map(record => nameOf(record, none)),
  )
})

test('why it ended is written down once, of one that should run and has run', () => {
  for (const { record, state } of situations) {
    const expected = record.want === 'running' && record.made && record.failure === null ? 'exit code 1' : undefined
    assert.equal(failureOf(record, { state, failure: 'exit code 1' }), expected, nameOf(record, state))
    assert.equal(failureOf(record, { state }), undefined, nameOf(record, state))
  }
})

describe('what time asks for', () => {
  const NOW = 1_000_000_000
  const after = (seconds: number, record: Partial<SandboxRecord> = {}, spec: object = {}, busy = false) =>
    due(aRecord({ ...record, spec: aSpec(spec) }), { lastUsed: NOW - seconds * 1000, busy }, NOW)
  const idle = { idle_seconds: 10 }
  const brief = { idle_seconds: 0, delete_after_seconds: 20 }

  test('a running one is paused once it was unused for as long as its spec says, and not before', () => {
    assert.equal(after(9.999, {}, idle), undefined)
    assert.equal(after(10, {}, idle), 'pause')
  })
  test('it is deleted once it was unused for as long as its spec says, and not before', () => {
    assert.equal(after(19.999, {}, brief), undefined)
    assert.equal(after(20, {}, brief), 'delete')
  })
  test('deleting goes before pausing', () => assert.equal(after(30, {}, { ...brief, idle_seconds: 1 }), 'delete'))
  test('zero seconds are for ever', () => {
    for (const want of WANTS) assert.equal(after(1e9, { want }, { idle_seconds: 0 }), undefined)
  })
  test('nothing while something works in it', () => {
    assert.equal(after(1e6, {}, { idle_seconds: 1, delete_after_seconds: 1 }, true), undefined)
  })
  test('a paused or failed one is not paused, but may be deleted', () => {
    for (const record of [{ want: 'paused' as const }, { failure: 'It broke' }]) {
      assert.equal(after(1e6, record, idle), undefined)
      assert.equal(after(1e6, record, brief), 'delete')
    }
  })
  test('one that is on its way out is left to go', () => {
    assert.equal(after(1e6, { want: 'gone' }, { idle_seconds: 1, delete_after_seconds: 1 }), undefined)
  })
})

describe('from everywhere to what is wanted', () => {
  /** What each step makes of a sandbox, when it succeeds. */
  const does: Record<Exclude<Step, 'forget'>, (state: State) => State> = {
    start: () => 'running',
    pause: state => (state === 'running' ? 'paused' : state),
    resume: state => (state === 'paused' ? 'running' : state),
    remove: () => 'absent',
  }
  /** What a step may leave behind when it is cut short. */
  const breaks: Record<Exclude<Step, 'forget'>, State[]> = {
    start: ['absent', 'stopped', 'running'],
    pause: ['running', 'paused', 'stopped'],
    resume: ['paused', 'running', 'stopped'],
    remove: ['stopped', 'running', 'paused', 'absent'],
  }
  const rests: Record<SandboxRecord['want'], State[]> = {
    running: ['running'],
    paused: ['paused', 'stopped', 'absent'],
    gone: [],
  }
  const LIMIT = 5

  /** Ends when nothing is left to do; undefined once it is forgotten. */
  function settled(record: SandboxRecord, from: State): { state: State | undefined; steps: number } {
    let state = from
    for (let steps = 0; steps <= LIMIT; steps++) {
      const step = nextStep(record, state)
      if (step === undefined) return { state, steps }
      if (step === 'forget') return { state: undefined, steps: steps + 1 }
      state = does[step](state)
    }
    throw new Error(`${nameOf(record, from)}: not settled after ${LIMIT} steps`)
  }
  /** What asking for it anew makes of a record, as resuming does. */
  const askedFor = (record: SandboxRecord, state: State): SandboxRecord => ({
    ...record,
    failure: null,
    ...(isLost(record, state) && { made: false }),
  })

  for (const { record, state } of situations)
    test(`${nameOf(record, state)}: at most ${LIMIT} steps`, () => {
      const end = settled(askedFor(record, state), state)
      if (record.want === 'gone') assert.equal(end.state, undefined)
      else assert.ok(rests[record.want].includes(end.state!), `it came to rest ${end.state}`)
    })

  test('also when the first step was cut short anywhere', () => {
    for (const { record, state } of situations) {
      const asked = askedFor(record, state)
      const step = nextStep(asked, state)
      if (step === undefined || step === 'forget') continue
      for (const left of breaks[step]) {
        const end = settled(askedFor(asked, left), left)
        if (record.want === 'gone') assert.equal(end.state, undefined)
        else assert.ok(rests[record.want].includes(end.state!), `${nameOf(record, state)}, cut short: ${left}`)
      }
    }
  })
  test('a failed or lost one is left alone until somebody asks for it', () => {
    for (const { record, state } of situations)
      if (record.want === 'running' && (record.failure !== null || isLost(record, state)))
        assert.deepEqual(settled(record, state), { state, steps: 0 })
  })
  test('every status but that of a sandbox on its way out can be left by resuming', () => {
    for (const { record, state } of situations) {
      if (record.want === 'gone') continue
      const { state: end } = settled(askedFor({ ...record, want: 'running' }, state), state)
      assert.equal(end, 'running', nameOf(record, state))
    }
  })
})

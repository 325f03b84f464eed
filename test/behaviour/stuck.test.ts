import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isSilent, NUDGE, stuckness } from '../../src/agent/stuck.ts'
import type { Event } from '../../src/api/events.ts'
import { aMessage, anAction, anError, anObservation, aRejection } from '../support/agent-events.ts'

const ran = (command: string, output = 'same', exitCode = 0): Event[] => {
  const action = anAction(command)
  return [action, anObservation(action, output, exitCode)]
}
const failed = (command: string, error = 'no'): Event[] => {
  const action = anAction(command)
  return [action, anError(action, error)]
}
const times = (many: number, make: (i: number) => Event[]): Event[] =>
  Array.from({ length: many }, (_, i) => make(i)).flat()
const after = (...events: Event[][]) => stuckness([aMessage('user'), ...events.flat()])

describe('an agent that goes round in circles is stuck', () => {
  test('the same call with the same result four times, whatever it thinks and says it is for', () => {
    assert.equal(after(times(3, () => ran('ls'))), null)
    assert.equal(after(times(4, () => ran('ls'))), 'stuck')
  })
  test('but not when something else came in between', () => {
    assert.equal(
      after(
        times(3, () => ran('ls')),
        ran('pwd'),
        times(3, () => ran('ls')),
      ),
      null,
    )
  })
  test('nor when the results differ', () => {
    assert.equal(after(times(8, i => ran('ls', `line ${i}`))), null)
    assert.equal(after(times(8, i => ran('ls', '', i))), null)
  })
  test('two calls in turn, six in all', () => {
    assert.equal(after(times(5, i => ran(i % 2 ? 'a' : 'b'))), null)
    assert.equal(after(times(6, i => ran(i % 2 ? 'a' : 'b'))), 'stuck')
    assert.equal(after(times(6, i => failed(i % 2 ? 'a' : 'b'))), 'stuck')
    assert.equal(after(times(12, i => ran(`${i % 3}`))), null)
  })
  test('the same rejected four times', () => {
    const rejected = () => {
      const action = anAction('rm')
      return [action, aRejection(action)]
    }
    assert.equal(after(times(3, rejected)), null)
    assert.equal(after(times(4, rejected)), 'stuck')
  })
  test('the same answer with several calls four times; the calls of one answer are no circle', () => {
    const batch = (response: string) => {
      const actions = ['a', 'a', 'a', 'a', 'b'].map(command => anAction(command, response))
      return [...actions, ...actions.map(action => anObservation(action))]
    }
    assert.equal(after(batch('1')), null)
    assert.equal(after(batch('1'), batch('2'), batch('3')), null)
    assert.equal(after(batch('1'), batch('2'), batch('3'), batch('4')), 'stuck')
  })
  test('three messages without a deed, with whatever the environment says between them', () => {
    const said = () => [aMessage('agent', 'Hm.')]
    assert.equal(after(said(), said()), null)
    assert.equal(after(said(), said(), said()), 'stuck')
    assert.equal(after(times(3, () => [aMessage('agent', 'Hm.'), aMessage('environment')])), 'stuck')
    assert.equal(after(said(), said(), ran('ls'), said()), null)
  })
  test('an answer of nothing is silence, and no message', () => {
    const silent = () => [aMessage('agent', ' '), aMessage('environment')]
    assert.equal(after(times(3, silent)), null)
    assert.equal(isSilent([...ran('ls'), ...silent()]), true)
    assert.equal(isSilent([...silent(), ...ran('ls')]), false)
    assert.equal(isSilent([...silent(), aMessage('agent', 'Hm.')]), false)
    assert.equal(isSilent([]), false)
  })
  test('a word of the user’s begins anew', () => {
    const circle = times(4, () => ran('ls'))
    assert.equal(after(circle, [aMessage('user')]), null)
    assert.equal(
      after(
        circle,
        [aMessage('user')],
        times(3, () => ran('ls')),
      ),
      null,
    )
    assert.equal(after([aMessage('agent'), aMessage('agent'), aMessage('user'), aMessage('agent')]), null)
  })
  test('nothing at all is fine, and so is a call that has no result yet', () => {
    assert.equal(stuckness([]), null)
    assert.equal(
      after(
        times(3, () => ran('ls')),
        [anAction('ls')],
      ),
      null,
    )
  })
})

describe('a call that fails again and again', () => {
  test('is worth a word at the third time, once, and is too much at the fourth', () => {
    const third = times(3, i => failed('x', `error ${i}`))
    assert.equal(after(times(2, () => failed('x'))), null)
    assert.equal(after(third), 'nudge')
    assert.equal(after(third, [aMessage('environment', NUDGE)]), null)
    assert.equal(after(third, [aMessage('environment', NUDGE)], failed('x')), 'stuck')
  })
  test('counts from the beginning after another one', () => {
    const told = [...times(3, () => failed('x')), aMessage('environment', NUDGE)]
    assert.equal(after(told, failed('y')), null)
    assert.equal(after(told, ran('y'), failed('x')), null)
    assert.equal(
      after(
        told,
        ran('y'),
        times(3, () => failed('x')),
      ),
      'nudge',
    )
  })
  test('counts when it could not even be understood', () => {
    const garbled = () => {
      const action = {
        ...anAction(null),
        tool_call: { id: '', name: 'x', arguments: '{"a":1}', origin: 'completion' as const },
      }
      return [action, anError(action)]
    }
    assert.equal(after(times(3, garbled)), 'nudge')
    assert.equal(after(times(4, garbled)), 'stuck')
  })
  test('an error of the same id from an earlier answer is not taken for the result', () => {
    const old = failed('x')
    const action = { ...anAction('y'), tool_call_id: (old[0] as { tool_call_id: string }).tool_call_id }
    assert.equal(after(old, failed('x'), failed('x'), [action, anObservation(action)]), null)
  })
})

describe('an agent that waits is not stuck', () => {
  test('looking at a command that still runs, however often and silent', () => {
    assert.equal(after(times(15, () => ran('', '', -1))), null)
    assert.equal(after(times(10, () => [...ran('', '', -1), ...ran('tail log')])), null)
  })
  test('but looking where nothing runs is', () => {
    assert.equal(after(times(4, () => ran('', 'nothing runs', 0))), 'stuck')
  })
  test('sleeping before each look, with patience', () => {
    for (const command of [
      'sleep 30',
      'sleep 5 && cat status',
      'true; sleep 1',
      'while true; do sleep 1; done',
      'a\nsleep 1',
    ]) {
      assert.equal(after(times(11, () => ran(command))), null, command)
      assert.equal(after(times(12, () => ran(command))), 'stuck', command)
    }
    assert.equal(after(times(5, () => [...ran('sleep 30'), ...ran('cat status')])), null)
    assert.equal(after(times(6, () => [...ran('sleep 30'), ...ran('cat status')])), 'stuck')
  })
  test('and a command that only speaks of sleep has none', () => {
    assert.equal(after(times(4, () => ran('grep "sleep 1" a'))), 'stuck')
  })
  test('polling whose output changes, for ever', () => {
    assert.equal(after(times(15, i => [...ran('sleep 1'), ...ran('cat status', `${i} %`)])), null)
  })
})

test('a long conversation costs what a short one does', () => {
  const long = times(20_000, i => ran(`${i}`))
  const start = performance.now()
  for (let i = 0; i < 300; i++) assert.equal(stuckness(long), null)
  assert.ok(performance.now() - start < 2000)
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Roster } from '../../src/sandbox/egress/roster.ts'
import type { Egress } from '../../src/sandbox/sandbox.ts'
import { Destination, Gate, OPEN, WAYS } from '../support/egress.ts'
import { until } from '../support/wait.ts'

const NONE: Egress = { mode: 'none' }
const hosts = (...names: string[]): Egress => ({ mode: 'hosts', hosts: names })

describe('several policies for one request', () => {
  const names = {
    'both.example': ['203.0.114.1'],
    'mixed.example': ['203.0.114.1', '10.0.0.1', '10.0.0.2'],
    'inner.example': ['10.0.0.1'],
  }
  const cases: [what: string, policies: Egress[], host: string, connected: string[] | undefined][] = [
    ['one alone decides alone', [OPEN], 'both.example', ['203.0.114.1']],
    ['what both allow is reached', [OPEN, hosts('both.example')], 'both.example', ['203.0.114.1']],
    ['what the first refuses is refused', [hosts('other.example'), OPEN], 'both.example', undefined],
    ['what the second refuses is refused', [OPEN, hosts('other.example')], 'both.example', undefined],
    ['nothing is nothing, wherever it stands', [OPEN, OPEN, NONE], 'both.example', undefined],
    ['a private address needs an entry in each', [hosts('inner.example'), OPEN], 'inner.example', undefined],
    ['and is reached with them', [hosts('inner.example'), hosts('inner.example')], 'inner.example', ['10.0.0.1']],
    [
      'of several addresses those are left that each allows',
      [hosts('mixed.example'), { mode: 'open', hosts: ['10.0.0.2'] }],
      'mixed.example',
      ['203.0.114.1', '10.0.0.2'],
    ],
  ]
  for (const [what, policies, host, connected] of cases)
    test(what, async () => {
      await using destination = await Destination.open()
      await using gate = await Gate.open({ names, destination, policiesFor: async () => policies })
      for (const way of Object.values(WAYS)) {
        gate.connections.length = 0
        const { open, refused } = await way(gate, host, 80)
        assert.deepEqual([open, refused], [connected !== undefined, connected === undefined])
        assert.deepEqual(gate.connections[0]?.addresses, connected)
      }
    })

  test('a name that one of them refuses is not even looked up', async () => {
    await using gate = await Gate.open({ names, policiesFor: async () => [OPEN, hosts('other.example')] })
    for (const way of Object.values(WAYS)) await way(gate, 'both.example', 80)
    assert.deepEqual(gate.lookups, [])
  })
})

describe('which policies are for whom', () => {
  test('a known name has the sandbox’s and its own; any other has all that are in force', async () => {
    const roster = new Roster(OPEN)
    assert.deepEqual(await roster.policiesFor(undefined), [OPEN])
    const wide = roster.enter('wide')
    const narrow = roster.enter('narrow', hosts('one.example'))
    const none = roster.enter('none', NONE)
    assert.deepEqual(await roster.policiesFor(wide), [OPEN])
    assert.deepEqual(await roster.policiesFor(narrow), [OPEN, hosts('one.example')])
    assert.deepEqual(await roster.policiesFor(none), [OPEN, NONE])
    for (const other of [undefined, '', '1', `${wide} `])
      assert.deepEqual(await roster.policiesFor(other), [OPEN, hosts('one.example'), NONE])
    assert.deepEqual(
      [wide, narrow, 'other'].map(name => roster.labelOf(name)),
      ['wide', 'narrow', undefined],
    )
  })

  test('a policy is not pushed out by later commands, and one that is may only lose by it', async () => {
    const roster = new Roster(OPEN)
    const wide = roster.enter('wide')
    const narrow = roster.enter('narrow', NONE)
    for (let i = 0; i < 5_000; i++) roster.enter('later')
    assert.deepEqual(await roster.policiesFor(narrow), [OPEN, NONE])
    assert.equal(roster.labelOf(narrow), 'narrow')
    assert.deepEqual(await roster.policiesFor(wide), [OPEN, NONE])
  })

  test('it is forgotten when nothing of the command is left, and not when that cannot be told', async () => {
    const roster = new Roster(OPEN)
    const state = { background: true, blind: true, looks: [] as boolean[] }
    const name = roster.enter('narrow', NONE)
    const known = async () => (await roster.policiesFor(undefined)).length - 1
    roster.leave(name, async () => {
      if (state.blind) throw new Error('cannot look')
      state.looks.push(state.background)
      return state.background
    })
    const stays = async () => {
      for (let i = 0; i < 8; i++) {
        assert.equal(await known(), 1)
        await new Promise(resolve => setTimeout(resolve, 50))
      }
    }
    await stays()
    state.blind = false
    await stays()
    // What is not seen once may only be hard to see.
    state.background = false
    await until('it is looked for', async () => (await known()) === 1 && state.looks.at(-1) === false)
    state.background = true
    await stays()
    state.background = false
    await until('it is forgotten', async () => (await known()) === 0)
    assert.deepEqual(await roster.policiesFor(name), [OPEN])
  })

  test('those that have ended are looked for without anybody asking', async () => {
    const roster = new Roster(OPEN)
    let looks = 0
    for (let i = 0; i < 1_000; i++)
      roster.leave(roster.enter('short', NONE), async () => {
        looks += 1
        return false
      })
    await new Promise(resolve => setTimeout(resolve, 300))
    roster.leave(roster.enter('last', NONE), async () => false)
    await until('each was looked at', () => looks >= 999)
  })
})

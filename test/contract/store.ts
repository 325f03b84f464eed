import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ErrorCode, Fault } from '../../src/api/errors.ts'
import { newId } from '../../src/lib/id.ts'
import type {
  Append,
  BashRecord,
  ConversationQuery,
  ConversationRecord,
  EventFilter,
  EventRecord,
  NewBashEvent,
  NewConversation,
  NewEvent,
  Store,
} from '../../src/store/store.ts'
import { Random } from '../support/random.ts'
import { until } from '../support/wait.ts'

export interface Opened {
  store: Store
  /** Opens again what a closed store left. */
  reopen(): Promise<Store>
  [Symbol.asyncDispose](): Promise<void>
}

export const anEvent = (at: number, more: Partial<NewEvent> = {}): NewEvent => ({
  id: newId(),
  kind: 'MessageEvent',
  source: 'user',
  at,
  json: JSON.stringify({ at }),
  ...more,
})

/** One event a microsecond. */
export const someEvents = (number: number, from = 1): NewEvent[] =>
  Array.from({ length: number }, (_, i) => anEvent(from + i))

export const aConversation = (more: Partial<NewConversation> = {}): NewConversation => ({
  id: newId(),
  createdAt: 1,
  updatedAt: 1,
  status: 'idle',
  title: null,
  parentId: null,
  sandbox: null,
  head: 0,
  state: '{}',
  parts: {},
  ...more,
})

const inPlace = (events: NewEvent[], after = 0): EventRecord[] =>
  events.map(({ text, ...event }, i) => ({ seq: after + i + 1, ...event }))

export const appending = (
  to: { no: number; head: number },
  events: NewEvent[],
  more: Partial<Append> = {},
): Append => ({
  no: to.no,
  after: to.head,
  head: to.head + events.length,
  status: 'idle',
  updatedAt: events.at(-1)?.at ?? 1,
  state: '{}',
  events,
  ...more,
})

/** The one with this id, which must be there. */
export async function find(store: Store, id: string): Promise<ConversationRecord> {
  const [record] = await store.conversations([id])
  return record ?? assert.fail(`${id} is not there`)
}

export async function make(
  store: Store,
  more: Partial<NewConversation> = {},
  events: NewEvent[] = [],
): Promise<ConversationRecord> {
  const conversation = aConversation({ head: events.length, ...more })
  assert.equal(await store.createConversation(conversation, events), true)
  return find(store, conversation.id)
}

export const log = (store: Store, no: number): Promise<EventRecord[]> => store.readEvents({ no, limit: 1_000_000 })

export const is = (code: ErrorCode) => (error: unknown) => error instanceof Fault && error.code === code

const conflict = is('conflict')

/** What came of each: true, or the code of the fault. */
const outcomes = async (writes: Promise<unknown>[]): Promise<unknown[]> =>
  (await Promise.allSettled(writes)).map(outcome =>
    outcome.status === 'fulfilled' ? (outcome.value ?? true) : (outcome.reason as Fault).code,
  )

/** What the Store port promises, whatever keeps the data. `open` gives an empty store each time. */
export function storeContract(name: string, open: () => Promise<Opened>): void {
  const promise = (what: string, check: (store: Store, opened: Opened) => Promise<void>) =>
    test(what, async () => {
      await using opened = await open()
      await check(opened.store, opened)
    })

  describe(`${name}: creating`, () => {
    promise('what was created is there, whole, at once and after a reopen', async (store, { reopen }) => {
      const events = someEvents(3)
      const made = aConversation({
        createdAt: 5,
        updatedAt: 7,
        status: 'running',
        title: 'A title',
        parentId: newId(),
        head: 3,
        state: '{"a":1}',
        parts: { order: '{"b":2}', skills: '[]' },
      })
      assert.equal(await store.createConversation(made, events), true)
      const { parts, ...expected } = made
      const check = async (reader: Store) => {
        const { no, ...record } = await find(reader, made.id)
        assert.deepEqual(record, expected)
        assert.deepEqual(await reader.conversationParts([no], ['order', 'skills']), [parts])
        assert.deepEqual(await log(reader, no), inPlace(events))
      }
      await check(store)
      await store.close()
      await check(await reopen())
    })

    promise('of many creations of one id the first wins, and the others write nothing', async store => {
      const id = newId()
      const orders = Array.from({ length: 20 }, (_, i) => ({
        conversation: aConversation({ id, title: `${i}`, head: 1, parts: { [`part${i}`]: `${i}` } }),
        events: [anEvent(i + 1)],
      }))
      const made = await Promise.all(
        orders.map(({ conversation, events }) => store.createConversation(conversation, events)),
      )
      assert.deepEqual(made, [true, ...Array(19).fill(false)])
      assert.equal(await store.createConversation(aConversation({ id, title: 'late' }), []), false)
      const { no, title } = await find(store, id)
      assert.equal(title, '0')
      assert.deepEqual(await log(store, no), inPlace(orders[0]!.events))
      assert.deepEqual(
        await store.conversationParts([no], Object.keys(Object.assign({}, ...orders.map(o => o.conversation.parts)))),
        [{ part0: '0' }],
      )
      assert.equal(await store.countConversations(), 1)
    })
  })

  describe(`${name}: appending`, () => {
    promise('an append moves the log and what stands beside it; what it leaves out stays', async store => {
      const record = await make(store, { title: 'old', parts: { a: '1', b: '2' } }, someEvents(2))
      const events = someEvents(2, 10)
      await store.append(
        appending(record, events, { status: 'running', updatedAt: 11, state: '{"n":1}', parts: { b: '3', c: '4' } }),
      )
      const expected = { ...record, head: 4, status: 'running', updatedAt: 11, state: '{"n":1}' }
      assert.deepEqual(await find(store, record.id), expected)
      assert.deepEqual((await log(store, record.no)).slice(2), inPlace(events, 2))
      assert.deepEqual(await store.conversationParts([record.no], ['a', 'b', 'c']), [{ a: '1', b: '3', c: '4' }])
      await store.append(appending(expected, [], { ...expected, after: 4, events: [], title: 'new' }))
      assert.deepEqual(await find(store, record.id), { ...expected, title: 'new' })
      assert.equal((await log(store, record.no)).length, 4)
    })

    promise('an append after another position is a conflict and leaves no trace', async store => {
      const record = await make(store, { title: 'old', parts: { a: '1' } }, someEvents(2))
      const before = await log(store, record.no)
      const changed = { title: 'new', status: 'error', updatedAt: 99, state: '{"x":1}', parts: { a: '2', b: '3' } }
      for (const head of [0, 1, 3])
        await assert.rejects(store.append(appending({ ...record, head }, someEvents(1, 50), changed)), conflict)
      await assert.rejects(store.append(appending({ no: record.no + 1000, head: 0 }, someEvents(1))), conflict)
      assert.deepEqual(await find(store, record.id), record)
      assert.deepEqual(await log(store, record.no), before)
      assert.deepEqual(await store.conversationParts([record.no], ['a', 'b']), [{ a: '1' }])
    })

    promise('of appends after one position the first that was made wins', async store => {
      const record = await make(store)
      const rivals = Array.from({ length: 10 }, (_, i) => someEvents(3, i * 10 + 1))
      const results = await outcomes(rivals.map(events => store.append(appending(record, events))))
      assert.deepEqual(results, [true, ...Array(9).fill('conflict')])
      assert.deepEqual(await log(store, record.no), inPlace(rivals[0]!))
    })

    promise('writes are carried out in the order they were made, without waiting for each other', async store => {
      const record = await make(store)
      const events = someEvents(1500)
      const acknowledged: number[] = []
      await Promise.all(
        events.map((event, i) =>
          store.append(appending({ no: record.no, head: i }, [event])).then(() => acknowledged.push(i)),
        ),
      )
      assert.deepEqual(await log(store, record.no), inPlace(events))
      assert.deepEqual(
        acknowledged,
        acknowledged.toSorted((a, b) => a - b),
      )
    })

    promise(
      'many writers at once: reads show whole appends only, all of them once acknowledged, in order',
      async store => {
        const random = new Random()
        const logs = await Promise.all(
          Array.from({ length: 30 }, async () => ({ record: await make(store), acknowledged: 0, sent: 0 })),
        )
        let writing = true
        const write = async (of: (typeof logs)[number]) => {
          for (let round = 0; round < 15; round++) {
            const size = 1 + random.int(5)
            const json = JSON.stringify({ round, size })
            const events = someEvents(size, of.sent + 1).map(event => ({ ...event, json }))
            const append = appending({ no: of.record.no, head: of.sent }, events)
            of.sent += size
            await store.append(append)
            of.acknowledged += size
          }
        }
        const check = async (of: (typeof logs)[number]) => {
          const acknowledged = of.acknowledged
          const seen = await log(store, of.record.no)
          assert.ok(seen.length >= acknowledged, `seed ${random.seed}: an acknowledged append is not shown`)
          assert.ok(seen.length <= of.sent, `seed ${random.seed}: more is shown than was sent`)
          let at = 0
          for (let round = 0; at < seen.length; round++) {
            const { size } = JSON.parse(seen[at]!.json)
            const whole = Array.from({ length: size }, (_, i) => ({
              seq: at + i + 1,
              json: JSON.stringify({ round, size }),
            }))
            const shown = seen.slice(at, at + size).map(({ seq, json }) => ({ seq, json }))
            assert.deepEqual(shown, whole, `seed ${random.seed}: part of an append is shown`)
            at += size
          }
        }
        const read = async () => {
          while (writing) {
            await check(random.pick(logs))
            await new Promise(setImmediate)
          }
        }
        const reading = read()
        await Promise.all(logs.map(write)).finally(() => {
          writing = false
        })
        await reading
        for (const of of logs) {
          assert.equal((await find(store, of.record.id)).head, of.sent)
          assert.equal((await log(store, of.record.no)).length, of.sent)
          await check(of)
        }
      },
    )

    promise(
      'a repeated event id is refused as a conflict, and harms nobody who wrote at the same time',
      async store => {
        const [one, two] = [await make(store, {}, someEvents(1)), await make(store)]
        const [known] = await log(store, one.no)
        const [twin, good, late] = [anEvent(5), someEvents(2, 6), someEvents(1, 9)]
        const broken = aConversation({ head: 2, parts: { a: '1' } })
        const results = await outcomes([
          store.append(appending(two, good)),
          store.append(
            appending(one, [anEvent(3), anEvent(4, { id: known!.id })], { title: 'bad', parts: { a: '1' } }),
          ),
          store.append(appending(one, [twin, twin])),
          store.writeDocument('d', '1', 0),
          store.createConversation(broken, [twin, twin]),
          store.append(appending(one, late)),
          store.append(appending({ ...two, head: 2 }, [anEvent(20, { id: known!.id })])),
        ])
        assert.deepEqual(results, [true, 'conflict', 'conflict', true, 'conflict', true, true])
        assert.deepEqual(await log(store, one.no), [known, ...inPlace(late, 1)])
        assert.deepEqual((await log(store, two.no)).slice(0, 2), inPlace(good))
        assert.deepEqual(await find(store, one.id), { ...one, head: 2, updatedAt: 9 })
        assert.deepEqual(await store.conversationParts([one.no], ['a']), [{}])
        assert.deepEqual(await store.conversations([broken.id]), [undefined])
        assert.equal((await store.readDocument('d')).json, '1')
      },
    )
  })

  describe(`${name}: finding conversations`, () => {
    promise(
      'every order, page size and status gives each conversation once, ties in order of creation',
      async store => {
        const random = new Random()
        const statuses = ['idle', 'running', 'error']
        const made: ConversationRecord[] = []
        for (let i = 0; i < 25; i++)
          made.push(
            await make(store, { createdAt: random.int(8), updatedAt: random.int(8), status: random.pick(statuses) }),
          )
        const matching = (query: Pick<ConversationQuery, 'order' | 'descending' | 'status'>): ConversationRecord[] => {
          const key = query.order === 'created' ? 'createdAt' : 'updatedAt'
          const sorted = made
            .filter(({ status }) => query.status === undefined || status === query.status)
            .sort((a, b) => a[key] - b[key] || a.no - b.no)
          return query.descending ? sorted.reverse() : sorted
        }
        for (const order of ['created', 'updated'] as const)
          for (const descending of [false, true])
            for (const status of [undefined, ...statuses, 'paused'])
              for (const limit of [1, 4, 25, 100]) {
                const query = { order, descending, limit, ...(status && { status }) }
                const expected = matching(query)
                const seen: ConversationRecord[] = []
                let from: string | undefined
                do {
                  const page = await store.searchConversations({ ...query, ...(from && { from }) })
                  assert.ok(page.items.length <= limit)
                  if (page.next) assert.equal(page.items.length, limit)
                  seen.push(...page.items)
                  from = page.next
                } while (from && seen.length <= expected.length)
                assert.deepEqual(seen, expected, `${JSON.stringify(query)}, seed ${random.seed}`)
              }
        for (const status of [...statuses, 'paused'])
          assert.equal(
            await store.countConversations({ status }),
            made.filter(conversation => conversation.status === status).length,
          )
        assert.equal(await store.countConversations(), 25)
      },
    )

    promise(
      'a page starts at its cursor even when that no longer has the status, and anew when it is unknown',
      async store => {
        const made: ConversationRecord[] = []
        for (let i = 0; i < 4; i++) made.push(await make(store, { createdAt: i }))
        const query = { order: 'created', descending: false, limit: 2, status: 'idle' } as const
        const ids = async (from: string) =>
          (await store.searchConversations({ ...query, from })).items.map(({ id }) => id)
        assert.deepEqual(await ids(newId()), [made[0]!.id, made[1]!.id])
        const { next } = await store.searchConversations(query)
        await store.append(appending(made[2]!, [], { status: 'error' }))
        assert.deepEqual(await ids(next!), [made[3]!.id])
      },
    )

    promise('records, parts and children are aligned with what was asked for', async store => {
      const parent = await make(store, { parts: { a: '1', b: '2' } })
      const children = [await make(store, { parentId: parent.id }), await make(store, { parentId: parent.id })]
      const other = await make(store, { parts: { b: '3' } })
      const unknown = newId()
      assert.deepEqual(await store.conversations([unknown, other.id, parent.id, other.id]), [
        ...[undefined, other, parent, other],
      ])
      assert.deepEqual(await store.conversations([]), [])
      assert.deepEqual(await store.conversationParts([other.no, 1_000_000, parent.no], ['a', 'b', 'none']), [
        ...[{ b: '3' }, {}, { a: '1', b: '2' }],
      ])
      assert.deepEqual(
        await store.childrenOf([parent.id, other.id, unknown]),
        new Map([[parent.id, children.map(({ id }) => id)]]),
      )
      await store.deleteConversation(children[0]!.id)
      assert.deepEqual(await store.childrenOf([parent.id]), new Map([[parent.id, [children[1]!.id]]]))
    })
  })

  describe(`${name}: reading a log`, () => {
    promise(
      'every filter, alone and together, forward and backward, gives what matches and nothing else',
      async store => {
        const random = new Random()
        const words = ['alpha', 'beta', 'gamma', 'ä', '😀', 'a\0b']
        const events = Array.from({ length: 40 }, (_, i) =>
          anEvent(i + 1, {
            kind: random.pick(['MessageEvent', 'ActionEvent']),
            source: random.pick(['user', 'agent']),
            ...(random.int(4) > 0 && { text: `${random.pick(words)} ${random.pick(words)}` }),
          }),
        )
        const { no } = await make(store, {}, events)
        await make(store, {}, someEvents(40))
        const records = inPlace(events)
        const choices = {
          from: [undefined, 0, 1, 17, 40, 41],
          to: [undefined, 0, 1, 23, 40, 99],
          kind: [undefined, 'MessageEvent', 'PauseEvent'],
          source: [undefined, 'agent'],
          text: [undefined, 'alpha', 'ta g', 'ä', '😀', 'a\0b', '%'],
        }
        for (const from of choices.from)
          for (const to of choices.to)
            for (const kind of choices.kind)
              for (const source of choices.source)
                for (const text of choices.text) {
                  const given = Object.entries({ from, to, kind, source, text }).filter(
                    ([, value]) => value !== undefined,
                  )
                  const query: EventFilter = { no, ...Object.fromEntries(given) }
                  const expected = records.filter(
                    (record, i) =>
                      record.seq >= (from ?? 1) &&
                      record.seq <= (to ?? 40) &&
                      (kind === undefined || record.kind === kind) &&
                      (source === undefined || record.source === source) &&
                      (text === undefined || events[i]!.text?.includes(text)),
                  )
                  const said = `${JSON.stringify(query)}, seed ${random.seed}`
                  const limit = 1 + random.int(41)
                  const backward = expected.toReversed().slice(0, limit)
                  assert.deepEqual(await store.readEvents({ ...query, limit }), expected.slice(0, limit), said)
                  assert.deepEqual(await store.readEvents({ ...query, limit, backward: true }), backward, said)
                  assert.equal(await store.countEvents(query), expected.length, said)
                }
      },
    )

    promise(
      'a read ends once it has so many characters, after one event at least, and lets go of what it saw',
      async store => {
        const events = someEvents(10).map((event, i) => ({ ...event, json: JSON.stringify('x'.repeat(i * 10)) }))
        const record = await make(store, {}, events)
        const records = inPlace(events)
        const lengths = records.map(({ json }) => json.length)
        for (const backward of [false, true])
          for (const limit of [1, 4, 10])
            for (const characters of [0, 1, 2, 3, 50, 51, 469, 470, 471, 100_000]) {
              const order = backward ? records.toReversed() : records
              let [number, length] = [0, 0]
              while (number < limit && (number === 0 || length < characters)) length += order[number++]!.json.length
              const read = await store.readEvents({ no: record.no, limit, characters, backward })
              assert.deepEqual(read, order.slice(0, number), `${characters} of ${lengths}`)
            }
        await store.readEvents({ no: record.no, limit: 10, characters: 1 })
        await store.append(appending(record, someEvents(1, 50)))
        assert.equal((await find(store, record.id)).head, 11)
        assert.equal(await store.countEvents({ no: record.no }), 11)
      },
    )

    promise('events are found by id, aligned with the ids, in their own conversation only', async store => {
      const events = someEvents(3)
      const one = await make(store, {}, events)
      const two = await make(store, {}, someEvents(1))
      const [first, second, third] = inPlace(events)
      const ids = [events[2]!.id, newId(), events[0]!.id, events[2]!.id, events[1]!.id]
      assert.deepEqual(await store.eventsById(one.no, ids), [third, undefined, first, third, second])
      assert.deepEqual(await store.eventsById(two.no, [events[0]!.id]), [undefined])
      assert.deepEqual(await store.eventsById(one.no, []), [])
    })

    promise('a time is found among gaps: the first event at or after it, or the place behind the last', async store => {
      const random = new Random()
      for (const length of [0, 1, 2, 3, 50]) {
        let at = 0
        const times = Array.from({ length }, () => {
          at += random.pick([1, 2, 1_000_000, 31_536_000_000_000])
          return at
        })
        const events = times.map(time => anEvent(time))
        const { no } = await make(store, {}, events)
        for (const time of [0, ...times.flatMap(known => [known - 1, known, known + 1]), at + 1_000]) {
          const found = times.findIndex(known => known >= time)
          const said = `${time} among ${length}, seed ${random.seed}`
          assert.equal(await store.positionAt(no, time), found < 0 ? length + 1 : found + 1, said)
        }
      }
      assert.equal(await store.positionAt(1_000_000, 1), 1)
    })
  })

  describe(`${name}: commands and their output`, () => {
    const KEEP = { events: 1000, characters: 1e9, since: 0 }
    const aCommand = (at: number, id = newId()): NewBashEvent => ({
      ...{ id, kind: 'BashCommand', command: id, order: -1, at, json: JSON.stringify({ at }) },
    })
    const anOutput = (command: string, order: number, at: number, last?: true): NewBashEvent => ({
      ...{ id: newId(), kind: 'BashOutput', command, order, at, json: JSON.stringify({ at, order }) },
      ...(last && { last }),
    })
    const bashLog = (store: Store, sandbox: string) => store.readBash({ sandbox, limit: 10_000 })
    const placed = (sandbox: string, events: NewBashEvent[], after = 0): BashRecord[] =>
      events.map((event, i) => ({ ...event, sandbox, seq: after + i + 1, last: event.last ?? false }))

    promise(
      'each sandbox has a log of its own, in the order it was written, also after a reopen',
      async (store, { reopen }) => {
        assert.equal(await store.bashHead('a'), 0)
        const command = aCommand(1)
        const first = [command, anOutput(command.id, 0, 2)]
        const more = [anOutput(command.id, 1, 3, true), aCommand(4)]
        assert.equal(await store.appendBash({ sandbox: 'a', events: first, keep: KEEP }), 2)
        assert.equal(await store.appendBash({ sandbox: 'b', events: [aCommand(9)], keep: KEEP }), 1)
        assert.equal(await store.appendBash({ sandbox: 'a', events: more, keep: KEEP }), 4)
        const all = placed('a', [...first, ...more])
        const check = async (reader: Store) => {
          assert.deepEqual(await bashLog(reader, 'a'), all)
          assert.equal(await reader.bashHead('a'), 4)
          const ids = [more[1]!.id, newId(), first[0]!.id]
          assert.deepEqual(await reader.bashById('a', ids), [all[3], undefined, all[0]])
          assert.deepEqual(await reader.bashById('b', ids), [undefined, undefined, undefined])
        }
        await check(store)
        await store.close()
        await check(await reopen())
      },
    )

    promise('every filter, alone and together, both ways, gives what matches and nothing else', async store => {
      const random = new Random()
      const commands = Array.from({ length: 6 }, (_, i) => aCommand(i + 1))
      const events = [...commands]
      for (let at = 7; at <= 40; at++) events.push(anOutput(random.pick(commands).id, random.int(5), at))
      await store.appendBash({ sandbox: 'a', events, keep: KEEP })
      await store.appendBash({ sandbox: 'b', events: [aCommand(1)], keep: KEEP })
      const records = placed('a', events)
      for (let round = 0; round < 500; round++) {
        const some = <T>(value: T): T | undefined => (random.int(3) === 0 ? value : undefined)
        const from = some(random.int(42))
        const to = some(random.int(42))
        const kind = some(random.pick(['BashCommand', 'BashOutput']))
        const command = some(random.pick(commands).id)
        const afterOrder = some(random.int(6) - 1)
        const since = some(random.int(42))
        const before = some(random.int(42))
        const query = Object.fromEntries(
          Object.entries({ from, to, kind, command, afterOrder, since, until: before }).filter(
            ([, value]) => value !== undefined,
          ),
        )
        const expected = records.filter(
          record =>
            record.seq >= (from ?? 0) &&
            record.seq <= (to ?? 99) &&
            (kind === undefined || record.kind === kind) &&
            (command === undefined || record.command === command) &&
            (afterOrder === undefined || record.kind === 'BashCommand' || record.order > afterOrder) &&
            record.at >= (since ?? 0) &&
            record.at < (before ?? 99),
        )
        const limit = 1 + random.int(41)
        const words = `${JSON.stringify(query)}, seed ${random.seed}`
        assert.deepEqual(await store.readBash({ sandbox: 'a', ...query, limit }), expected.slice(0, limit), words)
        assert.deepEqual(
          await store.readBash({ sandbox: 'a', ...query, limit, backward: true }),
          expected.toReversed().slice(0, limit),
          words,
        )
      }
      assert.equal((await store.readBash({ sandbox: 'a', limit: 9, characters: 1 })).length, 1)
    })

    promise('a command runs until its last output; what runs is known, and not cleared', async store => {
      const [over, going, other] = [aCommand(1), aCommand(2), aCommand(3)]
      const told = anOutput(going.id, 0, 4)
      await store.appendBash({ sandbox: 'a', events: [over, going, told], keep: KEEP })
      await store.appendBash({ sandbox: 'b', events: [other], keep: KEEP })
      await store.appendBash({ sandbox: 'a', events: [anOutput(over.id, 0, 5, true)], keep: KEEP })
      const running = async () => (await store.runningBash()).map(({ sandbox, id }) => [sandbox, id]).toSorted()
      assert.deepEqual(await running(), [
        ['a', going.id],
        ['b', other.id],
      ])
      assert.equal(await store.clearBash('a'), 2)
      assert.deepEqual(
        (await bashLog(store, 'a')).map(({ id }) => id),
        [going.id, told.id],
      )
      assert.equal(await store.clearBash('a'), 0)
      await store.appendBash({ sandbox: 'a', events: [anOutput(going.id, 1, 6, true)], keep: KEEP })
      assert.equal(await store.clearBash('a'), 3)
      assert.deepEqual(await bashLog(store, 'a'), [])
      assert.equal((await bashLog(store, 'b')).length, 1)
      assert.equal(await store.bashHead('a'), 5)
      assert.equal(await store.appendBash({ sandbox: 'a', events: [aCommand(7)], keep: KEEP }), 6)
    })

    promise('the oldest go beyond what is kept, by number, size and age, but none that runs', async store => {
      const going = aCommand(1)
      const append = async (sandbox: string, at: number, keep: object) => {
        const command = aCommand(at)
        const events = [command, anOutput(command.id, 0, at, true)]
        await store.appendBash({ sandbox, events, keep: { ...KEEP, ...keep } })
        return (await bashLog(store, sandbox)).map(event => event.at)
      }
      await store.appendBash({ sandbox: 'number', events: [going], keep: KEEP })
      for (let at = 2; at < 10; at++) await append('number', at, {})
      assert.deepEqual(await append('number', 10, { events: 5 }), [1, 9, 9, 10, 10])
      assert.deepEqual(await append('number', 11, { events: 1 }), [1])
      const [{ json }] = (await bashLog(store, 'number')) as [BashRecord]
      assert.equal(json, going.json)
      for (let at = 2; at < 10; at++) await append('age', at, {})
      assert.deepEqual(await append('age', 10, { since: 9 }), [9, 9, 10, 10])
      for (let at = 2; at < 10; at++) await append('size', at, {})
      const size = (await bashLog(store, 'size')).slice(-2).reduce((sum, event) => sum + event.json.length, 0)
      assert.deepEqual(await append('size', 9, { characters: 2 * size }), [9, 9, 9, 9])
      await store.clearBash('size')
      assert.deepEqual(await append('size', 9, { characters: size }), [9, 9])
    })
  })

  describe(`${name}: documents`, () => {
    promise('a document has a version, and is written only by who knows it', async (store, { reopen }) => {
      assert.deepEqual(await store.readDocument('one'), { version: 0, json: undefined })
      await assert.rejects(store.writeDocument('one', '0', 1), conflict)
      assert.deepEqual(await store.readDocument('one'), { version: 0, json: undefined })
      await store.writeDocument('one', '{"a":1}', 0)
      const { version, json } = await store.readDocument('one')
      assert.equal(json, '{"a":1}')
      for (const wrong of [0, version - 1, version + 1])
        await assert.rejects(store.writeDocument('one', '{"a":2}', wrong), conflict)
      assert.deepEqual(await store.readDocument('one'), { version, json })
      await store.writeDocument('one', '{"a":3}', version)
      await store.writeDocument('two', '{}', 0)
      const after = await store.readDocument('one')
      assert.equal(after.json, '{"a":3}')
      assert.notEqual(after.version, version)
      await store.close()
      const again = await reopen()
      assert.deepEqual(await again.readDocument('one'), after)
      assert.equal((await again.readDocument('two')).json, '{}')
    })

    promise('of writers with one version the first wins', async store => {
      const texts = Array.from({ length: 10 }, (_, i) => `${i}`)
      for (const round of [1, 2]) {
        const { version } = await store.readDocument('d')
        const results = await outcomes(texts.map(text => store.writeDocument('d', text + round, version)))
        assert.deepEqual(results, [true, ...Array(9).fill('conflict')])
        assert.equal((await store.readDocument('d')).json, `0${round}`)
      }
    })
  })

  describe(`${name}: deleting`, () => {
    promise('a deleted conversation is gone at once, everywhere, and only it', async store => {
      const parent = await make(store)
      const gone = await make(store, { parentId: parent.id, parts: { a: '1' }, status: 'error' }, someEvents(3))
      const kept = await make(store, { parts: { a: '2' } }, someEvents(3))
      assert.equal(await store.deleteConversation(gone.id), true)
      assert.deepEqual(await store.conversations([gone.id]), [undefined])
      assert.deepEqual(await store.conversationParts([gone.no, kept.no], ['a']), [{}, { a: '2' }])
      const { items } = await store.searchConversations({ order: 'created', descending: false, limit: 9 })
      assert.deepEqual(items, [parent, kept])
      assert.equal(await store.countConversations(), 2)
      assert.equal(await store.countConversations({ status: 'error' }), 0)
      assert.deepEqual(await store.childrenOf([parent.id]), new Map())
      await assert.rejects(store.append(appending(gone, someEvents(1, 50))), conflict)
      assert.equal(await store.deleteConversation(gone.id), false)
      assert.equal(await store.deleteConversation(newId()), false)
      await until('its events are removed', async () => (await store.countEvents({ no: gone.no })) === 0)
      assert.equal((await log(store, kept.no)).length, 3)
    })

    promise(
      'its events are removed in the background, also when the store was closed meanwhile',
      async (store, { reopen }) => {
        const kept = await make(store, {}, someEvents(700))
        const gone = [await make(store, {}, someEvents(2600)), await make(store, {}, someEvents(1))]
        await Promise.all(gone.map(({ id }) => store.deleteConversation(id)))
        await store.close()
        const again = await reopen()
        assert.deepEqual(await again.conversations(gone.map(({ id }) => id)), [undefined, undefined])
        for (const { no } of gone)
          await until('its events are removed', async () => (await again.countEvents({ no })) === 0)
        assert.equal((await log(again, kept.no)).length, 700)
      },
    )

    promise(
      'an id can be used again: a new conversation with a new number, never one that was used',
      async (store, { reopen }) => {
        const old = await make(store, { title: 'old', parts: { a: '1' } }, someEvents(1200))
        const [deleted, created] = await outcomes([
          store.deleteConversation(old.id),
          store.createConversation(aConversation({ id: old.id, head: 1 }), someEvents(1)),
        ])
        assert.deepEqual([deleted, created], [true, true])
        const fresh = await find(store, old.id)
        assert.notEqual(fresh.no, old.no)
        assert.equal(fresh.title, null)
        assert.deepEqual(await store.conversationParts([fresh.no], ['a']), [{}])
        assert.equal((await log(store, fresh.no)).length, 1)
        await store.deleteConversation(old.id)
        await store.close()
        const again = await reopen()
        const third = await make(again, { id: old.id })
        assert.ok(third.no !== old.no && third.no !== fresh.no)
        assert.deepEqual(await log(again, third.no), [])
      },
    )
  })

  describe(`${name}: what is kept`, () => {
    promise('NUL, lone surrogates, emoji and 5 MB of text survive, and a reopen too', async (store, { reopen }) => {
      const texts = [
        '',
        '\0',
        'a\0b',
        '\ud800',
        'x\udc00y',
        '😀👩‍👩‍👧',
        '\ufeff\u2028',
        '\u0001"\\',
        'ä'.repeat(2_500_000),
      ]
      const made = await Promise.all(
        texts.map(async text => {
          const json = JSON.stringify({ text })
          // Outside JSON a text may be anything that is well-formed.
          const plain = text.toWellFormed()
          const parts = { a: json }
          const events = [anEvent(1, { json, text: plain })]
          const record = await make(store, { title: plain, state: json, parts }, events)
          await store.writeDocument(record.id, json, 0)
          return { record, json, plain, parts, events }
        }),
      )
      const check = async (reader: Store) => {
        for (const { record, json, plain, parts, events } of made) {
          const { no, id } = record
          const said = json.slice(0, 50)
          const found = await find(reader, id)
          assert.ok(found.title === plain && found.state === json && !found.damaged, said)
          assert.deepEqual(await reader.conversationParts([no], ['a']), [parts], said)
          assert.deepEqual(await log(reader, no), inPlace(events), said)
          assert.equal((await reader.readDocument(id)).json, json, said)
          if (plain) assert.equal(await reader.countEvents({ no, text: plain }), 1, said)
        }
      }
      await check(store)
      await store.close()
      await check(await reopen())
    })

    promise('a healthy store says so, and is not changed by saying it', async (store, { reopen }) => {
      const record = await make(store, {}, someEvents(2))
      assert.deepEqual(await store.health(), { writable: true })
      assert.deepEqual(await store.health(), { writable: true })
      assert.deepEqual(await find(store, record.id), record)
      assert.equal(await store.countConversations(), 1)
      await store.close()
      const { writable, reason } = await store.health()
      assert.equal(writable, false)
      assert.ok(reason)
      assert.deepEqual(await (await reopen()).health(), { writable: true })
    })
  })

  describe(`${name}: closing`, () => {
    promise('close finishes what was accepted, and refuses what comes after', async (store, { reopen }) => {
      const record = await make(store)
      const events = someEvents(1200)
      const accepted = events.map((event, i) => store.append(appending({ no: record.no, head: i }, [event])))
      const closed = store.close()
      const late = store.append(appending({ no: record.no, head: 1200 }, someEvents(1, 5000)))
      await assert.rejects(late, is('shutting_down'))
      await Promise.all(accepted)
      await closed
      assert.deepEqual(await log(await reopen(), record.no), inPlace(events))
    })

    promise('a closed store refuses everything with `shutting_down`', async store => {
      const { no, id } = await make(store, {}, someEvents(1))
      await store.close()
      const calls: Record<string, () => Promise<unknown>> = {
        createConversation: () => store.createConversation(aConversation(), []),
        append: () => store.append(appending({ no, head: 1 }, someEvents(1, 9))),
        deleteConversation: () => store.deleteConversation(id),
        writeDocument: () => store.writeDocument('d', '1', 0),
        conversations: () => store.conversations([id]),
        conversationParts: () => store.conversationParts([no], ['a']),
        searchConversations: () => store.searchConversations({ order: 'created', descending: false, limit: 1 }),
        countConversations: () => store.countConversations(),
        childrenOf: () => store.childrenOf([id]),
        readEvents: () => store.readEvents({ no, limit: 1 }),
        countEvents: () => store.countEvents({ no }),
        eventsById: () => store.eventsById(no, ['x']),
        positionAt: () => store.positionAt(no, 1),
        readDocument: () => store.readDocument('d'),
        appendBash: () => store.appendBash({ sandbox: 'a', events: [], keep: { events: 1, characters: 1, since: 0 } }),
        clearBash: () => store.clearBash('a'),
        readBash: () => store.readBash({ sandbox: 'a', limit: 1 }),
        bashById: () => store.bashById('a', ['x']),
        bashHead: () => store.bashHead('a'),
        runningBash: () => store.runningBash(),
      }
      const codes = await Promise.all(
        Object.entries(calls).map(async ([what, call]) => `${what}: ${(await outcomes([call()]))[0]}`),
      )
      assert.deepEqual(
        codes,
        Object.keys(calls).map(what => `${what}: shutting_down`),
      )
    })
  })
}

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { AppConversationStartRequest } from '../../src/api/app-conversations.ts'
import { ClientError } from '../../src/api/client.ts'
import { fault } from '../../src/api/errors.ts'
import { chooseSandbox } from '../../src/app-conversation/placement.ts'
import { StartTasks } from '../../src/app-conversation/start-tasks.ts'
import { Starts, type StartsParts } from '../../src/app-conversation/starts.ts'
import { Vault } from '../../src/policy/secrets.ts'
import { SqliteStore } from '../../src/store/sqlite.ts'
import { AgentRig } from '../support/agent.ts'
import { Canaries } from '../support/canary.ts'
import { call, finish } from '../support/model-server.ts'
import { Random } from '../support/random.ts'
import { aMessage, count, type TestServer, tempFolder } from '../support/server.ts'
import { TestSocket } from '../support/socket.ts'
import { overOrForgotten, sandboxesLeft, startAndAt } from '../support/start-moments.ts'
import { conversation, inside, over, started, startOver } from '../support/starts.ts'
import { until } from '../support/wait.ts'
import { WEAKNESSES } from '../support/weaknesses.ts'

const refusal = (status: number) => (error: unknown) => error instanceof ClientError && error.status === status

describe('what others do wrong: the table', () => {
  test('has every weakness once, and each says what is done instead and by what that is shown', () => {
    assert.deepEqual(
      WEAKNESSES.map(({ no }) => no),
      Array.from({ length: 53 }, (_, i) => i + 1),
    )
    const unshown = WEAKNESSES.filter(({ proofs }) => proofs.length === 0).map(({ no }) => no)
    // A pool of warm sandboxes would have nothing to save.
    assert.deepEqual(unshown, [10])
  })

  test('names tests that are there', async () => {
    const tests = join(import.meta.dirname, '..')
    for (const { no, proofs } of WEAKNESSES)
      for (const { file, title } of proofs) {
        const text = await readFile(join(tests, file), 'utf8')
        const calls = ["'", '"', '`'].flatMap(quote =>
          ['test', 'it', 'some', 'promise', 'describe'].map(name => `${name}(${quote}${title}`),
        )
        assert.ok(
          calls.some(start => text.includes(start)),
          `W-${no}: ${file} has no test "${title}"`,
        )
      }
  })
})

describe('what others do wrong: tried', () => {
  let rig: AgentRig
  let server: TestServer
  before(async () => {
    const broken = { id: 'broken', command: ['sh', '-c', 'echo out of luck; exit 3'] }
    rig = await AgentRig.start([call('terminal', { command: 'sleep 0.3; echo done >proof' }), finish('Done.')], {
      env: { GANTRY_SANDBOX_SPECS: JSON.stringify([{ id: 'local' }, broken]) },
    })
    server = rig.server
  })
  after(() => rig?.[Symbol.asyncDispose]())
  const gone = async (...ids: string[]) => {
    for (const conversation_id of ids) await server.client.deleteAppConversation({ params: { conversation_id } })
    assert.deepEqual(await sandboxesLeft(server), [])
  }

  test('W-1 a sandbox that cannot start ends the start at once, with its exit code and last words', async () => {
    await server.client.storeAppSettings({ body: { default_sandbox_spec_id: 'broken' } as never })
    const began = performance.now()
    const task = await startOver(server)
    await server.client.storeAppSettings({ body: { default_sandbox_spec_id: null } as never })
    assert.equal(task.status, 'ERROR')
    assert.match(task.detail ?? '', /3.*out of luck/s)
    assert.ok(performance.now() - began < 5_000)
    assert.deepEqual(await sandboxesLeft(server), [])
  })

  test('W-2 a paused sandbox that is named in an order is resumed for it', async () => {
    const { id: sandbox_id } = await server.client.startSandbox()
    await server.client.pauseSandbox({ params: { sandbox_id } })
    const found = await started(server, { sandbox_id })
    assert.deepEqual([found.sandbox_id, found.sandbox_status], [sandbox_id, 'RUNNING'])
    await server.client.deleteSandbox({ params: { sandbox_id } })
    await gone(found.id)
  })

  test('W-3 addresses are those under which the server was asked, and lead there', async () => {
    const { id } = await started(server)
    for (const host of ['127.0.0.1', 'localhost']) {
      const origin = server.url.replace('127.0.0.1', host)
      const headers = { 'x-session-api-key': server.key }
      const found = await (await fetch(`${origin}/api/v1/app-conversations?ids=${id}`, { headers })).json()
      const [{ conversation_url, session_api_key }] = found as [{ conversation_url: string; session_api_key: string }]
      assert.ok(conversation_url.startsWith(`${origin}/`), conversation_url)
      const direct = await fetch(conversation_url, { headers: { 'x-session-api-key': session_api_key } })
      assert.equal(direct.status, 200)
    }
    await gone(id)
  })

  test('W-7 lists ask no sandbox: one that is paused is listed as that, and stays so', async () => {
    const { id, sandbox_id } = await started(server)
    await server.client.pauseSandbox({ params: { sandbox_id } })
    for (const list of [server.client.searchAppConversations, server.client.getAppConversations])
      assert.match(JSON.stringify(await list()), /"sandbox_status":"PAUSED"/)
    assert.equal((await server.client.batchSandboxes({ query: { id: [sandbox_id] } }))[0]?.status, 'PAUSED')
    await gone(id)
  })

  test('W-15 both generations and the socket tell the same events, as many as are counted', async () => {
    const { id } = await started(server, { llm_model: 'demo/guide', initial_message: aMessage('Hello'), title: 'Same' })
    await server.atRest(id)
    const params = { conversation_id: id }
    const idsOf = ({ items }: { items: readonly { id: string }[] }) => items.map(event => event.id)
    const told = idsOf(await server.client.searchEvents({ params }))
    assert.deepEqual(idsOf(await server.client.searchAppEvents({ params })), told)
    assert.equal(await server.client.countAppEvents({ params }), told.length)
    assert.equal(await server.client.countNamedEvents({ query: { conversation_id__eq: id } }), told.length)
    const socket = new TestSocket(server.url, `/sockets/events/${id}?resend_mode=all`, {
      'x-session-api-key': server.key,
    })
    await socket.frame('the last event', frame => frame.id === told.at(-1))
    await gone(id)
  })

  test('W-19 a conversation whose sandbox is gone says so at once, in its status and to whoever talks to it', async () => {
    const { id, sandbox_id } = await started(server)
    await server.client.deleteSandbox({ params: { sandbox_id } })
    assert.equal((await conversation(server, id)).sandbox_status, 'MISSING')
    const params = { conversation_id: id }
    const body = { content: aMessage('Hello').content }
    await assert.rejects(server.client.sendAppMessage({ params, body }), refusal(410))
    await assert.rejects(server.client.runAppConversation({ params }), refusal(410))
    assert.equal(await server.client.countAppEvents({ params }), 0)
    await server.client.resumeSandbox({ params: { sandbox_id } })
    assert.equal((await conversation(server, id)).sandbox_status, 'RUNNING')
    assert.equal((await server.client.sendAppMessage({ params, body: { ...body, run: false } })).success, true)
    assert.equal(await inside(server, sandbox_id, 'ls /workspace/project'), '')
    await gone(id)
  })

  test('W-20 an id is one order, under whatever key, also for a conversation that came another way', async () => {
    const id = randomUUID()
    const order = (title: string, key: string) =>
      server.client.startAppConversation({ body: { conversation_id: id, title }, headers: { 'idempotency-key': key } })
    const settled = await Promise.allSettled(['a', 'b', 'c'].map(name => order(name, randomUUID() + name)))
    const taken = settled.filter(({ status }) => status === 'fulfilled')
    assert.equal(taken.length, 1, JSON.stringify(settled))
    for (const { reason } of settled.filter(result => result.status === 'rejected'))
      assert.ok(refusal(409)(reason), reason)
    await over(server, (taken[0] as PromiseFulfilledResult<{ id: string }>).value.id)
    await assert.rejects(order('d', randomUUID()), refusal(409))
    await gone(id)
    const other = await rig.begin()
    await assert.rejects(server.client.startAppConversation({ body: { conversation_id: other.id } }), refusal(409))
    await server.client.deleteConversation({ params: { conversation_id: other.id } })
  })

  const ROUNDS = count({ sample: 2, deep: 200 })
  test(`W-20 in ${ROUNDS} races of an order with a delete, what was deleted does not come to be`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const id = randomUUID()
      const ordered = server.client.startAppConversation({ body: { conversation_id: id } })
      const params = { conversation_id: id }
      // Until the order is found on record, there is nothing to delete.
      const deleted = await until('there is something to delete', () =>
        server.client.deleteAppConversation({ params }).catch(error => (refusal(404)(error) ? undefined : error)),
      )
      assert.deepEqual(deleted, { success: true })
      await overOrForgotten(server, (await ordered).id)
      assert.deepEqual(await server.client.getAppConversations({ query: { ids: [id] } }), [null], `round ${round}`)
    }
    assert.deepEqual(await sandboxesLeft(server), [])
  })

  test('W-21 pausing a sandbox lets the step of its agent end; resumed, the agent goes on', async () => {
    await server.client.updateSettings({ body: { agent_settings_diff: { llm: rig.model.llm() } } })
    const { id, sandbox_id } = await started(server, { initial_message: aMessage('Work'), title: 'Work' })
    await until('it works', async () =>
      (await server.client.searchAppEvents({ params: { conversation_id: id } })).items.some(
        event => event.kind === 'ActionEvent',
      ),
    )
    await server.client.pauseSandbox({ params: { sandbox_id } })
    const paused = await conversation(server, id)
    assert.deepEqual([paused.sandbox_status, paused.execution_status], ['PAUSED', 'paused'])
    await server.client.runAppConversation({ params: { conversation_id: id } })
    await until('it has finished', async () => (await server.atRest(id)).execution_status === 'finished')
    assert.equal(await inside(server, sandbox_id, 'cat /workspace/project/proof'), 'done')
    await gone(id)
  })

  const MOMENTS = count({ sample: 2, deep: 60 })
  test(`W-22 ${MOMENTS} conversations that are deleted the moment they are there leave no sandbox`, async () => {
    for (let moment = 0; moment < MOMENTS; moment++) {
      const id = randomUUID()
      const task = await server.client.startAppConversation({ body: { conversation_id: id, llm_model: 'demo/guide' } })
      // What waits to be said makes the moment longer.
      const body = { content: aMessage('Waiting').content }
      const waiting = { conversation_id: `task-${task.id}` }
      await Promise.all(Array.from({ length: 6 }, () => server.client.addPendingMessage({ params: waiting, body })))
      // By the other generation, which knows nothing of starts, as soon as there is something to delete.
      const params = { conversation_id: id }
      for (let isGone = false; !isGone; )
        isGone = await server.client.deleteConversation({ params }).then(
          () => true,
          error => assert.ok(refusal(404)(error), error) ?? false,
        )
      await overOrForgotten(server, task.id)
      await until('no sandbox is left', async () => (await server.client.searchSandboxes()).items.length === 0)
    }
  })

  test('W-30 changes of one conversation that come at the same time all count', async () => {
    const { id } = await started(server)
    const change = (body: object) =>
      server.client.updateAppConversation({ params: { conversation_id: id }, body: body as never })
    for (let round = 0; round < 5; round++) {
      await change({ public: null, selected_repository: null })
      await Promise.all([change({ public: true }), change({ selected_repository: 'a/b' }), change({ title: 'New' })])
      const { public: shared, selected_repository, title } = await conversation(server, id)
      assert.deepEqual([shared, selected_repository, title], [true, 'a/b', 'New'])
    }
    await gone(id)
  })

  const MOVES = count({ sample: 3, deep: 60 })
  test(`W-35 in ${MOVES} races of the last to leave a shared sandbox with one who comes, who comes has a sandbox`, async () => {
    await server.client.storeAppSettings({ body: { sandbox_grouping_strategy: 'GROUP_BY_NEWEST' } as never })
    let last = await started(server)
    for (let move = 0; move < MOVES; move++) {
      const coming = server.client.startAppConversation({ body: {} })
      await server.client.deleteAppConversation({ params: { conversation_id: last.id } })
      const task = await over(server, (await coming).id)
      assert.equal(task.status, 'READY', task.detail ?? '')
      last = await conversation(server, task.app_conversation_id!)
      assert.equal(last.sandbox_status, 'RUNNING')
      assert.equal(await inside(server, last.sandbox_id, 'echo here'), 'here')
    }
    await server.client.storeAppSettings({ body: { sandbox_grouping_strategy: 'NO_GROUPING' } as never })
    await gone(last.id)
  })

  const FAMILIES = count({ sample: 2, deep: 60 })
  test(`W-35 of ${FAMILIES} parents that go while children are begun, none leaves a child`, async t => {
    const random = new Random()
    t.diagnostic(`seed ${random.seed}`)
    for (let family = 0; family < FAMILIES; family++) {
      const { id } = await started(server)
      const body = {
        parent_conversation_id: id,
        llm_model: 'demo/guide',
        initial_message: aMessage('x'),
        title: 'Child',
      }
      const begun = Array.from({ length: 6 }, () =>
        server.client.startAppConversation({ body }).catch(error => assert.ok(refusal(404)(error), error)),
      )
      // The moment is the test's subject, not a wait for a condition.
      await new Promise(resolve => setTimeout(resolve, random.int(120)))
      await server.client.deleteAppConversation({ params: { conversation_id: id } })
      for (const task of await Promise.all(begun)) if (task) await overOrForgotten(server, task.id)
      const { items } = await server.client.searchAppConversations({ query: { include_sub_conversations: true } })
      assert.deepEqual([items, await sandboxesLeft(server)], [[], []], `seed ${random.seed}`)
    }
  })

  test('W-43 what an order brings as a secret is read nowhere: task, stream, conversation, log, disk', async () => {
    const canaries = new Canaries()
    const secret = canaries.make('order')
    const wrong = await rig.call('POST', '/api/v1/app-conversations', { secrets: { T: secret }, trigger: secret })
    assert.equal(wrong.status, 422)
    const { task } = await startAndAt(server, { secrets: { ORDERED: secret } }, 'READY', async () => undefined)
    const conversation_id = task.app_conversation_id!
    assert.deepEqual(task.request.secrets, { ORDERED: '**********' })
    const shown = [
      task,
      await server.client.searchStartTasks(),
      await server.client.batchStartTasks({ query: { ids: [task.id] } }),
      await server.client.getAppConversations({ query: { ids: [conversation_id] } }),
      await server.client.getConversation({ params: { conversation_id } }),
    ]
    assert.deepEqual(canaries.sightings(JSON.stringify(shown) + server.output), [])
    assert.deepEqual(await canaries.sightingsIn(server.data), [])
    await gone(conversation_id)
  })

  test('W-47 a sandbox is deleted by the id in the path, with or without naming it twice', async () => {
    for (const query of ['', '?sandbox_id=']) {
      const { id } = await server.client.startSandbox()
      const { status, body } = await rig.call('DELETE', `/api/v1/sandboxes/${id}${query && query + id}`)
      assert.deepEqual([status, body], [200, { success: true }])
      assert.deepEqual(await server.client.batchSandboxes({ query: { id: [id] } }), [null])
    }
  })

  test('W-48 a file that cannot be read is no empty file: unknown conversation, paused sandbox, folder', async () => {
    const { id, sandbox_id } = await started(server)
    const read = (conversation_id: string, file_path = '/workspace/project/PLAN.md') =>
      server.client.readAppFile({ params: { conversation_id }, query: { file_path } })
    await assert.rejects(read(randomUUID()), refusal(404))
    await assert.rejects(read(id, '/workspace/project'), refusal(400))
    await server.client.pauseSandbox({ params: { sandbox_id } })
    await assert.rejects(read(id), refusal(409))
    await gone(id)
  })

  test('W-52 the least recently used sandbox is that which was used least recently, not the oldest', () => {
    const candidates = [
      { id: 'oldest', createdAt: 1, lastUsed: 9, conversations: 1 },
      { id: 'unused', createdAt: 2, lastUsed: 3, conversations: 5 },
      { id: 'newest', createdAt: 3, lastUsed: 4, conversations: 19 },
      { id: 'full', createdAt: 4, lastUsed: 1, conversations: 20 },
    ]
    const chosen = (['NO_GROUPING', 'GROUP_BY_NEWEST', 'LEAST_RECENTLY_USED', 'FEWEST_CONVERSATIONS'] as const).map(
      strategy => chooseSandbox(strategy, candidates),
    )
    assert.deepEqual(chosen, [undefined, 'newest', 'unused', 'oldest'])
  })
})

describe('what others do wrong: tried on a record that is slow, or cannot be written', () => {
  /** A start on a real record, at a desk that has no sandbox to give. */
  async function atDesk(records: (tasks: StartTasks) => Partial<StartTasks>) {
    const folder = await tempFolder()
    const store = SqliteStore.open(join(folder, 'gantry.db'))
    const vault = new Vault('a secret key for tests')
    const real = new StartTasks(store, vault)
    const tasks = Object.assign(Object.create(real), boundTo(real), records(real)) as StartTasks
    const nothing = async () => undefined
    const place = () => Promise.reject(fault('sandbox_not_found'))
    const lodgings = { checkRoom: nothing, place, arrived: () => undefined }
    const parts = { store, tasks, vault, lodgings, agentProfiles: { forOrder: nothing }, log: { error: nothing } }
    const starts = new Starts(parts as unknown as StartsParts)
    return {
      starts,
      /** How it ends, once that is on record. */
      end: (id: string) =>
        until('its end is on record', async () => {
          const task = await real.of(id)
          return task?.record.status === 'ERROR' ? task.record.detail : undefined
        }),
      [Symbol.asyncDispose]: async () => {
        await starts.close()
        await store.close()
        await rm(folder, { recursive: true, force: true })
      },
    }
  }
  const anyOrder = (id: string) => AppConversationStartRequest.parse({ conversation_id: id })
  const ordering = { key: null, trusted: true }

  test('W-20 a start that is deleted between being put on record and being launched is not carried out', async () => {
    const id = randomUUID()
    const recorded = Promise.withResolvers<void>()
    const launched = Promise.withResolvers<void>()
    await using desk = await atDesk(tasks => ({
      take: async (order, how) => {
        const taken = await tasks.take(order, how)
        recorded.resolve()
        await launched.promise
        return taken
      },
    }))
    const begun = desk.starts.begin(anyOrder(id), ordering)
    await recorded.promise
    const cancelled = desk.starts.cancelFor(id)
    setImmediate(launched.resolve)
    assert.equal(await cancelled, true)
    await begun
    // Whoever is told that it is deleted finds it over.
    assert.equal(await desk.starts.cancelFor(id), false)
  })

  test('W-29 an end that could not be put on record is put there as soon as it can be', async () => {
    const id = randomUUID()
    let refusals = 1
    await using desk = await atDesk(tasks => ({
      change: (task, change) => (refusals-- > 0 ? Promise.reject(fault('storage_full')) : tasks.change(task, change)),
    }))
    await desk.starts.begin(anyOrder(id), ordering)
    assert.equal(await desk.end(id), 'Its sandbox was deleted')
  })
})

/** Its methods, which know it wherever they are called. */
const boundTo = (tasks: StartTasks) => ({
  known: tasks.known.bind(tasks),
  of: tasks.of.bind(tasks),
  get: tasks.get.bind(tasks),
  take: tasks.take.bind(tasks),
  change: tasks.change.bind(tasks),
})

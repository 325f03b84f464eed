import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { ClientError } from '../../src/api/client.ts'
import { AgentRig } from '../support/agent.ts'
import { GitServer, NO_GIT_SERVER } from '../support/git-server.ts'
import { call, finish, say } from '../support/model-server.ts'
import { aMessage, TestServer } from '../support/server.ts'
import { STATUSES } from '../support/start-moments.ts'
import { conversation, inside, over, reaching, started, startOver, useAsGithub } from '../support/starts.ts'
import { until } from '../support/wait.ts'

let host: GitServer | undefined
let server: TestServer
before(async () => {
  if (!NO_GIT_SERVER) host = await GitServer.open()
  server = await TestServer.start(host && reaching(host))
})
after(async () => {
  await server[Symbol.asyncDispose]()
  await host?.[Symbol.asyncDispose]()
})

/** What a test leaves must not be counted by the next. */
async function clean(): Promise<void> {
  for (const { id } of (await server.client.searchAppConversations()).items)
    await server.client.deleteAppConversation({ params: { conversation_id: id } })
}

const refused = (status: number, text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ClientError, String(error))
  assert.equal(error.status, status)
  assert.match(JSON.stringify(error.body), text)
  return true
}

const hex = (id: string) => id.replaceAll('-', '')

describe('starting an app conversation', () => {
  test('an empty order becomes a conversation in a sandbox of its own, and its task is there from the first moment', async () => {
    await clean()
    const task = await server.client.startAppConversation({ body: {} })
    assert.match(task.id, /^[0-9a-f]{32}$/)
    assert.deepEqual(
      [task.status, task.app_conversation_id, task.sandbox_id, task.created_by_user_id],
      ['WORKING', null, null, null],
    )
    const [fetched] = await server.client.batchStartTasks({ query: { ids: [task.id] } })
    assert.equal(fetched?.id, task.id)
    const done = await over(server, task.id)
    assert.equal(done.status, 'READY', done.detail ?? '')
    const found = await conversation(server, done.app_conversation_id!)
    assert.equal(found.sandbox_status, 'RUNNING')
    assert.equal(found.execution_status, 'idle')
    assert.equal(found.sandbox_id, done.sandbox_id)
    assert.equal(found.title, `Conversation ${found.id.slice(0, 5)}`)
    assert.match(found.created_at, /Z$/)
    assert.equal(done.agent_server_url, `${server.url}/sandboxes/${done.sandbox_id}`)
    assert.equal(found.conversation_url, `${done.agent_server_url}/api/conversations/${found.id}`)
    const direct = await fetch(found.conversation_url!, { headers: { 'x-session-api-key': found.session_api_key! } })
    assert.equal(direct.status, 200)
  })

  test('the statuses come in order, streamed as a growing array and as events, and both end by themselves', async () => {
    await clean()
    const answer = await fetch(`${server.url}/api/v1/app-conversations/stream-start`, {
      method: 'POST',
      headers: { 'x-session-api-key': server.key, 'content-type': 'application/json' },
      body: '{}',
    })
    const text = await answer.text()
    const tasks = JSON.parse(text) as { id: string; status: string; sandbox_id: string | null }[]
    assert.deepEqual(
      tasks.map(({ status }) => status),
      STATUSES,
    )
    assert.ok(text.startsWith('[\n{') && text.endsWith('}]') && text.split(',\n{').length === STATUSES.length)
    assert.deepEqual(
      tasks.map(({ sandbox_id }) => sandbox_id !== null),
      STATUSES.map(status => status !== 'WORKING'),
    )
    const stream = (await server.client.streamStartTask({ params: { task_id: tasks[0]!.id } })) as Response
    assert.match(await stream.text(), /"status":"READY"/)
  })

  test('the first message is worked on, with what was ordered beside it on record', async () => {
    await clean()
    const order = {
      initial_message: aMessage('Hello'),
      title: 'A beginning',
      trigger: 'gui' as const,
      pr_number: [7],
      public: true,
      tags: { origin: 'test' },
    }
    const found = await started(server, order)
    const { title, trigger, pr_number, public: shared, tags } = found
    assert.deepEqual(
      { title, trigger, pr_number, public: shared, tags },
      { title: 'A beginning', trigger: 'gui', pr_number: [7], public: true, tags: { origin: 'test' } },
    )
    const info = await server.atRest(found.id)
    assert.equal(info.execution_status, 'finished')
    const { items } = await server.client.searchAppEvents({
      params: { conversation_id: found.id },
      query: { kind__eq: 'MessageEvent' },
    })
    assert.match(JSON.stringify(items[0]), /Hello/)
  })

  test('the same Idempotency-Key is the same task, also at once and after a restart; for another order it is taken', async () => {
    await using rig = await AgentRig.start()
    const { client } = rig.server
    const key = { 'idempotency-key': randomUUID() }
    const both = await Promise.all([1, 2, 3].map(() => client.startAppConversation({ body: {}, headers: key })))
    assert.equal(new Set(both.map(({ id }) => id)).size, 1)
    await over(rig.server, both[0]!.id)
    await rig.restart('SIGTERM')
    const again = await rig.server.client.startAppConversation({ body: {}, headers: key })
    assert.deepEqual([again.id, again.status], [both[0]!.id, 'READY'])
    await assert.rejects(
      rig.server.client.startAppConversation({ body: { title: 'Another' }, headers: key }),
      refused(409, /another order/),
    )
    assert.equal(await rig.server.client.countAppConversations(), 1)
    assert.equal((await rig.server.client.searchSandboxes()).items.length, 1)
  })

  test('an id that the caller chose is the conversation, and ordering it twice is one start', async () => {
    await clean()
    const id = randomUUID()
    const [first, second] = await Promise.all([1, 2].map(() => startOver(server, { conversation_id: id })))
    assert.equal(first!.id, second!.id)
    assert.equal(first!.app_conversation_id, hex(id))
    assert.equal(first!.request.conversation_id, id)
  })

  test('what cannot be is refused before anything is on record', async () => {
    await using server = await TestServer.start({ env: { GANTRY_MAX_SANDBOXES: '1' } })
    const order = (body: Record<string, unknown>) => server.client.startAppConversation({ body: body as never })
    await assert.rejects(order({ parent_conversation_id: randomUUID() }), refused(404, /Conversation not found/))
    await assert.rejects(order({ sandbox_id: 'nobody' }), refused(404, /Not Found/))
    await assert.rejects(order({ plugins: [{ source: 'x' }] }), refused(422, /plugins/))
    await assert.rejects(order({ agent_profile_id: 'x' }), refused(404, /profile/))
    for (const repository of ['owner', '-x/y', 'a/b;ls', 'a/../b', 'a/b\n', '$(x)/y', 'a//b'])
      await assert.rejects(order({ selected_repository: repository }), refused(422, /selected_repository/), repository)
    for (const branch of ['-x', 'a..b', 'a b', 'x.lock', 'a/.b', 'a\u0007', '@{x', 'end/'])
      await assert.rejects(order({ selected_branch: branch }), refused(422, /selected_branch/), branch)
    const task = { git_provider: 'github', task_type: 'OPEN_PR', repo: 'a/b', issue_number: 1, title: 'x' }
    await assert.rejects(order({ suggested_task: task, initial_message: aMessage('x') }), refused(422, /first message/))
    assert.equal(await server.client.countStartTasks(), 0)
    await started(server)
    await assert.rejects(order({}), refused(429, /1 sandboxes are running already/))
    assert.equal(await server.client.countStartTasks(), 1)
  })

  test('a start that is cancelled ends with a reason, and leaves neither conversation nor sandbox', async t => {
    if (!host) return t.skip(`${NO_GIT_SERVER}`)
    const git = host
    await clean()
    await git.add('us/slow', 'echo x >a; git add -A; git commit -qm x', { answer: 'nothing' })
    await useAsGithub(server, git)
    const { id } = await server.client.startAppConversation({
      body: { selected_repository: 'us/slow', git_provider: 'github' },
    })
    await until('it fetches', () => git.asked.some(({ url }) => url.includes('us/slow')))
    await server.client.cancelStartTask({ params: { task_id: id } })
    const [task] = await server.client.batchStartTasks({ query: { ids: [id] } })
    assert.deepEqual([task?.status, task?.detail], ['ERROR', 'The start was cancelled'])
    assert.equal(await server.client.countAppConversations(), 0)
    assert.deepEqual((await server.client.searchSandboxes()).items, [])
    assert.deepEqual(await server.client.cancelStartTask({ params: { task_id: id } }), { success: true })
  })
})

describe('a repository', { skip: NO_GIT_SERVER }, () => {
  let git: GitServer
  before(() => {
    git = host!
  })

  test('a private one is there on its branch, with who commits, and its token nowhere', async () => {
    const token = 'ghp_very-secret-token-1234567890'
    await git.add('us/lib', 'git checkout -qb topic/one; echo hi >a.txt; git add -A; git commit -qm one', { token })
    await useAsGithub(server, git, token)
    await server.client.storeSettings({ body: { git_user_name: 'Ada', git_user_email: 'ada@example.org' } })
    const found = await started(server, {
      selected_repository: 'us/lib',
      selected_branch: 'topic/one',
      git_provider: 'github',
    })
    assert.deepEqual(
      [found.selected_repository, found.selected_branch, found.git_provider],
      ['us/lib', 'topic/one', 'github'],
    )
    const folder = '/workspace/project/lib'
    assert.equal(
      await inside(
        server,
        found.sandbox_id,
        `cd ${folder}; cat a.txt; git branch --show-current; git config user.name`,
      ),
      'hi\ntopic/one\nAda',
    )
    const { workspace } = await server.client.getConversation({ params: { conversation_id: found.id } })
    assert.equal(workspace.working_dir, folder)
    const everywhere = `grep -rl ${token} /workspace "$HOME" /tmp 2>/dev/null | head; true`
    assert.equal(await inside(server, found.sandbox_id, everywhere), '')
    assert.ok(!server.output.includes(token))
    const changes = await server.client.appGitChanges({ params: { conversation_id: found.id } })
    assert.deepEqual(changes, [])
  })

  test('ordered without the key it gets no token, no stored secret and no MCP server, and says so', async () => {
    await git.add('us/open', 'echo x >a; git add -A; git commit -qm x')
    await git.add('us/private', 'echo x >a; git add -A; git commit -qm x', { token: 'the-token' })
    await using server = await TestServer.start(reaching(git))
    await useAsGithub(server, git, 'the-token')
    await server.client.putSecret({ body: { name: 'NAMED', value: 'x' } })
    await server.client.createMcpServer({ params: { settings_key: 'tool' }, body: { url: 'http://127.0.0.1:9/mcp' } })
    const order = async (repository: string, client = server.anonymous) => {
      const body = { selected_repository: repository, git_provider: 'github' as const }
      return over(server, (await client.startAppConversation({ body })).id)
    }
    const without = await order('us/open')
    assert.match(without.steps[0]?.detail ?? '', /without the key/)
    const given = async (conversation_id: string) => {
      const { secret_registry, agent } = await server.client.getConversation({ params: { conversation_id } })
      return [Object.keys(secret_registry.secret_sources), Object.keys(agent.mcp_config)]
    }
    assert.deepEqual(await given(without.app_conversation_id!), [[], []])
    assert.equal((await order('us/private')).status, 'ERROR')
    const keyed = await order('us/private', server.client)
    assert.deepEqual(await given(keyed.app_conversation_id!), [['NAMED', 'GITHUB_TOKEN'], ['tool']])
  })

  test('each failure ends the start with a reason a person understands, and nothing is left behind', async () => {
    await clean()
    git.hosted.set('us/private', { token: 'right' })
    await git.add('us/broken', 'echo x >a; git add -A; git commit -qm x', { answer: 500 })
    await git.add(
      'us/failing',
      'mkdir .openhands; printf "echo about to fail; exit 3" >.openhands/setup.sh; git add -A; git commit -qm x',
    )
    await useAsGithub(server, git, 'wrong-token-9876543210')
    const failing = async (order: { selected_repository: string; selected_branch?: string }, reason: RegExp) => {
      const task = await startOver(server, { ...order, git_provider: 'github' })
      assert.equal(task.status, 'ERROR', order.selected_repository)
      assert.match(task.detail ?? '', reason)
      assert.ok(!JSON.stringify(task).includes('wrong-token'))
      assert.equal(task.steps.at(-1)?.outcome, 'failed')
    }
    await failing({ selected_repository: 'us/private' }, /us\/private/)
    await failing({ selected_repository: 'us/none' }, /us\/none/)
    await failing({ selected_repository: 'us/open', selected_branch: 'nope' }, /nope/)
    await failing({ selected_repository: 'us/broken' }, /us\/broken/)
    await failing({ selected_repository: 'us/failing' }, /about to fail/)
    assert.equal(await server.client.countAppConversations(), 0)
    assert.deepEqual((await server.client.searchSandboxes()).items, [])
  })

  test('what it brings to be run runs by itself only where nothing is asked for; else by approval of that very text', async () => {
    const script = 'mkdir .openhands; echo "touch set-up" >.openhands/setup.sh; git add -A; git commit -qm x'
    await git.add('us/app', script)
    await using server = await TestServer.start(reaching(git))
    await useAsGithub(server, git)
    const order = { selected_repository: 'us/app', git_provider: 'github' as const }
    const look = (sandbox: string) => inside(server, sandbox, 'cd /workspace/project/app; ls set-up 2>/dev/null; true')
    assert.equal(await look((await started(server, order)).sandbox_id), 'set-up')
    await server.client.storeSettings({ body: { confirmation_mode: true } })
    const task = await startOver(server, order)
    assert.equal(task.status, 'READY', task.detail ?? '')
    assert.equal(await look(task.sandbox_id!), '')
    const step = task.steps.find(({ status }) => status === 'RUNNING_SETUP_SCRIPT')
    assert.equal(step?.outcome, 'refused')
    const sha256 = /[0-9a-f]{64}/.exec(step?.detail ?? '')?.[0]
    assert.ok(sha256, step?.detail ?? '')
    await server.client.approve({ params: { sha256 } })
    assert.equal(await look((await started(server, order)).sandbox_id), 'set-up')
  })
})

describe('app conversations', () => {
  test('are listed without ids, found by ids in order with null for the unknown, and refused by name when malformed', async () => {
    await clean()
    const [one, two] = [await started(server, { title: 'One' }), await started(server, { title: 'Two' })]
    const listed = await server.client.getAppConversations()
    assert.ok(!Array.isArray(listed))
    assert.deepEqual(
      listed.items.map(({ title }) => title),
      ['Two', 'One'],
    )
    assert.deepEqual(await server.client.searchAppConversations(), listed)
    const dashed = one.id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    const batch = await server.client.getAppConversations({ query: { ids: [dashed, hex(randomUUID()), two.id] } })
    assert.ok(Array.isArray(batch))
    assert.deepEqual(
      batch.map(item => item?.title ?? null),
      ['One', null, 'Two'],
    )
    const ask = (ids: string[]) => server.client.getAppConversations({ query: { ids } })
    await assert.rejects(ask([one.id, 'x', 'y']), refused(400, /Invalid UUID format for ids: \['x', 'y'\]/))
    await assert.rejects(ask(Array(101).fill(one.id)), refused(400, /Too many ids/))
    const page = await server.client.searchAppConversations({ query: { limit: 1 } })
    const next = await server.client.searchAppConversations({ query: { limit: 1, page_id: page.next_page_id } })
    assert.deepEqual([page.items[0]?.title, next.items[0]?.title, next.next_page_id], ['Two', 'One', null])
    for (const query of [
      { title__contains: 'on' },
      { created_at__lt: two.created_at },
      { sandbox_id__eq: one.sandbox_id },
    ]) {
      const { items } = await server.client.searchAppConversations({ query })
      assert.deepEqual(
        items.map(({ title }) => title),
        ['One'],
        JSON.stringify(query),
      )
      assert.equal(await server.client.countAppConversations({ query }), 1)
    }
  })

  test('a sub-conversation is where its parent is, hidden from lists unless asked for, and goes with it', async () => {
    await clean()
    const parent = await started(server, { llm_model: 'demo/guide' })
    const child = await started(server, { parent_conversation_id: parent.id, agent_type: 'plan' })
    assert.equal(child.sandbox_id, parent.sandbox_id)
    assert.equal(child.parent_conversation_id, parent.id)
    assert.deepEqual((await conversation(server, parent.id)).sub_conversation_ids, [child.id])
    const { agent, workspace } = await server.client.getConversation({ params: { conversation_id: child.id } })
    assert.deepEqual(
      agent.tools.map(({ name }) => name),
      ['glob', 'grep', 'planning_file_editor'],
    )
    assert.equal(workspace.working_dir, '/workspace/project')
    assert.equal(await server.client.countAppConversations(), 1)
    assert.equal(await server.client.countAppConversations({ query: { include_sub_conversations: true } }), 2)
    await server.client.deleteAppConversation({ params: { conversation_id: parent.id } })
    assert.equal(await server.client.countAppConversations({ query: { include_sub_conversations: true } }), 0)
    assert.deepEqual((await server.client.searchSandboxes()).items, [])
    await assert.rejects(
      server.client.deleteAppConversation({ params: { conversation_id: parent.id } }),
      refused(404, /not found/),
    )
  })

  test('a change touches what it names: null clears, and without a repository there is no branch', async () => {
    await clean()
    const { id } = await started(server, { title: 'Old', public: true, trigger: 'gui' })
    const change = (body: object) =>
      server.client.updateAppConversation({ params: { conversation_id: id }, body: body as never })
    const named = await change({ title: ' New ', selected_repository: 'a/b', selected_branch: 'main' })
    assert.deepEqual(
      [named.title, named.selected_repository, named.selected_branch, named.public, named.trigger],
      ['New', 'a/b', 'main', true, 'gui'],
    )
    const cleared = await change({ selected_repository: null, public: null })
    assert.deepEqual(
      [cleared.title, cleared.selected_repository, cleared.selected_branch, cleared.public],
      ['New', null, null, null],
    )
    assert.equal((await change({ title: null })).title, `Conversation ${id.slice(0, 5)}`)
    assert.equal((await change({ public: true })).title, `Conversation ${id.slice(0, 5)}`)
    await assert.rejects(change({ selected_repository: null, selected_branch: 'x' }), refused(422, /neither a branch/))
    await assert.rejects(change({ selected_repository: 'a;b/c' }), refused(422, /selected_repository/))
  })

  test('with grouping, conversations share a sandbox by the rule, each in a folder of its own, and it goes with the last', async () => {
    await using server = await TestServer.start()
    await server.client.storeAppSettings({ body: { sandbox_grouping_strategy: 'GROUP_BY_NEWEST' } as never })
    const [one, two] = [await started(server), await started(server)]
    assert.equal(two.sandbox_id, one.sandbox_id)
    const folders = await Promise.all(
      [one, two].map(async ({ id }) => {
        const info = await server.client.getConversation({ params: { conversation_id: id } })
        return info.workspace.working_dir
      }),
    )
    assert.deepEqual(folders, ['/workspace/project', `/workspace/project/${two.id}`])
    await server.client.deleteAppConversation({ params: { conversation_id: one.id } })
    assert.equal((await conversation(server, two.id)).sandbox_status, 'RUNNING')
    // Also by the other generation of the API.
    await server.client.deleteConversation({ params: { conversation_id: two.id } })
    assert.deepEqual((await server.client.searchSandboxes()).items, [])
  })

  test('a sandbox that somebody started themselves outlives the conversations in it', async () => {
    const { id } = await server.client.startSandbox()
    const found = await started(server, { sandbox_id: id })
    assert.equal(found.sandbox_id, id)
    await server.client.deleteAppConversation({ params: { conversation_id: found.id } })
    assert.equal((await server.client.batchSandboxes({ query: { id: [id] } }))[0]?.status, 'RUNNING')
    await server.client.deleteSandbox({ params: { sandbox_id: id } })
  })

  test('a message to a paused sandbox resumes it; to a missing one it says what to do, and that works', async () => {
    await clean()
    const { id, sandbox_id } = await started(server)
    await server.client.pauseSandbox({ params: { sandbox_id } })
    const paused = await conversation(server, id)
    assert.deepEqual([paused.sandbox_status, paused.conversation_url, paused.session_api_key], ['PAUSED', null, null])
    const send = (text: string) =>
      server.client.sendAppMessage({ params: { conversation_id: id }, body: { content: aMessage(text).content } })
    const answer = await send('Hello')
    assert.deepEqual([answer.success, answer.sandbox_status], [true, 'RUNNING'])
    assert.match(answer.message ?? '', /resumed/)
    await server.atRest(id)
    await server.client.deleteSandbox({ params: { sandbox_id } })
    await assert.rejects(send('again'), refused(410, /archived/))
    await assert.rejects(
      server.client.sendAppMessage({
        params: { conversation_id: randomUUID() },
        body: { content: aMessage('x').content },
      }),
      refused(404, /not found/),
    )
  })

  test('what waits for an answer is answered here too, and an action runs only then', async () => {
    await using rig = await AgentRig.start([call('terminal', { command: 'echo done >proof' }), finish('Done.')])
    const { server } = rig
    const llm = rig.model.llm()
    await server.client.updateSettings({
      body: {
        agent_settings_diff: { llm },
        conversation_settings_diff: { confirmation_mode: true, security_analyzer: 'none' },
      },
    })
    const { id, sandbox_id } = await started(server, { initial_message: aMessage('Prove it'), title: 'Proof' })
    const waiting = await server.atRest(id)
    assert.equal(waiting.execution_status, 'waiting_for_confirmation')
    assert.equal(await inside(server, sandbox_id, 'ls /workspace/project'), '')
    await server.client.confirmAppAction({ params: { conversation_id: id }, body: { accept: true } })
    await until('it has finished', async () => (await server.atRest(id)).execution_status === 'finished')
    assert.equal(await inside(server, sandbox_id, 'cat /workspace/project/proof'), 'done')
  })

  test('what is said before the conversation is there is said once, in order, when it is', async t => {
    if (!host) return t.skip(`${NO_GIT_SERVER}`)
    const git = host
    git.hosted.set('us/slow', { answer: 'nothing' })
    await using rig = await AgentRig.start(() => say('Heard.'), reaching(git))
    const { server } = rig
    await useAsGithub(server, git)
    await server.client.updateSettings({ body: { agent_settings_diff: { llm: rig.model.llm() } } })
    const { id } = await server.client.startAppConversation({
      body: { selected_repository: 'us/slow', git_provider: 'github' },
    })
    const queue = (to: string, text: string) =>
      rig.call('POST', `/api/v1/conversations/${to}/pending-messages`, { content: aMessage(text).content })
    const answers = []
    for (const text of ['one', 'two', 'three']) answers.push(await queue(`task-${id}`, text))
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.queued, body.position]),
      [1, 2, 3].map(position => [201, true, position]),
    )
    for (let i = 4; i <= 10; i++) await queue(`task-${id}`, `${i}`)
    const eleventh = await queue(`task-${id}`, 'too many')
    assert.equal(eleventh.status, 429)
    assert.match(eleventh.body.detail, /Too many pending messages. Maximum 10/)
    // Killed while they wait, and again while they may be under way.
    git.hosted.set('us/slow', {})
    await rig.restart('SIGKILL')
    const task = await over(rig.server, id)
    assert.equal(task.status, 'READY', task.detail ?? '')
    await rig.restart('SIGKILL')
    const conversation_id = task.app_conversation_id!
    const said = async () => {
      const { items } = await rig.server.client.searchEvents({
        params: { conversation_id },
        query: { kind: 'MessageEvent', source: 'user' },
      })
      return items.flatMap(event =>
        (event.kind === 'MessageEvent' ? event.llm_message.content : []).map(part => ('text' in part ? part.text : '')),
      )
    }
    const expected = ['one', 'two', 'three', '4', '5', '6', '7', '8', '9', '10']
    await until('all is said', async () => (await said()).length >= 10)
    assert.deepEqual(await said(), expected)
    // Once it is there, what is queued is said at once.
    assert.equal((await queue(conversation_id, 'eleven')).status, 201)
    assert.deepEqual(await said(), [...expected, 'eleven'])
    assert.equal((await queue(randomUUID(), 'x')).status, 404)
    assert.equal((await queue(`task-${randomUUID()}`, 'x')).status, 404)
    assert.equal((await queue('nonsense', 'x')).status, 400)
    assert.equal(
      (await rig.call('POST', `/api/v1/conversations/${conversation_id}/pending-messages`, { content: [] })).status,
      422,
    )
  })

  test('files, changes, skills, hooks and the whole as a ZIP are read through the conversation', async () => {
    await clean()
    const { id, sandbox_id } = await started(server, { initial_message: aMessage('Hello') })
    await server.atRest(id)
    const params = { conversation_id: id }
    await inside(server, sandbox_id, 'echo "the plan" >/workspace/project/PLAN.md')
    assert.equal(await server.client.readAppFile({ params }), 'the plan\n')
    await assert.rejects(
      server.client.readAppFile({ params, query: { file_path: '/workspace/none' } }),
      refused(404, /File not found/),
    )
    assert.deepEqual(await server.client.appGitChanges({ params }), [{ status: 'ADDED', path: 'PLAN.md' }])
    const diff = await server.client.appGitDiff({ params, query: { path: '/workspace/project/PLAN.md' } })
    assert.equal(diff.modified, 'the plan\n')
    assert.deepEqual(await server.client.listAppHooks({ params }), { hooks: [] })
    assert.ok(Array.isArray((await server.client.listAppSkills({ params })).skills))
    const zip = (await server.client.downloadAppConversation({ params })) as Response
    const bytes = Buffer.from(await zip.arrayBuffer()).toString('latin1')
    assert.match(zip.headers.get('content-disposition') ?? '', /conversation_.*\.zip/)
    assert.match(bytes, /event_000000_/)
    assert.match(bytes, /meta\.json/)
  })
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { AgentRig } from '../support/agent.ts'
import { GitServer, NO_GIT_SERVER } from '../support/git-server.ts'
import { say } from '../support/model-server.ts'
import { Random } from '../support/random.ts'
import { aMessage, count } from '../support/server.ts'
import { inside, over, reaching, useAsGithub } from '../support/starts.ts'
import { until } from '../support/wait.ts'

const KILLS = count({ sample: 3, deep: 60 })
/** Longer than a start takes. */
const SPAN_MS = 700

test(`P4: a server killed at ${KILLS} points of a start goes on with it: one conversation in one sandbox, or neither`, async t => {
  if (NO_GIT_SERVER) return t.skip(NO_GIT_SERVER)
  const random = new Random()
  t.diagnostic(`seed ${random.seed}`)
  await using git = await GitServer.open()
  const setUp = 'mkdir .openhands; echo "echo x >>made" >.openhands/setup.sh; git add -A; git commit -qm x'
  await git.add('us/app', setUp, { token: 'the-token' })
  await git.add('us/bad', 'mkdir .openhands; echo exit 1 >.openhands/setup.sh; git add -A; git commit -qm x')
  await using rig = await AgentRig.start(() => say('Heard.'), reaching(git))
  await useAsGithub(rig.server, git, 'the-token')
  await rig.server.client.updateSettings({ body: { agent_settings_diff: { llm: rig.model.llm() } } })
  const outcomes = { READY: 0, ERROR: 0 }
  for (let kill = 0; kill < KILLS; kill++) {
    const repository = random.pick(['us/app', 'us/app', 'us/bad', null])
    const body = {
      ...(repository && { selected_repository: repository, git_provider: 'github' as const }),
      initial_message: aMessage('Hello'),
      title: 'Crash',
    }
    const headers = { 'idempotency-key': randomUUID() }
    const ordered = rig.server.client.startAppConversation({ body, headers }).catch(() => undefined)
    const after = random.int(SPAN_MS)
    // The moment is the test's subject, not a wait for a condition.
    await new Promise(resolve => setTimeout(resolve, after))
    await rig.restart('SIGKILL')
    const told = await ordered
    const { id } = await rig.server.client.startAppConversation({ body, headers })
    const where = `seed ${random.seed}, kill ${kill} after ${after} ms of ${repository}`
    if (told) assert.equal(id, told.id, where)
    const task = await over(rig.server, id)
    assert.equal(task.status, repository === 'us/bad' ? 'ERROR' : 'READY', `${where}: ${task.detail}`)
    outcomes[task.status as 'READY'] += 1
    const { items } = await rig.server.client.searchAppConversations()
    const sandboxes = await rig.server.client.searchSandboxes()
    if (task.status === 'ERROR') {
      assert.deepEqual([items.length, sandboxes.items.length], [0, 0], where)
      continue
    }
    assert.deepEqual(
      items.map(item => item.id),
      [task.app_conversation_id],
      where,
    )
    assert.deepEqual(
      sandboxes.items.map(sandbox => [sandbox.id, sandbox.status]),
      [[task.sandbox_id, 'RUNNING']],
      where,
    )
    const conversation_id = items[0]!.id
    await until('the first message is answered', async () => {
      const info = await rig.server.client.getConversation({ params: { conversation_id } })
      return info.execution_status === 'finished' || info.execution_status === 'idle'
    })
    const said = await rig.server.client.countEvents({
      params: { conversation_id },
      query: { kind: 'MessageEvent', source: 'user' },
    })
    assert.equal(said, 1, where)
    if (repository)
      assert.match(
        await inside(rig.server, task.sandbox_id!, 'cd /workspace/project/app && git status -sb && cat made'),
        /x/,
      )
    await rig.server.client.deleteAppConversation({ params: { conversation_id } })
    assert.deepEqual((await rig.server.client.searchSandboxes()).items, [], where)
  }
  t.diagnostic(JSON.stringify(outcomes))
})

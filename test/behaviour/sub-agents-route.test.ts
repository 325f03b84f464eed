import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { SubAgentInfo } from '../../src/api/sub-agents.ts'
import { writing } from '../support/packages.ts'
import { TestServer } from '../support/server.ts'

let server: TestServer
before(async () => {
  server = await TestServer.start()
  await mkdir(join(server.data, 'agents'))
  const user = {
    'reviewer.md': 'The user reviews.',
    'tester.md': '---\nname: tester\n---\nThe user tests.',
    'x.txt': 'no',
  }
  for (const [name, text] of Object.entries(user)) await writeFile(join(server.data, 'agents', name), text)
  const project = {
    '.agents/agents/reviewer.md': `---
name: reviewer
description: >
  Reviews code.
  <example>after a change</example>
tools: [read_file, grep]
model: inherit
max_iteration_per_run: 7
mood: good
---
The project reviews.`,
    '.agents/agents/README.md': 'no agent',
    '.agents/agents/broken.md': '---\nnever ends',
    '.openhands/agents/reviewer.md': 'Too late.',
    '.openhands/agents/older.md': 'Older.',
  }
  const command = `mkdir -p /workspace/p && cd /workspace/p && ${writing(project)}`
  const { exit_code } = await server.client.executeBashCommand({ body: { command } })
  assert.equal(exit_code, 0)
})
after(() => server[Symbol.asyncDispose]())

const list = async (body: object): Promise<SubAgentInfo[]> => (await server.anonymous.listSubAgents({ body })).agents
const brief = (agents: SubAgentInfo[]) => agents.map(({ name, level, system_prompt }) => [name, level, system_prompt])

test("a project's sub-agents come before the user's, and those before the server's; one for each name", async () => {
  const all = brief(await list({ project_dir: '/workspace/p' }))
  assert.deepEqual(all, [
    ['reviewer', 'project', 'The project reviews.'],
    ['older', 'project', 'Older.'],
    ['tester', 'user', 'The user tests.'],
    ['general-purpose', 'builtin', ''],
  ])
})

test('only those are listed that were asked for', async () => {
  assert.deepEqual(brief(await list({ load_builtin: false })), [
    ['reviewer', 'user', 'The user reviews.'],
    ['tester', 'user', 'The user tests.'],
  ])
  assert.deepEqual(await list({ load_user: false, load_builtin: false, project_dir: '/workspace/absent' }), [])
  const [builtIn] = await list({ load_user: false, load_project: false, project_dir: '/workspace/p' })
  assert.deepEqual([builtIn!.is_builtin, builtIn!.source], [true, null])
})

test('everything that stands in the head of a file is told', async () => {
  const [reviewer] = await list({ project_dir: '/workspace/p', load_user: false })
  assert.deepEqual(
    [reviewer!.tools, reviewer!.max_iteration_per_run, reviewer!.when_to_use_examples, reviewer!.metadata],
    [['read_file', 'grep'], 7, ['after a change'], { mood: 'good' }],
  )
  assert.equal(reviewer!.source, '/workspace/p/.agents/agents/reviewer.md')
})

import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { AgentRig } from '../support/agent.ts'
import { NO_WALLS } from '../support/hands.ts'
import { NO_PYTHON } from '../support/inside.ts'
import { stdio } from '../support/mcp-stdio.ts'
import { type Seen, say } from '../support/model-server.ts'

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

test('approvals are given, listed with what and when, kept over a crash, and withdrawn', async () => {
  const [one, other] = [hashOf('one'), hashOf('other')]
  const { status, body } = await rig.call('PUT', `/api/v1/approvals/${one}`, { what: 'setup.sh of ann/app' })
  assert.equal(status, 200)
  assert.deepEqual([body.sha256, body.what], [one, 'setup.sh of ann/app'])
  assert.match(body.approved_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  assert.equal((await rig.call('PUT', `/api/v1/approvals/${other}`)).body.what, null)
  await rig.restart('SIGKILL')
  const listed = async () => (await rig.call('GET', '/api/v1/approvals')).body.approvals
  assert.deepEqual((await listed())[0], body)
  assert.equal((await rig.call('DELETE', `/api/v1/approvals/${one}`)).status, 200)
  assert.equal((await rig.call('DELETE', `/api/v1/approvals/${one}`)).status, 404)
  assert.deepEqual(
    (await listed()).map(({ sha256 }: { sha256: string }) => sha256),
    [other],
  )
})

test('what is no hash is refused, and nobody approves without the key', async () => {
  for (const wrong of ['abc', hashOf('x').toUpperCase(), `${hashOf('x')}0`, '__proto__'])
    assert.equal((await rig.call('PUT', `/api/v1/approvals/${wrong}`)).status, 422, wrong)
  const url = `${rig.server.url}/api/v1/approvals/${hashOf('x')}`
  for (const method of ['PUT', 'DELETE']) assert.equal((await fetch(url, { method })).status, 401)
  assert.equal((await fetch(`${rig.server.url}/api/v1/approvals`)).status, 401)
})

test('a skill of a project brings its MCP server once its text is approved, and not when it was edited', {
  skip: NO_WALLS || NO_PYTHON,
}, async () => {
  const folder = `/workspace/${randomUUID()}`
  const { command, args } = stdio('good')
  const text = `---\nname: brought\nmcp_tools:\n  helper:\n    command: ${command}\n    args: ${JSON.stringify(args)}\n---\nUse the helper.\n`
  const path = `${folder}/.openhands/skills/brought.md`
  const write = async (content: string) => {
    const script = `mkdir -p ${folder}/.openhands/skills; echo ${Buffer.from(content).toString('base64')} | base64 -d >${path}; sha256sum <${path}`
    const { body } = await rig.call('POST', '/api/bash/execute_bash_command', { command: script })
    return (body.stdout as string).slice(0, 64)
  }
  const tools = async (): Promise<string[]> => {
    const asked: Seen[] = []
    const talk = await rig.begin({
      say: 'go',
      workspace: { working_dir: folder },
      agent: { agent_context: { load_project_skills: true } },
      script: seen => {
        asked.push(seen)
        return say('ok')
      },
    })
    await talk.comesTo('finished')
    assert.match(JSON.stringify(asked[0]!.messages), /Use the helper\./)
    return asked[0]!.body.tools.map((tool: { function: { name: string } }) => tool.function.name)
  }
  const sha256 = await write(text)
  assert.equal(sha256, hashOf(text))
  assert.ok(!(await tools()).includes('echo'))
  await rig.call('PUT', `/api/v1/approvals/${sha256}`, { what: path })
  assert.ok((await tools()).includes('echo'))
  await write(`${text}And more.\n`)
  assert.ok(!(await tools()).includes('echo'))
})

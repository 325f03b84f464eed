import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Authorizing } from '../support/mcp-authorization.ts'
import { Listener, streamable } from '../support/mcp-http.ts'
import { watched } from '../support/npm-client.ts'
import { unused } from '../support/npm-client-table.ts'
import { sh, writing } from '../support/packages.ts'
import { TestServer } from '../support/server.ts'

const { npm, called } = watched()

const FILES = {
  'skill/SKILL.md': '---\nname: greeting\ndescription: How to greet.\nversion: 1.0.0\n---\nSay hello.',
  'plugin/.claude-plugin/plugin.json': JSON.stringify({ name: 'weather', version: '2.0.0', description: 'The sky.' }),
  'plugin/commands/now.md': 'Tell the weather.',
  'project/.agents/skills/local/SKILL.md': '---\nname: local\ndescription: Of the project.\n---\nDo so.',
  'project/.agents/agents/reviewer.md': '---\nname: reviewer\ndescription: Reviews.\n---\nYou review.',
  'project/.openhands/hooks.json': JSON.stringify({ Stop: [{ hooks: [{ command: 'true' }] }] }),
}
const project_dir = '/workspace/project'

let server: TestServer
let options: { host: string; apiKey: string }
before(async () => {
  server = await TestServer.start({ env: { SESSION_API_KEY: 'the-key-of-this-server' } })
  options = { host: server.url, apiKey: server.key }
  await sh(server, writing(FILES, '/workspace'))
})
after(() => server[Symbol.asyncDispose]())

const missing = { name: 'HttpError', status: 404 }

describe('the published npm client and what agents are given', () => {
  test('reads, installs, switches, refreshes and removes skills', async () => {
    const client = new npm.SkillsClient(options)
    const { skills, sources } = await client.getSkills({ load_public: false, load_user: true, project_dir })
    const local = skills.find(({ name }) => name === 'local')
    assert.deepEqual([local?.type, local?.triggers, local?.description], ['agentskills', [], 'Of the project.'])
    assert.equal(sources.project, 1)
    assert.equal((await client.syncSkills()).status, 'success')
    const installed = await client.installSkill({
      source: '/workspace/skill',
      force: false,
      ref: null,
      repo_path: null,
    })
    assert.deepEqual([installed.name, installed.version, installed.enabled], ['greeting', '1.0.0', true])
    assert.deepEqual(await client.getInstalledSkill('greeting'), installed)
    assert.deepEqual(await client.toggleSkill('greeting', false), { name: 'greeting', enabled: false })
    assert.equal((await client.refreshSkill('greeting')).skill.name, 'greeting')
    const [listed] = (await client.listInstalledSkills()).skills
    assert.deepEqual([listed?.name, listed?.enabled], ['greeting', false])
    assert.deepEqual(await client.getMarketplace(), { skills: [] })
    assert.match((await client.uninstallSkill('greeting')).message, /greeting/)
    await assert.rejects(client.getInstalledSkill('greeting'), missing)
    client.close()
  })

  test('reads, installs, switches, refreshes and removes plugins', async () => {
    const client = new npm.PluginsClient(options)
    const installed = await client.installPlugin({ source: '/workspace/plugin' })
    assert.deepEqual([installed.name, installed.version, installed.description], ['weather', '2.0.0', 'The sky.'])
    assert.deepEqual(await client.getInstalledPlugin('weather'), installed)
    assert.deepEqual(await client.setPluginEnabled('weather', false), { name: 'weather', enabled: false })
    await client.setPluginEnabled('weather', true)
    assert.equal((await client.refreshPlugin('weather')).plugin.name, 'weather')
    assert.equal((await client.listInstalledPlugins()).plugins[0]?.install_path, installed.install_path)
    const { plugins } = await client.getPlugins({ load_user: true, load_project: true, project_dir })
    assert.deepEqual(plugins[0]?.name, 'weather')
    assert.deepEqual(await client.getPluginsMarketplace(), { plugins: [] })
    assert.match((await client.uninstallPlugin('weather')).message, /weather/)
    await assert.rejects(client.getInstalledPlugin('weather'), missing)
    client.close()
  })

  test('reads sub-agents, hooks that somebody approved, and the tools that can be named', async () => {
    const agents = new npm.SubAgentsClient(options)
    const [reviewer, ...others] = (await agents.getSubAgents({ project_dir })).agents
    assert.deepEqual([reviewer?.name, reviewer?.level, reviewer?.is_builtin], ['reviewer', 'project', false])
    assert.ok(others.some(({ is_builtin }) => is_builtin))
    agents.close()
    const hooks = new npm.HooksClient(options)
    assert.deepEqual(await hooks.loadHooks({ project_dir }), { hook_config: null })
    hooks.close()
    const tools = new npm.ToolClient(options)
    const listed = await tools.listTools()
    for (const name of ['terminal', 'file_editor']) assert.ok(listed.includes(name), `${name} in ${listed}`)
    tools.close()
  })

  test('orders a conversation with hooks as it writes them, and reads them back', async () => {
    const hook = { type: 'command', command: 'true', timeout: 5 }
    const hooks = { PreToolUse: [{ matcher: 'terminal', hooks: [hook] }] }
    const hookConfig = npm.hookConfigFromData({ hooks } as never)
    const workspace = new npm.RemoteWorkspace({ ...options, workingDir: '/workspace' })
    const agent = new npm.Agent({ llm: { model: 'demo/guide' } as never })
    const conversation = new npm.Conversation(agent, workspace, { hookConfig })
    await conversation.start()
    const kept = npm.hookConfigToJSON((await conversation.getHookConfig())!)
    assert.partialDeepStrictEqual(kept, npm.hookConfigToJSON(hookConfig))
    assert.deepEqual(Object.keys(kept), ['pre_tool_use'])
    await conversation.close()
  })

  test('tries MCP servers out', async () => {
    await using listener = await Listener.start(streamable())
    const client = new npm.MCPClient(options)
    const tool_call = { name: 'shout', arguments: { text: 'hey' } }
    const tried = await client.testServer({ server: { type: 'shttp', url: listener.url }, timeout: 5, tool_call })
    assert.ok(tried.ok && tried.tools?.includes('shout'))
    assert.deepEqual(tried.tool_result, { is_error: false, text: 'HEY' })
    await listener.down()
    const lost = await client.testServer({ server: { type: 'http', url: listener.url }, name: 'lost' })
    assert.ok(!lost.ok && lost.error_kind === 'connection')
    client.close()
  })

  test('logs in at one, and hands the way back over', async () => {
    await using guarded = await Authorizing.start()
    const client = new npm.MCPClient(options)
    const { job_id, authorization_url } = await client.startOAuth({
      name: 'guarded',
      server: { type: 'http', url: guarded.listener.url, auth: { strategy: 'oauth2' } },
    })
    const { status, callback_ready } = await client.getOAuthStatus(job_id!)
    assert.deepEqual([status, callback_ready], ['authorizing', true])
    const callback_url = await guarded.approve(authorization_url!)
    const done = await client.submitOAuthCallback(job_id!, { callback_url })
    assert.deepEqual([done.status, done.tools?.[0]], ['succeeded', 'shout'])
    await assert.rejects(client.getOAuthStatus('unknown'), missing)
  })

  test('does here all that the table says', () => assert.deepEqual(unused(called, 'library'), []))
})

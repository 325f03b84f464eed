import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { MAX_AGENT_PROFILES } from '../../src/api/agent-profiles.ts'
import { createClient } from '../../src/api/client.ts'
import { AgentRig, Talk } from '../support/agent.ts'
import { Canaries } from '../support/canary.ts'
import { say } from '../support/model-server.ts'
import { TestServer } from '../support/server.ts'
import { over, startOver } from '../support/starts.ts'

const PATH = '/api/agent-profiles'
const FAST = { llm_profile_ref: 'fast' }
const canaries = new Canaries()

/** A server with a model that answers, its LLM profile `fast` and two MCP servers. */
const prepared = async () => {
  const rig = await AgentRig.start(() => say('Hello.'))
  const key = canaries.make('api_key')
  const llm = rig.model.llm({ model: 'openai/fast', api_key: key })
  await rig.call('POST', '/api/profiles/fast', { llm })
  const mcp = (name: string) => ({ url: `https://${name}.example`, headers: { A: canaries.make('mcp header') } })
  const diff = { mcp_config: { one: mcp('one'), two: mcp('two') } }
  assert.equal((await rig.call('PATCH', '/api/settings', { agent_settings_diff: diff })).status, 200)
  const call = async (method: string, path = '', body?: unknown) => rig.call(method, `${PATH}${path}`, body)
  return {
    rig,
    key,
    call,
    list: async () => (await call('GET')).body,
    save: (name: string, profile: object = FAST) => call('POST', `/${name}`, profile),
    get: async (name: string) => (await call('GET', `/${name}`)).body.profile,
    idOf: async (name: string): Promise<string> => (await call('GET', `/${name}`)).body.profile.id,
    start: (agent_profile_id: string, more: object = {}) =>
      rig.call('POST', '/api/conversations', { ...ANYWHERE, agent_profile_id, ...more }),
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  }
}

const ANYWHERE = { workspace: { working_dir: '/workspace' }, autotitle: false }

let it: Awaited<ReturnType<typeof prepared>>
before(async () => {
  it = await prepared()
})
after(() => it[Symbol.asyncDispose]())

describe('on a fresh server', () => {
  test('one agent profile is there and active: what the settings say, also after they changed', async () => {
    await using server = await TestServer.start()
    const { client } = server
    const list = await client.listAgentProfiles()
    assert.deepEqual(
      list.profiles.map(({ name, revision, llm_profile_ref }) => [name, revision, llm_profile_ref]),
      [['default', 0, 'demo']],
    )
    assert.equal(list.active_agent_profile_id, list.profiles[0]!.id)
    const { name, profile } = await client.getAgentProfile({ params: { name: 'default' } })
    assert.deepEqual([name, profile.id, profile.agent_kind], ['default', list.active_agent_profile_id, 'openhands'])

    const llm = { model: 'openai/a', api_key: 'sk-a' }
    const settings = { llm, enable_sub_agents: true, agent_context: { system_message_suffix: 'Be brief.' } }
    await client.updateSettings({ body: { agent_settings_diff: settings } })
    const { profile: now } = await client.getAgentProfile({ params: { name: 'default' } })
    assert.ok(now.agent_kind === 'openhands')
    assert.deepEqual(
      [now.id, now.llm_profile_ref, now.enable_sub_agents, now.system_message_suffix],
      [profile.id, 'default', true, 'Be brief.'],
    )
    const info = await client.startConversation({ body: { ...ANYWHERE, agent_profile_id: now.id } })
    assert.deepEqual([info.agent.llm.model, info.agent.agent_context?.system_message_suffix], ['openai/a', 'Be brief.'])
    await client.updateSettings({ body: { agent_settings_diff: { agent_kind: 'acp', acp_command: ['my', 'agent'] } } })
    const { profile: acp } = await client.getAgentProfile({ params: { name: 'default' } })
    assert.ok(acp.agent_kind === 'acp')
    assert.deepEqual([acp.id, acp.acp_command], [profile.id, 'my agent'])
  })
})

describe('an agent profile', () => {
  test('is stored, read, changed, renamed, activated and deleted; its id stays, its revision grows', async () => {
    const sent = { ...FAST, name: 'another', id: randomUUID(), revision: 7, tools: [{ name: 'terminal' }] }
    const saved = await it.save('mine', sent)
    assert.deepEqual([saved.status, saved.body], [201, { name: 'mine', message: "Agent profile 'mine' saved" }])
    const first = await it.get('mine')
    assert.deepEqual([first.name, first.revision, first.schema_version], ['mine', 0, 2])
    assert.deepEqual(
      [first.tools, first.mcp_server_refs, first.disabled_skills],
      [[{ name: 'terminal', params: {} }], null, []],
    )
    assert.notEqual(first.id, sent.id)

    await it.save('mine', { ...first, enable_sub_agents: true, mcp_server_refs: ['one'] })
    const second = await it.get('mine')
    assert.deepEqual(second, { ...first, revision: 1, enable_sub_agents: true, mcp_server_refs: ['one'] })

    const activated = await it.call('POST', `/${first.id}/activate`)
    assert.deepEqual(
      [activated.status, activated.body.id, activated.body.agent_settings_applied],
      [200, first.id, false],
    )
    assert.equal((await it.rig.call('GET', '/api/settings')).body.active_agent_profile_id, first.id)
    assert.equal((await it.call('POST', '/mine/rename', { new_name: 'ours' })).body.name, 'ours')
    const { profiles, active_agent_profile_id } = await it.list()
    assert.equal(active_agent_profile_id, first.id)
    assert.deepEqual(profiles[1], {
      id: first.id,
      name: 'ours',
      agent_kind: 'openhands',
      revision: 1,
      llm_profile_ref: 'fast',
      mcp_server_refs: ['one'],
    })
    assert.deepEqual(await it.get('ours'), { ...second, name: 'ours' })

    for (const message of ["Agent profile 'ours' deleted", "No agent profile 'ours' is stored"]) {
      const deleted = await it.call('DELETE', '/ours')
      assert.deepEqual([deleted.status, deleted.body], [200, { name: 'ours', message }])
    }
    const after = await it.list()
    assert.deepEqual([after.profiles.length, after.active_agent_profile_id], [1, after.profiles[0].id])
    assert.equal((await it.rig.call('GET', '/api/settings')).body.active_agent_profile_id, null)
  })

  test('of the name that is built in takes its place, under its id too, and is active under any name', async () => {
    const { active_agent_profile_id: builtIn } = await it.list()
    assert.equal((await it.call('POST', '/default/rename', { new_name: 'x' })).status, 409)
    await it.save('default', { ...FAST, system_message_suffix: 'Stored.' })
    const { id } = await it.get('default')
    assert.equal((await it.list()).active_agent_profile_id, id)
    assert.equal((await it.start(builtIn)).body.launched_agent_profile.agent_profile_id, id)
    await it.call('POST', '/default/rename', { new_name: 'was-default' })
    const { profiles, active_agent_profile_id } = await it.list()
    assert.deepEqual(
      [profiles.map(({ name }: { name: string }) => name), active_agent_profile_id],
      [['default', 'was-default'], id],
    )
    await it.call('DELETE', '/was-default')
    assert.equal((await it.list()).active_agent_profile_id, builtIn)
  })

  test('that makes no sense is refused, and so is a key nobody knows', async () => {
    const wrong: object[] = [
      {},
      { llm_profile_ref: '' },
      { ...FAST, more: 1 },
      { ...FAST, api_key: 'sk' },
      { ...FAST, agent_kind: 'nobody' },
      { ...FAST, agent_kind: 'acp' },
      { ...FAST, tool_concurrency_limit: 0 },
      { ...FAST, condenser: { max_size: 3 } },
      { ...FAST, id: 'no uuid' },
      { agent_kind: 'acp', acp_server: 'nobody' },
    ]
    for (const profile of wrong) {
      const { status, body } = await it.save('wrong', profile)
      assert.equal(status, 422, JSON.stringify(profile))
      assert.ok(Array.isArray(body.detail))
    }
    for (const name of ['__proto__', '-a', 'a b', 'a'.repeat(65)])
      assert.equal((await it.save(encodeURIComponent(name))).status, 422, name)
    for (const name of ['wrong', 'constructor', 'toString']) {
      assert.equal((await it.call('GET', `/${name}`)).status, 404, name)
      assert.equal((await it.call('POST', `/${name}/materialize`)).status, 404, name)
      assert.equal((await it.call('POST', `/${name}/rename`, { new_name: 'x' })).status, 404, name)
    }
    for (const id of [randomUUID(), 'default', 'constructor'])
      assert.equal((await it.call('POST', `/${id}/activate`)).status, 404, id)
    assert.equal((await it.list()).profiles.length, 1)
  })

  test('is not renamed onto another', async () => {
    await Promise.all(['one', 'two'].map(name => it.save(name)))
    const { status, body } = await it.call('POST', '/one/rename', { new_name: 'two' })
    assert.deepEqual([status, body.detail], [409, "Agent profile 'two' already exists"])
    assert.equal((await it.call('POST', '/one/rename', { new_name: 'one' })).status, 200)
    await Promise.all(['one', 'two'].map(name => it.call('DELETE', `/${name}`)))
  })

  test(`is the ${MAX_AGENT_PROFILES}th at most, also when more come at once; there it can still be replaced`, async () => {
    const names = Array.from({ length: MAX_AGENT_PROFILES + 2 }, (_, n) => `p${n}`)
    const all = await Promise.all(names.map(async name => ({ name, status: (await it.save(name)).status })))
    assert.equal(all.filter(({ status }) => status === 409).length, 2)
    const stored = all.flatMap(({ name, status }) => (status === 201 ? [name] : []))
    assert.equal((await it.save(stored[0]!)).status, 201)
    await Promise.all(stored.map(name => it.call('DELETE', `/${name}`)))
  })
})

describe('a conversation that names an agent profile', () => {
  test('gets the agent it describes, with the key of its LLM profile, and says which it was', async () => {
    await it.save('builder', {
      ...FAST,
      tools: [{ name: 'terminal' }],
      system_message_suffix: 'Build.',
      disabled_skills: ['boring'],
      condenser: { enabled: false },
      enable_switch_llm_tool: false,
      tool_concurrency_limit: 3,
    })
    await it.save('builder', await it.get('builder'))
    const id = await it.idOf('builder')
    const message = { content: [{ type: 'text', text: 'Hello?' }] }
    const { status, body } = await it.start(id, { initial_message: message })
    assert.equal(status, 201, JSON.stringify(body))
    assert.deepEqual(body.launched_agent_profile, { agent_profile_id: id, revision: 1 })
    const { agent } = body
    assert.deepEqual(
      [
        agent.llm.model,
        agent.llm.stream,
        agent.llm.api_key,
        agent.tools,
        agent.condenser,
        agent.tool_concurrency_limit,
      ],
      ['openai/fast', true, null, [{ name: 'terminal', params: {} }], null, 3],
    )
    const { system_message_suffix, disabled_skills, load_user_skills, load_project_skills } = agent.agent_context
    assert.deepEqual(
      [system_message_suffix, disabled_skills, load_user_skills, load_project_skills],
      ['Build.', ['boring'], true, true],
    )
    assert.deepEqual(agent.include_default_tools, ['FinishTool', 'ThinkTool'])
    assert.deepEqual(Object.keys(agent.mcp_config), ['one', 'two'])
    await it.rig.server.atRest(body.id)
    const talk = new Talk(it.rig, body.id, 'fast')
    assert.deepEqual(
      talk.questions.map(({ headers }) => headers.authorization),
      [`Bearer ${it.key}`],
    )
    assert.match(JSON.stringify(talk.questions[0]!.messages), /Build\./)

    await it.call('DELETE', '/builder')
    const again = await it.rig.call('GET', `/api/conversations/${body.id}`)
    assert.deepEqual(again.body.launched_agent_profile, { agent_profile_id: id, revision: 1 })
  })

  test('gets all MCP servers, those that are named, or none; and none without the key', async () => {
    const cases: [string[] | null, string[]][] = [
      [null, ['one', 'two']],
      [['two'], ['two']],
      [[], []],
    ]
    for (const [mcp_server_refs, keys] of cases) {
      await it.save('tooled', { ...FAST, mcp_server_refs })
      const { body } = await it.start(await it.idOf('tooled'))
      assert.deepEqual(Object.keys(body.agent.mcp_config), keys)
      assert.deepEqual((await it.call('POST', '/tooled/materialize')).body.resolved_mcp_config_keys, keys)
    }
    await it.save('tooled', FAST)
    const order = { ...ANYWHERE, agent_profile_id: await it.idOf('tooled') }
    const { agent } = await it.rig.server.anonymous.startConversation({ body: order })
    assert.deepEqual([agent.llm.model, agent.mcp_config], ['openai/fast', {}])
    await it.call('DELETE', '/tooled')
  })

  test('is refused, with what is missing by name', async () => {
    assert.equal((await it.start(randomUUID())).status, 404)
    await it.save('broken', { ...FAST, mcp_server_refs: ['one', 'gone', 'lost'] })
    const dangling = await it.start(await it.idOf('broken'))
    assert.equal(dangling.status, 422)
    assert.deepEqual(dangling.body.detail.dangling_mcp_server_refs, ['gone', 'lost'])
    assert.match(dangling.body.detail.message, /gone, lost/)
    await it.save('broken', { llm_profile_ref: 'gone' })
    const modelless = await it.start(await it.idOf('broken'))
    assert.deepEqual([modelless.status, modelless.body.detail], [404, "Profile 'gone' not found"])
    for (const profile of [{ ...FAST, tools: [{ name: 'teleport' }] }, { agent_kind: 'acp' }]) {
      await it.save('broken', profile)
      assert.equal((await it.start(await it.idOf('broken'))).status, 422)
    }
    await it.call('DELETE', '/broken')
  })
})

describe('what would become of an agent profile', () => {
  test('is told, or all that is missing', async () => {
    await it.save('good', { ...FAST, mcp_server_refs: ['one'], disabled_skills: ['boring'] })
    const good = (await it.call('POST', '/good/materialize')).body
    const { resolved_settings, ...found } = good
    assert.deepEqual(found, {
      agent_kind: 'openhands',
      valid: true,
      errors: [],
      llm_profile_ref: 'fast',
      llm_profile_resolved: true,
      llm_api_key_set: true,
      mcp_server_refs: ['one'],
      resolved_mcp_config_keys: ['one'],
      dangling_mcp_server_refs: [],
      disabled_skills: ['boring'],
      resolved_skills: [],
      acp_api_key_secret_name: null,
      acp_base_url_secret_name: null,
      acp_file_secret_names: [],
    })
    assert.deepEqual([resolved_settings.llm.model, Object.keys(resolved_settings.mcp_config)], ['openai/fast', ['one']])

    await it.save('bad', { llm_profile_ref: 'gone', mcp_server_refs: ['lost', 'two'] })
    const bad = (await it.call('POST', '/bad/materialize')).body
    assert.deepEqual(
      [bad.valid, bad.llm_profile_resolved, bad.resolved_mcp_config_keys, bad.dangling_mcp_server_refs],
      [false, false, ['two'], ['lost']],
    )
    assert.match(bad.errors.join(), /'lost'.*'gone'/)
    assert.equal(bad.resolved_settings, null)
    await it.save('odd', { ...FAST, tools: [{ name: 'teleport' }] })
    assert.match((await it.call('POST', '/odd/materialize')).body.errors.join(), /teleport/)
    await it.save('acp', { agent_kind: 'acp' })
    assert.match((await it.call('POST', '/acp/materialize')).body.errors.join(), /ACP/)
    await Promise.all(['good', 'bad', 'odd', 'acp'].map(name => it.call('DELETE', `/${name}`)))
  })
})

describe('an LLM profile that an agent profile names', () => {
  test('stays, for both generations, and takes the agent profile along when it is renamed', async () => {
    const llm = it.rig.model.llm({ model: 'openai/named' })
    await it.rig.call('POST', '/api/profiles/named', { llm })
    await it.rig.call('POST', '/api/profiles/named/activate')
    await it.save('holder', { llm_profile_ref: 'named' })
    for (const path of ['/api/profiles/named', '/api/v1/settings/profiles/named']) {
      const { status, body } = await it.rig.call('DELETE', path)
      assert.equal(status, 409, path)
      assert.match(body.detail, /holder/)
    }
    assert.equal((await it.rig.call('GET', '/api/profiles')).body.active_profile, 'named')
    await it.rig.call('POST', '/api/profiles/named/rename', { new_name: 'renamed' })
    const { llm_profile_ref, revision } = await it.get('holder')
    assert.deepEqual([llm_profile_ref, revision], ['renamed', 0])
    assert.equal((await it.call('POST', '/holder/materialize')).body.valid, true)
    await it.call('DELETE', '/holder')
    assert.equal((await it.rig.call('DELETE', '/api/profiles/renamed')).status, 200)
  })
})

describe('a conversation that a person orders', () => {
  const order = async (body: object) => {
    const task = await startOver(it.rig.server, body)
    assert.equal(task.status, 'READY', task.detail ?? '')
    const info = (await it.rig.call('GET', `/api/conversations/${task.app_conversation_id}`)).body
    const [shown] = (await it.rig.call('GET', `/api/v1/app-conversations?ids=${task.app_conversation_id}`)).body
    return { info, shown }
  }

  test('gets the agent profile it names, else the active one, else what the settings say', async () => {
    await it.save('named', { ...FAST, system_message_suffix: 'Named.' })
    await it.save('active', { ...FAST, system_message_suffix: 'Active.' })
    const named = await it.idOf('named')
    const active = await it.idOf('active')
    const plain = await order({})
    assert.deepEqual([plain.shown.launched_agent_profile, plain.shown.tags], [null, {}])

    await it.call('POST', `/${active}/activate`)
    const byActive = await order({})
    assert.equal(byActive.info.agent.agent_context.system_message_suffix, 'Active.')
    assert.equal(byActive.shown.launched_agent_profile.agent_profile_id, active)

    const { info, shown } = await order({
      agent_profile_id: named,
      tags: { mine: 'x' },
      system_message_suffix: 'More.',
    })
    assert.equal(info.agent.agent_context.system_message_suffix, 'Named.\n\nMore.')
    assert.deepEqual(shown.launched_agent_profile, { agent_profile_id: named, revision: 0 })
    assert.deepEqual(info.launched_agent_profile, shown.launched_agent_profile)
    assert.deepEqual(shown.tags, { mine: 'x', agentprofileid: named, agentprofilerevision: '0' })

    await it.call('DELETE', '/active')
    await it.call('DELETE', '/named')
    const confined = createClient({ baseUrl: it.rig.server.url, key: shown.session_api_key })
    const { active_agent_profile_id: builtIn } = await it.list()
    const byItself = confined.startConversation({ body: { ...ANYWHERE, agent_profile_id: builtIn } })
    await assert.rejects(
      byItself,
      /404.*agent_profile_not_found/,
      'what is in a sandbox has no use of what the user keeps',
    )
  })

  test('for another one keeps the model of its own profile', async () => {
    const parent = await order({ llm_model: 'openai/of-the-parent' })
    await it.save('child', FAST)
    const child = { agent_profile_id: await it.idOf('child'), parent_conversation_id: parent.info.id }
    assert.equal((await order(child)).info.agent.llm.model, 'openai/fast')
    await it.call('DELETE', '/child')
  })

  test('with a profile that is not there is refused before anything is on record', async () => {
    const { client } = it.rig.server
    const before = await client.countStartTasks()
    const { status } = await it.rig.call('POST', '/api/v1/app-conversations', { agent_profile_id: randomUUID() })
    assert.deepEqual([status, await client.countStartTasks()], [404, before])
    await it.save('gone', FAST)
    const again = { body: { agent_profile_id: await it.idOf('gone') }, headers: { 'idempotency-key': randomUUID() } }
    const task = await client.startAppConversation(again)
    await it.call('DELETE', '/gone')
    assert.equal((await client.startAppConversation(again)).id, task.id, 'what was taken is not refused')
    await over(it.rig.server, task.id)
  })
})

test('what a profile leads to shows no secret: in no answer, no file and no log', async () => {
  await it.save('canary')
  const { body: diagnostics } = await it.call('POST', '/canary/materialize')
  assert.equal(diagnostics.valid, true)
  const { body: info } = await it.start(await it.idOf('canary'))
  const heard = JSON.stringify([diagnostics, info, await it.list(), await it.get('canary')])
  assert.deepEqual(canaries.sightings(heard + it.rig.server.output), [])
  assert.deepEqual(await canaries.sightingsIn(it.rig.server.data), [])
})

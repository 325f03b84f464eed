import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createClient } from '../../src/api/client.ts'
import { MASK } from '../../src/api/secret.ts'
import { NOTHING_SAID } from '../../src/settings/document.ts'
import { appInProcess } from '../support/app.ts'
import { serveSettings } from '../support/app-settings.ts'
import { Canaries } from '../support/canary.ts'
import { NO_WALLS } from '../support/hands.ts'
import { NO_PYTHON } from '../support/inside.ts'
import { Listener, streamable } from '../support/mcp-http.ts'
import { stdio } from '../support/mcp-stdio.ts'

const servers = {
  one: { command: 'one', env: { TOKEN: 'secret one' } },
  two: { url: 'https://two.example/mcp', auth: { strategy: 'bearer', value: 'secret two' } },
}

describe('settings of the app server’s generation', () => {
  test('with nothing stored all fields are there, with their defaults', async () => {
    await using it = await serveSettings()
    const { agent_settings, conversation_settings, ...flat } = await it.get()
    assert.deepEqual(flat, {
      language: null,
      user_version: null,
      remote_runtime_resource_factor: null,
      secrets_store: { provider_tokens: {}, custom_secrets: {} },
      enable_sound_notifications: false,
      enable_proactive_conversation_starters: true,
      user_consents_to_analytics: null,
      sandbox_base_container_image: null,
      sandbox_runtime_container_image: null,
      disabled_skills: null,
      search_api_key: null,
      sandbox_api_key: null,
      max_budget_per_task: null,
      email: null,
      email_verified: null,
      git_user_name: null,
      git_user_email: null,
      title_llm_profile: null,
      git_full_clone: false,
      v1_enabled: true,
      sandbox_grouping_strategy: 'NO_GROUPING',
      default_sandbox_spec_id: null,
      llm_profiles: { profiles: {}, active: null },
      active_agent_profile_id: null,
      active_agent_profile_revision: null,
      registered_marketplaces: [],
      inherited_marketplaces: [],
      provider_tokens_set: {},
      llm_api_key_set: true,
      search_api_key_set: false,
    })
    assert.equal(agent_settings.agent_kind, 'openhands')
    assert.equal(conversation_settings.max_iterations, 500)
  })

  test('what says how conversations start is stored, and read typed with defaults', async () => {
    await using it = await serveSettings()
    const said = {
      sandbox_grouping_strategy: 'FEWEST_CONVERSATIONS',
      default_sandbox_spec_id: 'big',
      disabled_skills: ['noise'],
      git_full_clone: true,
      title_llm_profile: 'cheap',
    }
    const marketplace = { name: 'ours', source: 'github:a/b', auto_load: true, scope: 'personal' }
    const stored = await it.post({ ...said, registered_marketplaces: [marketplace] })
    assert.deepEqual([stored.status, stored.json], [200, { message: 'Settings stored' }])
    const { app } = await it.settings.full()
    const { scope: _, ...registered } = { ...marketplace, ref: null, repo_path: null }
    assert.deepEqual(app, { ...said, registered_marketplaces: [registered] })
    const shown = await it.get()
    assert.deepEqual({ ...shown, ...app }, shown)
    await it.post(Object.fromEntries(Object.keys(app).map(key => [key, null])))
    assert.deepEqual((await it.settings.full()).app, {
      sandbox_grouping_strategy: 'NO_GROUPING',
      default_sandbox_spec_id: null,
      disabled_skills: ['noise'],
      git_full_clone: false,
      title_llm_profile: null,
      registered_marketplaces: [],
    })
  })

  test('a document of a server that did not know these fields has their defaults', async () => {
    await using it = await serveSettings()
    await it.post({ language: 'de' })
    const { json, version } = await it.store.readDocument('settings')
    const { app: _, ...older } = JSON.parse(json!)
    await it.store.writeDocument('settings', JSON.stringify(older), version)
    assert.equal((await it.settings.full()).app.sandbox_grouping_strategy, 'NO_GROUPING')
    await it.post({ git_full_clone: true })
    const { language, git_full_clone } = await it.get()
    assert.deepEqual([language, git_full_clone], ['de', true])
  })

  test('whole nested settings are refused by name, and nothing of the request is stored', async () => {
    await using it = await serveSettings()
    const text = 'Use *_diff nested settings payloads instead of legacy keys'
    const both = { language: 'de', conversation_settings: null, agent_settings: {} }
    const { status, json } = await it.post(both)
    assert.equal(status, 422)
    assert.deepEqual(json, { detail: text, error: text, keys: ['agent_settings', 'conversation_settings'] })
    assert.deepEqual((await it.post({ conversation_settings: {} })).json.keys, ['conversation_settings'])
    assert.equal((await it.get()).language, null)
  })

  test('diffs are merged: what they do not name stays', async () => {
    await using it = await serveSettings()
    await it.post({
      agent_settings_diff: { llm: { model: 'openai/a', api_key: 'sk-a' }, condenser: { max_size: 100 } },
    })
    await it.post({
      agent_settings_diff: { llm: { model: 'openai/b' } },
      conversation_settings_diff: { confirmation_mode: true },
    })
    await it.post({ conversation_settings_diff: { max_iterations: 7 } })
    const { agent_settings, conversation_settings } = await it.plain()
    const { llm, condenser } = agent_settings
    assert.deepEqual([llm.model, llm.api_key, condenser.max_size], ['openai/b', 'sk-a', 100])
    const { confirmation_mode, max_iterations } = conversation_settings
    assert.deepEqual([confirmation_mode, max_iterations], [true, 7])
  })

  test('servers are replaced whole, so that a deleted one stays deleted; a masked secret is the one of its server', async () => {
    await using it = await serveSettings()
    await it.post({ agent_settings_diff: { mcp_config: servers } })
    const shown = (await it.get()).agent_settings.mcp_config
    assert.deepEqual([shown.one.env.TOKEN, shown.two.auth.value], [MASK, MASK])
    await it.post({ agent_settings_diff: { mcp_config: { two: shown.two, three: { command: 'three' } } } })
    const { mcp_config } = (await it.plain()).agent_settings
    assert.deepEqual(Object.keys(mcp_config), ['two', 'three'])
    assert.equal(mcp_config.two.auth.value, 'secret two')
    await it.post({ agent_settings_diff: { llm: { model: 'openai/a' } } })
    assert.deepEqual(Object.keys((await it.get()).agent_settings.mcp_config), ['two', 'three'])
    await it.post({ agent_settings_diff: { mcp_config: {} } })
    assert.deepEqual((await it.get()).agent_settings.mcp_config, {})
  })

  test('another kind of agent starts from its own defaults, with the rest of the diff on top', async () => {
    await using it = await serveSettings()
    await it.post({ agent_settings_diff: { llm: { model: 'openai/a' }, mcp_config: servers } })
    const switched = await it.post({ agent_settings_diff: { agent_kind: 'acp', acp_server: 'codex' } })
    assert.equal(switched.status, 200)
    const acp = (await it.get()).agent_settings
    assert.deepEqual([acp.agent_kind, acp.acp_server, acp.mcp_config], ['acp', 'codex', {}])
    assert.notEqual(acp.llm.model, 'openai/a')
    await it.post({ agent_settings_diff: { agent_kind: 'openhands', llm: { model: 'openai/b' } } })
    const back = (await it.get()).agent_settings
    assert.deepEqual([back.agent_kind, back.llm.model, back.acp_server], ['openhands', 'openai/b', undefined])
  })

  test('all that is shown, sent back, changes nothing', async () => {
    await using it = await serveSettings()
    await it.post({
      language: 'de',
      search_api_key: 'tvly-x',
      sandbox_api_key: 'box',
      git_full_clone: true,
      agent_settings_diff: { llm: { model: 'openai/a', api_key: 'sk-a' }, mcp_config: servers },
      conversation_settings_diff: { security_analyzer: null },
    })
    const sealed = async () => {
      const { search_api_key, sandbox_api_key } = JSON.parse((await it.store.readDocument('settings')).json!).flat
      return [search_api_key, sandbox_api_key]
    }
    const nested = async () => {
      const { agent_settings, conversation_settings } = await it.plain()
      delete agent_settings.agent_context.current_datetime
      return { agent_settings, conversation_settings }
    }
    const before = await nested()
    const secrets = await sealed()
    const { agent_settings, conversation_settings, ...flat } = await it.get()
    const again = await it.post({
      ...flat,
      agent_settings_diff: agent_settings,
      conversation_settings_diff: conversation_settings,
    })
    assert.equal(again.status, 200, again.text)
    assert.deepEqual(await nested(), before)
    const { agent_settings: _, conversation_settings: __, ...after } = await it.get()
    assert.deepEqual(after, flat)
    assert.deepEqual(await sealed(), secrets)
  })

  test('keys of the first generation, unknown ones, secrets and profiles are ignored', async () => {
    await using it = await serveSettings()
    const { status } = await it.post({
      llm_model: 5,
      llm_api_key: 'sk-x',
      agent: null,
      max_iterations: 'many',
      mcp_config: [],
      nobody: { knows: 'it' },
      secrets_store: { custom_secrets: { A: 'b' } },
      llm_profiles: { profiles: { a: {} }, active: 'a' },
      provider_tokens_set: { github: null },
      v1_enabled: false,
    })
    assert.equal(status, 200)
    const { version, json } = await it.store.readDocument('settings')
    assert.deepEqual([version, JSON.parse(json!)], [1, NOTHING_SAID])
    assert.deepEqual(await it.settings.secrets.custom(), [])
  })

  test('the key of the search: left out, null or masked it stays, "" clears it', async () => {
    await using it = await serveSettings()
    await it.post({ search_api_key: 'tvly-x' })
    for (const body of [{}, { search_api_key: null }, { search_api_key: MASK }]) {
      await it.post(body)
      const { search_api_key, search_api_key_set } = await it.get()
      assert.deepEqual([search_api_key, search_api_key_set], [null, true])
    }
    await it.post({ search_api_key: '' })
    assert.equal((await it.get()).search_api_key_set, false)
  })

  test('a null keeps the consent and the disabled skills; none disabled is a value', async () => {
    await using it = await serveSettings()
    await it.post({ user_consents_to_analytics: true, disabled_skills: ['a'], email: 'a@b.example' })
    await it.post({ user_consents_to_analytics: null, disabled_skills: null, email: null })
    const { user_consents_to_analytics, disabled_skills, email } = await it.get()
    assert.deepEqual([user_consents_to_analytics, disabled_skills, email], [true, ['a'], null])
    await it.post({ disabled_skills: [] })
    assert.deepEqual((await it.get()).disabled_skills, [])
  })

  test('what does not fit is 422, and nothing of the request is stored', async () => {
    await using it = await serveSettings()
    const bad = [
      { sandbox_grouping_strategy: 'ALL' },
      { disabled_skills: 'a' },
      { agent_settings_diff: 'a' },
      { agent_settings_diff: { llm: { model: 5 } } },
      { agent_settings_diff: { mcp_config: { a: { nothing: 'known' } } } },
      { conversation_settings_diff: { max_iterations: 0 } },
    ]
    for (const body of bad) {
      const { status } = await it.post({ language: 'de', ...body })
      assert.equal(status, 422, JSON.stringify(body))
    }
    assert.equal((await it.get()).language, null)
  })

  test('two pages that save at the same time lose nothing of each other', async () => {
    await using it = await serveSettings()
    const bodies = [
      { language: 'de' },
      { git_full_clone: true },
      { agent_settings_diff: { llm: { model: 'openai/a' } } },
      { agent_settings_diff: { mcp_config: servers } },
      { conversation_settings_diff: { max_iterations: 7 } },
      { disabled_skills: ['a'] },
    ]
    await Promise.all(bodies.map(body => it.post(body)))
    const { language, git_full_clone, disabled_skills, agent_settings, conversation_settings } = await it.get()
    assert.deepEqual([language, git_full_clone, disabled_skills], ['de', true, ['a']])
    assert.deepEqual([agent_settings.llm.model, Object.keys(agent_settings.mcp_config).length], ['openai/a', 2])
    assert.equal(conversation_settings.max_iterations, 7)
  })

  test('no secret is shown, logged or on disk', async () => {
    await using it = await serveSettings()
    const canaries = new Canaries()
    await it.post({
      search_api_key: canaries.make('search'),
      sandbox_api_key: canaries.make('sandbox'),
      agent_settings_diff: {
        llm: { model: 'openai/a', api_key: canaries.make('llm'), aws_secret_access_key: canaries.make('aws') },
        mcp_config: { a: { command: 'a', env: { A: canaries.make('env') } } },
      },
    })
    await it.ask('POST', it.profile('a'), { llm: { model: 'openai/b', api_key: canaries.make('profile') } })
    const answers = await Promise.all(
      ['/api/v1/settings', '/api/v1/settings/profiles', it.profile('a')].map(path => it.ask('GET', path)),
    )
    const [settings] = answers
    assert.equal(settings!.json.agent_settings.llm.api_key, null)
    assert.equal(settings!.json.llm_api_key_set, true)
    assert.equal(settings!.json.agent_settings.llm.aws_secret_access_key, MASK)
    assert.equal(settings!.json.llm_profiles.profiles.a.api_key, MASK)
    assert.deepEqual(canaries.sightings(answers.map(({ text }) => text).join() + it.lines.join()), [])
    assert.deepEqual(await canaries.sightingsIn(it.folder), [])
    assert.equal(canaries.sightings((await it.plain()).agent_settings.llm.api_key).length > 0, true)
  })

  test('whoever may call may read; to store takes the key', async () => {
    await using it = await serveSettings()
    assert.equal((await it.ask('GET', '/api/v1/settings', undefined, {}, '')).status, 200)
    assert.equal((await it.ask('POST', '/api/v1/settings', { language: 'de' }, {}, '')).status, 401)
  })

  test('the forms are described by sections', async () => {
    await using it = await serveSettings()
    const sections = async (path: string) =>
      (await it.ask('GET', path)).json.sections.map(({ key }: { key: string }) => key)
    assert.deepEqual(await sections('/api/v1/settings/conversation-schema'), ['general', 'verification'])
    assert.ok((await sections('/api/v1/settings/agent-schema')).includes('llm'))
  })
})

describe('trying a stored MCP server', () => {
  const path = (key: string) => `/api/v1/settings/mcp/${key}/test`

  test('connects with the stored credential, and tells whether that worked', async () => {
    await using it = await serveSettings()
    const heard: unknown[] = []
    await using good = await Listener.start(streamable(headers => heard.push(headers.authorization)))
    await using silent = await Listener.start(() => undefined)
    const auth = { strategy: 'bearer', value: 'the credential' }
    await it.post({
      agent_settings_diff: { mcp_config: { good: { url: good.url, auth }, silent: { url: silent.url } } },
    })
    const tried = await it.ask('POST', path('good'), {})
    assert.deepEqual([tried.status, tried.json], [200, { ok: true }])
    assert.ok(heard.length > 0 && heard.every(header => header === 'Bearer the credential'))
    assert.deepEqual((await it.ask('POST', path('good'))).json, { ok: true })
    assert.deepEqual((await it.ask('POST', path('silent'), { timeout: 0.10005 })).json, { ok: false })
  })

  test('one that is not stored is 404; a bad name, time or key is 422', async () => {
    await using it = await serveSettings()
    assert.equal((await it.ask('POST', path('nobody'), {})).status, 404)
    assert.equal((await it.ask('POST', path('constructor'), {})).status, 404)
    assert.equal((await it.ask('POST', path('-a'), {})).status, 422)
    for (const body of [{ timeout: 0 }, { timeout: 31 }, { timeout: 1, more: 1 }])
      assert.equal((await it.ask('POST', path('a'), body)).status, 422)
  })

  test('a command is started in the default sandbox', { skip: NO_WALLS || NO_PYTHON }, async () => {
    const key = 'a key for this server'
    await using app = await appInProcess([], { SESSION_API_KEY: key })
    const client = createClient({ baseUrl: app.url, key })
    const mcp_config = { good: stdio('good'), crash: stdio('crash') }
    await client.storeAppSettings({ body: { agent_settings_diff: { mcp_config } } })
    const tried = (settings_key: string) => client.testMcpServer({ params: { settings_key } })
    assert.deepEqual(await Promise.all(['good', 'crash'].map(tried)), [{ ok: true }, { ok: false }])
  })
})

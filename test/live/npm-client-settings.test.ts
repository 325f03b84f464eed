import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newId } from '../../src/lib/id.ts'
import { watched } from '../support/npm-client.ts'
import { unused } from '../support/npm-client-table.ts'
import { anOrder, TestServer } from '../support/server.ts'

const { npm, called } = watched()

let server: TestServer
let options: { host: string; apiKey: string }
before(async () => {
  server = await TestServer.start({ env: { SESSION_API_KEY: 'the-key-of-this-server' } })
  options = { host: server.url, apiKey: server.key }
})
after(() => server[Symbol.asyncDispose]())

const HIDDEN = '**********'
const keyIn = (config: unknown): unknown => (config as { llm: { api_key: unknown } }).llm.api_key
const missing = { name: 'HttpError', status: 404 }

describe('the published npm client and a server', () => {
  test('reads what it is, and how it is', async () => {
    const client = new npm.ServerClient(options)
    const info = await client.getServerInfo()
    assert.match(info.version as string, /^\d+\.\d+\.\d+$/)
    assert.deepEqual(Object.keys(await client.getRoot()).sort(), Object.keys(info).sort())
    assert.equal((await client.getAlive()).status, 'ok')
    assert.equal((await client.getHealth()).status, 'ok')
    assert.equal((await client.getReady()).status, 'ready')
    client.close()
  })

  test('finds it new enough for all that it asks of new ones', async () => {
    const client = new npm.HttpClient({ baseUrl: server.url })
    for (const feature of Object.values(npm.AgentServerFeatureRequirements))
      await npm.assertAgentServerSupports(client, feature)
    const { version } = await npm.getCachedAgentServerInfo(client)
    const next = { feature: 'x', displayName: 'X', minVersion: `9${version}` }
    assert.equal(npm.compareAgentServerVersions(version as string, next.minVersion), -1)
    const tooOld = (error: unknown) => npm.isAgentServerVersionError(error)
    await assert.rejects(npm.assertAgentServerSupports(client, next as never), tooOld)
    npm.clearAgentServerInfoCache(client)
  })

  test('calls any route, with its own key, another or none', async () => {
    const client = new npm.AgentServerClient({ host: `${server.url}/`, apiKey: 'wrong' })
    const own = { authMode: 'session-api-key', sessionApiKey: server.key } as const
    await assert.rejects(client.get('/api/settings'), { status: 401 })
    assert.deepEqual(await client.get('/api/settings/secrets', own), { secrets: [] })
    assert.equal(((await client.get('/health', { authMode: 'none' })) as { status: string }).status, 'ok')
    await client.put('/api/settings/secrets', { name: 'NAME', value: 'v' }, own)
    const text = await client.get('/api/settings/secrets/NAME', { ...own, responseType: 'text' })
    assert.equal(text, 'v')
    await client.delete('/api/settings/secrets/NAME', own)
    const { id } = (await client.post('/api/conversations', anOrder(), own)) as { id: string }
    await client.patch(`/api/conversations/${id}`, { title: 'Named' }, own)
    assert.equal(((await client.get(`/api/conversations/${id}`, own)) as { title: string }).title, 'Named')
    client.close()
  })

  test('is told that nothing is shared here, as by every agent server', async () => {
    const client = new npm.SharedClient(options)
    await assert.rejects(client.getSharedConversations([newId()]), missing)
    await assert.rejects(client.getSharedConversation(newId()), missing)
    await assert.rejects(client.searchSharedEvents({ conversationId: newId(), limit: 1 }), missing)
    client.close()
  })
})

describe('the published npm client and settings', () => {
  test('reads and changes them, with secrets hidden, encrypted or open', async () => {
    const client = new npm.SettingsClient(options)
    const llm = { model: 'openai/x', api_key: 'sk-1' }
    const updated = await client.updateSettings({
      agent_settings_diff: { llm },
      conversation_settings_diff: { max_iterations: 77 },
    })
    assert.equal(keyIn(updated.agent_settings), HIDDEN)
    const hidden = await client.getSettings()
    assert.deepEqual([hidden.llm_api_key_is_set, hidden.conversation_settings.max_iterations], [true, 77])
    assert.equal(keyIn(hidden.agent_settings), HIDDEN)
    assert.match(String(keyIn((await client.getSettings({ exposeSecrets: 'encrypted' })).agent_settings)), /^gAAAAA/)
    assert.equal(keyIn((await client.getSettings({ exposeSecrets: 'plaintext' })).agent_settings), 'sk-1')
    for (const { model_name, sections } of [await client.getAgentSchema(), await client.getConversationSchema()])
      assert.ok(model_name.endsWith('Settings') && sections.length > 0)
  })

  test('keeps secrets and MCP servers', async () => {
    const client = new npm.SettingsClient(options)
    const stored = await client.upsertSecret({ name: 'A_NAME', value: 'a value', description: 'what for' })
    assert.deepEqual(stored, { name: 'A_NAME', description: 'what for' })
    assert.deepEqual(await client.listSecrets(), { secrets: [stored] })
    assert.equal(await client.getSecret('A_NAME'), 'a value')
    assert.deepEqual(await client.deleteSecret('A_NAME'), { deleted: true })
    await assert.rejects(client.getSecret('A_NAME'), missing)
    const servers = async () =>
      (await client.getSettings()).agent_settings.mcp_config as Record<string, Record<string, unknown>>
    await client.createMcpServer('one two', { command: 'run', env: { KEY: 'hush' } } as never)
    await client.patchMcpServer('one two', { args: ['fast'] } as never)
    const { command, args, env } = (await servers())['one two']!
    assert.deepEqual([command, args, env], ['run', ['fast'], { KEY: HIDDEN }])
    await client.deleteMcpServer('one two')
    assert.equal((await servers())?.['one two'], undefined)
  })

  test('keeps profiles of models, by either client', async () => {
    const [client, other] = [new npm.ProfilesClient(options), new npm.SettingsClient(options)]
    const llm = { model: 'openai/gpt-5.5', api_key: 'sk-2' }
    await client.saveProfile('my.own', { llm, include_secrets: true })
    const { config, api_key_set } = await client.getProfile('my.own', { exposeSecrets: 'plaintext' })
    assert.deepEqual([config.model, config.api_key, api_key_set], [llm.model, 'sk-2', true])
    assert.equal((await other.getProfile('my.own', { exposeSecrets: 'encrypted' })).config.model, llm.model)
    assert.equal((await client.renameProfile('my.own', 'yours')).name, 'yours')
    assert.equal((await client.activateProfile('yours')).llm_applied, true)
    const { profiles, active_profile } = await other.listProfiles()
    assert.equal(active_profile, 'yours')
    const listed = profiles.find(({ name }) => name === 'yours')
    assert.deepEqual([listed?.model, listed?.base_url, listed?.api_key_set], [llm.model, null, true])
    await other.saveProfile('theirs', { llm: { model: 'demo/guide' } })
    await other.renameProfile('theirs', 'ours')
    await other.deleteProfile('ours')
    assert.equal((await client.deleteProfile('yours')).name, 'yours')
    await assert.rejects(client.getProfile('yours'), missing)
    assert.ok((await client.listProfiles()).profiles.every(({ name }) => name !== 'yours'))
    const verdict = await client.validateProfile('any', { llm: { model: 'demo/guide' } })
    assert.equal(verdict.valid, true, JSON.stringify(verdict))
    client.close()
    other.close()
  })

  test('keeps profiles of agents', async () => {
    const [client, llms] = [new npm.AgentProfilesClient(options), new npm.ProfilesClient(options)]
    await llms.saveProfile('guide', { llm: { model: 'demo/guide' } })
    await client.saveAgentProfile('worker', { agent_kind: 'openhands', llm_profile_ref: 'guide' })
    const { profile } = (await client.getAgentProfile('worker', { exposeSecrets: 'encrypted' })) as never as {
      profile: { id: string; name: string; llm_profile_ref: string }
    }
    assert.deepEqual([profile.name, profile.llm_profile_ref], ['worker', 'guide'])
    assert.deepEqual(npm.deriveSwitchPlan(profile as never, profile as never, null), { action: 'current' })
    const found = (await client.materializeAgentProfile('worker')) as never as { valid: boolean; errors: string[] }
    assert.deepEqual([found.valid, found.errors], [true, []])
    await client.activateAgentProfile(profile.id)
    await client.renameAgentProfile('worker', 'helper')
    const { profiles, active_agent_profile_id } = await client.listAgentProfiles()
    assert.equal(active_agent_profile_id, profile.id)
    assert.equal(profiles.find(({ id }) => id === profile.id)?.name, 'helper')
    await client.deleteAgentProfile('helper')
    await client.deleteAgentProfile('helper')
    await assert.rejects(client.getAgentProfile('helper'), missing)
    client.close()
  })

  test('is told that there are no profiles of profiles', async () => {
    const client = new npm.MetaProfilesClient(options)
    for (const ask of [
      () => client.listMetaProfiles(),
      () => client.getMetaProfile('x'),
      () => client.saveMetaProfile('x', { classifier_model: 'a', default_model: 'b', classes: [] }),
      () => client.activateMetaProfile('x'),
      () => client.deleteMetaProfile('x'),
    ])
      await assert.rejects(ask, missing)
    client.close()
  })

  test('finds models, and logs in nowhere with a subscription', async () => {
    const client = new npm.LLMMetadataClient(options)
    assert.ok((await client.getProviders()).includes('anthropic'))
    const ofOne = await client.getModels('anthropic')
    assert.ok(ofOne.length > 0 && ofOne.length < (await client.getModels()).length)
    assert.ok((await client.getVerifiedModels()).anthropic!.length > 0)
    assert.deepEqual(await client.getOpenAISubscriptionModels(), [])
    assert.equal((await client.getOpenAISubscriptionStatus()).connected, false)
    await assert.rejects(client.startOpenAISubscriptionDeviceLogin(), { status: 503 })
    await assert.rejects(client.pollOpenAISubscriptionDeviceLogin('x'), missing)
    assert.equal((await client.logoutOpenAISubscription()).vendor, 'openai')
    client.close()
  })

  test('does here all that the table says', () => assert.deepEqual(unused(called, 'settings'), []))
})

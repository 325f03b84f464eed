import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { CloudClient } from '@openhands/typescript-client/clients'
import { aMessage, TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

let server: TestServer
// biome-ignore lint/suspicious/noExplicitAny: its types describe another server's answers
let client: any
before(async () => {
  server = await TestServer.start({ env: { SESSION_API_KEY: 'the-key-of-this-server' } })
  client = new CloudClient({ host: server.url, apiKey: server.key })
})
after(() => server[Symbol.asyncDispose]())

async function start(request: object) {
  const { id } = await client.createConversation(request)
  return until('it is started', async () => {
    const task = await client.getConversationStartTask(id)
    assert.notEqual(task.status, 'ERROR', task.detail)
    return task.status === 'READY' ? task : undefined
  })
}

describe("the published npm client's app generation, unmodified", () => {
  test('orders a conversation, polls its start, reads and shares it, and deletes it with its sandbox', async () => {
    const task = await start({ initial_message: aMessage('Hello') })
    const id = task.app_conversation_id
    assert.equal((await client.searchConversations()).items[0].id, id)
    const [found, none] = await client.getConversations([id, '0'.repeat(32)])
    assert.deepEqual([found.id, none], [id, null])
    await server.atRest(id)
    assert.equal((await client.updateConversationPublicFlag(id, true)).public, true)
    const [sandbox] = await client.getSandboxes([found.sandbox_id])
    assert.equal(sandbox.status, 'RUNNING')
    await client.pauseSandbox(found.sandbox_id)
    assert.equal((await client.getConversations([id]))[0].sandbox_status, 'PAUSED')
    await client.resumeSandbox(found.sandbox_id)
    await client.saveProfile('other', { llm: { model: 'demo/guide' } })
    await client.switchConversationProfile(id, 'other')
    assert.ok((await client.downloadConversation(id)).size > 100)
    await assert.rejects(client.readConversationFile(id, '/workspace/none'), { status: 404 })
    await client.deleteConversation(id)
    assert.deepEqual(await client.getConversations([id]), [null])
  })

  test('lists the last changed first, as it asks to', async () => {
    const [first, second] = [await start({ title: 'One' }), await start({ title: 'Two' })]
    await client.updateConversationPublicFlag(first.app_conversation_id, true)
    const { items } = await client.searchConversations(2)
    assert.deepEqual(
      items.map((item: { id: string }) => item.id),
      [first.app_conversation_id, second.app_conversation_id],
    )
  })

  test('reads and stores settings, profiles and secrets', async () => {
    await client.saveSettings({
      agent_settings_diff: { llm: { model: 'openai/gpt-5.5' } },
      conversation_settings_diff: { max_iterations: 77 },
      app_preferences: { language: 'fr', disabled_skills: [] },
    })
    const settings = await client.getSettingsWithDerivedFields()
    assert.equal(settings.agent_settings.llm.model, 'openai/gpt-5.5')
    assert.equal(settings.conversation_settings.max_iterations, 77)
    assert.equal(settings.language, 'fr')
    assert.ok((await client.getSettingsSchema()).sections.length > 0)
    assert.ok((await client.getConversationSettingsSchema()).sections.length > 0)
    await client.saveProfile('mine', { llm: { model: 'openai/gpt-5.5', api_key: 'sk-x' } })
    assert.equal((await client.getProfile('mine')).api_key_set, true)
    await client.renameProfile('mine', 'yours')
    assert.equal((await client.activateProfile('yours')).llm_applied, true)
    assert.equal((await client.listProfiles()).active_profile, 'yours')
    await client.deleteProfile('yours')
    await client.createSecret('NAMED', 'value', 'what it is for')
    await client.updateSecret('NAMED', 'RENAMED', 'still')
    assert.deepEqual(await client.listSecrets(), [{ name: 'RENAMED', description: 'still' }])
    await client.deleteSecret('RENAMED')
    assert.deepEqual(await client.listSecrets(), [])
  })

  test('finds models, providers and skills; and is told which token is missing', async () => {
    assert.ok((await client.searchModels({ query: 'claude', limit: 5 })).items.length > 0)
    assert.ok((await client.searchProviders({ verified__eq: true })).items.length > 0)
    assert.ok(Array.isArray(await client.listSkills()))
    for (const ask of [
      () => client.searchRepositories({ provider: 'github' }),
      () => client.getInstallations({ provider: 'github' }),
      () => client.getRepositoryBranches({ provider: 'github', repository: 'a/b' }),
      () => client.getSuggestedTasks(),
    ])
      await assert.rejects(ask, { status: 401 })
  })
})

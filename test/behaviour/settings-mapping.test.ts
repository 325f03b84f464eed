import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { OpenHandsAgentSettings } from '../../src/api/agent.ts'
import { MASK } from '../../src/api/secret.ts'
import { agentLeaves, nested, open } from '../support/settings.ts'

describe('two generations, one store', () => {
  const pairs: [flat: string, value: unknown, place: string][] = [
    ['agent', 'BrowsingAgent', 'agent_settings.agent'],
    ['llm_model', 'openai/one', 'agent_settings.llm.model'],
    ['llm_base_url', 'http://one.example', 'agent_settings.llm.base_url'],
    ['enable_default_condenser', false, 'agent_settings.condenser.enabled'],
    ['max_iterations', 7, 'conversation_settings.max_iterations'],
    ['confirmation_mode', true, 'conversation_settings.confirmation_mode'],
    ['security_analyzer', 'none', 'conversation_settings.security_analyzer'],
  ]
  const at = (value: unknown, path: string) =>
    path.split('.').reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], value)

  for (const [flat, value, place] of pairs) {
    test(`${flat} is ${place}, whichever is written`, async () => {
      const first = open()
      await first.post({ [flat]: value })
      const posted = await first.service.get()
      assert.equal(at(posted, place), value)
      assert.equal(at(posted, flat), value)
      const second = open()
      const [section, ...rest] = place.split('.')
      const patched = await second.patch({ [`${section}_diff`]: nested(rest.join('.'), value) })
      assert.equal(at(patched, flat), value)
      assert.deepEqual(second.leaves(), first.leaves())
    })
  }

  test('a key posted flat is the key of the LLM, and both say that it is set', async () => {
    const { post, service } = open()
    await post({ llm_api_key: 'sk-one' })
    const { llm_api_key, llm_api_key_set, llm_api_key_is_set, agent_settings } = await service.get('plaintext')
    assert.deepEqual(
      { llm_api_key, llm_api_key_set, llm_api_key_is_set, nested: agent_settings.llm.api_key },
      { llm_api_key: null, llm_api_key_set: true, llm_api_key_is_set: true, nested: 'sk-one' },
    )
  })

  test('before anything is said, the nested settings are the defaults and the flat ones null', async () => {
    const settings = await open().service.get()
    const { current_datetime: _, ...context } = (settings.agent_settings as OpenHandsAgentSettings).agent_context
    assert.deepEqual({ ...settings.agent_settings, agent_context: context }, defaults())
    assert.deepEqual(settings.conversation_settings, {
      schema_version: 1,
      max_iterations: 500,
      confirmation_mode: false,
      security_analyzer: 'llm',
    })
    assert.equal(settings.llm_model, null)
    assert.equal(settings.max_iterations, null)
    assert.equal(settings.enable_default_condenser, true)
    assert.deepEqual(settings.mcp_config, { sse_servers: [], stdio_servers: [], shttp_servers: [] })
  })

  test('a leaf set to null reads as its default again', async () => {
    const { patch } = open()
    for (const { path, values } of agentLeaves()) await patch({ agent_settings_diff: nested(path, values[0]) })
    let last: unknown
    for (const { path } of agentLeaves())
      last = (await patch({ agent_settings_diff: nested(path, null) })).agent_settings
    const { agent_context, ...settings } = last as OpenHandsAgentSettings
    const { current_datetime: _, ...context } = agent_context
    assert.deepEqual({ ...settings, agent_context: context }, defaults())
  })

  test('an analyzer that the nested settings do not know is kept in the flat view and reads as llm in the other', async () => {
    const { post, patch, service } = open()
    await post({ security_analyzer: 'invariant' })
    const settings = await service.get()
    assert.equal(settings.security_analyzer, 'invariant')
    assert.equal(settings.conversation_settings.security_analyzer, 'llm')
    const patched = await patch({ conversation_settings_diff: { security_analyzer: 'llm' } })
    assert.equal(patched.security_analyzer, 'llm', 'what the nested settings say themselves counts')
  })

  test('0 iterations means the default of the server', async () => {
    const { post, service } = open()
    await post({ max_iterations: 0 })
    const settings = await service.get()
    assert.equal(settings.max_iterations, 0)
    assert.equal(settings.conversation_settings.max_iterations, 500)
  })

  test('another kind of agent starts fresh; what only the flat settings can say meanwhile moves in when it can', async () => {
    const { post, patch, service } = open()
    await post({ agent: 'One', llm_model: 'openai/one', llm_api_key: 'sk-one' })
    const acp = await patch({ agent_settings_diff: { agent_kind: 'acp', acp_model: 'm', llm: { api_key: MASK } } })
    assert.equal(acp.agent_settings.agent_kind, 'acp')
    assert.equal(acp.agent_settings.llm.model, 'gpt-5.5')
    assert.equal(acp.agent_settings.llm.api_key, MASK, 'a masked key changes nothing')
    assert.equal(acp.agent, null)
    await post({ agent: 'Two', enable_default_condenser: false })
    assert.equal((await service.get()).agent, 'Two')
    const native = await patch({ agent_settings_diff: { agent_kind: 'openhands' } })
    assert.equal((native.agent_settings as OpenHandsAgentSettings).agent, 'Two')
    assert.equal((native.agent_settings as OpenHandsAgentSettings).condenser.enabled, false)
    assert.equal(native.enable_default_condenser, false)
  })
})

/** Until a model is named, it is the guide that needs none. */
function defaults() {
  const { agent_context, ...settings } = OpenHandsAgentSettings.parse({ llm: { model: 'demo/guide' } })
  const { current_datetime: _, ...context } = agent_context
  return { ...settings, agent_context: context }
}

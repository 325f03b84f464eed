import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MAX_APP_PROFILES } from '../../src/api/app-profiles.ts'
import { LLM } from '../../src/api/llm.ts'
import { MASK } from '../../src/api/secret.ts'
import { serveSettings } from '../support/app-settings.ts'

async function serve() {
  const it = await serveSettings()
  const key = async (name: string) =>
    (await it.ask('GET', `/api/profiles/${name}`, undefined, { 'X-Expose-Secrets': 'plaintext' })).json.config.api_key
  return Object.assign(it, {
    save: (name: string, llm?: object | null, more: object = {}) =>
      it.ask('POST', it.profile(name), { ...(llm !== undefined && { llm }), ...more }),
    list: async () => (await it.ask('GET', '/api/v1/settings/profiles')).json,
    active: async () => (await it.get()).llm_profiles.active,
    /** The key as it is stored. */
    key,
  })
}
const fast = { model: 'openai/a', base_url: 'https://a.example/v1', api_key: 'sk-a' }

describe('LLM profiles of the app server’s generation', () => {
  test('none is there until one is stored', async () => {
    await using it = await serve()
    assert.deepEqual(await it.list(), { profiles: [], active_profile: null })
    for (const name of ['demo', 'nobody', 'constructor']) {
      const { status, json } = await it.ask('GET', it.profile(name))
      assert.deepEqual([status, json.detail], [404, `Profile '${name}' not found`])
      assert.equal((await it.ask('POST', it.profile(name, 'activate'))).status, 404)
      assert.equal((await it.ask('POST', it.profile(name, 'rename'), { new_name: 'b' })).status, 404)
    }
  })

  test('one is stored, listed, read, activated, renamed and deleted; deleting it again is fine', async () => {
    await using it = await serve()
    const saved = await it.save('fast', fast)
    assert.deepEqual([saved.status, saved.json], [201, { name: 'fast', message: "Profile 'fast' saved" }])
    const info = { name: 'fast', model: 'openai/a', base_url: 'https://a.example/v1', api_key_set: true }
    assert.deepEqual(await it.list(), { profiles: [info], active_profile: null })
    const { json } = await it.ask('GET', it.profile('fast'))
    assert.deepEqual(json, { name: 'fast', config: LLM.parse({ ...fast, api_key: null }), api_key_set: true })

    const activated = await it.ask('POST', it.profile('fast', 'activate'))
    const message = "Switched to profile 'fast'"
    assert.deepEqual([activated.status, activated.json], [200, { name: 'fast', message, model: 'openai/a' }])
    assert.equal((await it.plain()).agent_settings.llm.api_key, 'sk-a')
    assert.equal(await it.active(), 'fast')

    const renamed = await it.ask('POST', it.profile('fast', 'rename'), { new_name: '.quick' })
    assert.deepEqual([renamed.status, renamed.json.name], [200, '.quick'])
    assert.deepEqual(await it.list(), { profiles: [{ ...info, name: '.quick' }], active_profile: '.quick' })
    for (const _ of [1, 2]) {
      const deleted = await it.ask('DELETE', it.profile('.quick'))
      assert.deepEqual([deleted.status, deleted.json.message], [200, "Profile '.quick' deleted"])
    }
    assert.deepEqual(await it.list(), { profiles: [], active_profile: null })
  })

  test('without an LLM the one of the settings is taken, with its key or without', async () => {
    await using it = await serve()
    await it.post({ agent_settings_diff: { llm: fast } })
    assert.equal((await it.save('a')).status, 201)
    assert.equal((await it.ask('POST', it.profile('b'))).status, 201)
    await it.save('c', null, { include_secrets: false })
    assert.deepEqual(await Promise.all(['a', 'b', 'c'].map(it.key)), ['sk-a', 'sk-a', null])
    assert.equal((await it.list()).profiles[2].api_key_set, false)
  })

  test('what was read, edited and sent back keeps its key; a new one replaces it, "" clears it', async () => {
    await using it = await serve()
    await it.save('a', fast)
    const { config } = (await it.ask('GET', it.profile('a'))).json
    await it.save('a', { ...config, model: 'openai/b' })
    assert.equal(await it.key('a'), 'sk-a')
    await it.save('a', { model: 'openai/c', api_key: MASK })
    assert.equal(await it.key('a'), 'sk-a')
    await it.save('a', { model: 'openai/c', api_key: 'sk-c' })
    assert.equal(await it.key('a'), 'sk-c')
    await it.save('a', { model: 'openai/c', api_key: ' ' })
    assert.equal((await it.ask('GET', it.profile('a'))).json.api_key_set, false)
  })

  test('told to, a profile keeps its own key when it takes the LLM of the settings', async () => {
    await using it = await serve()
    await it.post({ agent_settings_diff: { llm: { model: 'openai/b', api_key: 'sk-settings' } } })
    await it.save('a', fast)
    await it.save('keyless', { model: 'openai/a' })
    for (const name of ['a', 'keyless', 'new']) await it.save(name, null, { preserve_existing_api_key: true })
    assert.deepEqual(await Promise.all(['a', 'keyless', 'new'].map(it.key)), ['sk-a', null, 'sk-settings'])
  })

  test('it is active only while the settings say what it says', async () => {
    await using it = await serve()
    await it.save('a', fast)
    await it.save('b', { model: 'openai/b' })
    const activate = () => it.ask('POST', it.profile('a', 'activate'))
    await activate()
    await it.post({ language: 'de', agent_settings_diff: { llm: { model: 'openai/a', api_key: 'sk-a' } } })
    assert.equal(await it.active(), 'a')
    await it.post({ agent_settings_diff: { llm: { api_key: 'sk-other' } } })
    assert.deepEqual([await it.active(), (await it.list()).active_profile], [null, null])
    await activate()
    await it.save('b', { model: 'openai/c' })
    assert.equal(await it.active(), 'a')
    await it.save('a', { ...fast, model: 'openai/d' })
    assert.equal(await it.active(), null)
    assert.equal((await it.get()).agent_settings.llm.model, 'openai/a')
  })

  test('with the active one deleted, the first that is left is active; with another, nothing changes', async () => {
    await using it = await serve()
    for (const name of ['c', 'b', 'd', 'a', 'e']) await it.save(name, { model: `openai/${name}` })
    await it.ask('POST', it.profile('b', 'activate'))
    await it.ask('DELETE', it.profile('e'))
    assert.equal(await it.active(), 'b')
    await it.ask('DELETE', it.profile('a'))
    await it.ask('DELETE', it.profile('b'))
    assert.deepEqual([await it.active(), (await it.get()).agent_settings.llm.model], ['c', 'openai/c'])
    await it.ask('DELETE', it.profile('c'))
    await it.ask('DELETE', it.profile('d'))
    assert.deepEqual([await it.active(), (await it.get()).agent_settings.llm.model], [null, 'openai/d'])
  })

  test('no name is taken over by renaming', async () => {
    await using it = await serve()
    await it.save('a', fast)
    await it.save('b', { model: 'openai/b' })
    const { status, json } = await it.ask('POST', it.profile('a', 'rename'), { new_name: 'b' })
    assert.deepEqual([status, json.detail], [409, "Profile 'b' already exists"])
    assert.equal((await it.ask('POST', it.profile('a', 'rename'), { new_name: 'a' })).status, 200)
    assert.deepEqual(
      (await it.list()).profiles.map(({ model }: { model: string }) => model),
      ['openai/a', 'openai/b'],
    )
  })

  test(`there are ${MAX_APP_PROFILES} at most, also of those stored at once; one of them can still be changed`, async () => {
    await using it = await serve()
    const names = Array.from({ length: MAX_APP_PROFILES + 3 }, (_, n) => `p${n}`)
    const statuses = await Promise.all(names.map(async name => (await it.save(name, fast)).status))
    assert.deepEqual(statuses.sort(), [...Array(MAX_APP_PROFILES).fill(201), 409, 409, 409])
    const { profiles } = await it.list()
    assert.equal(profiles.length, MAX_APP_PROFILES)
    assert.equal((await it.save(profiles[0].name, { model: 'openai/b' })).status, 201)
  })

  test('a bad name, an unknown key and a wrong value are 422', async () => {
    await using it = await serve()
    for (const name of ['a%20b', 'a%2Fb', 'x'.repeat(65)]) assert.equal((await it.save(name, fast)).status, 422, name)
    assert.equal((await it.save('a', { ...fast, custom_header: 'x' })).status, 422)
    assert.equal((await it.save('a', { temperature: 'warm' })).status, 422)
    await it.save('a', fast)
    assert.equal((await it.ask('POST', it.profile('a', 'rename'), { new_name: '' })).status, 422)
  })

  test('both generations see the same profiles', async () => {
    await using it = await serve()
    await it.ask('POST', '/api/profiles/a', { llm: fast })
    await it.ask('POST', '/api/profiles/a/activate')
    assert.deepEqual((await it.list()).active_profile, 'a')
    await it.save('b', { model: 'openai/b' })
    const names = (await it.ask('GET', '/api/profiles')).json.profiles.map(({ name }: { name: string }) => name)
    assert.deepEqual(names, ['a', 'b'])
  })
})

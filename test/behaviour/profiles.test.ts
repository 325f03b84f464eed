import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { makeOpenModel } from '../../src/agent/models/open.ts'
import { fault } from '../../src/api/errors.ts'
import { LLM } from '../../src/api/llm.ts'
import { MAX_PROFILES } from '../../src/api/profiles.ts'
import { profileRoutes } from '../../src/api/routes/profiles.ts'
import { settingsRoutes } from '../../src/api/routes/settings.ts'
import { MASK } from '../../src/api/secret.ts'
import { Auth } from '../../src/http/auth.ts'
import { profileHandlers } from '../../src/http/handlers/profiles.ts'
import { settingsHandlers } from '../../src/http/handlers/settings.ts'
import { Metrics } from '../../src/http/metrics.ts'
import { originPolicy } from '../../src/http/origin.ts'
import { HttpServer } from '../../src/http/server.ts'
import { makeLog } from '../../src/lib/log.ts'
import { looksLikeToken, Vault } from '../../src/policy/secrets.ts'
import { openProfiles } from '../../src/settings/open-profiles.ts'
import { SettingsService } from '../../src/settings/settings.ts'
import { SqliteStore } from '../../src/store/sqlite.ts'
import { Canaries } from '../support/canary.ts'
import { fail, ModelServer, say } from '../support/model-server.ts'
import { Random } from '../support/random.ts'
import { count, tempFolder } from '../support/server.ts'

const KEY = 'the key of the server'
const CONVERSATION = '0f8fad5b-d9cb-469f-a165-70867728950e'
const OF_A_SANDBOX = 'the key of a sandbox'

/** The routes of profiles and settings over a real store, behind the real HTTP layer. */
async function serve() {
  const folder = await tempFolder()
  const store = SqliteStore.open(join(folder, 'gantry.db'))
  const vault = new Vault('a secret key for tests')
  const settings = new SettingsService(store, vault)
  const openModel = makeOpenModel({ fetch })
  const { profiles } = openProfiles({ store, vault, settings, openModel, skillNames: async () => [] })
  const lines: string[] = []
  const switched: LLM[] = []
  const http = new HttpServer({
    auth: new Auth([KEY], 'local', key => (key === OF_A_SANDBOX ? 'box' : undefined)),
    origins: originPolicy([], []),
    log: makeLog('debug', line => lines.push(line)),
    metrics: new Metrics(),
    hasSandbox: () => true,
    opened: Promise.resolve(),
    draining: () => false,
  })
  http.serve(profileRoutes, {
    ...profileHandlers({
      profiles,
      switchLlm: async (id, llm) => {
        if (id !== CONVERSATION) throw fault('conversation_not_found', id)
        switched.push(llm)
      },
    }),
  })
  http.serve(settingsRoutes, settingsHandlers(settings, profiles))
  const server = createServer((incoming, out) => http.handle(incoming, out))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = { key: KEY }) => {
    const { key, ...others } = headers
    const response = await fetch(url + path, {
      method,
      headers: { ...others, ...(key && { 'X-Session-API-Key': key }), 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers as they please
    return { status: response.status, text, json: (text ? JSON.parse(text) : undefined) as any }
  }
  return {
    folder,
    store,
    vault,
    lines,
    switched,
    ask,
    save: (name: string, llm: object, more: object = {}) => ask('POST', `/api/profiles/${name}`, { llm, ...more }),
    act: (name: string, what: string, body: object = {}) => ask('POST', `/api/profiles/${name}/${what}`, body),
    list: async () => (await ask('GET', '/api/profiles')).json,
    names: async () => (await ask('GET', '/api/profiles')).json.profiles.map(({ name }: { name: string }) => name),
    plain: async (name: string) =>
      (await ask('GET', `/api/profiles/${name}`, undefined, { key: KEY, 'X-Expose-Secrets': 'plaintext' })).json
        ?.config,
    settings: async () =>
      (await ask('GET', '/api/settings', undefined, { key: KEY, 'X-Expose-Secrets': 'plaintext' })).json,
    say: (llm: object) => ask('PATCH', '/api/settings', { agent_settings_diff: { llm } }),
    async [Symbol.asyncDispose]() {
      server.close().closeAllConnections()
      await store.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

describe('a profile', () => {
  test('is stored, listed, read, renamed, activated and deleted', async () => {
    await using it = await serve()
    const saved = await it.save('fast', { model: 'openai/a', base_url: 'https://a.example/v1', api_key: 'sk-a' })
    assert.deepEqual([saved.status, saved.json], [201, { name: 'fast', message: "Profile 'fast' saved" }])
    const info = {
      name: 'fast',
      model: 'openai/a',
      base_url: 'https://a.example/v1',
      provider_connection_id: null,
      provider_connection_broken: false,
      api_key_set: true,
    }
    const listed = await it.list()
    assert.deepEqual(listed.profiles[1], info)
    const { json } = await it.ask('GET', '/api/profiles/fast')
    assert.deepEqual(json, {
      name: 'fast',
      config: LLM.parse({ model: 'openai/a', base_url: 'https://a.example/v1' }),
      api_key_set: true,
    })

    const activated = await it.act('fast', 'activate')
    assert.deepEqual(activated.json, { name: 'fast', message: "Profile 'fast' activated", llm_applied: true })
    const { agent_settings, active_profile } = await it.settings()
    assert.deepEqual(
      [active_profile, agent_settings.llm.model, agent_settings.llm.api_key],
      ['fast', 'openai/a', 'sk-a'],
    )

    const renamed = await it.act('fast', 'rename', { new_name: 'quick' })
    assert.deepEqual([renamed.status, renamed.json.name], [200, 'quick'])
    assert.deepEqual(await it.list(), { profiles: [{ ...info, name: 'quick' }], active_profile: 'quick' })
    assert.equal((await it.settings()).active_profile, 'quick')

    for (const message of ["Profile 'quick' deleted", "No profile 'quick' is stored"]) {
      const deleted = await it.ask('DELETE', '/api/profiles/quick')
      assert.deepEqual([deleted.status, deleted.json], [200, { name: 'quick', message }])
    }
    assert.equal((await it.ask('GET', '/api/profiles/quick')).status, 404)
    const after = await it.settings()
    assert.deepEqual([after.active_profile, after.agent_settings.llm.api_key], [null, 'sk-a'])
  })

  test('that nobody stored is not found, and no name is special', async () => {
    await using it = await serve()
    for (const name of ['nope', 'constructor', 'toString', 'hasOwnProperty', 'default']) {
      assert.equal((await it.ask('GET', `/api/profiles/${name}`)).status, 404, name)
      assert.equal((await it.act(name, 'activate')).status, 404, name)
      assert.equal((await it.act(name, 'rename', { new_name: 'other' })).status, 404, name)
      assert.equal((await it.ask('DELETE', `/api/profiles/${name}`)).json.message, `No profile '${name}' is stored`)
      await it.save(name, { model: `openai/${name}` })
      assert.equal((await it.plain(name)).model, `openai/${name}`)
    }
    for (const name of ['__proto__', '-a', '.a', 'a b', 'ä', 'a'.repeat(65)])
      assert.equal((await it.save(encodeURIComponent(name), { model: 'openai/a' })).status, 422, name)
    assert.equal((await it.save('a'.repeat(64), { model: 'openai/a' })).status, 201)
  })

  test('that changed reaches the settings when it is activated again, whatever its name', async () => {
    await using it = await serve()
    for (const name of ['a', 'default', 'demo'])
      for (const model of ['openai/one', 'openai/two']) {
        await it.save(name, { model, fallback_strategy: { fallback_llms: ['b'] } })
        await it.act(name, 'activate')
        assert.equal((await it.settings()).agent_settings.llm.model, model, name)
        assert.ok(!('fallback_strategy' in (await it.plain(name))), 'taken but never shown')
      }
  })

  test('is not renamed onto another, and keeps everything when renamed to itself', async () => {
    await using it = await serve()
    await it.save('one', { model: 'openai/one', api_key: 'sk-1' })
    await it.save('two', { model: 'openai/two' })
    const refused = await it.act('one', 'rename', { new_name: 'two' })
    assert.deepEqual([refused.status, refused.json.detail], [409, "Profile 'two' already exists"])
    assert.equal((await it.act('one', 'rename', { new_name: 'one' })).status, 200)
    assert.equal((await it.act('one', 'rename', { new_name: 'no name' })).status, 422)
    assert.deepEqual([(await it.plain('one')).api_key, (await it.plain('two')).model], ['sk-1', 'openai/two'])
  })

  test('that names a provider connection nobody stored is refused', async () => {
    await using it = await serve()
    const { status, json } = await it.save('a', { model: 'openai/a', provider_connection_id: 'abc' })
    assert.equal(status, 422)
    assert.match(json.detail, /no provider connection abc/)
  })

  test(`is the ${MAX_PROFILES}th at most, also when more come at once; there it can still be replaced`, async () => {
    await using it = await serve()
    const names = Array.from({ length: MAX_PROFILES + 5 }, (_, n) => `p${n}`)
    const statuses = await Promise.all(names.map(async name => (await it.save(name, { model: 'openai/a' })).status))
    assert.equal(statuses.filter(status => status === 201).length, MAX_PROFILES)
    assert.equal(statuses.filter(status => status === 409).length, 5)
    const [stored] = await it.names()
    assert.equal((await it.save('another', { model: 'openai/a' })).status, 409)
    assert.equal((await it.save('constructor', { model: 'openai/a' })).status, 409)
    assert.equal((await it.save(stored === 'demo' ? 'p0' : stored, { model: 'openai/b' })).status, 201)
  })
})

describe('the secrets of a profile', () => {
  const canaries = new Canaries()
  const secrets = () => ({
    api_key: canaries.make('api_key'),
    aws_access_key_id: canaries.make('aws_access_key_id'),
    aws_secret_access_key: canaries.make('aws_secret_access_key'),
    aws_session_token: canaries.make('aws_session_token'),
    extra_headers: { A: canaries.make('extra_headers') },
  })

  test('are shown only as asked for, and stand in no file, no other answer and no log', async () => {
    await using it = await serve()
    const llm = { model: 'openai/a', ...secrets() }
    const heard = [(await it.save('a', llm)).text, (await it.act('a', 'activate')).text]
    const shown = await it.ask('GET', '/api/profiles/a')
    assert.deepEqual(shown.json.config.api_key, null)
    assert.deepEqual([shown.json.config.aws_access_key_id, shown.json.config.extra_headers], [MASK, { A: MASK }])
    heard.push(shown.text, JSON.stringify(await it.list()), (await it.act('a', 'rename', { new_name: 'b' })).text)

    for (const header of ['encrypted', 'true']) {
      const { json, text } = await it.ask('GET', '/api/profiles/b', undefined, { key: KEY, 'X-Expose-Secrets': header })
      heard.push(text)
      assert.ok(looksLikeToken(json.config.api_key))
      assert.equal(it.vault.fromToken(json.config.api_key), llm.api_key)
    }
    const plain = await it.plain('b')
    assert.deepEqual({ ...plain, ...llm }, plain)
    const odd = await it.ask('GET', '/api/profiles/b', undefined, { key: KEY, 'X-Expose-Secrets': 'yes' })
    assert.equal(odd.status, 400)

    heard.push(odd.text, (await it.ask('DELETE', '/api/profiles/b')).text)
    assert.deepEqual(canaries.sightings(heard.join('\n') + it.lines.join('\n')), [])
    assert.deepEqual(await canaries.sightingsIn(it.folder), [])
  })

  test('stay where the mask comes back, are cleared by null and "", and are taken as tokens', async () => {
    await using it = await serve()
    const first = { model: 'openai/a', ...secrets() }
    await it.save('a', first)
    await it.save('a', {
      ...first,
      model: 'openai/b',
      api_key: MASK,
      aws_access_key_id: null,
      aws_secret_access_key: '',
      aws_session_token: it.vault.toToken('by token'),
      extra_headers: { A: MASK, B: 'new', C: MASK },
    })
    const { model, api_key, aws_access_key_id, aws_secret_access_key, aws_session_token, extra_headers } =
      await it.plain('a')
    assert.deepEqual(
      [model, api_key, aws_access_key_id, aws_secret_access_key, aws_session_token, extra_headers],
      ['openai/b', first.api_key, null, null, 'by token', { A: first.extra_headers.A, B: 'new' }],
    )
    const foreign = new Vault('another').toToken('x')
    assert.equal((await it.save('a', { model: 'openai/c', api_key: foreign })).status, 422)
    assert.equal((await it.plain('a')).model, 'openai/b')
  })

  test('are left out when they are not to be stored, also those that were', async () => {
    await using it = await serve()
    const llm = { model: 'openai/a', ...secrets() }
    await it.save('a', llm)
    await it.save('a', { ...llm, aws_session_token: MASK }, { include_secrets: false })
    const { api_key, aws_session_token, extra_headers } = await it.plain('a')
    assert.deepEqual([api_key, aws_session_token, extra_headers], [null, null, {}])
    assert.equal((await it.ask('GET', '/api/profiles/a')).json.api_key_set, false)
  })

  test('need the key: without it profiles are listed and read masked, and no more', async () => {
    await using it = await serve()
    await it.save('a', { model: 'openai/a', api_key: 'sk-a' })
    const body = { llm: { model: 'openai/b' }, new_name: 'b' }
    const calls: [string, string, Record<string, string>?][] = [
      ['POST', '/api/profiles/a'],
      ['POST', '/api/profiles/a/rename'],
      ['POST', '/api/profiles/a/activate'],
      ['POST', '/api/profiles/a/validate'],
      ['DELETE', '/api/profiles/a'],
      ['GET', '/api/profiles/a', { 'X-Expose-Secrets': 'plaintext' }],
      ['GET', '/api/profiles/a', { 'X-Expose-Secrets': 'encrypted' }],
    ]
    for (const [method, path, headers] of calls) {
      const sent = method === 'POST' ? body : undefined
      assert.equal((await it.ask(method, path, sent, { ...headers })).status, 401, `${method} ${path}`)
      const { status } = await it.ask(method, path, sent, { ...headers, key: OF_A_SANDBOX })
      assert.ok(status === 401 || status === 403, `${method} ${path} with the key of a sandbox: ${status}`)
    }
    assert.equal((await it.ask('GET', '/api/profiles', undefined, {})).status, 200)
    assert.equal((await it.ask('GET', '/api/profiles/a', undefined, {})).json.config.api_key, null)
    assert.equal((await it.plain('a')).model, 'openai/a')
  })
})

describe('without a stored profile', () => {
  test('a fresh server lists `demo`, which counts as having a key and is active', async () => {
    await using it = await serve()
    const { profiles, active_profile } = await it.list()
    assert.deepEqual([profiles.length, profiles[0].name, active_profile], [1, 'demo', 'demo'])
    assert.deepEqual([profiles[0].model, profiles[0].api_key_set], ['demo/guide', true])
    assert.equal((await it.ask('GET', '/api/profiles/demo')).json.config.model, 'demo/guide')
    assert.equal((await it.act('demo', 'rename', { new_name: 'mine' })).status, 409)
    await it.ask('DELETE', '/api/profiles/demo')
    assert.deepEqual(await it.names(), ['demo'])
  })

  test('`demo` stays until another is active, so that there is always an active one', async () => {
    await using it = await serve()
    await it.act('demo', 'activate')
    assert.equal((await it.settings()).agent_settings.llm.model, 'demo/guide')
    await it.save('mine', { model: 'openai/a', api_key: 'sk-a' })
    assert.deepEqual(await it.names(), ['demo', 'mine'])
    await it.act('mine', 'activate')
    assert.deepEqual(await it.names(), ['mine'])
    assert.equal((await it.act('demo', 'activate')).status, 200)
    assert.deepEqual(await it.list().then(({ active_profile }) => active_profile), 'demo')
  })

  test('a model that the settings name is the profile `default`; to activate that changes nothing', async () => {
    await using it = await serve()
    await it.say({ model: 'openai/own', api_key: 'sk-own' })
    const { profiles, active_profile } = await it.list()
    assert.deepEqual([profiles.length, active_profile, profiles[0].api_key_set], [1, 'default', true])
    assert.equal((await it.plain('default')).api_key, 'sk-own')
    const before = (await it.settings()).agent_settings
    assert.equal((await it.act('default', 'activate')).status, 200)
    const { agent_settings, active_profile: pointer } = await it.settings()
    assert.deepEqual([agent_settings.llm, pointer], [before.llm, 'default'])
    const { json } = await it.store.readDocument('settings')
    assert.deepEqual(Object.keys(JSON.parse(json!).agent_settings.llm), ['model', 'api_key'], 'no default is frozen')
    await it.say({ model: 'openai/later' })
    assert.equal((await it.list()).profiles[0].model, 'openai/later')
    assert.equal((await it.act('default', 'rename', { new_name: 'mine' })).status, 409)
  })

  test('and is kept under that name when another is activated: its key is not lost', async () => {
    await using it = await serve()
    await it.say({ model: 'openai/own', api_key: 'sk-own' })
    await it.save('other', { model: 'openai/other', api_key: 'sk-other' })
    await it.act('other', 'activate')
    assert.deepEqual(await it.names(), ['default', 'other'])
    assert.equal((await it.plain('default')).api_key, 'sk-own')
    await it.act('default', 'activate')
    assert.equal((await it.settings()).agent_settings.llm.api_key, 'sk-own')
    assert.equal((await it.plain('other')).api_key, 'sk-other')
  })

  test('or when it is stored with its secrets masked', async () => {
    await using it = await serve()
    await it.say({ model: 'openai/own', api_key: 'sk-own' })
    await it.save('default', { model: 'openai/new', api_key: MASK })
    const { model, api_key } = await it.plain('default')
    assert.deepEqual([model, api_key], ['openai/new', 'sk-own'])
  })
})

const random = new Random()
test(`whatever is done, one listed profile is active and no stored key changes (seed ${random.seed})`, async () => {
  await using it = await serve()
  const names = ['a', 'b', 'default', 'demo', 'constructor']
  const kept = new Map<string, string>()
  for (let i = 0; i < count({ sample: 60, deep: 1000 }); i++) {
    const [name, other] = [random.pick(names), random.pick(names)]
    const what = random.int(5)
    const { active_profile } = await it.list()
    if (what === 0 && (await it.save(name, { model: 'openai/x', api_key: `sk-${i}` })).status === 201)
      kept.set(name, `sk-${i}`)
    if (what === 1) {
      await it.ask('DELETE', `/api/profiles/${name}`)
      kept.delete(name)
    }
    if (what === 2 && (await it.act(name, 'rename', { new_name: other })).status === 200) {
      const key = kept.get(name)!
      kept.delete(name)
      kept.set(other, key)
    }
    if (what === 3) {
      const unkept = active_profile === 'default' && !kept.has('default') && name !== 'default'
      const { api_key } = (await it.settings()).agent_settings.llm
      if ((await it.act(name, 'activate')).status === 200 && unkept) kept.set('default', api_key)
    }
    if (what === 4)
      await it.say(random.int(2) ? { model: 'openai/said', api_key: `sk-said-${i}` } : { model: 'demo/guide' })
    const now = await it.list()
    assert.ok(
      now.profiles.some((one: { name: string }) => one.name === now.active_profile),
      JSON.stringify(now),
    )
    for (const [name, key] of kept) assert.equal((await it.plain(name))?.api_key, key, `${name} after step ${i}`)
  }
})

describe('switching a conversation to a profile', () => {
  const path = `/api/conversations/${CONVERSATION}/switch_profile`

  test('hands over its LLM sealed, counted under its name', async () => {
    await using it = await serve()
    await it.save('a', { model: 'openai/a', api_key: 'sk-a', usage_id: 'other' })
    const { status, json } = await it.ask('POST', path, { profile_name: 'a' })
    assert.deepEqual([status, json], [200, { success: true }])
    const [llm] = it.switched
    assert.deepEqual([llm?.model, llm?.usage_id], ['openai/a', 'profile:a'])
    assert.equal(it.vault.open(llm?.api_key ?? ''), 'sk-a')
    assert.deepEqual(LLM.parse(llm), llm)
  })

  test('finds neither what is not there nor, for one confined to a sandbox, anything', async () => {
    await using it = await serve()
    await it.save('a', { model: 'openai/a' })
    const unknown = await it.ask('POST', path, { profile_name: 'b' })
    assert.deepEqual([unknown.status, unknown.json.code], [404, 'llm_profile_not_found'])
    const elsewhere = path.replace(CONVERSATION, CONVERSATION.replace('0f', '1f'))
    assert.equal((await it.ask('POST', elsewhere, { profile_name: 'a' })).json.code, 'conversation_not_found')
    assert.equal((await it.ask('POST', path, {})).status, 422)
    assert.equal((await it.ask('POST', path, { profile_name: 'a' }, { key: OF_A_SANDBOX })).status, 403)
    assert.deepEqual(it.switched, [])
  })
})

describe('checking a model before it is stored', () => {
  test('asks it once, with few tokens and the key that the mask stands for', async () => {
    await using it = await serve()
    await using model = await ModelServer.start([say('hello')])
    await it.save('a', { model: 'openai/old', api_key: 'sk-stored' })
    const checked = await it.act('a', 'validate', { llm: model.llm({ api_key: MASK, stream: true }) })
    assert.deepEqual([checked.status, checked.json], [200, { valid: true, error: null }])
    assert.equal(model.count, 1)
    assert.equal(model.requests[0]?.headers.authorization, 'Bearer sk-stored')
    assert.deepEqual([model.requests[0]?.body.max_tokens, model.requests[0]?.body.stream], [16, undefined])
    assert.equal((await it.plain('a')).model, 'openai/old')
  })

  test('tells what is wrong with it, without the key', async () => {
    await using it = await serve()
    await using model = await ModelServer.start([fail('auth')])
    const gone = await ModelServer.start([])
    await gone.close()
    const wrong: [string, object][] = [
      ['LLMAuthenticationError', model.llm({ api_key: 'sk-very-wrong' })],
      ['LLMAuthenticationError', { model: 'openai/gpt-5.5' }],
      ['LLMServiceUnavailableError', gone.llm({ api_key: 'sk-very-wrong' })],
      ['LLMBadRequestError', { model: 'nobody/x', api_key: 'sk-very-wrong' }],
    ]
    for (const [type, llm] of wrong) {
      const { status, json, text } = await it.act('new', 'validate', { llm })
      assert.deepEqual([status, json.valid, json.error?.type], [200, false, type])
      assert.ok(json.error.message.length > 10)
      assert.doesNotMatch(text, /sk-very-wrong/)
    }
    assert.deepEqual(await it.names(), ['demo'])
  })

  test('takes what passes for no fault of the profile', async () => {
    await using it = await serve()
    await using model = await ModelServer.start([fail('rate')])
    assert.deepEqual((await it.act('a', 'validate', { llm: model.llm() })).json, { valid: true, error: null })
    assert.equal(model.count, 1)
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createClient } from '../../src/api/client.ts'
import { fault } from '../../src/api/errors.ts'
import { MASK } from '../../src/api/secret.ts'
import type { CheckToken } from '../../src/settings/provider-tokens.ts'
import { appInProcess } from '../support/app.ts'
import { serveSettings } from '../support/app-settings.ts'
import { Canaries } from '../support/canary.ts'

const V1 = '/api/v1/secrets'
const V0 = '/api/secrets'

describe('secrets of the app server’s generations', () => {
  test('the later one stores and overwrites, finds by a part of the name, and pages by name', async () => {
    await using it = await serveSettings()
    for (const name of ['B_KEY', 'a_key', 'C_KEY', 'OTHER']) {
      const { status, json } = await it.ask('POST', V1, { name, value: `value of ${name}`, description: name })
      assert.deepEqual([status, Object.keys(json)], [201, ['message']])
    }
    await it.ask('POST', V1, { name: 'OTHER', value: 'another' })
    assert.equal(await it.settings.secrets.value('OTHER'), 'another')
    const search = async (query: string) => (await it.ask('GET', `${V1}/search${query}`)).json
    const { items, next_page_id } = await search('?name__contains=KEY&limit=2')
    assert.deepEqual(items, [
      { name: 'B_KEY', description: 'B_KEY' },
      { name: 'C_KEY', description: 'C_KEY' },
    ])
    const rest = await search(`?name__contains=KEY&limit=2&page_id=${next_page_id}`)
    assert.deepEqual(rest, { items: [{ name: 'a_key', description: 'a_key' }], next_page_id: null })
    assert.equal((await search('')).items.length, 4)
    assert.equal((await it.ask('GET', `${V1}/search?limit=0`)).status, 422)
  })

  test('the earlier one lists them all, and creates but never overwrites', async () => {
    await using it = await serveSettings()
    assert.deepEqual((await it.ask('GET', V0)).json, { custom_secrets: [] })
    const created = await it.ask('POST', V0, { name: 'A', value: 'one', description: 'first' })
    assert.deepEqual([created.status, created.json], [201, { message: 'Secret created successfully' }])
    const again = await it.ask('POST', V0, { name: 'A', value: 'two' })
    const text = 'Secret A already exists'
    const { detail, error, message } = again.json
    assert.deepEqual([again.status, detail, error, message], [400, text, text, text])
    assert.equal(await it.settings.secrets.value('A'), 'one')
    assert.deepEqual((await it.ask('GET', V0)).json, { custom_secrets: [{ name: 'A', description: 'first' }] })
  })

  for (const [generation, path] of Object.entries({ earlier: V0, later: V1 }))
    test(`the ${generation} one renames and describes, and keeps the value; deletes; knows what is not there`, async () => {
      await using it = await serveSettings()
      for (const method of ['PUT', 'DELETE'])
        assert.equal((await it.ask(method, `${path}/A`, { name: 'B' })).status, 404, `${method}, empty store`)
      for (const name of ['A', 'C']) await it.ask('POST', V1, { name, value: `value of ${name}`, description: 'what' })
      const changed = await it.ask('PUT', `${path}/A`, { name: 'B', value: 'ignored' })
      assert.deepEqual([changed.status, changed.json.message], [200, 'Secret updated successfully'])
      await it.ask('PUT', `${path}/C`, { name: 'C', description: 'else' })
      assert.deepEqual(await it.settings.secrets.custom(), [
        { name: 'B', description: 'what' },
        { name: 'C', description: 'else' },
      ])
      assert.equal(await it.settings.secrets.value('B'), 'value of A')
      const clash = await it.ask('PUT', `${path}/B`, { name: 'C' })
      assert.deepEqual([clash.status, clash.json.detail], [400, 'Secret C already exists'])
      const unknown = await it.ask('PUT', `${path}/A`, { name: 'D' })
      assert.deepEqual([unknown.status, unknown.json.detail], [404, 'Secret with ID A not found'])
      assert.equal(unknown.json.error, path === V0 ? 'Secret with ID A not found' : undefined)
      assert.equal((await it.ask('DELETE', `${path}/B`)).json.message, 'Secret deleted successfully')
      assert.equal((await it.ask('DELETE', `${path}/B`)).status, 404)
      assert.equal((await it.ask('DELETE', `${path}/constructor`)).status, 404)
      assert.deepEqual(await it.settings.secrets.custom(), [{ name: 'C', description: 'else' }])
    })

  test('a name that no variable can have, and a value that is none, are 422', async () => {
    await using it = await serveSettings()
    for (const path of [V0, V1]) {
      for (const name of ['', '1A', 'A-B', 'A B', '__proto__', 'x'.repeat(65)])
        assert.equal((await it.ask('POST', path, { name, value: 'v' })).status, 422, name)
      for (const value of ['', '  ', MASK])
        assert.equal((await it.ask('POST', path, { name: 'A', value })).status, 422, `"${value}"`)
    }
    await it.ask('POST', V1, { name: 'A', value: 'v' })
    assert.equal((await it.ask('PUT', `${V1}/A`, { name: 'A-B' })).status, 422)
  })

  test('several that are created at once are all there, and one name is taken once', async () => {
    await using it = await serveSettings()
    const names = ['A', 'B', 'C', 'D', 'D', 'D']
    const answers = await Promise.all(names.map(name => it.ask('POST', V0, { name, value: 'v' })))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 201, 201, 201, 400, 400])
    assert.equal((await it.settings.secrets.custom()).length, 4)
  })

  test('names and values are told to nobody without the key', async () => {
    await using it = await serveSettings()
    for (const path of [V0, `${V1}/search`]) assert.equal((await it.ask('GET', path, undefined, {}, '')).status, 401)
  })
})

/** Takes the tokens that begin with `good`, notes what it is asked, and cannot reach the host `down`. */
function checker() {
  const asked: unknown[] = []
  const check: CheckToken = async (provider, { token, host }) => {
    asked.push([provider, token, host])
    if (host === 'down') throw fault('provider_unavailable', provider, 'cannot be reached')
    if (!token.startsWith('good')) throw fault('provider_unauthorized', provider)
  }
  return { asked, check }
}
const invalid = (provider: string) => `Invalid token. Please make sure it is a valid ${provider} token.`

describe('tokens of git providers', () => {
  const ways = { earlier: '/api/add-git-providers', later: '/api/v1/secrets/git-providers' }

  for (const [generation, path] of Object.entries(ways))
    test(`the ${generation} generation checks and stores them, each with its host`, async () => {
      const { asked, check } = checker()
      await using it = await serveSettings({ check })
      const provider_tokens = {
        github: { token: ' good-1\n', host: '' },
        gitlab: { token: 'good-2', host: 'git.example' },
      }
      const stored = await it.ask('POST', path, { provider_tokens, mcp_config: null })
      assert.deepEqual([stored.status, stored.json], [200, { message: 'Git providers stored' }])
      assert.deepEqual(asked, [
        ['github', 'good-1', null],
        ['gitlab', 'good-2', 'git.example'],
      ])
      assert.deepEqual((await it.get()).provider_tokens_set, { github: null, gitlab: 'git.example' })
      const tokens = await it.settings.providerTokens()
      assert.deepEqual([tokens.github!.token, tokens.gitlab!.token], ['good-1', 'good-2'])

      const refused = await it.ask('POST', path, { provider_tokens: { github: { token: 'bad' } } })
      assert.deepEqual([refused.status, refused.json.detail], [401, invalid('github')])
      assert.equal(refused.json.error, generation === 'earlier' ? invalid('github') : undefined)
      assert.equal((await it.settings.providerTokens()).github!.token, 'good-1')

      const [method, url] = generation === 'earlier' ? ['POST', '/api/unset-provider-tokens'] : ['DELETE', path]
      assert.equal((await it.ask(method!, url!)).status, 200)
      assert.deepEqual((await it.get()).provider_tokens_set, {})
    })

  const path = ways.later
  const store = (it: Awaited<ReturnType<typeof serveSettings>>, provider_tokens?: object) =>
    it.ask('POST', path, { provider_tokens })

  test('those that are not named are removed; without a token one keeps what it has; nothing said changes nothing', async () => {
    const { asked, check } = checker()
    await using it = await serveSettings({ check })
    await store(it, { github: { token: 'good-1' }, gitlab: { token: 'good-2', host: 'git.example', user_id: 'me' } })
    asked.length = 0
    await store(it)
    assert.equal(Object.keys(await it.settings.providerTokens()).length, 2)
    const none = { token: '', host: '' }
    await store(it, { gitlab: { token: '' }, bitbucket: none, forgejo: none })
    const expected = { gitlab: { token: 'good-2', host: 'git.example', user_id: 'me' } }
    assert.deepEqual(await it.settings.providerTokens(), expected)
    await store(it, { gitlab: { token: MASK } })
    assert.deepEqual(await it.settings.providerTokens(), expected)
    assert.deepEqual(asked, [])
  })

  test('a stored token is checked again when it is meant for another host', async () => {
    const { asked, check } = checker()
    await using it = await serveSettings({ check })
    await store(it, { gitlab: { token: 'good', host: 'one.example' } })
    const { status, json } = await store(it, { gitlab: { token: '', host: 'down' } })
    assert.deepEqual([status, json.detail], [502, 'gitlab cannot be reached'])
    assert.deepEqual(await it.settings.providerTokens().then(({ gitlab }) => gitlab!.host), 'one.example')
    await store(it, { gitlab: { token: null, host: 'two.example' } })
    assert.deepEqual(asked.at(-1), ['gitlab', 'good', 'two.example'])
    assert.deepEqual((await it.get()).provider_tokens_set, { gitlab: 'two.example' })
  })

  test('a bad token is never hidden by a good one, nor by another bad one, wherever it stands', async () => {
    const { check } = checker()
    const names = ['github', 'gitlab', 'bitbucket'] as const
    for (const bad of [['github'], ['bitbucket'], ['github', 'bitbucket'], ['gitlab', 'bitbucket']]) {
      await using it = await serveSettings({ check })
      const tokens = names.map(name => [name, { token: bad.includes(name) ? 'bad' : 'good' }])
      const { status, json } = await store(it, Object.fromEntries(tokens))
      assert.deepEqual([status, json.detail], [401, bad.map(invalid).join(' ')])
      assert.deepEqual(await it.settings.providerTokens(), {})
    }
    await using it = await serveSettings({ check })
    const mixed = await store(it, { github: { token: 'good', host: 'down' }, gitlab: { token: 'bad' } })
    assert.deepEqual([mixed.status, mixed.json.detail], [401, `github cannot be reached ${invalid('gitlab')}`])
  })

  test('a provider that nobody knows is 422, and is not asked for', async () => {
    const { asked, check } = checker()
    await using it = await serveSettings({ check })
    assert.equal((await store(it, { sourceforge: { token: 'good' }, github: { token: 'good' } })).status, 422)
    assert.equal((await store(it, { github: 'good' })).status, 422)
    assert.deepEqual(asked, [])
  })

  test('they are granted by their usual names, unless a secret of the user has that name; lists show only those', async () => {
    await using it = await serveSettings()
    await store(it, { github: { token: 'gh' }, azure_devops: { token: 'az' }, bitbucket_data_center: { token: 'bb' } })
    await it.ask('POST', V1, { name: 'AZURE_DEVOPS_TOKEN', value: 'mine', description: 'own' })
    const { secrets } = it.settings
    assert.deepEqual(
      (await secrets.list()).secrets.map(({ name }) => name),
      ['AZURE_DEVOPS_TOKEN', 'GITHUB_TOKEN', 'BITBUCKET_DATA_CENTER_TOKEN'],
    )
    const names = ['GITHUB_TOKEN', 'BITBUCKET_DATA_CENTER_TOKEN', 'AZURE_DEVOPS_TOKEN']
    assert.deepEqual(await Promise.all(names.map(name => secrets.value(name))), ['gh', 'bb', 'mine'])
    await assert.rejects(secrets.value('GITLAB_TOKEN'), { code: 'secret_not_found' })
    const own = [{ name: 'AZURE_DEVOPS_TOKEN', description: 'own' }]
    assert.deepEqual((await it.ask('GET', '/api/settings/secrets')).json, { secrets: own })
    assert.deepEqual((await it.ask('GET', V0)).json, { custom_secrets: own })
    assert.deepEqual((await it.ask('GET', `${V1}/search`)).json.items, own)
    await it.ask('DELETE', `${V1}/AZURE_DEVOPS_TOKEN`)
    assert.equal(await secrets.value('AZURE_DEVOPS_TOKEN'), 'az')
  })

  test('none is shown, logged or on disk, nor in an answer that refuses it', async () => {
    const { check } = checker()
    await using it = await serveSettings({ check })
    const canaries = new Canaries()
    const answers = [
      await store(it, { github: { token: `good${canaries.make('stored')}` } }),
      await store(it, { gitlab: { token: canaries.make('refused') } }),
      await store(it, { gitlab: { token: canaries.make('malformed'), host: 5 } }),
      await it.ask('GET', '/api/v1/settings'),
      await it.ask('GET', '/api/settings'),
    ]
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 401, 422, 200, 200],
    )
    assert.deepEqual(canaries.sightings(answers.map(({ text }) => text).join() + it.lines.join()), [])
    assert.deepEqual(await canaries.sightingsIn(it.folder), [])
  })

  test('the server tells them to the bearer of a sandbox’s key', async () => {
    const key = 'a key for this server'
    await using app = await appInProcess([], { SESSION_API_KEY: key })
    const client = createClient({ baseUrl: app.url, key })
    await client.storeSettings({ body: { secrets_store: { provider_tokens: { github: 'gh' } } } })
    const params = { sandbox_id: (await client.startSandbox()).id }
    const { secrets } = await client.listSandboxSecrets({ params })
    assert.deepEqual(
      secrets.map(({ name }) => name),
      ['GITHUB_TOKEN'],
    )
    const value = await client.readSandboxSecret({ params: { ...params, secret_name: 'GITHUB_TOKEN' } })
    assert.equal(await value.text(), 'gh')
  })
})

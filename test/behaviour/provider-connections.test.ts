import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { MAX_PROVIDER_CONNECTIONS } from '../../src/api/provider-connections.ts'
import { MASK } from '../../src/api/secret.ts'
import { AgentRig, type Talk } from '../support/agent.ts'
import { Canaries } from '../support/canary.ts'
import { ModelServer, say } from '../support/model-server.ts'
import { started } from '../support/starts.ts'

const PATH = '/api/llm/provider-connections'
const canaries = new Canaries()

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start(() => say('Hello.'))
})
after(() => rig[Symbol.asyncDispose]())

const create = async (more: object = {}) => {
  const key = canaries.make('api_key')
  const given = { display_name: 'Mine', api_key: key, base_url: rig.model.openai, ...more }
  const { status, body } = await rig.call('POST', PATH, given)
  assert.equal(status, 201, JSON.stringify(body))
  return { key, shown: body, id: body.id as string }
}
const remove = (id: string) => rig.call('DELETE', `${PATH}/${id}`)
const change = (id: string, what: object) => rig.call('PATCH', `${PATH}/${id}`, what)
const save = (name: string, llm: object) => rig.call('POST', `/api/profiles/${name}`, { llm })
const profile = async (name: string) =>
  (await rig.call('GET', '/api/profiles')).body.profiles.find((one: { name: string }) => one.name === name)

/** A conversation that has its first answer. */
const talkWith = async (llm: Record<string, unknown>): Promise<Talk> => {
  const talk = await rig.begin({ say: 'Hello?', llm, script: () => say('Hi.') })
  await rig.server.atRest(talk.id)
  return talk
}
const keysOf = ({ questions }: Talk) => questions.map(({ headers }) => headers.authorization)

describe('a provider connection', () => {
  test('is stored, listed, changed and deleted', async () => {
    const { id, shown } = await create({ provider: 'openai', base_url: undefined })
    assert.match(id, /^[0-9a-f]{32}$/)
    const { created_at, updated_at, ...said } = shown
    assert.ok(Number.isInteger(created_at) && Math.abs(created_at - Date.now() / 1000) < 60)
    assert.equal(updated_at, created_at)
    assert.deepEqual(said, { id, display_name: 'Mine', provider: 'openai', base_url: null, api_key_set: true })

    const changed = await change(id, { display_name: 'Ours', base_url: 'https://a.example/v1' })
    assert.deepEqual(
      [changed.status, changed.body.display_name, changed.body.base_url],
      [200, 'Ours', 'https://a.example/v1'],
    )
    const cleared = await change(id, { base_url: null })
    assert.deepEqual([cleared.body.display_name, cleared.body.base_url], ['Ours', null])
    assert.deepEqual((await rig.call('GET', PATH)).body, [cleared.body])

    const deleted = await remove(id)
    assert.deepEqual([deleted.status, deleted.body], [200, { ...cleared.body, api_key_set: false }])
    assert.deepEqual([(await remove(id)).status, (await change(id, { provider: 'x' })).status], [404, 404])
    assert.deepEqual((await rig.call('GET', PATH)).body, [])
  })

  test('has a name and a key, at its making and ever after', async () => {
    const good = { display_name: 'A', api_key: 'sk-a' }
    const wrong = [{}, { api_key: 'sk' }, { display_name: 'A' }, { ...good, display_name: '' }, { ...good, more: 1 }]
    const wrongKeys = ['', '  ', null, MASK].map(api_key => ({ ...good, api_key }))
    for (const body of [...wrong, ...wrongKeys, { ...good, display_name: 'x'.repeat(129) }])
      assert.equal((await rig.call('POST', PATH, body)).status, 422, JSON.stringify(body))
    const { id } = await create()
    for (const what of [
      {},
      { api_key: null },
      { api_key: ' ' },
      { display_name: null },
      { provider: null },
      { id: 'x' },
    ])
      assert.equal((await change(id, what)).status, 422, JSON.stringify(what))
    for (const name of ['constructor', '__proto__', 'nope'])
      assert.equal((await change(name, { provider: 'x' })).status, 404)
    assert.equal((await remove(id)).status, 200)
  })

  test(`is the ${MAX_PROVIDER_CONNECTIONS}th at most, also when more come at once`, async () => {
    const many = Array.from({ length: MAX_PROVIDER_CONNECTIONS + 3 }, () => ({ display_name: 'One', api_key: 'sk-a' }))
    const all = await Promise.all(many.map(body => rig.call('POST', PATH, body)))
    assert.equal(all.filter(({ status }) => status === 409).length, 3)
    await Promise.all(all.flatMap(({ status, body }) => (status === 201 ? [remove(body.id)] : [])))
  })
})

describe('a model that names a connection', () => {
  test('is asked with its key at its address, and with the next key as soon as there is one', async () => {
    const { id, key } = await create()
    const talk = await talkWith({ api_key: null, base_url: null, provider_connection_id: id })
    const next = canaries.make('the next api_key')
    await change(id, { api_key: next })
    await change(id, { api_key: MASK, display_name: 'The same key' })
    await talk.say('And now?')
    await rig.server.atRest(talk.id)
    assert.deepEqual(keysOf(talk), [`Bearer ${key}`, `Bearer ${next}`])
  })

  test('cannot have it sent elsewhere, whatever addresses the order gives', async () => {
    await using elsewhere = await ModelServer.start(() => say('Thank you.'))
    const addresses = { base_url: elsewhere.openai, ollama_base_url: elsewhere.url, api_key: 'sk-mine' }
    const { id, key } = await create()
    const talk = await talkWith({ ...addresses, provider_connection_id: id })
    assert.deepEqual([keysOf(talk), elsewhere.count], [[`Bearer ${key}`], 0])
    const unaddressed = await create({ base_url: null })
    const other = await rig.begin({
      say: 'Hello?',
      llm: { ...addresses, model: 'ollama/any', provider_connection_id: unaddressed.id },
    })
    await rig.server.atRest(other.id)
    assert.equal(elsewhere.count, 0)
  })

  test('that nobody knows is not asked, and the conversation says why', async () => {
    const talk = await talkWith({ api_key: null, provider_connection_id: 'nobody' })
    const { execution_status } = await rig.server.atRest(talk.id)
    assert.deepEqual([execution_status, talk.asked], ['error', 0])
    const { body } = await rig.call('GET', `/api/conversations/${talk.id}/events/search`)
    assert.match(JSON.stringify(body.items), /provider_connection_id cannot be honoured/)
  })
})

describe('an LLM profile that names a connection', () => {
  test('keeps neither key nor address of its own, can be asked, and holds on to the connection', async () => {
    const { id, key } = await create()
    const llm = { ...rig.model.llm({ model: 'openai/linked' }), provider_connection_id: id }
    assert.equal((await save('linked', llm)).status, 201)
    const info = { name: 'linked', model: 'openai/linked', base_url: null, provider_connection_id: id }
    assert.deepEqual(await profile('linked'), { ...info, provider_connection_broken: false, api_key_set: true })
    const { body } = await rig.call('GET', '/api/profiles/linked')
    assert.deepEqual([body.config.api_key, body.config.base_url, body.api_key_set], [null, null, true])

    assert.deepEqual((await rig.call('POST', '/api/profiles/linked/validate', { llm })).body, {
      valid: true,
      error: null,
    })
    await rig.call('POST', '/api/profiles/linked/activate')
    assert.equal((await rig.call('GET', '/api/settings')).body.llm_api_key_is_set, true)
    await started(rig.server, { initial_message: { content: [{ type: 'text', text: 'Hello?' }] } })
    const { id: conversation } = (await rig.call('GET', '/api/conversations/search?limit=1&sort_order=CREATED_AT_DESC'))
      .body.items[0]
    await rig.server.atRest(conversation)
    const seen = rig.model.requests
      .filter(({ model }) => model === 'linked')
      .map(({ headers }) => headers.authorization)
    assert.ok(seen.length >= 2 && seen.every(header => header === `Bearer ${key}`), seen.join())

    const refused = await remove(id)
    assert.equal(refused.status, 409)
    assert.match(refused.body.detail, /profile 'linked', the settings/)
    await rig.call('DELETE', '/api/profiles/linked')
    assert.match((await remove(id)).body.detail, /by the settings/)
    await rig.call('PATCH', '/api/settings', { agent_settings_diff: { llm: { provider_connection_id: null } } })
    assert.equal((await remove(id)).status, 200)
  })

  test('is refused where nobody knows the connection', async () => {
    const { status, body } = await save('broken', { model: 'openai/a', provider_connection_id: 'nobody' })
    assert.deepEqual([status, body.detail], [422, 'There is no provider connection nobody'])
    assert.equal(await profile('broken'), undefined)
    const diff = { llm: { model: 'openai/a', provider_connection_id: 'nobody' } }
    await rig.call('PATCH', '/api/settings', { agent_settings_diff: diff })
    const { provider_connection_broken, api_key_set } = await profile('default')
    assert.deepEqual([provider_connection_broken, api_key_set], [true, false], 'that of the settings is told from one')
  })
})

test('the key of a connection stands in no answer, no event, no file and no log', async () => {
  const { id } = await create()
  await save('canary', { model: 'openai/a', provider_connection_id: id })
  const paths = [PATH, '/api/profiles', '/api/profiles/canary', '/api/settings', '/api/conversations/search']
  const heard = [await change(id, { provider: 'x' }), ...(await Promise.all(paths.map(path => rig.call('GET', path))))]
  for (const { id: talk } of heard.at(-1)!.body.items)
    heard.push(await rig.call('GET', `/api/conversations/${talk}/events/search`))
  assert.ok(canaries.size > 5)
  assert.deepEqual(canaries.sightings(JSON.stringify(heard) + rig.server.output), [])
  assert.deepEqual(await canaries.sightingsIn(rig.server.data), [])
})

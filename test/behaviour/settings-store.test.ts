import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LLM } from '../../src/api/llm.ts'
import { MASK } from '../../src/api/secret.ts'
import { SecretCreateRequest } from '../../src/api/user-secrets.ts'
import { looksLikeToken, Vault } from '../../src/policy/secrets.ts'
import { getIn } from '../../src/settings/paths.ts'
import { agentSchema, conversationSchema } from '../../src/settings/schema.ts'
import { SettingsService } from '../../src/settings/settings.ts'
import { agentLeaves, flatLeaves, isRefusal, nested, open, parsed, vault } from '../support/settings.ts'

const code = (wanted: string) => (error: unknown) => (error as { code?: string }).code === wanted

describe('updates at the same time', () => {
  test('50 patches of different leaves are all kept', async () => {
    const { patch, service } = open()
    const leaves = agentLeaves().slice(0, 50)
    assert.equal(leaves.length, 50)
    await Promise.all(leaves.map(({ path, values }) => patch({ agent_settings_diff: nested(path, values[1]) })))
    const settings = await service.get('plaintext')
    for (const { path, values } of leaves) {
      assert.deepEqual(getIn(settings.agent_settings, path.split('.')), values[1], path)
    }
  })

  test('so are those of two servers over one store, and flat ones among them', async () => {
    const { store, service, post } = open()
    const other = new SettingsService(store, vault)
    await Promise.all(
      Array.from({ length: 4 }, (_, n) => [
        service.update({ misc_settings_diff: { [`a${n}`]: n } }),
        other.update({ misc_settings_diff: { [`b${n}`]: n } }),
        post({ [['language', 'email', 'git_user_name', 'agent'][n]!]: 'x' }),
        other.secrets.put({ name: `S${n}`, value: 'v' }),
        service.secrets.put({ name: `T${n}`, value: 'v' }),
      ]).flat(),
    )
    const settings = await service.get()
    assert.equal(Object.keys(settings.misc_settings).length, 8)
    assert.deepEqual([settings.language, settings.email, settings.git_user_name, settings.agent], ['x', 'x', 'x', 'x'])
    assert.equal((await service.secrets.list()).secrets.length, 8)
  })

  test('a failed change leaves nothing behind and does not stop the next', async () => {
    const { patch, leaves } = open()
    const bad = patch({ conversation_settings_diff: { max_iterations: -1 } })
    const good = patch({ conversation_settings_diff: { max_iterations: 3 } })
    await assert.rejects(bad, isRefusal)
    await good
    assert.equal(leaves().get('conversation_settings.max_iterations'), 3)
  })
})

describe('secrets', () => {
  /** Every secret there is, all with the word `canary`. */
  async function withCanaries() {
    const fixture = open()
    const flat = flatLeaves().filter(({ kind }) => kind === 'secret')
    await fixture.post({
      ...Object.fromEntries(flat.map(({ path, values }) => [path, values[0]])),
      secrets_store: {
        provider_tokens: { github: 'canary github', gitlab: { token: 'canary gitlab', host: 'git.example' } },
        custom_secrets: { ONE: 'canary one', TWO: { secret: 'canary two', description: 'second' } },
      },
      mcp_config: {
        sse_servers: [{ url: 'https://one.example', api_key: 'canary sse' }],
        stdio_servers: [{ name: 'two', command: 'two', env: { A: 'canary env' } }],
      },
    })
    const leaves = agentLeaves().filter(({ kind }) => kind === 'secret')
    for (const { path, values } of leaves) await fixture.patch({ agent_settings_diff: nested(path, values[0]) })
    await fixture.patch({
      agent_settings_diff: {
        llm: { extra_headers: { A: 'canary header' } },
        agent_context: {
          secrets: { A: 'canary context', B: { kind: 'StaticSecret', value: 'canary static' } },
          skills: [{ name: 's', content: 'c', mcp_tools: { t: { command: 'x', env: { K: 'canary skill' } } } }],
        },
        mcp_config: {
          three: {
            url: 'https://three.example',
            headers: { A: 'canary mcp' },
            auth: { strategy: 'basic', username: 'u', password: 'canary basic' },
          },
          four: {
            url: 'https://four.example',
            auth: {
              strategy: 'oauth2',
              state: { tokens: { access_token: 'canary access', refresh_token: 'canary refresh' } },
            },
          },
        },
      },
    })
    return fixture
  }

  test('none is readable in what is stored or in an answer that was not asked for it', async () => {
    const { store, service, patch } = await withCanaries()
    const stored = [...store.documents.values()].map(({ json }) => json).join()
    const opened = stored.match(/sealed:[\w-]+/g)!.map(sealed => vault.open(sealed))
    assert.equal(opened.length, new Set(opened).size)
    assert.ok(opened.length > 20 && opened.every(secret => secret.startsWith('canary')))
    const answers = [
      await service.get(),
      await service.get('encrypted'),
      await patch({ misc_settings_diff: {} }),
      await service.createMcpServer('five', { command: 'x', env: { A: 'canary five' }, enabled: true }),
      await service.secrets.list(),
      await service.full(),
    ]
    for (const text of [stored, ...answers.map(answer => JSON.stringify(answer))]) assert.doesNotMatch(text, /canary/)
    assert.match(JSON.stringify(await service.get('plaintext')), /canary skill/)
  })

  test("encrypted, they are tokens that can be sent back; other servers' tokens are refused", async () => {
    const { service, patch, leaves } = await withCanaries()
    const { agent_settings } = await service.get('encrypted')
    assert.deepEqual((await service.get('true')).agent_settings.llm.model, agent_settings.llm.model)
    assert.ok(looksLikeToken(agent_settings.llm.api_key!))
    const was = leaves()
    await patch({ agent_settings_diff: { llm: { api_key: agent_settings.llm.api_key } } })
    assert.deepEqual(leaves(), was)
    const foreign = new Vault('another key').toToken('sk-one')
    await assert.rejects(patch({ agent_settings_diff: { llm: { api_key: foreign } } }), isRefusal)
    await assert.rejects(service.get('yes'), code('bad_request'))
  })

  test('a masked copy of all settings sent back changes nothing, and does not stop the clock', async () => {
    const { service, patch, post, leaves } = await withCanaries()
    const settings = async () => {
      const { agent_settings, ...others } = await service.get('plaintext')
      return {
        ...others,
        agent_settings: { ...agent_settings, agent_context: { ...agent_settings.agent_context, current_datetime: '' } },
      }
    }
    const was = await settings()
    const { agent_settings, conversation_settings, misc_settings, ...flat } = await service.get()
    await post(flat)
    assert.deepEqual(await settings(), was)
    await patch({
      agent_settings_diff: agent_settings,
      conversation_settings_diff: conversation_settings,
      misc_settings_diff: misc_settings,
    })
    assert.deepEqual((await settings()).agent_settings, was.agent_settings)
    assert.equal(leaves().get('agent_settings.agent_context.current_datetime'), undefined)
  })

  test('a masked secret in a list goes by the name of its item, not by its place', async () => {
    const { service, patch } = open()
    const skill = (name: string, secret: string) => ({
      name,
      content: 'c',
      mcp_tools: { t: { command: 'x', env: { K: secret } } },
    })
    await patch({ agent_settings_diff: { agent_context: { skills: [skill('one', 'k1'), skill('two', 'k2')] } } })
    await patch({ agent_settings_diff: { agent_context: { skills: [skill('new', MASK), skill('two', MASK)] } } })
    const { agent_settings } = await service.get('plaintext')
    const secrets = agent_settings.agent_context!.skills.map(({ mcp_tools }) => mcp_tools!.t!.env)
    assert.deepEqual(secrets, [{}, { K: 'k2' }])
  })

  test('a value that looks sealed is sealed like any other', async () => {
    const { patch, service } = open()
    await patch({ agent_settings_diff: { llm: { api_key: 'sealed:AAAA' } } })
    assert.equal((await service.get('plaintext')).agent_settings.llm.api_key, 'sealed:AAAA')
  })

  test('a provider token shows as its host only; "" removes it, and what is not named stays', async () => {
    const { service, post } = await withCanaries()
    assert.deepEqual((await service.get()).provider_tokens_set, { github: null, gitlab: 'git.example' })
    await post({ secrets_store: { provider_tokens: { github: '', gitlab: { token: MASK, host: 'other' } } } })
    assert.deepEqual((await service.get()).provider_tokens_set, { gitlab: 'other' })
    assert.equal(vault.open((await service.full()).provider_tokens.gitlab!.token!), 'canary gitlab')
  })
})

describe('stored secrets', () => {
  test('are listed without values, read one by one, replaced and deleted', async () => {
    const { secrets } = open().service
    assert.deepEqual(await secrets.put({ name: 'ONE', value: 'v1', description: 'd' }), {
      name: 'ONE',
      description: 'd',
    })
    await secrets.put({ name: 'ONE', value: 'v2' })
    assert.deepEqual(await secrets.list(), { secrets: [{ name: 'ONE', description: 'd' }] })
    assert.equal(await secrets.value('ONE'), 'v2')
    await secrets.put({ name: 'ONE', value: MASK, description: null })
    assert.deepEqual(await secrets.list(), { secrets: [{ name: 'ONE', description: null }] })
    assert.equal(await secrets.value('ONE'), 'v2')
    assert.deepEqual(await secrets.delete('ONE'), { deleted: true })
    await assert.rejects(secrets.value('ONE'), code('secret_not_found'))
    await assert.rejects(secrets.delete('ONE'), code('secret_not_found'))
    await assert.rejects(secrets.value('constructor'), code('secret_not_found'))
  })

  test('a flat POST adds to them; "" removes one', async () => {
    const { post, service } = open()
    await post({ secrets_store: { custom_secrets: { ONE: 'v1', TWO: { secret: 'v2', description: 'd' } } } })
    await post({ secrets_store: { custom_secrets: { ONE: '', TWO: { secret: MASK, description: 'e' }, THREE: null } } })
    assert.deepEqual(await service.secrets.list(), { secrets: [{ name: 'TWO', description: 'e' }] })
    assert.equal(await service.secrets.value('TWO'), 'v2')
  })

  test('a name must be one for a variable, a value must be one', async () => {
    const { service, post } = open()
    for (const name of ['', '1A', 'A-B', 'A'.repeat(65)])
      assert.throws(() => parsed(SecretCreateRequest, { name, value: 'v' }), isRefusal)
    await assert.rejects(post({ secrets_store: { custom_secrets: { 'A-B': 'v' } } }), isRefusal)
    await assert.rejects(service.secrets.put({ name: 'ONE', value: ' ' }), isRefusal)
    await assert.rejects(service.secrets.put({ name: 'ONE', value: MASK }), isRefusal)
    assert.deepEqual(await service.secrets.list(), { secrets: [] })
  })
})

describe('requests', () => {
  test('a PATCH that says nothing is a bad request; a null pointer is cleared', async () => {
    const { patch } = open()
    for (const body of [{}, { agent_settings_diff: null }, { other: 1 }])
      await assert.rejects(patch(body), code('bad_request'))
    assert.equal((await patch({ active_profile: 'one' })).active_profile, 'one')
    assert.equal((await patch({ misc_settings_diff: {} })).active_profile, 'one')
    assert.equal((await patch({ active_profile: null })).active_profile, null)
  })

  test('an active profile brings its LLM, unless the request has one', async () => {
    const { service } = open()
    const profile = LLM.parse({ model: 'openai/one', api_key: vault.seal('sk-one'), timeout: null })
    const { agent_settings } = await service.update({ active_profile: 'one' }, profile)
    assert.equal(agent_settings.llm.model, 'openai/one')
    assert.equal(agent_settings.llm.timeout, null)
    assert.equal((await service.get('plaintext')).agent_settings.llm.api_key, 'sk-one')
    profile.base_url = 'https://one.example'
    const two = await service.update({ active_profile: 'two', agent_settings_diff: { llm: { model: 'm' } } }, profile)
    assert.equal(two.agent_settings.llm.model, 'm')
    assert.equal(two.agent_settings.llm.base_url, null)
  })

  test('an MCP server is created once, changed and deleted by its key', async () => {
    const { service } = open()
    await service.createMcpServer('one', { command: 'x', env: { A: 'a', B: 'b' }, enabled: true })
    await assert.rejects(service.createMcpServer('one', { command: 'x', enabled: true }), code('mcp_server_exists'))
    const { agent_settings } = await service.updateMcpServer('one', { env: { A: null }, description: 'd' })
    assert.deepEqual(agent_settings.mcp_config.one, { command: 'x', env: { B: MASK }, description: 'd', enabled: true })
    await assert.rejects(service.updateMcpServer('two', {}), code('mcp_server_not_found'))
    await assert.rejects(service.updateMcpServer('toString', {}), code('mcp_server_not_found'))
    assert.deepEqual((await service.deleteMcpServer('one')).agent_settings.mcp_config, {})
    await assert.rejects(service.deleteMcpServer('one'), code('mcp_server_not_found'))
  })

  test('what no schema knows is not stored; names of prototypes and deep nesting do no harm', async () => {
    const { patch, post, store } = open()
    await patch({ agent_settings_diff: { my_api_key: 'canary', llm: { other: 'canary' } } })
    await post({ other: 'canary' })
    assert.doesNotMatch(store.documents.get('settings')!.json, /canary/)
    await patch({ misc_settings_diff: JSON.parse('{"a":{"__proto__":{"polluted":true}}}') })
    assert.equal(({} as { polluted?: boolean }).polluted, undefined)
    const deep = JSON.parse(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`)
    await assert.rejects(patch({ misc_settings_diff: deep }), isRefusal)
  })

  test('a refusal names the place and never the value', async () => {
    const { patch } = open()
    const secret = { agent_settings_diff: { llm: { api_key: { canary: 'canary' } } } }
    await assert.rejects(patch(secret), (error: Error) => {
      assert.match(error.message, /^Settings validation failed: agent_settings\.llm\.api_key: /)
      assert.doesNotMatch(error.message, /canary/)
      return isRefusal(error)
    })
  })
})

describe('the forms', () => {
  const fields = (schema: ReturnType<typeof agentSchema>) => schema.sections.flatMap(section => section.fields)

  test('list each setting of each kind of agent once, in sections', () => {
    const { sections } = agentSchema()
    assert.deepEqual(
      sections.map(({ key, variant, fields }) => [key, variant, fields.length]),
      [
        ['general', null, 6],
        ['llm', 'openhands', 55],
        ['agent_context', 'openhands', 1],
        ['condenser', 'openhands', 8],
        ['verification', 'openhands', 8],
        ['acp', 'acp', 7],
        ['llm', 'acp', 55],
      ],
    )
    for (const variant of ['openhands', 'acp']) {
      const keys = fields(agentSchema())
        .filter(field => field.variant === variant)
        .map(({ key }) => key)
      assert.equal(new Set(keys).size, keys.length)
    }
  })

  test('know types, defaults, choices and secrets from the schemas', () => {
    const byKey = new Map([...fields(agentSchema()), ...fields(conversationSchema())].map(field => [field.key, field]))
    const of = (key: string) => {
      const { value_type, default: value, choices, secret } = byKey.get(key)!
      return [value_type, value, choices.map(choice => choice.value), secret]
    }
    assert.deepEqual(of('llm.api_key'), ['string', null, [], true])
    assert.deepEqual(of('llm.num_retries'), ['integer', 5, [], false])
    assert.deepEqual(of('llm.top_p'), ['number', null, [], false])
    assert.deepEqual(of('llm.extra_headers'), ['object', null, [], false])
    assert.deepEqual(of('condenser.condenser_kind'), ['string', 'llm_summarizing', ['llm_summarizing', 'no_op'], false])
    assert.deepEqual(of('acp_args'), ['array', [], [], false])
    assert.deepEqual(of('security_analyzer'), ['string', 'llm', ['llm', 'none'], false])
    assert.equal(byKey.get('llm.aws_access_key_id')!.label, 'AWS Access Key ID')
  })

  test('depend only on fields that they list', () => {
    for (const schema of [agentSchema(), conversationSchema()]) {
      const keys = new Set(fields(schema).map(({ key }) => key))
      for (const { depends_on } of fields(schema)) assert.ok(depends_on.every(key => keys.has(key)))
    }
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ConversationInfo } from '../../src/api/conversations.ts'
import { Settings } from '../../src/api/settings.ts'
import { specFor } from '../../src/app-conversation/placement.ts'
import { DEFAULT_SPECS } from '../../src/sandbox/specs.ts'
import { AgentRig } from '../support/agent.ts'
import { say } from '../support/model-server.ts'
import { aMessage } from '../support/server.ts'
import { inside, started, startOver } from '../support/starts.ts'

interface Started {
  info: ConversationInfo
  sandbox: string
  rig: AgentRig
}

/** What a conversation shows that was started after only this was stored. */
interface Effect {
  value: (rig: AgentRig) => unknown
  /** Stored before it: what it needs to show. */
  with?: (rig: AgentRig) => Settings
  /** Only in what is said. */
  talks?: true
  shows: (started: Started) => unknown
  /** What it shows then; and it did not before. */
  as: unknown
}

const EFFECTS: Partial<Record<keyof Settings, Effect>> = {
  max_iterations: { value: () => 7, shows: ({ info }) => info.max_iterations, as: 7 },
  confirmation_mode: {
    value: () => true,
    shows: ({ info }) => info.confirmation_policy.kind,
    as: 'ConfirmRisky',
  },
  security_analyzer: {
    value: () => 'none',
    with: () => ({ confirmation_mode: true }),
    shows: ({ info }) => [info.confirmation_policy.kind, info.security_analyzer],
    as: ['AlwaysConfirm', null],
  },
  llm_model: { value: () => 'openai/scripted', shows: ({ info }) => info.agent.llm.model, as: 'openai/scripted' },
  llm_base_url: {
    value: () => 'http://127.0.0.1:9/v1',
    shows: ({ info }) => info.agent.llm.base_url,
    as: 'http://127.0.0.1:9/v1',
  },
  llm_api_key: {
    value: () => 'sk-effective',
    with: rig => ({ llm_model: 'openai/scripted', llm_base_url: rig.model.openai }),
    talks: true,
    shows: ({ rig }) => rig.model.requests.at(-1)?.headers.authorization,
    as: 'Bearer sk-effective',
  },
  enable_default_condenser: { value: () => false, shows: ({ info }) => info.agent.condenser, as: null },
  mcp_config: {
    value: () => ({ shttp_servers: [{ url: 'http://127.0.0.1:9/mcp' }] }),
    shows: ({ info }) => Object.values(info.agent.mcp_config).map(({ url }) => url),
    as: ['http://127.0.0.1:9/mcp'],
  },
  search_api_key: {
    value: () => 'tvly-key',
    shows: ({ info }) => Object.keys(info.agent.mcp_config).includes('tavily'),
    as: true,
  },
  max_budget_per_task: {
    value: () => 0,
    talks: true,
    shows: ({ info }) => info.execution_status,
    as: 'error',
  },
  secrets_store: {
    value: () => ({ custom_secrets: { NAMED: { secret: 'x' } }, provider_tokens: { gitlab: { token: 't' } } }),
    shows: ({ info }) => Object.keys(info.secret_registry.secret_sources).sort(),
    as: ['GITLAB_TOKEN', 'NAMED'],
  },
  git_user_name: {
    value: () => 'Ada L',
    shows: ({ rig, sandbox }) => inside(rig.server, sandbox, 'git -C /workspace/project config user.name'),
    as: 'Ada L',
  },
  email: {
    value: () => 'me@example.org',
    shows: ({ rig, sandbox }) => inside(rig.server, sandbox, 'git -C /workspace/project config user.email'),
    as: 'me@example.org',
  },
  git_user_email: {
    value: () => 'ada@example.org',
    shows: ({ rig, sandbox }) => inside(rig.server, sandbox, 'git -C /workspace/project config user.email'),
    as: 'ada@example.org',
  },
}

/** Shown by tests of their own, below. */
const APART: (keyof Settings)[] = [
  'remote_runtime_resource_factor',
  'sandbox_base_container_image',
  'sandbox_runtime_container_image',
]

/** Kept for clients that ask for it, and without effect here. Each with its reason. */
const STORED_ONLY: Partial<Record<keyof Settings, string>> = {
  language: 'the language of a page; the page is in English',
  agent: 'there is one kind of agent, and agent_settings says which',
  enable_sound_notifications: 'for a page to act on',
  enable_proactive_conversation_starters: 'for a page to act on',
  enable_solvability_analysis: 'there is no such analysis',
  user_consents_to_analytics: 'nothing is ever sent',
  sandbox_api_key: 'for a service that rents out sandboxes; ours are our own',
  email_verified: 'for a service that sends mail',
}

describe('settings take effect', () => {
  // One server for all, each field on top of those before it.
  let rig: AgentRig
  let latest: Started
  before(async () => {
    rig = await AgentRig.start(() => say('Heard.'))
    latest = await startWith({})
  })
  after(() => rig[Symbol.asyncDispose]())

  async function startWith(settings: Settings, talks = false): Promise<Started> {
    await rig.server.client.storeSettings({ body: settings })
    const { id, sandbox_id } = await started(rig.server, {
      title: 'Look',
      ...(talks && { initial_message: aMessage('Hello') }),
    })
    return { info: await rig.server.atRest(id), sandbox: sandbox_id, rig }
  }

  test('every field has its line in the table', () => {
    const named = [...Object.keys(EFFECTS), ...APART, ...Object.keys(STORED_ONLY)]
    assert.deepEqual(named.sort(), Object.keys(Settings.shape).sort())
  })

  for (const [field, effect] of Object.entries(EFFECTS))
    test(`${field} shows in a conversation that is started afterwards, and not in one before`, async () => {
      if (effect.with) latest = await startWith(effect.with(rig), effect.talks)
      assert.notDeepEqual(await effect.shows(latest), effect.as)
      latest = await startWith({ [field]: effect.value(rig) }, effect.talks)
      assert.deepEqual(await effect.shows(latest), effect.as)
    })

  test('what is stored only comes back as it was stored', async () => {
    const stored = {
      language: 'fr',
      agent: 'CodeActAgent',
      enable_sound_notifications: true,
      enable_proactive_conversation_starters: false,
      enable_solvability_analysis: false,
      user_consents_to_analytics: false,
      email_verified: true,
    }
    await rig.server.client.storeSettings({ body: { ...stored, sandbox_api_key: 'a-key' } })
    const shown: Record<string, unknown> = await rig.server.client.getSettings()
    assert.deepEqual(Object.fromEntries(Object.keys(stored).map(field => [field, shown[field]])), stored)
    assert.deepEqual(Object.keys({ ...stored, sandbox_api_key: null }).sort(), Object.keys(STORED_ONLY).sort())
  })

  test('a resource factor multiplies what a sandbox may use, and an image is what it is made from', () => {
    const [spec] = DEFAULT_SPECS
    const doubled = specFor(spec!, { remote_runtime_resource_factor: 2 })
    assert.deepEqual(
      [doubled.memory_mb, doubled.cpus, doubled.processes, doubled.disk_mb],
      [spec!.memory_mb * 2, spec!.cpus * 2, spec!.processes * 2, spec!.disk_mb * 2],
    )
    assert.deepEqual(specFor(spec!, {}), spec)
    const based = specFor(spec!, { sandbox_base_container_image: 'base' })
    assert.deepEqual([based.backend, based.image], ['docker', 'base'])
    const both = { sandbox_base_container_image: 'base', sandbox_runtime_container_image: 'runtime' }
    assert.equal(specFor(spec!, both).image, 'runtime')
  })

  test('an image that cannot be had fails the start by name', async () => {
    await using rig = await AgentRig.start([], { env: { GANTRY_DOCKER_SOCKET: '/nowhere/docker.sock' } })
    await rig.server.client.storeSettings({ body: { sandbox_base_container_image: 'no-such-image:none' } })
    const task = await startOver(rig.server)
    assert.equal(task.status, 'ERROR')
    assert.match(task.detail ?? '', /nowhere\/docker\.sock|no-such-image/)
  })
})

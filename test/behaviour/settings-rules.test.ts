import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { MCPServerPatch } from '../../src/api/mcp.ts'
import { MASK } from '../../src/api/secret.ts'
import { NESTED } from '../../src/settings/mapping.ts'
import {
  agentLeaves,
  differences,
  flatLeaves,
  isRefusal,
  type Kind,
  type Leaf,
  type Memory,
  nested,
  open,
  parsed,
} from '../support/settings.ts'

/** Every kind of thing a client can send for a leaf, and what may come of it. */
const inputs = ['absent', 'null', 'empty', 'value', 'mask'] as const
type Input = (typeof inputs)[number]
type Outcome = 'kept' | 'default' | 'value' | 'refused'

const sent = (leaf: Leaf, input: Input) =>
  ({ absent: undefined, null: null, empty: '', value: leaf.values[1], mask: MASK })[input]

const isText = (kind: Kind) => kind === 'text' || kind === 'secret'

/** Sends every input for one leaf to a copy of `from`, and checks that this leaf changed as promised and no other. */
async function check(
  from: Memory,
  leaf: Leaf,
  stored: string,
  outcome: (input: Input) => Outcome,
  send: (to: ReturnType<typeof open>, value: unknown) => Promise<unknown>,
) {
  for (const input of inputs) {
    const to = open(from)
    const was = to.leaves()
    const expected = outcome(input)
    const what = `${leaf.path}, ${input}: ${expected}`
    const request = send(to, sent(leaf, input))
    if (expected === 'refused') await assert.rejects(request, isRefusal, what)
    else await request
    const now = to.leaves()
    const moved = differences(was, now).filter(path => path !== stored && !path.startsWith(`${stored}.`))
    assert.deepEqual(moved, [], `${what}, but others changed`)
    if (expected === 'kept' || expected === 'refused') assert.deepEqual(now, was, what)
    if (expected === 'default') assert.deepEqual(valueAt(now, stored), [], what)
    if (expected === 'value')
      assert.deepEqual(valueAt(now, stored), valueAt(flat(stored, sent(leaf, input)), stored), what)
  }
}

const valueAt = (leaves: Map<string, unknown>, path: string) =>
  [...leaves].filter(([key]) => key === path || key.startsWith(`${path}.`))

const flat = (path: string, value: unknown): Map<string, unknown> =>
  Array.isArray(value) || typeof value !== 'object' || value === null
    ? new Map([[path, Array.isArray(value) ? JSON.stringify(value) : value]])
    : new Map(Object.entries(value).map(([key, item]) => [`${path}.${key}`, item]))

const stdio = { transport: 'stdio', command: 'run', args: ['-v'], env: { KEY: 'canary env' }, cwd: '/one', timeout: 5 }
const url = {
  url: 'https://one.example/mcp',
  transport: 'sse',
  headers: { KEY: 'canary header' },
  auth: { strategy: 'bearer', value: 'canary bearer' },
  description: 'one',
  icon: 'one',
  sse_read_timeout: 5,
  keep_alive: true,
}

/** Every leaf of both generations said. */
async function everythingSaid(): Promise<Memory> {
  const { store, post, patch, service } = open()
  const values = (leaves: Leaf[]) => Object.fromEntries(leaves.map(({ path, values }) => [path, values[0]]))
  await post(values(flatLeaves()))
  for (const leaf of agentLeaves()) await patch({ agent_settings_diff: nested(leaf.path, leaf.values[0]) })
  await patch({
    agent_settings_diff: { mcp_config: { command: stdio, remote: url } },
    conversation_settings_diff: { schema_version: 1, max_iterations: 21, security_analyzer: 'none' },
    misc_settings_diff: { top: 'one', deep: { leaf: 'one', list: [1, 2] } },
    active_profile: 'one',
  })
  await service.store({ secrets_store: { provider_tokens: { github: { token: 'canary token', host: 'one' } } } })
  return store
}

describe('only what a client names changes', () => {
  let full: Memory
  before(async () => {
    full = await everythingSaid()
  })

  describe('by a flat POST', () => {
    const kept = new Set(['llm_model', 'llm_base_url', 'user_consents_to_analytics'])
    for (const leaf of flatLeaves()) {
      test(leaf.path, async () => {
        const { path, kind } = leaf
        const place = NESTED[path as keyof typeof NESTED]
        const isFree = path === 'security_analyzer'
        const outcome = (input: Input): Outcome => {
          if (input === 'absent') return 'kept'
          if (input === 'value') return 'value'
          if (input === 'mask') return isText(kind) ? 'kept' : 'refused'
          if (input === 'empty')
            return kind === 'secret' || path === 'llm_base_url' ? 'default' : isText(kind) ? 'value' : 'refused'
          if (/^enable_/.test(path)) return 'refused'
          return kind === 'secret' || kept.has(path) ? 'kept' : 'default'
        }
        const stored = place && !isFree ? place.join('.') : `flat.${path}`
        const from = isFree ? await withFreeAnalyzer(full) : full
        await check(from, leaf, stored, outcome, (to, value) => to.post(value === undefined ? {} : { [path]: value }))
      })
    }
  })

  describe('by a PATCH of the agent settings', () => {
    for (const leaf of agentLeaves()) {
      test(leaf.path, async () => {
        const { kind } = leaf
        const outcome = (input: Input): Outcome => {
          if (input === 'absent' || input === 'mask') return 'kept'
          if (input === 'null') return 'default'
          if (input === 'empty') return kind === 'secret' ? 'default' : kind === 'text' ? 'value' : 'refused'
          return 'value'
        }
        await check(full, leaf, `agent_settings.${leaf.path}`, outcome, (to, value) =>
          to.patch({ agent_settings_diff: nested(leaf.path, value) }),
        )
      })
    }
  })

  describe('by a PATCH of the conversation settings: a null at the top is a value, and checked', () => {
    const leaves: Leaf[] = [
      { path: 'schema_version', kind: 'integer', values: [1, 2] },
      { path: 'max_iterations', kind: 'integer', values: [21, 22] },
      { path: 'confirmation_mode', kind: 'flag', values: [true, false] },
      { path: 'security_analyzer', kind: 'choice', values: ['none', 'llm'] },
    ]
    for (const leaf of leaves) {
      test(leaf.path, async () => {
        const outcome = (input: Input): Outcome => {
          if (input === 'absent' || input === 'mask') return 'kept'
          if (input === 'null') return leaf.path === 'security_analyzer' ? 'value' : 'refused'
          return input === 'empty' ? 'refused' : 'value'
        }
        await check(full, leaf, `conversation_settings.${leaf.path}`, outcome, (to, value) =>
          to.patch({ conversation_settings_diff: nested(leaf.path, value) }),
        )
      })
    }
  })

  describe('by a PATCH of the miscellaneous settings: a null at the top is kept, below it removes', () => {
    for (const path of ['top', 'deep.leaf', 'deep.list']) {
      test(path, async () => {
        const leaf: Leaf = { path, kind: 'text', values: ['one', 'two'] }
        const outcome = (input: Input): Outcome => {
          if (input === 'absent' || input === 'mask') return 'kept'
          return input === 'null' && path !== 'top' ? 'default' : 'value'
        }
        await check(full, leaf, `misc_settings.${path}`, outcome, (to, value) =>
          to.patch({ misc_settings_diff: nested(path, value) }),
        )
      })
    }
  })

  describe('by a PATCH of an MCP server, alone or among the agent settings', () => {
    const leaves: [Leaf, Partial<Record<Input, Outcome>>][] = [
      [
        { path: 'command.command', kind: 'text', values: ['run', 'go'] },
        { null: 'refused', empty: 'refused' },
      ],
      [{ path: 'command.args', kind: 'list', values: [['-v'], ['-q']] }, {}],
      [{ path: 'command.env.KEY', kind: 'secret', values: ['', 'canary two'] }, {}],
      [{ path: 'command.cwd', kind: 'text', values: ['/one', '/two'] }, {}],
      [{ path: 'command.timeout', kind: 'number', values: [5, 6] }, { mask: 'refused' }],
      [{ path: 'command.enabled', kind: 'flag', values: [true, false] }, { mask: 'refused' }],
      [
        { path: 'remote.url', kind: 'text', values: ['', 'https://two.example'] },
        { null: 'refused', empty: 'refused' },
      ],
      [{ path: 'remote.headers.KEY', kind: 'secret', values: ['', 'canary two'] }, {}],
      [{ path: 'remote.description', kind: 'text', values: ['one', 'two'] }, {}],
      [{ path: 'remote.icon', kind: 'text', values: ['one', 'two'] }, {}],
      [{ path: 'remote.sse_read_timeout', kind: 'number', values: [5, 6] }, { mask: 'refused' }],
      [{ path: 'remote.keep_alive', kind: 'flag', values: [true, false] }, { mask: 'refused' }],
    ]
    for (const [leaf, exceptions] of leaves) {
      test(leaf.path, async () => {
        const { kind, path } = leaf
        const outcome = (input: Input): Outcome => {
          if (exceptions[input]) return exceptions[input]
          if (input === 'mask') return kind === 'list' ? 'refused' : 'kept'
          if (input === 'absent') return 'kept'
          if (input === 'null') return 'default'
          if (input === 'empty') return kind === 'secret' ? 'default' : kind === 'text' ? 'value' : 'refused'
          return 'value'
        }
        const stored = `agent_settings.mcp_config.${path}`
        const [key, ...rest] = path.split('.') as [string, ...string[]]
        await check(full, leaf, stored, outcome, (to, value) =>
          to.patch({ agent_settings_diff: nested(`mcp_config.${path}`, value) }),
        )
        await check(full, leaf, stored, outcome, async (to, value) =>
          to.service.updateMcpServer(key, parsed(MCPServerPatch, nested(rest.join('.'), value))),
        )
      })
    }
    test('remote.auth: what is left out or masked keeps the credential, "" clears it, null removes it', async () => {
      const auth = async (value: unknown) => {
        const to = open(full)
        await to.patch({ agent_settings_diff: { mcp_config: { remote: { auth: value } } } })
        return valueAt(to.leaves(), 'agent_settings.mcp_config.remote.auth').map(([, leaf]) => leaf)
      }
      assert.deepEqual(await auth({ strategy: 'bearer', value: MASK }), ['bearer', 'canary bearer'])
      assert.deepEqual(await auth({ strategy: 'bearer' }), ['bearer', 'canary bearer'])
      assert.deepEqual(await auth({ strategy: 'bearer', value: 'canary two' }), ['bearer', 'canary two'])
      assert.deepEqual(await auth({ strategy: 'bearer', value: '' }), ['bearer'])
      assert.deepEqual(await auth(null), [])
    })
  })
})

/** The nested settings say `none` in the full state; a free text has its place in the flat part instead. */
async function withFreeAnalyzer(from: Memory): Promise<Memory> {
  const to = open(from)
  await to.post({ security_analyzer: 'one' })
  return to.store
}

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Probe, probe } from '../../src/agent/mcp.ts'
import type { MCPServer } from '../../src/api/mcp.ts'
import type { Command, Sandbox } from '../../src/sandbox/sandbox.ts'
import { Inside, KINDS, NO_PYTHON } from '../support/inside.ts'
import { Listener, streamable } from '../support/mcp-http.ts'
import { MARK, stdio } from '../support/mcp-stdio.ts'

const { walls, skip } = KINDS[0]!
const nowhere = () => Promise.reject(new Error('there is no sandbox'))

function tried(server: MCPServer, more: Partial<Parameters<typeof probe>[1]> = {}): Promise<Probe> {
  return probe(server, { name: 'it', timeoutMs: 5_000, sandbox: nowhere, workingDir: '/workspace', fetch, ...more })
}

describe('trying an MCP server out', () => {
  test('one that can be used: its tools, and what one of them says', async () => {
    await using listener = await Listener.start(streamable())
    const server = { url: listener.url, enabled: true }
    assert.deepEqual(await tried(server), { ok: true, tools: ['shout', 'grow', 'big', 'hang'] })
    const toolCall = { name: 'shout', arguments: { text: 'a' } }
    assert.deepEqual(await tried(server, { toolCall }), {
      ok: true,
      tools: ['shout', 'grow', 'big', 'hang'],
      tool_result: { is_error: false, text: 'A' },
    })
    const wrong = await tried(server, { toolCall: { name: 'shout', arguments: {} } })
    assert.equal(wrong.ok && wrong.tool_result?.is_error, true)
  })

  test('one that cannot: of which kind the failure is', async () => {
    await using hanging = await Listener.start(() => undefined)
    await using broken = await Listener.start((_, response) => response.writeHead(500).end())
    await using closed = await Listener.start(() => undefined)
    await closed.down()
    await using odd = await Listener.start((_, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: 0, error: { code: -32000, message: 'not today' } })),
    )
    const kindOf = async ({ url }: Listener, timeoutMs = 5_000) => {
      const probed = await tried({ url, enabled: true }, { timeoutMs })
      return probed.ok ? 'ok' : probed.error_kind
    }
    assert.equal(await kindOf(hanging, 100), 'timeout')
    assert.equal(await kindOf(broken), 'connection')
    assert.equal(await kindOf(closed), 'connection')
    assert.equal(await kindOf(odd), 'unknown')
  })

  test('a command leaves nothing behind, whether it answered or not', { skip: skip || NO_PYTHON }, async () => {
    await using inside = await Inside.open({ walls })
    await inside.start('box')
    const sandbox = async () => inside.backend.sandbox('box')
    const [good, hanging, crashed] = await Promise.all([
      tried(stdio('good'), { sandbox, toolCall: { name: 'start', arguments: {} } }),
      tried(stdio('hang'), { sandbox, timeoutMs: 300 }),
      tried(stdio('crash'), { sandbox }),
    ])
    assert.equal(good.ok && good.tool_result?.text, 'started')
    assert.equal(!hanging.ok && hanging.error_kind, 'timeout')
    assert.match(crashed.ok ? '' : crashed.error, /'it' cannot be used: it ended with exit code 1: no database here/)
    assert.equal(!crashed.ok && crashed.error_kind, 'connection')
    const left = `cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -acE '[${MARK[0]}]${MARK.slice(1)}|[9]87654'`
    assert.equal((await inside.sh(left)).trim(), '0')
  })

  test('a command is started where it was ordered, and held to what it may reach', async () => {
    const commands: Command[] = []
    const sandbox = async () =>
      ({
        exec: async (command: Command) => {
          commands.push(command)
          throw new Error('enough')
        },
      }) as unknown as Sandbox
    const egress = { mode: 'hosts', hosts: ['a.example'] } as const
    const server = { command: 'x', args: ['1'], env: { A: 'b' }, enabled: true }
    await tried({ ...server, cwd: 'sub' }, { sandbox, egress })
    await tried({ ...server, cwd: '/else' }, { sandbox })
    const [first, second] = commands
    assert.deepEqual(first!.argv, ['x', '1'])
    assert.deepEqual(first!.env, { A: 'b' })
    assert.equal(first!.cwd, '/workspace/sub')
    assert.deepEqual(first!.egress, egress)
    assert.equal(second!.cwd, '/else')
  })
})

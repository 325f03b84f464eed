import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, describe, test } from 'node:test'
import { repository } from '../support/git.ts'
import { TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

// The published client finds a WebSocket in Node only through a global `require`.
Object.assign(globalThis, { require: createRequire(import.meta.url) })
const { BashClient, BashWebSocketClient, RemoteWorkspace } = await import('@openhands/typescript-client').then(
  async main => ({ ...(await import('@openhands/typescript-client/clients')), ...main }),
)

let server: TestServer
// biome-ignore lint/suspicious/noExplicitAny: the client's own option types vary by class
let options: any
before(async () => {
  server = await TestServer.start()
  options = { host: server.url, baseUrl: server.url, apiKey: server.key, workingDir: '/workspace' }
})
after(() => server[Symbol.asyncDispose]())

describe('the published npm client, unmodified: commands and git', () => {
  test('starts, runs, finds and forgets commands', async () => {
    const client = new BashClient(options)
    const output = await client.executeCommand('echo out; echo err >&2; exit 2', undefined, 10)
    assert.deepEqual([output.exit_code, output.stdout, output.stderr], [2, 'out\n', 'err\n'])
    const command = await client.startCommand({ command: 'echo later', timeout: 10.5 } as never)
    const found = await until('it ended', async () => {
      const { items } = await client.searchEvents({ command_id__eq: command.id, kind__eq: 'BashOutput' } as never)
      return items.find(item => (item as { exit_code?: number }).exit_code === 0)
    })
    assert.deepEqual(await client.getEvent(found.id as string), found)
    assert.deepEqual(await client.batchGetEvents([command.id as string, 'unknown', found.id as string]), [
      command,
      null,
      found,
    ])
    assert.deepEqual(await client.getEvents(['unknown', command.id as string]), [null, command])
    assert.deepEqual(await client.clearEvents(), { cleared_count: 4 })
  })

  test('follows commands over the socket', async () => {
    const frames: { kind?: string; stdout?: string }[] = []
    const socket = new BashWebSocketClient({
      host: server.url,
      apiKey: server.key,
      resendMode: 'all',
      callback: (event: { kind?: string }) => frames.push(event),
    } as never)
    socket.start()
    await new BashClient(options).executeCommand('echo seen')
    await until('the output came', () => frames.some(({ stdout }) => stdout === 'seen\n'))
    socket.stop()
  })

  test('has a workspace', async () => {
    const workspace = new RemoteWorkspace(options)
    const path = await repository(server, 'npm', 'echo 1 > a; git add -A; git commit -qm one; echo 2 > a')
    const { exit_code, stdout } = await workspace.executeCommand('pwd', path)
    assert.deepEqual([exit_code, stdout], [0, `${path}\n`])
    assert.deepEqual(await workspace.gitChanges(path, { ref: 'HEAD' } as never), [{ status: 'UPDATED', path: 'a' }])
    assert.deepEqual(await workspace.gitDiff(`${path}/a`, { ref: 'HEAD' } as never), {
      modified: '2\n',
      original: '1\n',
    })
  })
})

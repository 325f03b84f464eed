import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { parseListeners } from '../../src/sandbox/listeners.ts'
import { ask, Box, NO_WALLS } from '../support/hands.ts'
import { NO_PYTHON } from '../support/inside.ts'
import { TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const portsOf = ({ client }: TestServer, sandbox_id: string) => client.listSandboxPorts({ params: { sandbox_id } })

/** Listens on an address and a port each, and calls itself by a name. */
const LISTEN = `
import ctypes, signal, socket, sys
ctypes.CDLL(None).prctl(15, sys.argv[1].encode())
held = []
for place in sys.argv[2:]:
    host, port = place.rsplit(':', 1)
    one = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET)
    one.bind((host, int(port)))
    one.listen()
    held.append(one)
client = socket.create_connection(('127.0.0.1', int(sys.argv[2].rsplit(':', 1)[1])))
signal.pause()
`
const listening = (name: string, ...places: string[]) => {
  const words = [name, ...places].map(word => `'${word}'`).join(' ')
  return `cat > ~/listen.py <<'EOF'\n${LISTEN}\nEOF\n(setsid python3 ~/listen.py ${words} >/dev/null 2>&1 &)`
}

describe('the ports of a sandbox, listed', { skip: NO_WALLS || NO_PYTHON }, () => {
  let server: TestServer
  let box: Box
  before(async () => {
    server = await TestServer.start({ args: ['--log-level', 'error'] })
    box = await Box.start(server)
  })
  after(() => server?.[Symbol.asyncDispose]())

  test('nothing, where nothing listens: its way out is no port of its own', async () => {
    assert.match(await box.sh('cat /proc/net/tcp; echo $http_proxy'), / 0A .*http:/s)
    assert.deepEqual(await portsOf(server, box.id), [])
  })

  test('what could be opened, in order, with what listens there', async () => {
    await box.sh(listening('b) x 9', '127.0.0.1:5001', '0.0.0.0:5000', '127.0.0.2:5002'))
    await until('they listen', async () => (await portsOf(server, box.id)).length >= 2)
    assert.deepEqual(await portsOf(server, box.id), [
      { port: 5000, program: 'b) x 9' },
      { port: 5001, program: 'b) x 9' },
    ])
    const { items } = await box.client.searchBashEvents()
    await portsOf(server, box.id)
    assert.equal((await box.client.searchBashEvents()).items.length, items.length)
  })

  test('those of one sandbox are not those of another', async () => {
    const other = await Box.start(server)
    assert.deepEqual(await portsOf(server, other.id), [])
  })

  test('one that is paused or unknown says so', async () => {
    const path = `/api/v1/sandboxes/${box.id}/ports`
    await box.ok('pause')
    const paused = await ask(server, 'GET', path, { key: server.key })
    assert.deepEqual([paused.status, paused.body.code], [409, 'sandbox_unavailable'])
    await box.ok('resume')
    const again = await portsOf(server, box.id)
    assert.ok(again.some(({ port }) => port === 5000))
    const missing = await ask(server, 'GET', '/api/v1/sandboxes/none/ports', { key: server.key })
    assert.deepEqual([missing.status, missing.body.code], [404, 'sandbox_not_found'])
    assert.equal((await ask(server, 'GET', path, { key: box.key })).status, 403)
  })
})

describe('the ports of a sandbox that nothing isolates', { skip: NO_PYTHON }, () => {
  test('are those of its own processes, not everybody’s', async () => {
    await using server = await TestServer.start({
      args: ['--log-level', 'error'],
      env: { GANTRY_SANDBOX_SPECS: JSON.stringify([{ id: 'plain', backend: 'process' }]) },
    })
    const free = createServer().listen(0, '127.0.0.1')
    await once(free, 'listening')
    const { port } = free.address() as AddressInfo
    await new Promise(resolve => free.close(resolve))
    const box = await Box.start(server)
    // What it starts would outlive the server, which is killed.
    await using _ = { [Symbol.asyncDispose]: () => box.ok('delete') }
    assert.deepEqual(await portsOf(server, box.id), [])
    await box.sh(listening('mine', `127.0.0.1:${port}`))
    await until('it listens', async () => (await portsOf(server, box.id)).length > 0)
    assert.deepEqual(await portsOf(server, box.id), [{ port, program: 'mine' }])
  })
})

describe('what the kernel tells of sockets', () => {
  const line = (local: string, inode: number, state = '0A') =>
    `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0000000000000000 100 0 0 10 0`
  test('one port on several addresses is one, known by whoever is seen to hold it', () => {
    const told = [
      line('0100007F:0BB8', 1),
      line('00000000000000000000000001000000:0BB8', 2),
      line('00000000000000000000000000000000:1F90', 3),
      line('0B00007F:9C40', 4),
      'owner 2 node-MainThread',
      'owner 2 worker',
      'owner x y',
      'owner',
      '',
    ]
    assert.deepEqual(parseListeners(told.join('\n')), [
      { port: 3000, program: 'node' },
      { port: 8080, program: null },
    ])
    assert.deepEqual(parseListeners(''), [])
  })
})

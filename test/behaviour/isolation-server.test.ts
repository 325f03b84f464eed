import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createClient } from '../../src/api/client.ts'
import { execute, sh, start } from '../support/bash.ts'
import { Canaries } from '../support/canary.ts'
import { exchange } from '../support/exchange.ts'
import { Box, NO_WALLS, withSpecs } from '../support/hands.ts'
import { NO_PYTHON, PYTHON } from '../support/inside.ts'
import { endSandboxes } from '../support/sandboxes.ts'
import { count, GANTRY, TestServer, tempFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** A server that is busy with others still answers within it. */
const RESPONSIVE_MS = 1_000

describe('T-44: through the API', { skip: NO_WALLS || NO_PYTHON }, () => {
  const canaries = new Canaries()
  let server: TestServer
  let options: Awaited<ReturnType<typeof withSpecs>>
  before(async () => {
    const narrow = { id: 'narrow', memory_mb: 192, processes: 64, disk_mb: 256, network: 'open' }
    // Folders take disk, and memory of the kernel's: what runs out of either is ended, which is not the question everywhere.
    options = await withSpecs([narrow, { id: 'roomy' }])
    const env = {
      OH_SECRET_KEY: canaries.make('key of secrets'),
      SESSION_API_KEY: canaries.make('session key'),
      LLM_API_KEY: canaries.make('model key'),
      AWS_SECRET_ACCESS_KEY: canaries.make('cloud key'),
      SSH_AUTH_SOCK: `/tmp/${canaries.make('agent socket')}`,
      LD_LIBRARY_PATH: `/nowhere/${canaries.make('libraries')}`,
    }
    server = await TestServer.start({ args: options.args!, env })
    await writeFile(join(server.data, 'note'), canaries.make('data folder'), { mode: 0o644 })
    await server.client.putSecret({ body: { name: 'TOKEN', value: canaries.make('stored secret') } })
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
    await options.remove()
  })

  test('a command finds nothing of the server: variables, files, arguments, descriptors, processes', async () => {
    const text = await sh(
      server,
      `env; set; for at in /proc/[0-9]* /proc/self /proc/thread-self; do cat $at/environ $at/cmdline $at/mountinfo; ls -l $at/fd $at/task; ls $at/root $at/cwd; done 2>/dev/null
       cat ${server.data}/* ${server.data}/hands/* "$HOME"/.[a-z]* 2>/dev/null; ls -la / /tmp /run /home /var /dev/shm; cat /etc/* 2>/dev/null; exit 0`,
    )
    assert.deepEqual(canaries.sightings(text), [])
    assert.equal((await execute(server, `ls ${server.data}`)).exit_code, 2)
    assert.equal((await execute(server, `kill -0 ${server.pid}`)).exit_code, 1)
  })

  test('what whoever started the server left open does not get inside', {
    skip: !existsSync('/bin/bash') && 'there is no bash to leave something open with',
  }, async () => {
    const data = await tempFolder()
    const words = [process.execPath, GANTRY, '--port', '0', '--data', data]
    const child = spawn('/bin/bash', ['-c', 'exec "$@" 200<"$0"', join(server.data, 'note'), ...words], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let output = ''
    child.stdout.on('data', chunk => {
      output += chunk
    })
    const url = await until('it listens', () => /listens on (\S+)/.exec(output)?.[1])
    const client = createClient({ baseUrl: url })
    const text = await sh({ client }, 'ls -l /proc/*/fd/ 2>/dev/null; exit 0')
    child.kill()
    await once(child, 'exit')
    await endSandboxes(data)
    await rm(data, { recursive: true, force: true })
    assert.ok(text.includes('/dev/null'), 'otherwise nothing was seen')
    assert.doesNotMatch(text, / 200\b/)
  })

  test('neither directly nor through the proxy does a command reach the server, on any address', async () => {
    const { port } = new URL(server.url)
    const own = Object.values(networkInterfaces()).flatMap(list => list ?? [])
    const hosts = [
      '127.0.0.1',
      'localhost',
      '[::1]',
      '0.0.0.0',
      '[::ffff:127.0.0.1]',
      ...own.map(({ address, family }) => (family === 'IPv6' ? `[${address.split('%')[0]}]` : address)),
    ]
    const script = `
import os, sys, urllib.request
reached = []
for proxied in (True, False):
  for name in ('no_proxy', 'NO_PROXY'): os.environ[name] = ''
  opener = urllib.request.build_opener(urllib.request.ProxyHandler(None if proxied else {}))
  for host in sys.argv[1:]:
    try: reached.append(opener.open(f'http://{host}:${port}/health', timeout=5).read().decode())
    except Exception as error: pass
print(reached)`
    const words = hosts.map(host => `'${host}'`).join(' ')
    assert.equal((await sh(server, `${PYTHON} - ${words} <<'END'\n${script}\nEND`)).trim(), '[]')
  })

  test('what is installed on the server’s path outside is not run, nor what a sandbox puts into its own', async () => {
    const folder = await mkdtemp(join(server.data, 'programs-'))
    await sh(
      server,
      'mkdir -p ~/.local/bin; for name in sh cat git setpriv nsenter bwrap mkdir; do printf "#!/bin/sh\\necho hijacked\\n" > ~/.local/bin/$name; chmod +x ~/.local/bin/$name; done',
    )
    const { stdout } = await execute(server, '/bin/echo plain')
    const home = await exchange(server.url, { path: '/api/file/home', headers: { 'X-Session-API-Key': server.key } })
    await sh(server, '/bin/rm -rf ~/.local/bin')
    assert.equal(stdout, 'plain\n')
    assert.equal(home.status, 200)
    assert.ok(!home.text.includes('hijacked'))
    await rm(folder, { recursive: true })
  })

  /** Runs something greedy, and asks the server meanwhile. */
  const besides = async (command: string, timeout: number, place: Pick<TestServer, 'client'> = server) => {
    const running = execute(place, command, { timeout })
    const waits: number[] = []
    let over = false
    void running.finally(() => {
      over = true
    })
    while (!over) {
      const began = performance.now()
      assert.equal((await exchange(server.url, { path: '/health' })).status, 200)
      waits.push(performance.now() - began)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    const ended = await running
    assert.ok(Math.max(0, ...waits) < RESPONSIVE_MS, `it answered after ${Math.max(...waits)} ms`)
    return ended
  }

  const limited = async () => (await readFile('/proc/self/mounts', 'utf8')).includes(' cgroup2 ')

  test('a fork bomb ends with its command, and harms only its sandbox', async t => {
    if (!(await limited())) return t.skip('no control groups here')
    await besides('bomb() { bomb | bomb & }; bomb; sleep 20', 1)
    assert.equal(await until('there is room again', async () => (await execute(server, 'echo fine')).stdout), 'fine\n')
  })

  test('who takes more memory than there is loses it, and harms only its sandbox', async t => {
    if (!(await limited())) return t.skip('no control groups here')
    const { exit_code } = await besides(`${PYTHON} -c 'held = bytearray(1 << 30); print(len(held))'`, 10)
    assert.ok(exit_code !== 0, `${exit_code}`)
    assert.equal((await execute(server, 'echo fine')).stdout, 'fine\n')
  })

  test('descriptors, deep and wide folders, and endless output harm nobody', async () => {
    const box = await Box.start(server, 'roomy')
    const folders = count({ sample: 5_000, deep: 200_000 })
    await besides(
      `${PYTHON} -c 'held = []
try:
  while True: held.append(open("/dev/null"))
except OSError: print(len(held))'`,
      10,
      box,
    )
    const wide = await besides(
      `mkdir -p /tmp/wide && cd /tmp/wide && ${PYTHON} -c 'import os
for n in range(${folders}): os.mkdir(str(n))'`,
      300,
      box,
    )
    assert.equal(wide.exit_code, 0, `${wide.stderr}`)
    await besides('cd /tmp; for n in $(seq 300); do mkdir deep$n && cd deep$n; done', 10, box)
    await besides('yes', 1, box)
    const path = `/sandboxes/${box.id}/api/file/search_subdirs?path=/tmp/wide&limit=10`
    const { status } = await exchange(server.url, { path, headers: { 'X-Session-API-Key': box.key } })
    assert.equal(status, 200)
    const removed = await execute(box, 'rm -rf /tmp/wide /tmp/deep1; echo fine', { timeout: 300 })
    assert.equal(removed.stdout, 'fine\n')
  })

  test('what is left running does not keep the server from stopping', async () => {
    await start(server, 'trap "" TERM; while :; do sleep 1; done')
    assert.equal(await server.stop(), 0)
  })
})

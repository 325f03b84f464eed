import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { proxyEnv } from '../../src/sandbox/egress/environment.ts'
import { Destination, Gate } from '../support/egress.ts'
import { sampled } from '../support/sampled.ts'

const has = (program: string) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0
const FETCH = 'for (const url of process.argv.slice(1)) await fetch(url).catch(() => undefined)'
const URLLIB = `
import sys, urllib.request
for url in sys.argv[1:]:
  try: urllib.request.urlopen(url)
  except Exception: pass`
const QUIET = ['--no-cache-dir', '--disable-pip-version-check', '--retries', '0', '--trusted-host', 'tool.example']

/** Programs, each asking for what it is told to. */
const programs: [string, (url: string) => string[]][] = [
  ['curl', url => ['-sS', url]],
  ['wget', url => ['-q', '-t1', '-O-', url]],
  ['git', url => ['ls-remote', url]],
  ['python3', url => ['-c', URLLIB, url]],
  ['pip', url => ['download', ...QUIET, '-i', url, 'nothing-of-that-name']],
  ['npm', url => ['view', `--registry=${url}`, '--fetch-retries=0', 'nothing-of-that-name']],
  [process.execPath, url => ['--input-type=module', '-e', FETCH, url]],
]

/** Runs it as a sandbox would, but for the sandbox. */
async function run(program: string, args: string[], port: number, more: Record<string, string> = {}): Promise<string> {
  await using home = await mkdtempDisposable(join(tmpdir(), 'gantry-egress-'))
  const { PATH = '', PYENV_ROOT } = process.env
  const env = { PATH, ...(PYENV_ROOT && { PYENV_ROOT }), HOME: home.path, ...proxyEnv(port, 'c-tool'), ...more }
  return await new Promise(resolve => {
    execFile(program, args, { env, cwd: home.path, timeout: 60_000 }, (_error, stdout) => resolve(stdout))
  })
}

describe('programs find the proxy, and say which command they are', () => {
  const some = sampled(2)
  for (const [program, args] of programs)
    some(program === process.execPath ? 'fetch of Node' : program, async t => {
      if (!has(program)) return t.skip(`there is no ${program} here`)
      await using gate = await Gate.open({ egress: { mode: 'none' } })
      for (const scheme of ['http', 'https']) await run(program, args(`${scheme}://tool.example/x`), gate.port)
      const asked = new Set(gate.refusals.map(({ host, port, command }) => `${host}:${port} ${command}`))
      for (const port of [80, 443]) assert.ok(asked.has(`tool.example:${port} command tool`), [...asked].join())
    })
})

describe('curl', { skip: has('curl') ? false : 'there is no curl here' }, () => {
  const names = { 'good.example': ['93.184.216.34'], 'rebound.example': ['127.0.0.1'] }
  const socks = (port: number) => ['--proxy', `socks5h://c-tool:x@127.0.0.1:${port}`]

  test('reaches what it may, through the HTTP proxy, a tunnel and SOCKS5', async () => {
    await using destination = await Destination.open(({ headers }) => ({ text: `at ${headers.host}` }))
    await using gate = await Gate.open({ names, destination })
    const url = 'http://good.example/x'
    for (const args of [[], ['--proxytunnel'], socks(gate.port)]) {
      assert.equal(await run('curl', ['-sS', ...args, url, url], gate.port), 'at good.exampleat good.example')
    }
    for (const { headers } of destination.requests) assert.equal(headers['proxy-authorization'], undefined)
  })

  test('following a redirect is stopped where it may not go', async () => {
    await using destination = await Destination.open(() => ({
      status: 302,
      headers: { Location: 'http://rebound.example/' },
    }))
    await using gate = await Gate.open({ names, destination })
    for (const args of [[], ['--proxytunnel'], socks(gate.port)]) {
      const code = await run(
        'curl',
        ['-sSL', '-o', '/dev/null', '-w', '%{http_code}', ...args, 'http://good.example'],
        gate.port,
      )
      assert.match(code, /^(403|000|302)$/)
      assert.equal(gate.refusals.at(-1)?.host, 'rebound.example')
    }
    assert.equal(gate.connections.length, 3)
  })

  test('spells addresses in many ways and reaches none of them', async () => {
    await using gate = await Gate.open({ names: { localhost: ['127.0.0.1'] } })
    const hosts = ['0177.1', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', '127.0.0.1.', 'localhost.', '169.254.43518']
    for (const args of [[], socks(gate.port)]) {
      const urls = hosts.map(host => `http://${host}:8000/`)
      await run('curl', ['-sS', ...args, ...urls], gate.port, { no_proxy: '', NO_PROXY: '' })
    }
    assert.equal(gate.refusals.length, hosts.length * 2)
    assert.deepEqual(gate.connections, [])
  })

  test('reaches its own loopback without the proxy', async () => {
    await using destination = await Destination.open()
    await using gate = await Gate.open({ egress: { mode: 'none' } })
    for (const host of ['127.0.0.1', 'localhost']) {
      assert.equal(await run('curl', ['-sS', `http://${host}:${destination.port}/`], gate.port), 'hello')
    }
    assert.equal(gate.accepted.length, 0)
  })
})

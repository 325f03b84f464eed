import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, normalize } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { IDENTITY } from '../support/git.ts'
import { Box, NO_WALLS, withSpecs } from '../support/hands.ts'
import { NO_PYTHON, PYTHON } from '../support/inside.ts'
import { TestServer, tempFolder } from '../support/server.ts'

const NO_CURL = !existsSync('/usr/bin/curl') && 'there is no curl for the sandbox to use'
const NO_GIT = !existsSync('/usr/bin/git') && 'there is no git for the sandbox to use'

/** Asks for it without the exception for what is called localhost: that name stands for a host outside here. */
const curl = (words: string) =>
  `no_proxy= NO_PROXY= curl -sS -m 10 -o /tmp/body -w '%{http_code}' ${words}; cat /tmp/body`
const PROXY = 'proxy=$(printf %s "$http_proxy" | sed "s|^http://||; s|/*$||")'

describe('T-49: what a sandbox reaches', { skip: NO_WALLS || NO_CURL }, () => {
  let server: TestServer
  let folder: string
  let port: number
  let dispose: () => Promise<void>
  const boxes = new Map<string, Box>()
  const asked: string[] = []

  before(async () => {
    folder = await tempFolder()
    const destination = createServer(async (request, response) => {
      asked.push(`${request.method} ${request.url}`)
      const path = join(folder, normalize(`/${request.url!.split('?')[0]}`))
      const content = await readFile(path).catch(() => undefined)
      if (request.url === '/hello') response.end('hello from outside')
      else response.writeHead(content ? 200 : 404).end(content)
    }).listen(0, '127.0.0.1')
    await new Promise(resolve => destination.once('listening', resolve))
    port = (destination.address() as AddressInfo).port
    const options = await withSpecs([
      { id: 'hosts', network: 'hosts', hosts: [`allowed.localhost:${port}`, '127.0.0.1'] },
      { id: 'open', network: 'open' },
      { id: 'none', network: 'none' },
    ])
    server = await TestServer.start(options)
    for (const spec of ['hosts', 'open', 'none']) boxes.set(spec, await Box.start(server, spec))
    dispose = async () => {
      await server[Symbol.asyncDispose]()
      await options.remove()
      destination.closeAllConnections()
      destination.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
  after(() => dispose())

  const run = async (spec: string, command: string) => {
    const { exit_code, stdout, stderr } = await boxes
      .get(spec)!
      .client.executeBashCommand({ body: { command, timeout: 30 } })
    return { code: exit_code, out: (stdout ?? '').trim(), err: stderr ?? '' }
  }
  const refused = async (spec: string) =>
    (await server.client.reportSandbox({ params: { sandbox_id: boxes.get(spec)!.id } })).refused

  test('what has an entry is reached: plain, through a tunnel, and by SOCKS5', async () => {
    const url = `http://allowed.localhost:${port}/hello`
    for (const words of [url, `--proxytunnel ${url}`, `--proxy "socks5h://$proxy" ${url}`]) {
      const { out, err } = await run('hosts', `${PROXY}; ${curl(words)}`)
      assert.equal(out, '200hello from outside', `${words}: ${err}`)
    }
  })

  test('what has none is refused with 403, and the report says what, and which command asked', async () => {
    const before = asked.length
    assert.match((await run('hosts', `: first; ${curl('http://refused.example/x')}`)).out, /^403/)
    assert.match((await run('hosts', `: second; ${curl('https://refused.example/x')}`)).err, /403/)
    assert.notEqual(
      (await run('hosts', `: third; ${PROXY}; ${curl('--proxy "socks5h://$proxy" http://refused.example:81/')}; false`))
        .out,
      '200',
    )
    const seen = (await refused('hosts')).filter(({ host }) => host === 'refused.example')
    assert.deepEqual(
      seen.map(({ port, command }) => [port, /: (first|second|third);/.exec(command ?? '')?.[1]]).sort(),
      [
        [443, 'second'],
        [80, 'first'],
        [81, 'third'],
      ],
    )
    assert.equal(asked.length, before)
  })

  test('what does not ask the proxy gets nothing, and at once', { skip: NO_PYTHON }, async () => {
    const script = `
import socket, time
began = time.time()
def tried(act):
  try: act()
  except OSError as error: return type(error).__name__
  return 'reached'
print(tried(lambda: socket.create_connection(('127.0.0.1', ${port}), 5)), tried(lambda: socket.create_connection(('1.1.1.1', 443), 5)),
  tried(lambda: socket.getaddrinfo('example.org', 80)), tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('1.1.1.1', 53))), time.time() - began < 2)`
    for (const spec of ['hosts', 'open', 'none'])
      assert.equal(
        (await run(spec, `${PYTHON} - <<'END'\n${script}\nEND`)).out,
        'ConnectionRefusedError OSError gaierror OSError True',
        spec,
      )
  })

  test('without a network there is no proxy, nor a variable that names one', async () => {
    assert.equal((await run('none', 'env | grep -i proxy; exit 0')).out, '')
    assert.match((await run('none', curl('http://example.org/'))).err, /resolve host/)
    assert.match((await run('none', curl('--proxy http://127.0.0.1:39128 http://example.org/'))).err, /connect/i)
    assert.match((await run('hosts', 'env | grep -i proxy')).out, /http_proxy=http/)
  })

  test('the open internet is not this machine, its network or its cloud; nor is the server ever reached', async () => {
    const own = new URL(server.url).port
    const before = asked.length
    const closed = [
      `http://127.0.0.1:${port}/`,
      `http://localhost:${port}/`,
      `http://allowed.localhost:${port}/`,
      `http://[::1]:${port}/`,
      `http://0.0.0.0:${port}/`,
      `http://2130706433:${port}/`,
      `http://[::ffff:127.0.0.1]:${port}/`,
      'http://169.254.169.254/latest/meta-data/',
      'http://10.0.0.1/',
      'http://192.168.1.1/',
      `http://127.0.0.1:${own}/health`,
    ]
    for (const url of closed) assert.match((await run('open', curl(`-g '${url}'`))).out, /^403/, url)
    assert.equal((await run('hosts', curl(`http://127.0.0.1:${port}/hello`))).out, '200hello from outside')
    for (const host of ['127.0.0.1', 'allowed.localhost'])
      assert.match((await run('hosts', curl(`http://${host}:${own}/health`))).out, /^403/, host)
    assert.equal(asked.length, before + 1)
    assert.ok((await refused('hosts')).some(({ why }) => /the server itself/.test(why)))
  })

  test('a repository is cloned over HTTP from where an entry leads, and from nowhere else', {
    skip: NO_GIT,
  }, async () => {
    const made = spawnSync(
      '/bin/sh',
      [
        '-ec',
        `${IDENTITY}; export HOME=$1; cd "$1"; git init -q -b main work; cd work; echo text > file; git add file; git commit -qm one; cd ..; git clone -q --bare work repo.git; git -C repo.git update-server-info`,
        'sh',
        folder,
      ],
      { encoding: 'utf8' },
    )
    assert.equal(made.status, 0, made.stderr)
    const clone = (host: string, to: string) =>
      `no_proxy= NO_PROXY= git clone -q http://${host}:${port}/repo.git /tmp/${to} && cat /tmp/${to}/file`
    const { out, err } = await run('hosts', clone('allowed.localhost', 'one'))
    assert.equal(out, 'text', err)
    const other = await run('hosts', clone('other.localhost', 'two'))
    assert.notEqual(other.code, 0)
    assert.match(other.err, /403/)
  })
})

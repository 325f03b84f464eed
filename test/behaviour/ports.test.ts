import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { WebSocket } from 'ws'
import { portLabel, readPortLabel } from '../../src/sandbox/ports.ts'
import { type Answer, exchange, exchangeJson } from '../support/exchange.ts'
import { ask, Box, NO_WALLS } from '../support/hands.ts'
import { anOrder, TestServer } from '../support/server.ts'
import { TestSocket } from '../support/socket.ts'
import { until } from '../support/wait.ts'

const PORT = 5000
const BIG = 8_000_000

/** Tells what it was asked, takes bodies, streams, sets cookies, and speaks WebSocket. */
const SITE = `
import base64, hashlib, json, socketserver, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Site(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *a): pass
    def body(self):
        if self.headers.get('Transfer-Encoding') == 'chunked':
            all = b''
            while True:
                n = int(self.rfile.readline(), 16)
                all += self.rfile.read(n); self.rfile.readline()
                if n == 0: return all
        return self.rfile.read(int(self.headers.get('Content-Length') or 0))
    def answer(self, data, headers=()):
        self.send_response(200)
        for name, value in headers: self.send_header(name, value)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        if self.command != 'HEAD': self.wfile.write(data)
    def do_GET(self):
        if self.headers.get('Upgrade', '').lower() == 'websocket': return self.socket()
        body = self.body()
        if self.path == '/big':
            self.send_response(200); self.send_header('Transfer-Encoding', 'chunked'); self.end_headers()
            for i in range(${BIG} // 80000):
                self.wfile.write(b'%x\\r\\n' % 80000 + bytes([i % 256]) * 80000 + b'\\r\\n')
            self.wfile.write(b'0\\r\\n\\r\\n')
        elif self.path == '/cookies':
            self.answer(b'', [('Set-Cookie', 'a=1; Domain=localhost; Path=/'), ('Set-Cookie', 'b=2; domain=.localhost'), ('Set-Cookie', 'c=3; Path=/')])
        elif self.path == '/sum':
            self.answer(hashlib.sha256(body).hexdigest().encode())
        elif self.path == '/broken':
            self.wfile.write(b'HTTP/1.1 200 OK\\r\\nContent-Length: 100\\r\\n\\r\\nhalf'); self.close_connection = True
        elif self.path == '/silent':
            self.close_connection = True
        else:
            told = {'method': self.command, 'path': self.path, 'headers': [[k.lower(), v] for k, v in self.headers.items()], 'body': body.decode()}
            self.answer(json.dumps(told).encode(), [('Content-Type', 'application/json'), ('Connection', 'keep-alive')])
    do_POST = do_PUT = do_DELETE = do_HEAD = do_GET
    def socket(self):
        key = base64.b64encode(hashlib.sha1((self.headers['Sec-WebSocket-Key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').encode()).digest())
        self.wfile.write(b'HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + key + b'\\r\\n\\r\\n')
        while True:
            head = self.rfile.read(2)
            if len(head) < 2 or head[0] & 15 == 8: break
            length = head[1] & 127
            if length == 126: length = int.from_bytes(self.rfile.read(2), 'big')
            mask = self.rfile.read(4)
            said = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(length)))
            told = json.dumps({'said': said.decode(), 'headers': [[k.lower(), v] for k, v in self.headers.items()]}).encode()
            self.wfile.write(bytes([0x81, 126]) + len(told).to_bytes(2, 'big') + told)
        self.close_connection = True
ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(('127.0.0.1', ${PORT}), Site).serve_forever()
`

let server: TestServer
let box: Box
let url: string
/** Why a site cannot be run inside; false when it can. */
let noSite: string | false = false
const addressOf = async (port: number, id = box.id) =>
  (await ask(server, 'POST', `/api/v1/sandboxes/${id}/ports/${port}`, { key: server.key })).body.url as string
before(async () => {
  if (NO_WALLS) return
  server = await TestServer.start()
  box = await Box.start(server)
  if ((await box.sh('command -v python3 || true')) === '') {
    noSite = 'there is no python3 to run a site with'
    return
  }
  await box.sh(`cat > /tmp/site.py <<'EOF'\n${SITE}\nEOF\nsetsid python3 /tmp/site.py >/tmp/site.log 2>&1 &`)
  url = await addressOf(PORT)
  await until('the site answers', async () => (await site('/')).status === 200)
})
after(() => server?.[Symbol.asyncDispose]())

interface Asked {
  method?: string
  headers?: Record<string, string>
  body?: string | Uint8Array
  at?: string
}

/** Names below localhost may not resolve here, so the server is asked by its address, under the site’s name. */
const site = (path: string, { at = url, headers = {}, ...more }: Asked = {}): Promise<Answer> =>
  exchange(server.url, { path, ...more, headers: { Host: new URL(at).host, ...headers } })
const told = async (path: string, asked: Asked = {}) => JSON.parse((await site(path, asked)).text)

describe('a port of a sandbox, as a site', { skip: NO_WALLS }, () => {
  const it = (name: string, body: () => Promise<void>) =>
    test(name, async t => {
      if (noSite) t.skip(noSite)
      else await body()
    })

  it('has a name of its own below localhost, on the server’s port', async () => {
    const { protocol, hostname, port } = new URL(url)
    assert.equal(protocol, 'http:')
    assert.match(hostname, new RegExp(`^${PORT}-${box.id}-[0-9a-z]{20}\\.localhost$`))
    assert.equal(port, new URL(server.url).port)
    assert.equal(await addressOf(PORT), url)
    assert.notEqual(await addressOf(PORT + 1), url)
  })

  it('is asked what the browser asked, with its headers and its own cookies', async () => {
    const { path, method, headers } = await told('/a%20b/../c?x=%2F&x=2', {
      headers: { 'X-Mine': 'yes', Cookie: 'theirs=1', Accept: 'text/html' },
    })
    assert.deepEqual([method, path], ['GET', '/a%20b/../c?x=%2F&x=2'])
    const got = new Map<string, string>(headers)
    assert.equal(got.get('x-mine'), 'yes')
    assert.equal(got.get('cookie'), 'theirs=1')
    assert.equal(got.get('host'), new URL(url).host)
  })

  it('takes bodies, in one piece and in many, and every method', async () => {
    for (const method of ['POST', 'PUT', 'DELETE'])
      assert.equal((await told('/', { method, body: 'words', headers: { 'Content-Length': '5' } })).body, 'words')
    const body = randomBytes(BIG)
    const sum = createHash('sha256').update(body).digest('hex')
    assert.equal((await site('/sum', { method: 'POST', body, headers: { 'Content-Length': `${BIG}` } })).text, sum)
    assert.equal((await site('/sum', { method: 'POST', body, headers: { 'Transfer-Encoding': 'chunked' } })).text, sum)
    const head = await site('/', { method: 'HEAD' })
    assert.deepEqual([head.status, head.text], [200, ''])
  })

  it('is found on the other loopback address too', async () => {
    const other = PORT + 7
    const serve = `import http.server, socket
class S(http.server.HTTPServer): address_family = socket.AF_INET6
S(("::1", ${other}), http.server.SimpleHTTPRequestHandler).serve_forever()`
    await box.sh(`cd /tmp && setsid python3 -c '${serve}' >/dev/null 2>&1 &`)
    const at = await addressOf(other)
    await until('it answers', async () => (await site('/', { at })).status === 200)
  })

  it('streams large answers whole', async () => {
    const { hostname, port } = new URL(server.url)
    const asked = request({ hostname, port, path: '/big', headers: { Host: new URL(url).host } }).end()
    const [answer] = await once(asked, 'response')
    let length = 0
    for await (const chunk of answer) length += chunk.length
    assert.equal(length, BIG)
  })

  it('serves one request after the other over one connection', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const { hostname, port } = new URL(server.url)
    const ports = new Set<number | undefined>()
    for (let i = 0; i < 5; i++) {
      const asked = request({ agent, hostname, port, path: `/${i}`, headers: { Host: new URL(url).host } }).end()
      const [answer] = await once(asked, 'response')
      ports.add(answer.socket.localPort)
      assert.equal(JSON.parse(await text(answer)).path, `/${i}`)
    }
    assert.equal(ports.size, 1)
    agent.destroy()
  })

  it('speaks WebSocket', async () => {
    const socket = new WebSocket(server.url.replace('http', 'ws'), {
      headers: { Host: new URL(url).host, 'X-Session-API-Key': server.key, Cookie: 'gantry_session_1=x; theirs=1' },
    })
    await once(socket, 'open')
    for (const word of ['one', 'two']) {
      socket.send(word)
      const [data] = await once(socket, 'message')
      const { said, headers } = JSON.parse(String(data))
      assert.equal(said, word)
      assert.equal(new Map(headers).get('cookie'), 'theirs=1')
      assert.equal(new Map(headers).has('x-session-api-key'), false)
    }
    socket.close()
    await once(socket, 'close')
  })

  it('never hears our key or cookies', async () => {
    const port = new URL(server.url).port
    const { headers } = await told('/', {
      headers: {
        'X-Session-API-Key': server.key,
        Cookie: `gantry_session_${port}=one; theirs=1; oh_workspace_session_key=two;gantry_session_default=three`,
      },
    })
    const got = JSON.stringify(headers)
    assert.ok(!got.includes(server.key))
    assert.equal(new Map<string, string>(headers).get('cookie'), 'theirs=1')
    assert.doesNotMatch(got, /gantry_session|oh_workspace/)
    const ours = await told('/', { headers: { Cookie: `gantry_session_${port}=one` } })
    assert.ok(!new Map<string, string>(ours.headers).has('cookie'))
  })

  it('sets cookies for itself alone, and its address does not travel', async () => {
    const { headers } = await site('/cookies')
    assert.deepEqual(headers['set-cookie'], ['a=1; Path=/', 'b=2', 'c=3; Path=/'])
    assert.equal(headers['referrer-policy'], 'same-origin')
  })

  it('that breaks off or says nothing is not mistaken for an answer', async () => {
    assert.equal((await site('/silent')).status, 502)
    await assert.rejects(site('/broken'))
    assert.equal((await site('/')).status, 200)
  })

  it('where nobody listens is 502, in words', async () => {
    const { status, text, headers } = await site('/', { at: await addressOf(5999) })
    assert.equal(status, 502)
    assert.match(text, /Nothing listens on port 5999/)
    assert.match(String(headers['content-type']), /^text\/plain/)
  })

  it('opens by its whole name alone: every character of the proof counts', async () => {
    const { host } = new URL(url)
    const forged = [...Array(20).keys()].map(i => {
      const spot = host.indexOf('.') - 20 + i
      return host.slice(0, spot) + (host[spot] === 'a' ? 'b' : 'a') + host.slice(spot + 1)
    })
    const [proof] = host.slice(host.lastIndexOf('-') + 1).split('.')
    const rest = host.slice(host.indexOf('.'))
    forged.push(
      `${PORT + 1}-${box.id}-${proof}${rest}`,
      `${PORT}-default-${proof}${rest}`,
      `0${PORT}-${box.id}-${proof}${rest}`,
      `${PORT}-${box.id}-${proof!.slice(1)}${rest}`,
      `${PORT}-${box.id}-${rest}`,
      `x.${host}`,
      `x${rest}`,
    )
    for (const Host of forged) {
      const { status, text } = await site('/', { headers: { Host } })
      assert.equal(status, 404, `${Host}: ${text}`)
    }
    assert.equal((await site('/', { headers: { Host: host.toUpperCase() } })).status, 200, 'names have no case')
  })

  it('serves no route of ours under its name, with the key neither', async () => {
    for (const path of [
      '/api/conversations/search',
      '/server_info',
      '/api/settings',
      `/sandboxes/${box.id}/api/file/home`,
    ]) {
      const { headers, path: got } = await told(path, { headers: { 'X-Session-API-Key': server.key } })
      assert.equal(got, path)
      assert.ok(headers.length > 0)
    }
  })

  it('is refused by our own routes and sockets, as a page of another origin', async () => {
    const { origin } = new URL(url)
    const cases: [string, string, object | undefined][] = [
      ['GET', '/api/conversations/search', undefined],
      ['POST', '/api/conversations', anOrder()],
      ['POST', '/api/v1/sandboxes', undefined],
    ]
    for (const [method, path, body] of cases)
      for (const headers of [{}, { 'X-Session-API-Key': server.key }] as Record<string, string>[]) {
        const answer = await exchangeJson(server.url, {
          method,
          path,
          body: body ?? '',
          headers: { Origin: origin, ...headers },
        })
        assert.equal(answer.status, 403, `${method} ${path}`)
        assert.equal(answer.headers['access-control-allow-origin'], undefined)
      }
    using socket = new TestSocket(server.url, '/sockets/bash-events', { Origin: origin })
    await assert.rejects(socket.opened(), /refused with 403/)
    const { text } = await site('/', { headers: { 'Sec-Fetch-Site': 'same-site' } })
    assert.ok(text)
    const frame = await exchange(server.url, {
      path: '/api/conversations/search',
      headers: { 'Sec-Fetch-Site': 'same-site' },
    })
    assert.equal(frame.status, 403)
  })

  it('of a paused sandbox is 409, of a deleted one 404', async () => {
    const other = await Box.start(server)
    const at = await addressOf(PORT, other.id)
    await other.ok('pause')
    const paused = await site('/', { at })
    assert.equal(paused.status, 409)
    assert.match(paused.text, /paused/)
    assert.equal(await other.status(), 'PAUSED')
    await other.ok('delete')
    assert.equal((await site('/', { at })).status, 404)
  })

  it('a port that is none is refused', async () => {
    for (const port of ['0', '65536', '-1', 'x', '1.5'])
      assert.equal((await ask(server, 'POST', `/api/v1/sandboxes/${box.id}/ports/${port}`)).status, 422, port)
  })
})

test('a label is read back as what it was made from, and is a part of a host name', () => {
  const sign = (text: string) => createHash('sha256').update(text).digest('hex')
  for (const port of [1, 80, 65_535]) {
    const label = portLabel('0123456789abcdef0123', port, sign)
    assert.ok(label.length <= 63)
    assert.deepEqual(readPortLabel(label, sign), { sandbox: '0123456789abcdef0123', port })
    assert.equal(
      readPortLabel(label, text => sign(`other ${text}`)),
      undefined,
    )
  }
})

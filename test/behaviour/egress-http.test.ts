import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, type Socket, connect as tcp } from 'node:net'
import { duplexPair } from 'node:stream'
import { text as readAll } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import { HEAD_BYTES } from '../../src/sandbox/egress/limits.ts'
import { closed, converse, Destination, Gate, listener, over } from '../support/egress.ts'
import { until } from '../support/wait.ts'

const PUBLIC = '93.184.216.34'
const names = { 'good.example': [PUBLIC] }

const request = (line: string, ...headers: string[]) => `${[line, 'Host: x', ...headers].join('\r\n')}\r\n\r\n`
const basic = (user: string) => `Proxy-Authorization: Basic ${Buffer.from(`${user}:x`).toString('base64')}`

/** Once, whatever is sent, to a destination that remembers it. */
async function send(bytes: string) {
  await using destination = await Destination.open(() => ({ headers: { 'Set-Cookie': 'a=1', Date: 'then' } }))
  await using gate = await Gate.open({ names, destination })
  const said = await converse(gate, bytes)
  return { said, requests: destination.requests, connections: gate.connections }
}

describe('a plain HTTP request', () => {
  test('goes on with path, query and body, and with the Host that its URL has', async () => {
    const { said, requests } = await send(
      `${request('POST http://GOOD.example:8080/a%20b?q=1 HTTP/1.1', 'X-Kept: 1', 'Content-Length: 3', 'Connection: close')}abc`,
    )
    assert.match(said, /^HTTP\/1\.1 200 OK\r\n/)
    assert.match(said, /hello/)
    assert.equal(requests.length, 1)
    const [{ method, url, body, raw }] = requests as [(typeof requests)[0]]
    assert.deepEqual({ method, url, body }, { method: 'POST', url: '/a%20b?q=1', body: 'abc' })
    assert.deepEqual(raw, ['Host', 'good.example:8080', 'X-Kept', '1', 'Content-Length', '3', 'Connection', 'close'])
  })

  test('without a path asks for the root', async () => {
    for (const [url, path] of [
      ['http://good.example', '/'],
      ['http://good.example?q', '/?q'],
      ['HTTP://good.example/', '/'],
    ]) {
      const { requests } = await send(request(`GET ${url} HTTP/1.1`, 'Connection: close'))
      assert.equal(requests[0]?.url, path)
      assert.equal(requests[0]?.headers.host, 'good.example')
    }
  })

  test('keeps what is for the proxy from the destination', async () => {
    const { requests } = await send(
      request(
        'GET http://good.example/ HTTP/1.1',
        basic('c-1'),
        'Proxy-Connection: keep-alive',
        'Proxy-Anything: 1',
        'Connection: close, X-Named, content-length',
        'X-Named: 1',
        'Keep-Alive: 1',
        'TE: trailers',
        'Trailer: x',
        'Upgrade: h2c',
        'X-Kept: 1',
        'Authorization: Basic mine',
      ),
    )
    assert.deepEqual(requests[0]?.raw, [
      ...['Host', 'good.example', 'X-Kept', '1', 'Authorization', 'Basic mine', 'Connection', 'close'],
    ])
  })

  test('has the body it came with, however its length is told and whatever the Connection header names', async () => {
    const chunked = await send(
      `${request('GET http://good.example/ HTTP/1.1', 'Transfer-Encoding: chunked', 'Connection: close')}3\r\nabc\r\n0\r\n\r\n`,
    )
    assert.equal(chunked.requests.length, 1)
    assert.equal(chunked.requests[0]?.body, 'abc')
    const named = await send(
      `${request('GET http://good.example/ HTTP/1.1', 'Content-Length: 3', 'Connection: close, content-length')}abc`,
    )
    assert.equal(named.requests.length, 1)
    assert.equal(named.requests[0]?.body, 'abc')
    const empty = await send(request('POST http://good.example/ HTTP/1.1', 'Connection: close'))
    assert.equal(empty.requests[0]?.headers['content-length'], '0')
    const waiting = await send(
      `${request('PUT http://good.example/ HTTP/1.1', 'Content-Length: 3', 'Expect: 100-continue', 'Connection: close')}abc`,
    )
    assert.match(waiting.said, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/)
    assert.equal(waiting.requests[0]?.body, 'abc')
  })

  test('is answered as the destination answered, but for what concerns the hop', async () => {
    const answer =
      'HTTP/1.1 203 Sort Of\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nProxy-Authenticate: Basic\r\nConnection: X-Hop\r\nX-Hop: 1\r\nContent-Length: 2\r\n\r\nok'
    await using destination = await listener(socket => socket.once('data', () => socket.end(answer)))
    await using gate = await Gate.open({ names, destination })
    const said = await converse(gate, request('GET http://good.example/ HTTP/1.1', 'Connection: close'))
    assert.equal(
      said,
      'HTTP/1.1 203 Sort Of\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok',
    )
  })

  test('may follow another on the same connection, without waiting, and is answered in order', async () => {
    await using destination = await Destination.open(({ url }) => ({ text: `answer to ${url}` }))
    await using gate = await Gate.open({ names: { ...names, 'two.example': ['1.1.1.1'] }, destination })
    const said = await converse(
      gate,
      request('GET http://good.example/1 HTTP/1.1') +
        request('GET http://10.0.0.1/2 HTTP/1.1') +
        request('GET http://two.example/3 HTTP/1.1', 'Connection: close'),
    )
    assert.deepEqual(said.match(/answer to \S+|HTTP\/1\.1 \d+/g), [
      ...['HTTP/1.1 200', 'answer to /1', 'HTTP/1.1 403', 'HTTP/1.1 200', 'answer to /3'],
    ])
    assert.deepEqual(gate.connections, [
      { addresses: [PUBLIC], port: 80 },
      { addresses: ['1.1.1.1'], port: 80 },
    ])
  })

  test('opens one connection at a time, and more than a few that do not wait are hung up on', async () => {
    await using destination = await listener(() => undefined)
    await using gate = await Gate.open({ names, destination })
    await converse(gate, request('GET http://good.example/ HTTP/1.1').repeat(100))
    assert.equal(gate.connections.length, 1)
  })

  test('that is being answered is not followed by what would take over its connection', async () => {
    await using destination = await listener(() => undefined)
    await using gate = await Gate.open({ names, destination })
    for (const next of [
      request('CONNECT good.example:80 HTTP/1.1'),
      request('GET http://good.example/ HTTP/1.1', 'Connection: Upgrade', 'Upgrade: websocket'),
    ]) {
      assert.equal(await converse(gate, request('GET http://good.example/ HTTP/1.1') + next), '')
    }
    await until('it is given up', () => gate.upstreams.every(upstream => upstream.destroyed))
  })

  test('is judged by the policy of the moment', async () => {
    await using destination = await Destination.open()
    await using gate = await Gate.open({ names, destination })
    const socket = gate.connect().setEncoding('latin1')
    socket.write(request('GET http://good.example/ HTTP/1.1'))
    const [first] = await once(socket, 'data')
    assert.match(first, /^HTTP\/1\.1 200 /)
    gate.egress = { mode: 'none' }
    let rest = ''
    socket.on('data', chunk => {
      rest += chunk
    })
    socket.write(request('GET http://good.example/ HTTP/1.1', 'Connection: close'))
    await once(socket, 'end')
    assert.match(rest, /HTTP\/1\.1 403 Forbidden/)
    socket.destroy()
  })

  test('that is not in full, or not plain HTTP, is told so', async () => {
    const urls = [
      '/',
      '*',
      'https://good.example/',
      'ftp://good.example/',
      'http:///',
      'http://good.example/#a',
      'good.example/',
    ]
    for (const url of urls) {
      const { said, connections } = await send(request(`GET ${url} HTTP/1.1`, 'Connection: close'))
      assert.match(said, /^HTTP\/1\.1 400 /, url)
      assert.deepEqual(connections, [], url)
    }
  })

  const smuggled: Record<string, string> = {
    'two kinds of length': request(
      'POST http://good.example/ HTTP/1.1',
      'Content-Length: 3',
      'Transfer-Encoding: chunked',
    ),
    'two lengths': request('POST http://good.example/ HTTP/1.1', 'Content-Length: 3', 'Content-Length: 4'),
    'a length that is none': request('POST http://good.example/ HTTP/1.1', 'Content-Length: +3'),
    'a list of lengths': request('POST http://good.example/ HTTP/1.1', 'Content-Length: 3, 3'),
    'an unknown encoding': request('POST http://good.example/ HTTP/1.1', 'Transfer-Encoding: xchunked'),
    'an encoding after chunked': request('POST http://good.example/ HTTP/1.1', 'Transfer-Encoding: chunked, gzip'),
    'a space before a colon': request('POST http://good.example/ HTTP/1.1', 'Transfer-Encoding : chunked'),
    'a folded header': request('POST http://good.example/ HTTP/1.1', 'Transfer-Encoding:\r\n chunked'),
    'a lone line feed': 'GET http://good.example/ HTTP/1.1\nHost: x\n\n',
    'a NUL in a header': request('GET http://good.example/ HTTP/1.1', 'X-A: a\0b'),
    'a carriage return in a header': request('GET http://good.example/ HTTP/1.1', 'X-A: a\rb'),
    'no version': 'GET http://good.example/\r\nConnection: close\r\n\r\n',
    'a version from the future': request('GET http://good.example/ HTTP/3.0'),
    'a head without end': request('GET http://good.example/ HTTP/1.1', `X-A: ${'a'.repeat(HEAD_BYTES)}`),
    'a method that is none': request('GRAB http://good.example/ HTTP/1.1'),
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  }
  for (const [what, bytes] of Object.entries(smuggled)) {
    test(`with ${what} is refused and reaches nobody`, async () => {
      const { said, connections } = await send(bytes)
      assert.match(said, /^(HTTP\/1\.1 4\d\d |$)/)
      assert.deepEqual(connections, [])
    })
  }

  test('whose answer breaks off is not answered as if it were whole', async () => {
    await using destination = await listener(socket =>
      socket.once('data', () =>
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf', () => socket.destroy()),
      ),
    )
    await using gate = await Gate.open({ names, destination })
    const said = await converse(gate, request('GET http://good.example/ HTTP/1.1'))
    assert.match(said, /Content-Length: 10\r\n/)
    assert.match(said, /\r\n\r\nhalf$/)
  })

  test('that is answered before it was read to its end leaves its connection to the next', async () => {
    const answer = 'HTTP/1.1 413 Too Much\r\nContent-Length: 2\r\n\r\nno'
    await using destination = await listener(socket => socket.once('data', () => socket.write(answer)))
    await using gate = await Gate.open({ names, destination })
    const socket = gate.connect().setEncoding('latin1')
    socket.write(request('POST http://good.example/ HTTP/1.1', 'Content-Length: 1000000'))
    const [first] = await once(socket, 'data')
    assert.match(first, /^HTTP\/1\.1 413 /)
    socket.write('x'.repeat(1_000_000))
    socket.write(request('GET http://10.0.0.1/ HTTP/1.1'))
    const [second] = await once(socket, 'data')
    assert.match(second, /^(no)?HTTP\/1\.1 403 /)
    socket.destroy()
  })

  test('that becomes rubbish while it is answered is hung up on', async () => {
    const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n'
    await using destination = await listener(socket => socket.once('data', () => socket.write(answer)))
    await using gate = await Gate.open({ names, destination })
    const socket = gate.connect().setEncoding('latin1')
    socket.write(request('POST http://good.example/ HTTP/1.1', 'Transfer-Encoding: chunked'))
    socket.write('1\r\na\r\n')
    let said = ''
    socket.on('data', chunk => {
      said += chunk
      socket.write('rubbish\r\n')
    })
    await over(socket)
    assert.deepEqual(said.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200'])
    socket.destroy()
  })

  test('whose answer is no HTTP is answered with 502', async () => {
    for (const answer of [
      'rubbish\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n',
      '',
      'HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\n',
    ]) {
      await using destination = await listener(socket => socket.once('data', () => socket.end(answer)))
      await using gate = await Gate.open({ names, destination })
      const said = await converse(gate, request('GET http://good.example/ HTTP/1.1', 'Connection: close'))
      assert.match(said, /^HTTP\/1\.1 502 /, answer)
    }
  })

  test('that is given up by its client is given up', async () => {
    let upstream: Socket | undefined
    await using destination = await listener(socket => {
      upstream = socket
      socket.resume().once('data', () => client.destroy())
    })
    await using gate = await Gate.open({ names, destination })
    const client = gate.connect()
    client.write(request('GET http://good.example/ HTTP/1.1'))
    await closed(client)
    await closed(gate.upstreams[0]!)
    assert.ok(upstream)
  })
})

describe('a refused request', () => {
  test('says which host, why, and whose doing it is', async () => {
    await using gate = await Gate.open({ egress: { mode: 'hosts', hosts: [] } })
    const said = await converse(gate, request('GET http://bad.example/ HTTP/1.1', 'Connection: close'))
    assert.match(said, /^HTTP\/1\.1 403 Forbidden\r\n/)
    assert.match(
      said,
      /\r\n\r\nbad\.example:80 may not be reached: it is not among the allowed hosts\. .*policy.*sandbox/,
    )
    const tunnel = await converse(gate, request('CONNECT bad.example:443 HTTP/1.1'))
    assert.match(tunnel, /^HTTP\/1\.1 403 Forbidden\r\n[\s\S]*\r\n\r\nbad\.example:443 may not be reached/)
  })

  test('is on record with the command that made it', async () => {
    await using gate = await Gate.open({ egress: { mode: 'none' } })
    const before = Date.now()
    for (const headers of [
      [basic('c-7')],
      [],
      [basic('stranger')],
      ['Proxy-Authorization: Bearer c-7'],
      ['Proxy-Authorization: Basic !'],
    ]) {
      await converse(gate, request('CONNECT bad.example:443 HTTP/1.1', ...headers))
    }
    assert.deepEqual(
      gate.refusals.map(({ command }) => command),
      ['command 7', undefined, undefined, undefined, undefined],
    )
    const { at, ...rest } = gate.refusals[0]!
    assert.ok(at >= before && at <= Date.now())
    const why = 'no network is allowed'
    assert.deepEqual(rest, { sandbox: 'box', host: 'bad.example', port: 443, why, command: 'command 7' })
  })
})

describe('an upgrade', () => {
  test('to a WebSocket goes both ways', async () => {
    await using http = await Destination.open()
    const sockets = new WebSocketServer({ server: http.server })
    let headers: NodeJS.Dict<string | string[]> = {}
    sockets.on('connection', (socket, { headers: came }) => {
      headers = came
      socket.on('message', data => socket.send(`you said ${data}`))
    })
    await using gate = await Gate.open({ names, destination: http })
    const socket = new WebSocket('ws://good.example/chat', {
      createConnection: () => gate.connect(),
      finishRequest: sent => {
        sent.path = 'http://good.example/chat'
        sent.setHeader('Proxy-Authorization', 'Basic eDp4')
        sent.end()
      },
    })
    await once(socket, 'open')
    socket.send('hello')
    const [answer] = await once(socket, 'message')
    assert.equal(String(answer), 'you said hello')
    assert.equal(headers.host, 'good.example')
    assert.equal(headers['proxy-authorization'], undefined)
    socket.terminate()
    sockets.close()
    await closed(gate.upstreams[0]!)
  })

  test('to anything else is not asked for', async () => {
    const headers = ['Connection: Upgrade, HTTP2-Settings, close', 'Upgrade: h2c', 'HTTP2-Settings: x']
    const { said, requests } = await send(request('GET http://good.example/ HTTP/1.1', ...headers))
    assert.match(said, /^HTTP\/1\.1 200 /)
    assert.deepEqual(requests[0]?.raw, ['Host', 'good.example', 'Connection', 'close'])
  })

  test('is granted together with the first words', async () => {
    const granted = 'HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\n'
    const headers = 'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
    await using destination = await listener(socket =>
      socket.once('data', () => socket.end(`${granted}${headers}first`)),
    )
    await using gate = await Gate.open({ names, destination })
    const asked = request('GET http://good.example/ HTTP/1.1', 'Connection: Upgrade', 'Upgrade: websocket')
    assert.equal(await converse(gate, asked), `${granted}${headers}first`)
  })

  test('that the destination does not want is answered as it answers', async () => {
    const headers = ['Connection: Upgrade', 'Upgrade: websocket']
    await using destination = await Destination.open(() => ({ status: 426, text: 'no' }))
    await using gate = await Gate.open({ names, destination })
    const said = await converse(gate, request('GET http://good.example/ HTTP/1.1', ...headers))
    assert.match(said, /^HTTP\/1\.1 426 /)
    assert.match(said, /\r\nConnection: close\r\n/)
    const refused = await converse(gate, request('GET http://10.0.0.1/ HTTP/1.1', ...headers))
    assert.match(refused, /^HTTP\/1\.1 403 /)
  })
})

test('a connection need not be a socket', async () => {
  await using destination = await Destination.open()
  await using gate = await Gate.open({ names, destination })
  for (const bytes of [
    request('GET http://good.example/ HTTP/1.1', 'Connection: close'),
    `${request('CONNECT good.example:80 HTTP/1.1')}GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
  ]) {
    const [inside, outside] = duplexPair()
    gate.proxy.serve(outside, { sandbox: 'other', policiesFor: async () => [gate.egress], labelOf: () => undefined })
    inside.write(bytes)
    assert.match(await readAll(inside), /^HTTP\/1\.1 200 [\s\S]*hello/)
    inside.end()
    await closed(outside)
  }
  assert.equal(gate.proxy.count('other'), 0)
})

test('a socket that a server of Node accepted has its first bytes seen once', async () => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  server.on('request', (asked, answer) => answer.end(asked.url))
  await using gate = await Gate.open({ names, destination: { port } })
  const socket = tcp(gate.port, '127.0.0.1').setEncoding('latin1')
  for (const byte of request('GET http://good.example/slowly HTTP/1.1', 'Connection: close')) socket.write(byte)
  assert.match(await readAll(socket), /^HTTP\/1\.1 200 [\s\S]*\/slowly/)
  server.close()
})

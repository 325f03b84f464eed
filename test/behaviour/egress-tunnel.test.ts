import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { describe, test } from 'node:test'
import { join } from '../../src/sandbox/egress/join.ts'
import { EgressProxy } from '../../src/sandbox/egress/proxy.ts'
import {
  closed,
  converse,
  Gate,
  type GateOptions,
  listener,
  OPEN,
  over,
  socksCode,
  socksRequest,
  WAYS,
} from '../support/egress.ts'
import { until } from '../support/wait.ts'

const names = { 'good.example': ['93.184.216.34'] }
const CONNECT = 'CONNECT good.example:7 HTTP/1.1\r\n\r\n'
const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n'
const SOCKS = socksRequest('good.example', 7)
const GRANTED = '\x05\0\x05\0\0\x01\0\0\0\0\0\0'
const tunnels: [string, string | Buffer, string][] = [
  ['CONNECT', CONNECT, ESTABLISHED],
  ['SOCKS5', SOCKS, GRANTED],
]

/** Until the end, leaving the other direction open. */
async function hear(socket: Socket): Promise<string> {
  let heard = ''
  socket.setEncoding('latin1').on('data', chunk => {
    heard += chunk
  })
  await once(socket, 'end')
  return heard
}

const to = (destination: { port: number }, more: GateOptions = {}) => Gate.open({ names, destination, ...more })
const echo = () => listener(socket => socket.pipe(socket))

for (const [name, opening, granted] of tunnels) {
  describe(`a tunnel by ${name}`, () => {
    test('carries what is sent with the request, and the end of each direction by itself', async () => {
      // Answers only when it has heard the end.
      await using destination = await listener(async socket => socket.end(`heard ${await hear(socket)}`))
      await using gate = await to(destination)
      const socket = gate.connect()
      socket.write(opening)
      socket.end('all of it')
      assert.equal(await hear(socket), `${granted}heard all of it`)
      await until('the other side is gone too', () => gate.upstreams[0]!.destroyed)
      await until('it is not counted any more', () => gate.proxy.count('box') === 0)
    })

    test('carries the end of the destination while the client goes on', async () => {
      let heard: Promise<string> | undefined
      await using destination = await listener(socket => {
        heard = hear(socket)
        socket.end('bye')
      })
      await using gate = await to(destination)
      const socket = gate.connect()
      socket.write(opening)
      assert.equal(await hear(socket), `${granted}bye`)
      socket.end('still here')
      assert.equal(await heard, 'still here')
    })

    test('carries a lot unharmed, and holds little for a client that does not read', async () => {
      const total = 64 * 1024 * 1024
      let sent = 0
      await using destination = await listener(socket => {
        const piece = Buffer.alloc(256 * 1024, 'x')
        const more = () => {
          while (sent < total && socket.writable) {
            sent += piece.length
            if (!socket.write(piece)) return
          }
          socket.end()
        }
        socket.on('drain', more)
        more()
      })
      await using gate = await to(destination)
      const socket = gate.connect()
      socket.write(opening)
      const upstream = await until('it is connected', () => gate.upstreams[0])
      await until('nobody takes any more', async () => {
        const before = upstream.bytesRead
        for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate)
        return upstream.bytesRead === before && before > 0
      })
      assert.ok(upstream.bytesRead < total / 2, String(upstream.bytesRead))
      assert.ok(upstream.readableLength + gate.accepted[0]!.writableLength < 1024 * 1024)
      let received = 0
      for await (const chunk of socket) received += chunk.length
      assert.equal(received, total + granted.length)
    })

    test('is gone on both sides when one is', async () => {
      const inside: Socket[] = []
      await using destination = await listener(socket => inside.push(socket.resume()))
      await using gate = await to(destination)
      const leaving = gate.connect()
      leaving.write(opening)
      await once(leaving, 'data')
      leaving.resetAndDestroy()
      await closed(gate.upstreams[0]!)
      const left = gate.connect()
      left.write(opening)
      await once(left, 'data')
      await until('the destination has it', () => inside[1])
      inside[1]!.resetAndDestroy()
      left.resume()
      await over(left)
      await until('both are gone', () => gate.proxy.count('box') === 0)
    })

    test('that is silent for too long is ended', async () => {
      await using destination = await echo()
      await using gate = await to(destination, { limits: { idleMs: 50 } })
      assert.equal(await converse(gate, opening), granted)
    })

    test('is ended when its sandbox is dropped, and when all is closed', async () => {
      await using destination = await echo()
      await using gate = await to(destination)
      for (const end of [() => gate.proxy.drop('box'), () => gate.proxy.close()]) {
        const socket = gate.connect()
        socket.write(opening)
        await once(socket, 'data')
        end()
        socket.resume()
        await over(socket)
        await until('the other side is gone too', () => gate.upstreams.every(upstream => upstream.destroyed))
      }
      assert.equal(await converse(gate, opening), '')
    })

    test('that is still being opened is given up when its sandbox is dropped', async () => {
      await using destination = await echo()
      await using gate = await to(destination, { socket: () => new Socket() })
      const socket = gate.connect()
      socket.write(opening)
      await until('it is being opened', () => gate.upstreams[0])
      gate.proxy.drop('box')
      await closed(gate.upstreams[0]!)
      socket.destroy()
    })
  })
}

test('who is cut off does not wait for the other side to read', async () => {
  const one = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
  const other = new Duplex({ read: () => undefined, write: () => undefined })
  join(one, other, 1_000_000)
  one.push('never read')
  await until('it is on its way', () => other.writableLength > 0)
  one.destroy()
  await closed(other)
})

test('who leaves after its last word has it delivered, and the other side goes too', async () => {
  const heard: string[] = []
  let deliver: () => void = () => undefined
  const one = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
  const other = new Duplex({
    read: () => undefined,
    write(chunk, _encoding, done) {
      deliver = () => {
        heard.push(String(chunk))
        done()
      }
    },
  })
  join(one, other, 1_000_000)
  one.push('last word')
  one.push(null)
  await once(one, 'end')
  one.destroy()
  await closed(one)
  assert.equal(other.destroyed, false)
  deliver()
  await closed(other)
  assert.deepEqual(heard, ['last word'])
})

describe('a host that cannot be had', () => {
  const failing = (code: string) => () => {
    const socket = new Socket()
    process.nextTick(() => socket.destroy(Object.assign(new Error(code), { code })))
    return socket
  }
  const cases: [string, GateOptions, string, number, RegExp][] = [
    ['refuses', { socket: failing('ECONNREFUSED') }, 'good.example', 5, /it refused the connection/],
    ['has no route', { socket: failing('EHOSTUNREACH') }, 'good.example', 4, /there is no way to it/],
    ['has no network', { socket: failing('ENETUNREACH') }, 'good.example', 3, /no way to its network/],
    ['fails otherwise', { socket: failing('EPIPE') }, 'good.example', 1, /the connection failed/],
    ['fails at all its addresses', { socket: failingAll }, 'good.example', 5, /it refused the connection/],
    [
      'does not answer',
      { socket: () => new Socket(), limits: { connectMs: 30 } },
      'good.example',
      4,
      /not answer in time/,
    ],
    ['has no name', {}, 'unknown.example', 4, /its name cannot be resolved/],
  ]
  function failingAll(): Socket {
    const socket = new Socket()
    const errors = ['EPERM', 'ECONNREFUSED'].map(code => Object.assign(new Error(code), { code }))
    process.nextTick(() => socket.destroy(new AggregateError(errors)))
    return socket
  }
  for (const [what, options, host, code, why] of cases) {
    test(`because it ${what} is told apart from one that may not be reached`, async () => {
      await using gate = await Gate.open({ names, ...options })
      for (const name of ['CONNECT', 'plain HTTP']) {
        const { said } = await WAYS[name]!(gate, host, 80)
        assert.match(said, /^HTTP\/1\.1 502 Bad Gateway\r\n/)
        assert.match(said, why)
      }
      assert.equal(socksCode((await WAYS.SOCKS5!(gate, host, 80)).said), code)
      assert.deepEqual(gate.refusals, [])
      await until('nothing is left open', () => gate.upstreams.every(upstream => upstream.destroyed))
    })
  }

  test('because its name takes too long is given up', async () => {
    const asked: AbortSignal[] = []
    const proxy = new EgressProxy({
      forbidden: [],
      onRefused: () => undefined,
      limits: { connections: 9, headMs: 10_000, idleMs: 10_000, connectMs: 10_000, lookupMs: 30 },
      lookup: (_name, _listed, signal) => {
        asked.push(signal)
        return new Promise(() => undefined)
      },
    })
    await using gate = await listener(socket =>
      proxy.serve(socket, { sandbox: 's', policiesFor: async () => [OPEN], labelOf: () => undefined }),
    )
    for (const opening of [CONNECT, SOCKS]) {
      const said = await converse(gate, opening)
      assert.ok(said.includes('it did not answer in time') || socksCode(said) === 4, said)
    }
    assert.ok(asked.every(signal => signal.aborted))
  })
})

describe('as it is when nothing is put in its place', () => {
  const serving = (proxy: EgressProxy, hosts: string[]) =>
    listener(socket =>
      proxy.serve(socket, {
        sandbox: 's',
        policiesFor: async () => [{ mode: 'hosts', hosts }],
        labelOf: () => undefined,
      }),
    )
  const hello = () => listener(socket => socket.end('hello'))
  const opening = ({ port }: { port: number }, host: string) => `CONNECT ${host}:${port} HTTP/1.1\r\n\r\n`

  test('it connects to the addresses that were judged, and tries the next when one does not answer', async () => {
    await using destination = await hello()
    const lookup = async () => ['::1', '127.0.0.9', '127.0.0.1']
    const proxy = new EgressProxy({ forbidden: [], onRefused: () => undefined, lookup })
    await using gate = await serving(proxy, ['listed.example'])
    assert.equal(await converse(gate, opening(destination, 'listed.example')), `${ESTABLISHED}hello`)
    proxy.close()
  })

  test('it knows this machine by name and by address', async () => {
    await using destination = await hello()
    const refused: string[] = []
    const proxy = new EgressProxy({ forbidden: [], onRefused: ({ host }) => refused.push(host) })
    await using gate = await serving(proxy, [`localhost:${destination.port}`, '127.0.0.1'])
    for (const host of ['localhost', 'LOCALHOST.', '127.0.0.1']) {
      assert.equal(await converse(gate, opening(destination, host)), `${ESTABLISHED}hello`)
    }
    assert.match(await converse(gate, opening({ port: 1 }, 'localhost')), /^HTTP\/1\.1 403 /)
    assert.deepEqual(refused, ['localhost'])
    proxy.close()
  })
})

describe('SOCKS5', () => {
  const login = (user: string, password: string) =>
    Buffer.from([1, user.length, ...Buffer.from(user), password.length, ...Buffer.from(password)])
  const asking = SOCKS.subarray(3)

  test('takes a user name and any password, and prefers to', async () => {
    await using gate = await Gate.open({ egress: { mode: 'none' } })
    for (const password of ['', 'x', 'y'.repeat(255)]) {
      const bytes = Buffer.concat([Buffer.of(5, 3, 0, 1, 2), login('c-9', password), asking])
      assert.equal(await converse(gate, bytes), '\x05\x02\x01\0\x05\x02\0\x01\0\0\0\0\0\0')
    }
    assert.deepEqual(
      gate.refusals.map(({ command }) => command),
      ['command 9', 'command 9', 'command 9'],
    )
  })

  test('may come byte by byte', async () => {
    await using destination = await echo()
    await using gate = await to(destination)
    const socket = gate.connect().setNoDelay()
    for (const byte of SOCKS) {
      socket.write(Buffer.of(byte))
      await new Promise(setImmediate)
    }
    socket.end('hello')
    assert.equal(await hear(socket), `${GRANTED}hello`)
  })

  const wrong: [string, Buffer, string][] = [
    ['a way to log in that is not known', Buffer.of(5, 1, 1), '\x05\xff'],
    ['no way to log in', Buffer.of(5, 0), '\x05\xff'],
    [
      'a command other than CONNECT',
      Buffer.of(5, 1, 0, 5, 2, 0, 1, 1, 1, 1, 1, 0, 80),
      '\x05\0\x05\x07\0\x01\0\0\0\0\0\0',
    ],
    ['a datagram', Buffer.of(5, 1, 0, 5, 3, 0, 1, 1, 1, 1, 1, 0, 80), '\x05\0\x05\x07\0\x01\0\0\0\0\0\0'],
    ['an address of an unknown kind', Buffer.of(5, 1, 0, 5, 1, 0, 9, 1, 1, 1), '\x05\0\x05\x08\0\x01\0\0\0\0\0\0'],
    ['another version in the middle', Buffer.of(5, 1, 0, 4, 1, 0, 1, 1, 1, 1, 1, 0, 80), '\x05\0'],
    ['a name without length', Buffer.of(5, 1, 0, 5, 1, 0, 3, 0, 0, 80), '\x05\0\x05\x02\0\x01\0\0\0\0\0\0'],
    [
      'a name that is no text',
      Buffer.of(5, 1, 0, 5, 1, 0, 3, 2, 0xff, 0xfe, 0, 80),
      '\x05\0\x05\x02\0\x01\0\0\0\0\0\0',
    ],
  ]
  for (const [what, bytes, answer] of wrong) {
    test(`refuses ${what}`, async () => {
      await using gate = await Gate.open()
      assert.equal(await converse(gate, bytes), answer)
      assert.deepEqual(gate.connections, [])
    })
  }

  test('that ends in the middle is over at once', { timeout: 5000 }, async () => {
    await using gate = await Gate.open()
    for (let length = 1; length < SOCKS.length; length++) {
      const socket = gate.connect()
      socket.end(SOCKS.subarray(0, length))
      await over(socket)
    }
    assert.deepEqual(gate.connections, [])
  })

  test('of version 4 is no HTTP either', async () => {
    await using gate = await Gate.open()
    assert.match(await converse(gate, Buffer.of(4, 1, 0, 80, 1, 1, 1, 1, 0)), /^HTTP\/1\.1 400 /)
  })
})

describe('P5: what a client can hold is bounded', () => {
  const drips: Record<string, Buffer> = {
    nothing: Buffer.alloc(0),
    'a request': Buffer.from(`GET http://good.example/ HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(9999)}`),
    'a CONNECT': Buffer.from(`CONNECT good.example:7 HTTP/1.1\r\nX-A: ${'a'.repeat(9999)}`),
    'a SOCKS5 greeting': Buffer.of(5, 255, ...new Array(255).fill(0)),
    'a SOCKS5 name': Buffer.concat([Buffer.of(5, 1, 0, 5, 1, 0, 3, 255), Buffer.alloc(250, 'a')]),
  }
  for (const [what, bytes] of Object.entries(drips)) {
    test(`who says ${what} ever so slowly is hung up on`, async () => {
      await using gate = await Gate.open({ names, limits: { headMs: 100 } })
      const socket = gate.connect()
      let next = 0
      const dripping = setInterval(() => socket.write(bytes.subarray(next, ++next)), 5)
      socket.resume()
      await over(socket)
      clearInterval(dripping)
      socket.destroy()
      assert.deepEqual(gate.connections, [])
      await until('it is not counted any more', () => gate.proxy.count('box') === 0)
    })
  }

  test('who stays silent after an answer is hung up on, but not while one is on its way', async () => {
    await using destination = await listener(socket =>
      socket.once('data', () => setTimeout(() => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'), 150)),
    )
    await using gate = await to(destination, { limits: { headMs: 50 } })
    assert.match(
      await converse(gate, 'GET http://good.example/ HTTP/1.1\r\nHost: x\r\n\r\n'),
      /^HTTP\/1\.1 200 [\s\S]*ok$/,
    )
    assert.match(await converse(gate, 'GET http://10.0.0.1/ HTTP/1.1\r\nHost: x\r\n\r\n'), /^HTTP\/1\.1 403 /)
  })

  test('who is refused and does not hang up is hung up on', async () => {
    await using gate = await Gate.open({ egress: { mode: 'none' }, limits: { headMs: 50 } })
    for (const opening of [CONNECT, SOCKS]) {
      const socket = gate.connect()
      socket.write(opening)
      socket.resume()
      await over(socket)
      await until('it is not counted any more', () => gate.proxy.count('box') === 0)
      socket.destroy()
    }
  })

  test('a sandbox has so many connections, and another its own', async () => {
    await using destination = await echo()
    await using gate = await to(destination, { limits: { connections: 3 } })
    const sockets = [1, 2, 3].map(() => gate.connect())
    for (const socket of sockets) {
      socket.write(CONNECT)
      await once(socket, 'data')
    }
    assert.equal(await converse(gate, CONNECT), '')
    assert.equal(gate.proxy.count('box'), 3)
    sockets[0]!.destroy()
    await until('there is room', () => gate.proxy.count('box') === 2)
    const again = gate.connect()
    again.write(CONNECT)
    const [said] = await once(again, 'data')
    assert.equal(String(said), ESTABLISHED)
    for (const socket of [...sockets, again]) socket.destroy()
  })
})

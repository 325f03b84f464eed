import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closed, converse, Gate, socksRequest } from '../support/egress.ts'
import { inParallel } from '../support/exchange.ts'
import { Random } from '../support/random.ts'
import { until } from '../support/wait.ts'

const ROUNDS = 600

const seeds: Buffer[] = [
  Buffer.from('GET http://10.0.0.1:80/path?q HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc'),
  Buffer.from('POST http://[::1]/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'),
  Buffer.from('CONNECT 127.0.0.1:443 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic YTpi\r\n\r\n\x16\x03\x01'),
  Buffer.from('GET http://localhost/ HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'),
  socksRequest('localhost', 80),
  Buffer.of(5, 2, 0, 2, 1, 1, 97, 1, 98, 5, 1, 0, 1, 127, 0, 0, 1, 0, 80),
  Buffer.of(5, 1, 0, 5, 1, 0, 4, ...new Array(15).fill(0), 1, 0, 80),
]

/** A seed with some of it cut, doubled, flipped, or in another's place; or nothing but noise. */
function rubbish(random: Random): Buffer {
  if (random.int(8) === 0) return Buffer.from(Array.from({ length: random.int(400) + 1 }, () => random.int(256)))
  let bytes = Buffer.from(random.pick(seeds))
  for (let change = random.int(4); change >= 0; change--) {
    const at = random.int(bytes.length)
    const until = Math.min(bytes.length, at + random.int(12))
    const other = random.pick(seeds)
    const middle = random.pick([
      () => Buffer.alloc(0),
      () => Buffer.concat([bytes.subarray(at, until), bytes.subarray(at, until)]),
      () => Buffer.of(random.int(256)),
      () => other.subarray(random.int(other.length)),
      () => Buffer.from(random.pick(['\r\n', '\0', ' ', '%00', '@', '\r\n\r\n', 'chunked', '99999999999', '\xff'])),
    ])()
    bytes = Buffer.concat([bytes.subarray(0, at), middle, bytes.subarray(until)])
    if (bytes.length === 0) return Buffer.of(0)
  }
  return bytes
}

test('T-49: rubbish opens no way, breaks nothing and leaves nothing behind', async t => {
  const random = new Random()
  t.diagnostic(`seed ${random.seed}`)
  await using gate = await Gate.open({ egress: { mode: 'hosts', hosts: ['*.example'] }, limits: { headMs: 300 } })
  const cases = Array.from({ length: ROUNDS }, () => rubbish(random))
  await inParallel(cases, bytes => converse(gate, bytes), 32)
  assert.deepEqual(gate.connections, [])
  await until('all are gone', () => gate.proxy.count('box') === 0)
  assert.ok(gate.accepted.every(socket => socket.destroyed))
  assert.ok(gate.refusals.every(({ host }) => host.length <= 255 && !/\p{C}|\s/u.test(host)))
  assert.match(await converse(gate, 'CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n'), /^HTTP\/1\.1 403 /)
})

test('T-49: who leaves at any moment leaves nothing behind', async t => {
  const random = new Random()
  t.diagnostic(`seed ${random.seed}`)
  await using gate = await Gate.open({ names: { localhost: ['127.0.0.1'] }, limits: { headMs: 300 } })
  await inParallel(
    Array.from({ length: 200 }, () => random.pick(seeds)),
    async bytes => {
      const socket = gate.connect()
      socket.write(bytes.subarray(0, random.int(bytes.length + 1)))
      for (let turns = random.int(4); turns > 0; turns--) await new Promise(setImmediate)
      if (random.int(2)) socket.resetAndDestroy()
      else socket.destroy()
      await closed(socket)
    },
    16,
  )
  await until('all are gone', () => gate.proxy.count('box') === 0)
  assert.deepEqual(gate.connections, [])
})

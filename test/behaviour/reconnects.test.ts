import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { anOrder, count, TestServer } from '../support/server.ts'
import { TestSocket } from '../support/socket.ts'
import { until } from '../support/wait.ts'

test('P5: readers that come and go, politely or not, leave nothing behind', async () => {
  await using server = await TestServer.start({ args: ['--log-level', 'warn'] })
  const { id } = await server.client.startConversation({ body: anOrder() })
  const gauge = async (name: string) => {
    const text = await (await server.client.metrics()).text()
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
  }
  const descriptors = () => readdirSync(`/proc/${server.pid}/fd`).length
  const path = `/sockets/events/${id}?resend_mode=all`
  const stream = `${server.url}/api/conversations/${id}/events/stream`
  const rounds = count({ sample: 8, deep: 150 })
  assert.equal(await gauge('gantry_readers'), 0)
  const before = descriptors()
  for (let round = 0; round < rounds; round++) {
    const sockets = Array.from({ length: 20 }, () => new TestSocket(server.url, path))
    // A third goes before the handshake is over, a third with it, a third after the first frame.
    for (const socket of sockets.slice(0, 7)) socket.socket.terminate()
    for (const socket of sockets.slice(7, 14)) socket.socket.once('open', () => socket.socket.terminate())
    const polite = sockets.slice(14)
    await Promise.all(polite.map(socket => socket.frame('the snapshot', frame => frame.key === 'full_state')))
    await Promise.all(polite.map(socket => socket.close()))
    const abort = new AbortController()
    const streams = Array.from({ length: 5 }, () => fetch(stream, { signal: abort.signal }).catch(() => undefined))
    if (round % 2 === 0) await Promise.all(streams)
    abort.abort()
    await Promise.all(streams)
  }
  await until('nobody is left', async () => (await gauge('gantry_readers')) + (await gauge('gantry_sockets')) === 0)
  await until('their descriptors are closed', () => descriptors() <= before + 16)
})

import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { REQUESTS_IN_FLIGHT } from '../../src/http/limits.ts'
import { TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** A request whose body never comes. */
function unfinished(url: string): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  socket.write(
    'POST /api/conversations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n',
  )
  return socket
}

test('P5: past its limit of requests in flight the server says 503 and when to come back, and recovers', async () => {
  await using server = await TestServer.start({ args: ['--log-level', 'error'] })
  const list = () => fetch(`${server.url}/api/conversations/count`)
  const held = Array.from({ length: REQUESTS_IN_FLIGHT }, () => unfinished(server.url))
  try {
    const refused = await until('the server is full', async () => {
      const response = await list()
      return response.status === 503 ? response : undefined
    })
    assert.equal(refused.headers.get('Retry-After'), '1')
    assert.equal((await refused.json()).code, 'overloaded')
    assert.equal((await fetch(`${server.url}/health`)).status, 200)
  } finally {
    for (const socket of held) socket.destroy()
  }
  await until('the server serves again', async () => (await list()).status === 200)
})

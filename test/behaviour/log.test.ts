import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { test } from 'node:test'
import { head, sendRaw } from '../support/exchange.ts'
import { GANTRY, tempFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'

test('P5: a reader of the log that stops reading does not stop the server, and lost lines are counted', async () => {
  const data = await tempFolder()
  const child = spawn(process.execPath, [GANTRY, '--port', '0', '--data', data], { stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', chunk => {
    printed += chunk
  })
  try {
    const url = await until('it listens', () => /listens on (\S+)/.exec(printed)?.[1])
    // About 200 bytes of log each: many times what a pipe holds, and more than what may wait.
    const requests = 12_000
    const host = `Host: ${new URL(url).host}`
    const all = `GET /health HTTP/1.1\r\n${host}\r\n\r\n`.repeat(requests - 1) + head('GET /health HTTP/1.1', host)
    assert.equal((await sendRaw(url, all)).text.split('HTTP/1.1 200 ').length - 1, requests)
    assert.equal((await fetch(`${url}/health`)).status, 200)
    let log = ''
    child.stderr.setEncoding('utf8').on('data', chunk => {
      log += chunk
    })
    await until('the lost lines are told', () => log.includes('lines dropped'))
    const lines = log.split('\n').slice(0, -1)
    for (const line of lines) JSON.parse(line)
    const dropped = lines.map(line => JSON.parse(line)).find(({ message }) => message === 'lines dropped')
    assert.ok(dropped.count > 0)
  } finally {
    child.kill('SIGKILL')
    await rm(data, { recursive: true, force: true })
  }
})

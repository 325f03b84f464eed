import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, beforeEach, describe, test } from 'node:test'
import { BashCommand, BashOutput } from '../../src/api/bash.ts'
import { newId } from '../../src/lib/id.ts'
import { allEvents, execute, Poller, peakMemory, sh, start } from '../support/bash.ts'
import { exchange, exchangeJson, inParallel } from '../support/exchange.ts'
import { sampled } from '../support/sampled.ts'
import { count, TestServer, tempFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'

let server: TestServer
before(async () => {
  server = await TestServer.start({ env: { OH_SECRET_KEY: 'a-secret-key-of-the-server' } })
})
after(() => server[Symbol.asyncDispose]())

/** A shell loop that ends when this file is there, and by itself some time after nobody can want it any more. */
const awaiting = (file: string) => `i=0; while [ ! -e ${file} ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done`
const failure = (promise: Promise<unknown>): Promise<number> =>
  promise.then(
    () => assert.fail('it was not refused'),
    error => error.status,
  )

describe('running a command', () => {
  test('it is given to a shell: output, errors and exit code come back', async () => {
    const output = await execute(server, 'echo out; echo err >&2; exit 3')
    assert.deepEqual(Object.keys(output), Object.keys(BashOutput.shape))
    assert.equal(BashOutput.parse(output).exit_code, 3)
    assert.deepEqual([output.stdout, output.stderr, output.order], ['out\n', 'err\n', 0])
    assert.match(output.id, /^[0-9a-f]{32}$/)
    assert.match(output.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    const silent = await execute(server, '')
    assert.deepEqual([silent.exit_code, silent.stdout, silent.stderr], [0, null, null])
    assert.equal((await execute(server, 'kill -KILL $$')).exit_code, 128 + 9)
  })

  test('it runs in the working directory, or where it is told to, and reads nothing', async () => {
    const home = await sh(server, 'pwd; mkdir -p below')
    assert.equal((await execute(server, 'pwd', { cwd: 'below' })).stdout, home.replace('\n', '/below\n'))
    assert.equal((await execute(server, 'pwd', { cwd: '/usr' })).stdout, '/usr\n')
    assert.deepEqual([(await execute(server, 'cat')).stdout, (await execute(server, 'cat')).exit_code], [null, 0])
  })

  test('it gets nothing of what the server knows', async () => {
    const shown = await sh(server, 'env')
    assert.ok(!shown.includes('a-secret-key'))
    assert.ok(!shown.includes(server.key))
    assert.match(shown, /^AI_AGENT=openhands$/m)
  })

  test('where there is no such directory it does not run: -1, and why', async () => {
    const output = await execute(server, 'echo ran', { cwd: '/nowhere/at/all' })
    assert.deepEqual([output.exit_code, output.stdout], [-1, null])
    assert.match(output.stderr ?? '', /Error executing command: .*\/nowhere\/at\/all/)
    assert.equal((await execute(server, 'exit 126', { cwd: '/usr' })).exit_code, 126)
  })

  test('it is ended in time: -1, with what it printed until then', async () => {
    const output = await execute(server, 'echo before; sleep 60; echo after', { timeout: 1 })
    assert.deepEqual([output.exit_code, output.stdout], [-1, 'before\n'])
    assert.match(output.stderr ?? '', /timed out/)
  })

  test('what stays in the background does not hold it up', async () => {
    const started = performance.now()
    const { stdout, exit_code } = await execute(server, 'sleep 20 & echo done')
    assert.deepEqual([stdout, exit_code], ['done\n', 0])
    assert.ok(performance.now() - started < 10_000)
    await execute(server, 'kill %1; pkill -x -f "sleep 20"')
  })

  test('what cannot be run is refused before anything is recorded', async () => {
    const before = (await allEvents(server)).length
    const body = (command: unknown, more = {}) => ({ method: 'POST', body: { command, ...more } })
    const bad = [body('a\0b'), body('x'.repeat(128 * 1024)), body('ä'.repeat(65 * 1024)), body(7), body(undefined)]
    bad.push(body('true', { timeout: -1 }), body('true', { timeout: 1e10 }), body('true', { cwd: '\0' }))
    for (const path of ['/api/bash/start_bash_command', '/api/bash/execute_bash_command'])
      for (const one of bad) assert.equal((await exchangeJson(server.url, { ...one, path })).status, 422)
    assert.equal((await allEvents(server)).length, before)
    const longest = `: ${'x'.repeat(128 * 1024 - 3)}`
    assert.equal((await execute(server, longest)).exit_code, 0)
  })

  test('as many at once as one sandbox may have, and no more; they can be cancelled', async () => {
    const commands = await inParallel(Array(64).fill('sleep 60'), command => start(server, command), 8)
    assert.equal(await failure(start(server, 'true')), 429)
    const cancel = (id: string) => server.client.cancelBashCommand({ params: { command_id: id } })
    const results = await inParallel(commands, ({ id }) => cancel(id), 8)
    assert.ok(results.every(({ success }) => success))
    assert.equal((await execute(server, 'true')).exit_code, 0)
  })
})

describe('output as it comes', () => {
  test('is there before the command has ended', async () => {
    const command = await start(server, `echo one; ${awaiting('go')}; echo two`)
    assert.deepEqual(Object.keys(command), Object.keys(BashCommand.shape))
    const poller = new Poller(server, command)
    await until('the first line came', async () => {
      assert.equal(await poller.poll(), undefined)
      return poller.stdout === 'one\n'
    })
    await sh(server, 'touch go')
    const last = await poller.ended()
    assert.equal(poller.stdout, 'one\ntwo\n')
    assert.equal(last.exit_code, 0)
    assert.deepEqual(
      poller.outputs.map(({ exit_code }) => exit_code),
      [...Array(poller.outputs.length - 1).fill(null), 0],
    )
  })

  test('never breaks a character', async () => {
    const bytes = [...Buffer.from('ä€😀')].map(byte => `printf '\\${byte.toString(8)}'; sleep 0.15`).join('; ')
    const poller = new Poller(server, await start(server, bytes))
    await poller.ended()
    assert.ok(poller.outputs.length > 1, 'nothing came in between')
    assert.equal(poller.stdout, 'ä€😀')
    assert.equal((await execute(server, String.raw`printf 'a\377b\303'`)).stdout, 'a\ufffdb\ufffd')
  })

  test('of one that prints all the time makes few events, and of a flood too', async () => {
    const slow = new Poller(server, await start(server, 'for i in $(seq 150); do echo $i; sleep 0.02; done'))
    await slow.ended(30_000)
    assert.equal(slow.stdout, Array.from({ length: 150 }, (_, i) => `${i + 1}\n`).join(''))
    assert.ok(slow.outputs.length < 60, `${slow.outputs.length} events`)
    const flood = new Poller(server, await start(server, 'seq 1 800000'))
    await flood.ended(30_000)
    assert.equal(flood.stdout.length, 5_488_895)
    assert.ok(flood.stdout.endsWith('\n799999\n800000\n'))
    assert.ok(flood.outputs.length <= 50, `${flood.outputs.length} events`)
  })

  test('P5: however much it is, the server keeps the beginning and the end, and says what is missing', async () => {
    await using own = await TestServer.start()
    await execute(own, 'true')
    const bytes = count({ sample: 40, deep: 1000 }) * 1024 * 1024
    const output = await execute(own, `echo first; yes | head -c ${bytes}; echo last; yes | head -c 7M >&2`)
    const { stdout } = output
    assert.ok(stdout!.startsWith('first\ny\ny\n'))
    assert.ok(stdout!.endsWith('\ny\nlast\n'))
    const lost = Number(/\n\[(\d+) characters left out\]\n/.exec(stdout!)?.[1])
    const marker = `\n[${lost} characters left out]\n`
    assert.equal(stdout!.length - marker.length + lost, bytes + 'first\nlast\n'.length)
    assert.ok(stdout!.length < 9 * 1024 * 1024)
    const peak = peakMemory(await readFile(`/proc/${own.pid}/status`, 'utf8'))
    assert.ok(peak < 600 * 1024 * 1024, `${peak} bytes`)
    const parts = await allEvents(own)
    assert.ok(parts.length < 60, `${parts.length} events`)
  })
})

describe('cancelling', () => {
  test('ends a command with all that it started', async () => {
    const beats = '(trap "" TERM; while :; do date +%s%N > beat; sleep 0.05; done) & wait'
    const command = await start(server, `echo begun; ${beats}`)
    const poller = new Poller(server, command)
    await until('it had begun', async () => (await poller.poll()) ?? poller.stdout === 'begun\n')
    await until('its heart beat', async () => (await execute(server, 'test -s beat')).exit_code === 0)
    const params = { command_id: command.id }
    assert.deepEqual(await server.client.cancelBashCommand({ params }), { success: true })
    const { exit_code, stderr } = await poller.ended()
    assert.equal(exit_code, -1)
    assert.match(stderr ?? '', /cancelled/)
    await sh(server, 'a=$(cat beat); sleep 0.5; [ "$a" = "$(cat beat)" ]')
    assert.deepEqual(await server.client.cancelBashCommand({ params }), { success: false })
  })

  test('one that is unknown is 404, also when it names an output', async () => {
    const { id } = await execute(server, 'true')
    for (const command_id of [newId(), id])
      assert.equal(await failure(server.client.cancelBashCommand({ params: { command_id } })), 404)
  })
})

describe('the log of commands', () => {
  beforeEach(() => server.client.clearBashEvents())
  const search = (query: object) => server.client.searchBashEvents({ query })

  test('can be searched by kind, command, time and place, in pages, both ways', async () => {
    for (let i = 0; i < 5; i++) await execute(server, `echo ${i}`)
    const log = await allEvents(server)
    assert.deepEqual(
      log.map(({ kind }) => kind),
      Array(5).fill(['BashCommand', 'BashOutput']).flat(),
    )
    assert.deepEqual(
      log.map(({ timestamp }) => timestamp).toSorted(),
      log.map(({ timestamp }) => timestamp),
    )
    assert.deepEqual(await allEvents(server, 3), log)
    const { items: backward } = await search({ sort_order: 'TIMESTAMP_DESC' })
    assert.deepEqual(backward, log.toReversed())
    const half = await search({ sort_order: 'TIMESTAMP_DESC', limit: 5 })
    const rest = await search({ sort_order: 'TIMESTAMP_DESC', page_id: half.next_page_id })
    assert.deepEqual([...half.items, ...rest.items], backward)
    assert.deepEqual((await search({ page_id: newId() })).items, log)
    const one = log[4] as BashCommand
    assert.deepEqual((await search({ command_id__eq: one.id })).items, log.slice(4, 6))
    assert.deepEqual((await search({ kind__eq: 'BashCommand', limit: 2 })).items, [log[0], log[2]])
    const between = { timestamp__gte: log[2]!.timestamp, timestamp__lt: log[6]!.timestamp }
    assert.deepEqual((await search(between)).items, log.slice(2, 6))
    assert.deepEqual((await search({ order__gt: 0 })).items, [log[0], log[2], log[4], log[6], log[8]])
    for (const bad of [
      { limit: 0 },
      { limit: 101 },
      { kind__eq: 'X' },
      { command_id__eq: 'x' },
      { timestamp__lt: 'x' },
    ])
      assert.equal(await failure(search(bad)), 422)
  })

  test('the place of an output is looked at before a page is cut', async () => {
    const command = await start(server, 'for i in 1 2 3 4; do echo $i; sleep 0.3; done')
    const poller = new Poller(server, command)
    const { order } = await poller.ended()
    assert.ok(order >= 3)
    const query = { command_id__eq: command.id, kind__eq: 'BashOutput', order__gt: order - 1, limit: 1 }
    assert.deepEqual(await search(query), { items: [poller.outputs.at(-1)], next_page_id: null })
  })

  test('events are found by id, in the query or in the body of a GET, however the id is written', async () => {
    await execute(server, 'echo 1')
    const [command, output] = await allEvents(server)
    const ids = [output!.id, 'unknown', command!.id]
    const path = '/api/bash/bash_events/'
    const headers = { 'Content-Length': `${JSON.stringify(ids).length}` }
    const viaBody = await exchangeJson(server.url, { path, body: ids, headers })
    assert.deepEqual(JSON.parse(viaBody.text), [output, null, command])
    const viaQuery = await exchange(server.url, { path: `${path}?${ids.map(id => `ids=${id}`).join('&')}` })
    assert.equal(viaQuery.text, viaBody.text)
    const dashed = output!.id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    for (const id of [output!.id, dashed, output!.id.toUpperCase()])
      assert.deepEqual(await server.client.getBashEvent({ params: { event_id: id } }), output)
    assert.equal(await failure(server.client.getBashEvent({ params: { event_id: newId() } })), 404)
  })

  test('clearing it tells how much went, and keeps what still runs', async () => {
    await execute(server, 'true')
    const command = await start(server, `echo kept; ${awaiting('cleared')}`)
    const poller = new Poller(server, command)
    await until('it printed', async () => (await poller.poll()) ?? poller.stdout !== '')
    assert.deepEqual(await server.client.clearBashEvents(), { cleared_count: 2 })
    assert.deepEqual((await allEvents(server))[0], command)
    await sh(server, 'touch cleared')
    await poller.ended()
    assert.equal((await server.client.clearBashEvents()).cleared_count, poller.outputs.length + 1 + 2)
    assert.deepEqual(await allEvents(server), [])
  })

  const COMMANDS = count({ sample: 30, deep: 1000 })
  test(`of ${COMMANDS} commands side by side every one has its own end`, async () => {
    const outputs = await inParallel(
      Array.from({ length: COMMANDS }, (_, i) => i),
      i => execute(server, `echo ${i}; exit ${i % 100}`),
      8,
    )
    assert.deepEqual(
      outputs.map(({ stdout, exit_code }) => [stdout, exit_code]),
      outputs.map((_, i) => [`${i}\n`, i % 100]),
    )
    const log = await allEvents(server)
    const ends = log.filter(event => event.kind === 'BashOutput' && event.exit_code !== null)
    assert.equal(log.filter(({ kind }) => kind === 'BashCommand').length, COMMANDS)
    assert.equal(ends.length, COMMANDS)
    assert.equal(new Set(log.map(({ id }) => id)).size, log.length)
  })
})

describe('when the server ends', () => {
  const some = sampled(2)
  for (const signal of ['SIGKILL', 'SIGTERM'] as const)
    some(`${signal}: a command that was running gets its end, and nobody waits in vain`, async () => {
      const data = await tempFolder()
      await using first = await TestServer.start({ data })
      const command = await start(first, `echo begun; ${awaiting('ended')}; echo survived`)
      const poller = new Poller(first, command)
      await until('it had begun', async () => (await poller.poll()) ?? poller.stdout === 'begun\n')
      await first.stop(signal)
      await using second = await TestServer.start({ data })
      const again = new Poller(second, command)
      const last = await again.ended()
      assert.equal(again.stdout, 'begun\n')
      assert.equal(last.exit_code, -1)
      assert.match(last.stderr ?? '', /server stopped/)
      await sh(second, 'touch ended')
      assert.equal((await execute(second, 'echo works')).stdout, 'works\n')
    })
})

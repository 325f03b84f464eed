import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { SandboxInfo } from '../../src/api/sandboxes.ts'
import { ask, Box, infoOf, inState, NO_WALLS, withSpecs } from '../support/hands.ts'
import { holders } from '../support/sandboxes.ts'
import { TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const SPECS = [
  { id: 'plain' },
  { id: 'own', working_dir: '/workspace/own', env: { COLOUR: 'blue' }, command: ['sleep', 'infinity'] },
  { id: 'broken', command: ['sh', '-c', 'echo about to give up; no-such-program'] },
  { id: 'brief', command: ['sh', '-c', 'echo working; sleep 0.4; echo over >&2; exit 7'] },
]
const LIMIT = 4

let server: TestServer
let config: Awaited<ReturnType<typeof withSpecs>>
before(async () => {
  if (NO_WALLS) return
  config = await withSpecs(SPECS, { max_sandboxes: LIMIT })
  server = await TestServer.start(config)
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
  await config?.remove()
})

const start = (spec?: string) => server.client.startSandbox({ query: { sandbox_spec_id: spec } })
const remove = (id: string) => server.client.deleteSandbox({ params: { sandbox_id: id } })
const search = async (query: string) => (await ask(server, 'GET', `/api/v1/sandboxes/search${query}`)).body
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|\+00:00)$/

describe('what is told of a sandbox', { skip: NO_WALLS }, () => {
  test('a running one: exactly the fields of the interface, with its key and its addresses', async () => {
    const info = await start()
    const port = Number(new URL(server.url).port)
    assert.match(info.id, /^[0-9a-f]{20}$/)
    assert.match(info.created_at, TIME)
    assert.ok(info.session_api_key && info.session_api_key.length >= 32)
    const site = (port: number) => `http://${port}-${info.id}-PROOF.localhost:${new URL(server.url).port}`
    const urls = info.exposed_urls?.map(one => ({ ...one, url: one.url.replace(/-[0-9a-z]{20}\./, '-PROOF.') }))
    assert.deepEqual(
      { ...info, exposed_urls: urls },
      {
        id: info.id,
        created_by_user_id: null,
        sandbox_spec_id: 'plain',
        status: 'RUNNING',
        session_api_key: info.session_api_key,
        exposed_urls: [
          { name: 'AGENT_SERVER', url: `${server.url}/sandboxes/${info.id}`, port },
          { name: 'WORKER_1', url: site(8011), port: 8011 },
          { name: 'WORKER_2', url: site(8012), port: 8012 },
        ],
        created_at: info.created_at,
        status_detail: null,
      },
    )
    await remove(info.id)
  })

  test('the published Python client is told an address without a path, under which the key it is told opens that sandbox', async () => {
    const { id } = await start()
    const look = async (headers: Record<string, string>) => {
      const answer = await fetch(`${server.url}/api/v1/sandboxes?id=${id}`, {
        headers: { 'User-Agent': 'python-httpx/0.28.1', ...headers },
      })
      const [info] = (await answer.json()) as Awaited<ReturnType<typeof server.client.batchSandboxes>>
      return { url: info!.exposed_urls![0]!.url, key: info!.session_api_key }
    }
    const { url, key } = await look({ 'X-Session-API-Key': server.key })
    assert.equal(url, server.url)
    const name = await fetch(`${url}/api/bash/execute_bash_command`, {
      method: 'POST',
      headers: { 'X-Session-API-Key': key!, 'Content-Type': 'application/json' },
      body: JSON.stringify({ command: 'touch only-here; ls' }),
    })
    assert.match(await name.text(), /only-here/)
    assert.match(
      JSON.stringify(
        await ask(server, 'POST', `/sandboxes/${id}/api/bash/execute_bash_command`, { body: { command: 'ls' } }),
      ),
      /only-here/,
    )
    // Without a key there is none to tell by.
    assert.equal((await look({})).url, `${server.url}/sandboxes/${id}`)
    await remove(id)
  })

  test('whoever brings no key is told none, and everything else', async () => {
    const { id, ...shown } = await start()
    const [anonymous] = await server.anonymous.batchSandboxes({ query: { id: [id] } })
    assert.deepEqual(anonymous, { id, ...shown, session_api_key: null })
    assert.equal((await server.anonymous.searchSandboxes()).items[0]!.session_api_key, null)
    const fresh = await server.anonymous.startSandbox()
    assert.equal(fresh.session_api_key, null)
    await Promise.all([remove(id), remove(fresh.id)])
  })

  test('key and addresses only while it runs; the key is the same after a pause', async () => {
    const info = await start()
    const box = new Box(server, info)
    await box.ok('pause')
    const paused = await infoOf(server, info.id)
    assert.deepEqual(paused, { ...info, status: 'PAUSED', session_api_key: null, exposed_urls: null })
    await box.ok('resume')
    assert.deepEqual(await infoOf(server, info.id), info)
    await box.ok('delete')
  })

  test('two have different keys and addresses', async () => {
    const [a, b] = await Promise.all([start(), start()])
    assert.notEqual(a!.session_api_key, b!.session_api_key)
    const all = [a!, b!].flatMap(({ exposed_urls }) => exposed_urls!.map(({ url }) => url))
    assert.equal(new Set(all).size, all.length)
    await Promise.all([remove(a!.id), remove(b!.id)])
  })

  test('pages: newest first, a decimal offset as cursor, and what is none is the beginning', async () => {
    const made: SandboxInfo[] = []
    for (let i = 0; i < 3; i++) made.unshift(await start())
    const idsOf = (page: { items: SandboxInfo[] }) => page.items.map(({ id }) => id)
    const ids = idsOf({ items: made })
    const first = await search('?limit=2')
    assert.deepEqual(idsOf(first), ids.slice(0, 2))
    assert.equal(first.next_page_id, '2')
    const second = await search('?limit=2&page_id=2')
    assert.deepEqual([idsOf(second), second.next_page_id], [ids.slice(2), null])
    for (const cursor of ['x', '-1', '1e3', '0x2', '', '%20', '1.5'])
      assert.deepEqual(idsOf(await search(`?page_id=${cursor}`)), ids, `page_id=${cursor}`)
    assert.deepEqual(await search('?page_id=99'), { items: [], next_page_id: null })
    for (const limit of ['101', '0', '-1', 'x'])
      assert.equal((await ask(server, 'GET', `/api/v1/sandboxes/search?limit=${limit}`)).status, 422, limit)
    const batch = await server.client.batchSandboxes({ query: { id: [ids[2]!, 'unknown', ids[0]!, ids[2]!] } })
    assert.deepEqual(
      batch.map(info => info?.id ?? null),
      [ids[2], null, ids[0], ids[2]],
    )
    assert.equal((await ask(server, 'GET', '/api/v1/sandboxes')).status, 422)
    for (const id of ids) await remove(id)
  })

  test('an unknown one is 404 for every call about it', async () => {
    for (const [method, path] of [
      ['POST', 'unknown/pause'],
      ['POST', 'unknown/resume'],
      ['DELETE', 'unknown'],
      ['DELETE', 'unknown?sandbox_id=unknown'],
      ['GET', 'unknown/report'],
      ['POST', 'unknown/ports/8000'],
    ] as const) {
      const { status, body } = await ask(server, method, `/api/v1/sandboxes/${path}`, { key: server.key })
      assert.deepEqual([status, body.detail], [404, 'Not Found'], path)
    }
  })
})

describe('specs', { skip: NO_WALLS }, () => {
  test('are listed in the order of the configuration, the default first', async () => {
    const page = await server.client.searchSandboxSpecs()
    const [plain, own] = page.items
    assert.deepEqual(
      page.items.map(({ id }) => id),
      SPECS.map(({ id }) => id),
    )
    assert.equal(page.next_page_id, null)
    assert.match(plain!.created_at, TIME)
    const created_at = plain!.created_at
    assert.deepEqual(plain, {
      id: 'plain',
      command: null,
      created_at,
      initial_env: {},
      working_dir: '/workspace/project',
    })
    assert.deepEqual(own, {
      id: 'own',
      command: ['sleep', 'infinity'],
      created_at,
      initial_env: { COLOUR: 'blue' },
      working_dir: '/workspace/own',
    })
  })

  test('come in pages and by id; an unknown one is null', async () => {
    const page = (query: string) => ask(server, 'GET', `/api/v1/sandbox-specs/search${query}`)
    const { body } = await page('?limit=1&page_id=1')
    assert.deepEqual([body.items[0].id, body.items.length, body.next_page_id], ['own', 1, '2'])
    assert.equal((await page('?limit=1&page_id=none')).body.items[0].id, 'plain')
    assert.equal((await page('?limit=101')).status, 422)
    const specs = await server.client.batchSandboxSpecs({ query: { id: ['own', 'no', 'plain'] } })
    assert.deepEqual(
      specs.map(spec => spec?.id ?? null),
      ['own', null, 'plain'],
    )
  })

  test('one that is not there cannot be started', async () => {
    const { status, body } = await ask(server, 'POST', '/api/v1/sandboxes?sandbox_spec_id=no')
    assert.deepEqual([status, body.code], [404, 'sandbox_spec_not_found'])
    assert.deepEqual((await server.client.searchSandboxes()).items, [])
  })

  test('working directory, environment and command hold inside', async () => {
    const box = await Box.start(server, 'own')
    assert.equal(await box.sh('echo "$PWD $COLOUR"'), '/workspace/own blue')
    assert.match(await box.sh('cat /proc/[0-9]*/cmdline | tr "\\0" " "'), /sleep infinity/)
    await box.ok('delete')
  })
})

describe('one that fails', { skip: NO_WALLS }, () => {
  test('says within two seconds how its command ended and what it printed last', async () => {
    const began = performance.now()
    const { id } = await start('broken')
    const info = await inState(server, id, 'ERROR')
    const took = performance.now() - began
    assert.ok(took < 2000, `it took ${took} ms`)
    assert.match(info.status_detail!, /exit code 127/)
    assert.match(info.status_detail!, /about to give up[\s\S]*no-such-program/)
    assert.deepEqual([info.session_api_key, info.exposed_urls], [null, null])
    const report = await server.client.reportSandbox({ params: { sandbox_id: id } })
    assert.match(report.logs, /about to give up[\s\S]*no-such-program/)
    const again = await ask(server, 'POST', `/api/v1/sandboxes/${id}/resume`)
    assert.deepEqual([again.status, again.body.code], [502, 'sandbox_failed'])
    assert.match(again.body.detail, /exit code 127/)
    await remove(id)
  })

  test('later says so within two seconds too', async () => {
    const { id } = await start('brief')
    await until('its command is over', async () => (await holders(server.data)).length === 0)
    const began = performance.now()
    const info = await inState(server, id, 'ERROR', 12_000)
    const took = performance.now() - began
    assert.match(info.status_detail!, /exit code 7[\s\S]*over/)
    assert.ok(took < 2000, `it took ${took} ms`)
    await remove(id)
  })

  test('takes no place among those that may run', async () => {
    const broken = await Promise.all(Array.from({ length: LIMIT }, () => start('broken')))
    for (const { id } of broken) await inState(server, id, 'ERROR')
    const sound = await Box.start(server)
    await sound.ok('delete')
    for (const { id } of broken) await remove(id)
  })
})

describe('too many', { skip: NO_WALLS }, () => {
  test('one more is refused, nobody else is touched, and there is room after a pause', async () => {
    const boxes = await Promise.all(Array.from({ length: LIMIT }, () => Box.start(server)))
    for (const box of boxes) await box.sh('sleep 1000 >/dev/null 2>&1 & echo $! > /tmp/pid')
    const refused = await ask(server, 'POST', '/api/v1/sandboxes')
    assert.deepEqual([refused.status, refused.body.code, refused.body.retryable], [429, 'sandbox_limit', true])
    for (const box of boxes) {
      assert.equal(await box.status(), 'RUNNING')
      await box.sh('kill -0 "$(cat /tmp/pid)"')
    }
    assert.equal((await server.client.searchSandboxes()).items.length, LIMIT)
    await boxes[0]!.ok('pause')
    const another = await Box.start(server)
    const resumed = await boxes[0]!.call('resume')
    assert.deepEqual([resumed.status, resumed.body.code], [429, 'sandbox_limit'])
    assert.equal(await boxes[0]!.status(), 'PAUSED')
    await boxes[1]!.ok('resume')
    for (const box of [...boxes, another]) await box.ok('delete')
  })

  test('of many at once as many start as there is room for', async () => {
    const answers = await Promise.all(Array.from({ length: LIMIT + 4 }, () => ask(server, 'POST', '/api/v1/sandboxes')))
    const started = answers.filter(({ status }) => status === 200)
    assert.equal(started.length, LIMIT)
    assert.ok(answers.every(({ status }) => status === 200 || status === 429))
    for (const { body } of started) await remove(body.id)
  })
})

describe('one whose files were taken away', { skip: NO_WALLS }, () => {
  const files = (id: string) => join(server.data, 'sandboxes', id)

  test('is missing, is not replaced by an empty one when used, and starts anew when resumed', async () => {
    const box = await Box.start(server)
    await box.sh('echo work > /workspace/work')
    await box.ok('pause')
    await rm(files(box.id), { recursive: true, force: true })
    await box.ok('pause')
    const info = await infoOf(server, box.id)
    assert.deepEqual([info!.status, info!.session_api_key, info!.exposed_urls], ['MISSING', null, null])
    const body = { command: 'ls /workspace' }
    const used = await ask(server, 'POST', `/sandboxes/${box.id}/api/bash/execute_bash_command`, { body })
    assert.equal(used.status, 409, used.text)
    assert.equal(await box.status(), 'MISSING')
    await box.ok('resume')
    assert.equal(await box.status(), 'RUNNING')
    assert.equal(await box.sh('ls /workspace'), 'project')
    await box.ok('delete')
  })

  test('while it ran: resuming does not claim that all is well', async () => {
    const box = await Box.start(server)
    await rm(files(box.id), { recursive: true, force: true })
    const { status, body } = await box.call('resume')
    assert.deepEqual([status, body.code], [502, 'sandbox_failed'])
    assert.equal(await box.status(), 'MISSING')
    await box.ok('resume')
    assert.equal(await box.status(), 'RUNNING')
    await box.ok('delete')
    assert.deepEqual(await holders(server.data), [])
  })
})

describe('stored secrets, for the bearer of a sandbox’s key', { skip: NO_WALLS }, () => {
  let box: Box
  let other: Box
  before(async () => {
    if (NO_WALLS) return
    await server.client.putSecret({ body: { name: 'TOKEN', value: 'the value', description: 'what for' } })
    ;[box, other] = await Promise.all([Box.start(server), Box.start(server)])
  })
  after(async () => {
    await box?.ok('delete')
    await other?.ok('delete')
  })
  const secrets = (id: string, key: string | null, name = '') =>
    ask(server, 'GET', `/api/v1/sandboxes/${id}/settings/secrets${name && `/${name}`}`, { key })

  test('names with the list, the value by name, to its own key and to the server’s', async () => {
    for (const key of [box.key, server.key]) {
      const list = await secrets(box.id, key)
      assert.deepEqual(list.body, { secrets: [{ name: 'TOKEN', description: 'what for' }] })
      const value = await secrets(box.id, key, 'TOKEN')
      assert.equal(value.text, 'the value')
      assert.match(String(value.headers['content-type']), /^text\/plain/)
    }
  })

  test('one that is not there is 404', async () => {
    const { status, body } = await secrets(box.id, box.key, 'OTHER')
    assert.deepEqual([status, body.detail], [404, 'Secret not found'])
  })

  test('the key of another sandbox is 403, no key and a wrong one are 401', async () => {
    for (const name of ['', 'TOKEN']) {
      const foreign = await secrets(box.id, other.key, name)
      assert.deepEqual([foreign.status, foreign.body.detail], [403, 'Session API key does not match sandbox'])
      assert.equal((await secrets(box.id, null, name)).status, 401)
      assert.equal((await secrets(box.id, 'wrong', name)).status, 401)
    }
  })

  test('a sandbox that is not there is 404', async () => {
    assert.equal((await secrets('unknown', server.key)).status, 404)
    assert.equal((await secrets('unknown', null)).status, 401)
  })

  test('the key of a paused or deleted one opens nothing', async () => {
    const third = await Box.start(server)
    await third.ok('pause')
    assert.equal((await secrets(third.id, third.key, 'TOKEN')).status, 401)
    await third.ok('delete')
    assert.equal((await secrets(third.id, third.key, 'TOKEN')).status, 401)
    assert.equal((await secrets(box.id, third.key, 'TOKEN')).status, 401)
  })
})
